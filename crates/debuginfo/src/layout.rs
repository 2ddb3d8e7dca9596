// SPDX-License-Identifier: MIT
//! A file that is still to be linked, as a kernel's module is, laid out in memory as a linker would do it: what is loaded has
//! addresses of its own, and debug information and data tell these. So it is read like any program.

use crate::elf::{Elf, Segment};
use object::read::elf::{ElfFile, FileHeader};
use object::{
    elf, Endianness, Object, ObjectSection, ObjectSymbol, Relocation, RelocationKind,
    RelocationTarget, SectionIndex,
};

/// Where `.text` begins, and what else is loaded behind it. At 0 the lines of code would begin that a linker has thrown away.
pub const TEXT_AT: u64 = 0x10_0000;
const TEXT: &[u8] = b".text";
/// What runs once, while the module is loaded, is gone then: it has addresses, and is no code.
const ONCE: &[u8] = b".init.text";
const NOBITS: u32 = 8;

/// Sections that are to have their addresses put in, by the beginnings of their names.
pub struct Relocated(&'static [&'static [u8]]);

pub const DEBUG: Relocated = Relocated(&[b".debug_", b".eh_frame"]);
pub const DATA: Relocated = Relocated(&[b".data", b".ref.data"]);

impl Elf {
    pub fn lay_out(&mut self, what: &Relocated) {
        self.give_addresses();
        self.laid_out = true;
        match self.is_64 {
            true => self.relocate::<elf::FileHeader64<Endianness>>(what),
            false => self.relocate::<elf::FileHeader32<Endianness>>(what),
        };
        self.file_type = elf::ET_DYN.0;
    }

    fn give_addresses(&mut self) {
        let numbered = |name| self.by_name.get(name).copied();
        let (text, once) = (numbered(TEXT), numbered(ONCE));
        let rest = (0..self.sections.len()).filter(|i| Some(*i) != text);
        let in_order: Vec<usize> = text.into_iter().chain(rest).collect();
        let mut next = TEXT_AT;
        for i in in_order {
            let s = &mut self.sections[i];
            let has = |flag: u64| s.flags & flag != 0;
            if !has(elf::SHF_ALLOC.0) {
                continue;
            }
            let start = next.checked_next_multiple_of(s.align.max(1));
            let end = start.and_then(|start| start.checked_add(s.size.max(1)));
            let (Some(start), Some(end)) = (start, end) else {
                return;
            };
            next = end;
            self.segments.push(Segment {
                vaddr: start,
                offset: s.offset,
                file_size: if s.kind == NOBITS { 0 } else { s.size },
                mem_size: s.size,
                executable: has(elf::SHF_EXECINSTR.0) && once != Some(i),
                writable: has(elf::SHF_WRITE.0),
            });
            s.addr = start;
        }
    }

    /// `None`: the file is damaged; what was done is done.
    fn relocate<H: FileHeader<Endian = Endianness>>(&mut self, what: &Relocated) -> Option<()> {
        let file = ElfFile::<H>::parse(self.data).ok()?;
        for section in file.sections() {
            let name = section.name_bytes().unwrap_or_default();
            let index = section.index().0;
            if !what.0.iter().any(|start| name.starts_with(start)) {
                continue;
            }
            let Some(contents) = self.contents(index) else {
                continue;
            };
            let mut bytes = contents.to_vec();
            for (at, r) in section.relocations() {
                self.apply(&file, index, &mut bytes, at, &r);
            }
            let bytes = self.storage.keep(bytes);
            self.unpacked().insert(index, bytes);
        }
        Some(())
    }

    /// What is not understood, or leads out of the file, stays as it is.
    fn apply<H: FileHeader<Endian = Endianness>>(
        &self,
        file: &ElfFile<'static, H>,
        section: usize,
        bytes: &mut [u8],
        at: u64,
        r: &Relocation,
    ) -> Option<()> {
        let RelocationTarget::Symbol(symbol) = r.target() else {
            return None;
        };
        let symbol = file.symbol_by_index(symbol).ok()?;
        let SectionIndex(of) = symbol.section_index()?;
        let start = self.sections.get(of)?.addr;
        let size = usize::from(r.size() / 8).min(8);
        let from = usize::try_from(at).ok()?;
        let place = bytes.get_mut(from..from.checked_add(size)?)?;
        let own = match r.kind() {
            RelocationKind::Absolute => 0,
            RelocationKind::Relative => self.sections.get(section)?.addr.wrapping_add(at),
            _ => return None,
        };
        let order = self.order();
        let implicit = match r.has_implicit_addend() {
            true => order.read(place),
            false => 0,
        };
        let value = start
            .wrapping_add(symbol.address())
            .wrapping_add(r.addend() as u64)
            .wrapping_add(implicit)
            .wrapping_sub(own);
        order.write(place, value);
        Some(())
    }
}
