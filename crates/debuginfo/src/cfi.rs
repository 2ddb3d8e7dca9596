// SPDX-License-Identifier: MIT
//! Call frame rules: the canonical frame address at a program counter.

use crate::die::{endian, R};
use crate::elf::Elf;
use gimli::{
    BaseAddresses, CfaRule, DebugFrame, EhFrame, EhFrameOffset, EndianSlice, UnwindContext,
    UnwindSection,
};
use trapless_machine::ByteOrder;

/// How to compute the CFA.
pub(crate) enum Cfa {
    Register(u16, i64),
    Expression(gimli::Expression<R>),
}

pub(crate) struct Cfi {
    pub eh_frame: EhFrame<R>,
    /// `.eh_frame_hdr`, and its address.
    header: &'static [u8],
    header_addr: u64,
    order: ByteOrder,
    pub debug_frame: DebugFrame<R>,
    pub bases: BaseAddresses,
    eh_frame_addr: u64,
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
        let address_size = elf.word();
        let mut eh_frame = EhFrame::from(slice(elf.section(".eh_frame")));
        eh_frame.set_address_size(address_size);
        let mut debug_frame = DebugFrame::from(slice(frame));
        debug_frame.set_address_size(address_size);
        Cfi {
            eh_frame,
            header: elf.section(".eh_frame_hdr"),
            header_addr: elf.section_addr(".eh_frame_hdr").unwrap_or(0),
            order: elf.order(),
            debug_frame,
            bases,
            eh_frame_addr: elf.section_addr(".eh_frame").unwrap_or(0),
        }
    }

    /// `None`: no rule covers the address.
    pub fn cfa(&self, pc: u64) -> Option<Cfa> {
        self.by_table(pc)
            .or_else(|| self.scan(&self.eh_frame, pc, EhFrame::cie_from_offset))
            .or_else(|| self.scan(&self.debug_frame, pc, DebugFrame::cie_from_offset))
    }

    /// Through the sorted table of `.eh_frame_hdr`, in the one form that linkers write.
    fn by_table(&self, pc: u64) -> Option<Cfa> {
        let (head, table) = self.header.split_at_checked(12)?;
        // Version, then encodings: pcrel sdata4, udata4, datarel sdata4.
        if head[0] != 1 || head[2] != 0x03 || head[3] != 0x3b {
            return None;
        }
        let word = |b: &[u8]| self.order.read(b) as u32 as i32;
        let count = word(&head[8..]) as u32 as usize;
        let table = &table[..table.len().min(count.saturating_mul(8))];
        let (mut low, mut high) = (0, table.len() / 8);
        while low < high {
            let middle = (low + high) / 2;
            let start = self
                .header_addr
                .wrapping_add_signed(word(&table[middle * 8..][..4]).into());
            if start <= pc {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let found = &table[low.checked_sub(1)? * 8..];
        let fde = self
            .header_addr
            .wrapping_add_signed(word(&found[4..8]).into());
        let offset = usize::try_from(fde.checked_sub(self.eh_frame_addr)?).ok()?;
        let cie = EhFrame::cie_from_offset;
        let fde = self
            .eh_frame
            .fde_from_offset(&self.bases, EhFrameOffset(offset), cie)
            .ok()?;
        let mut ctx = UnwindContext::new();
        let row = fde
            .unwind_info_for_address(&self.eh_frame, &self.bases, &mut ctx, pc)
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
