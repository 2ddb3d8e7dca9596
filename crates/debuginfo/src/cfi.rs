// SPDX-License-Identifier: MIT
//! Call frame rules: the canonical frame address at a program counter.

use crate::dwarf::{endian, R};
use crate::elf::Elf;
use gimli::{
    BaseAddresses, CfaRule, DebugFrame, EhFrame, EhFrameHdr, EndianSlice, UnwindContext,
    UnwindSection,
};

/// How to compute the CFA.
pub(crate) enum Cfa {
    Register(u16, i64),
    Expression(gimli::Expression<R>),
}

pub(crate) struct Cfi {
    eh_frame: EhFrame<R>,
    header: EhFrameHdr<R>,
    debug_frame: DebugFrame<R>,
    bases: BaseAddresses,
    address_size: u8,
}

impl Cfi {
    /// Both must outlive the result (they are kept by the `Binary`).
    pub fn new(elf: &Elf, debug: Option<&Elf>) -> Cfi {
        let slice = |b| EndianSlice::new(b, endian(elf));
        let mut bases = BaseAddresses::default();
        if let Some(a) = elf.section_addr(".eh_frame") {
            bases = bases.set_eh_frame(a);
        }
        if let Some(a) = elf.section_addr(".eh_frame_hdr") {
            bases = bases.set_eh_frame_hdr(a);
        }
        if let Some(a) = elf.section_addr(".text") {
            bases = bases.set_text(a);
        }
        if let Some(a) = elf.section_addr(".got") {
            bases = bases.set_got(a);
        }
        let mut frame = elf.section(".debug_frame");
        if frame.is_empty() {
            frame = debug.map_or(&[], |d| d.section(".debug_frame"));
        }
        let address_size = if elf.is_64 { 8 } else { 4 };
        let mut eh_frame = EhFrame::from(slice(elf.section(".eh_frame")));
        eh_frame.set_address_size(address_size);
        let mut debug_frame = DebugFrame::from(slice(frame));
        debug_frame.set_address_size(address_size);
        Cfi {
            eh_frame,
            header: EhFrameHdr::from(slice(elf.section(".eh_frame_hdr"))),
            debug_frame,
            bases,
            address_size,
        }
    }

    /// `None`: no rule covers the address.
    pub fn cfa(&self, pc: u64) -> Option<Cfa> {
        self.by_table(pc)
            .or_else(|| self.scan(&self.eh_frame, pc, EhFrame::cie_from_offset))
            .or_else(|| self.scan(&self.debug_frame, pc, DebugFrame::cie_from_offset))
    }

    /// Through the sorted table of `.eh_frame_hdr`.
    fn by_table(&self, pc: u64) -> Option<Cfa> {
        let header = self.header.parse(&self.bases, self.address_size).ok()?;
        let table = header.table()?;
        let mut ctx = UnwindContext::new();
        let cie = EhFrame::cie_from_offset;
        let row = table
            .unwind_info_for_address(&self.eh_frame, &self.bases, &mut ctx, pc, cie)
            .ok()?;
        rule(row.cfa(), &self.eh_frame)
    }

    fn scan<S: UnwindSection<R>>(
        &self,
        section: &S,
        pc: u64,
        cie: fn(&S, &BaseAddresses, S::Offset) -> gimli::Result<gimli::CommonInformationEntry<R>>,
    ) -> Option<Cfa> {
        let mut ctx = UnwindContext::new();
        let row = section
            .unwind_info_for_address(&self.bases, &mut ctx, pc, cie)
            .ok()?;
        rule(row.cfa(), section)
    }
}

fn rule<S: UnwindSection<R>>(cfa: &CfaRule<usize>, section: &S) -> Option<Cfa> {
    match cfa {
        CfaRule::RegisterAndOffset { register, offset } => Some(Cfa::Register(register.0, *offset)),
        CfaRule::Expression(e) => Some(Cfa::Expression(e.get(section).ok()?)),
    }
}
