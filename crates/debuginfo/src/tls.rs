// SPDX-License-Identifier: MIT
//! Thread-local storage: a program's lies at a fixed distance from the thread pointer, a library's where the loader says
//! in words of the library.

use crate::binary::Binary;
use crate::elf::{ElfKind, RawRelocation};

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

/// A word and how sure it is that it is for storage of this library.
type Ranked = (bool, bool, TlsWay, TlsSlot);

impl Binary {
    /// How far from the thread pointer a thread-local variable of a program lies, by its offset.
    pub fn tls_distance(&self, offset: u64) -> Option<i64> {
        // libc names an interpreter too: it can be run.
        let run = self.interpreter().is_some() && self.elf.soname.is_none();
        let program = self.kind() == ElfKind::Fixed || self.elf.pie || run;
        let storage = self.elf.tls.filter(|_| program)?;
        Some(self.machine.abi.tls.distance(offset, storage))
    }

    /// A word by which a library's variable at that offset is found. `None`: no code of the library asks for any.
    pub fn tls_slot(&self, offset: u64) -> Option<TlsSlot> {
        let mut best: Option<Ranked> = None;
        for r in RELOCATIONS.iter().flat_map(|s| self.elf.relocations(s)) {
            if let Some(found) = self.tls_relocation(&r, offset) {
                let better = |b: &Ranked| (found.0, found.1, found.2) < (b.0, b.1, b.2);
                if best.as_ref().is_none_or(better) {
                    best = Some(found);
                }
            }
        }
        best.map(|b| b.3)
    }

    fn tls_relocation(&self, r: &RawRelocation, offset: u64) -> Option<Ranked> {
        let numbers = &self.machine.dynamic;
        let way = match r.kind {
            n if n == numbers.tls_module => TlsWay::Module,
            n if n == numbers.tls_offset => TlsWay::Offset,
            n if Some(n) == numbers.tls_descriptor => TlsWay::Descriptor,
            _ => return None,
        };
        let (value, own) = self.tls_symbol(r.symbol)?;
        let of = value.wrapping_add(r.addend);
        let slot = TlsSlot {
            way,
            addr: r.addr,
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
        let (_, value, defined, own) = self.elf.dynamic_symbol(number)?;
        defined.then_some((value, own))
    }
}
