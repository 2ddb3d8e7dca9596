// SPDX-License-Identifier: MIT
//! Thread-local storage (System V ABI, x86-64 supplement, variant II): a program's lies at a fixed distance from the
//! thread pointer, a library's where the loader says in words of the library.

use crate::binary::Binary;
use crate::elf::ElfKind;

/// A word of the library that its loader fills in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsSlot {
    pub way: TlsWay,
    /// File address of the word, or of the descriptor.
    pub addr: u64,
    /// The offset in the library's storage that it is for.
    pub of: u64,
}

/// What is in there; the better one first: what is at a fixed distance is so in each thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsWay {
    Offset,
    Descriptor,
    Module,
}

const RELOCATIONS: [&str; 2] = [".rela.dyn", ".rela.plt"];

const DTPMOD64: u32 = 16;
const TPOFF64: u32 = 18;
const TLSDESC: u32 = 36;

/// A word and how sure it is that it is for storage of this library.
type Ranked = (bool, bool, TlsWay, TlsSlot);

impl Binary {
    /// How far from the thread pointer a thread-local variable of a program lies, by its offset.
    pub fn tls_distance(&self, offset: u64) -> Option<i64> {
        // libc names an interpreter too: it can be run.
        let run = self.interpreter().is_some() && self.elf.soname.is_none();
        let program = self.kind() == ElfKind::Fixed || self.elf.pie || run;
        let (addr, size, align) = self.elf.tls.filter(|_| program)?;
        let end = addr.wrapping_add(size);
        let fill = end.wrapping_neg() & align.max(1).wrapping_sub(1);
        Some(offset.wrapping_sub(size).wrapping_sub(fill) as i64)
    }

    /// A word by which a library's variable at that offset is found. `None`: no code of the library asks for any.
    pub fn tls_slot(&self, offset: u64) -> Option<TlsSlot> {
        let mut best: Option<Ranked> = None;
        for name in RELOCATIONS {
            for r in self.elf.section(name).chunks_exact(24) {
                let found = self.tls_relocation(r, offset);
                if let Some(found) = found {
                    let better = |b: &Ranked| (found.0, found.1, found.2) < (b.0, b.1, b.2);
                    if best.as_ref().is_none_or(better) {
                        best = Some(found);
                    }
                }
            }
        }
        best.map(|b| b.3)
    }

    fn tls_relocation(&self, r: &[u8], offset: u64) -> Option<Ranked> {
        let word = |i: usize| r[i..i + 8].try_into().map_or(0, u64::from_le_bytes);
        let way = match word(8) as u32 {
            DTPMOD64 => TlsWay::Module,
            TPOFF64 => TlsWay::Offset,
            TLSDESC => TlsWay::Descriptor,
            _ => return None,
        };
        let (value, own) = self.tls_symbol((word(8) >> 32) as usize)?;
        let of = value.wrapping_add(word(16));
        let slot = TlsSlot {
            way,
            addr: word(0),
            of,
        };
        // Another file may define a symbol of that name too; then the library uses that.
        let sure = own || of == offset;
        Some((!own, !sure, way, slot))
    }

    /// Its offset, and whether nobody else can define it; `None`: another file does.
    fn tls_symbol(&self, number: usize) -> Option<(u64, bool)> {
        if number == 0 {
            return Some((0, true));
        }
        let entry = self.elf.section(".dynsym").get(number.checked_mul(24)?..)?;
        let section = u16::from_le_bytes(entry.get(6..8)?.try_into().ok()?);
        let value = u64::from_le_bytes(entry.get(8..16)?.try_into().ok()?);
        let is_local = entry[4] >> 4 == 0 || entry[5] & 3 != 0;
        (section != 0).then_some((value, is_local))
    }
}
