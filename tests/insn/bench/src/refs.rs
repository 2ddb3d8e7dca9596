// SPDX-License-Identifier: MIT
//! The references: iced-x86, Zydis, and Intel's XED for what only it knows (APX).
use crate::ours::wrap;
use crate::view::{ip, Field, Flow, View};
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};
use xed_sys::*;
use zydis::ffi::{DecodedInstruction, DecodedOperand, DecodedOperandKind};
use zydis::Mnemonic as Z;
use zydis::{BranchType, InstructionCategory, Register, VisibleOperands};

pub struct Refs {
    zydis: [zydis::Decoder; 2],
}

impl Refs {
    pub fn new() -> Refs {
        // SAFETY: called once, before any decoding.
        unsafe { xed_tables_init() };
        Refs {
            zydis: [zydis::Decoder::new32(), zydis::Decoder::new64()],
        }
    }

    pub fn iced(&self, bytes: &[u8], wide: bool) -> Option<(View, Instruction)> {
        let bits = if wide { 64 } else { 32 };
        let mut d = Decoder::with_ip(bits, bytes, ip(wide), DecoderOptions::MPX);
        let insn = d.decode();
        if insn.is_invalid() {
            return None;
        }
        let o = d.get_constant_offsets(&insn);
        let imm_size = o.immediate_size() + o.immediate_size2();
        let flow = iced_flow(&insn);
        let direct = matches!(flow, Flow::Jcc | Flow::Jmp | Flow::Call);
        let view = View {
            len: insn.len() as u8,
            flow,
            disp: Field::new(o.displacement_offset() as u8, o.displacement_size() as u8),
            imm: Field::new(o.immediate_offset() as u8, imm_size as u8),
            rip: insn
                .is_ip_rel_memory_operand()
                .then(|| insn.ip_rel_memory_address()),
            target: direct.then(|| insn.near_branch_target()),
        };
        Some((view, insn))
    }

    pub fn zydis(&self, bytes: &[u8], wide: bool) -> Option<View> {
        let found = self.zydis[wide as usize].decode_first::<VisibleOperands>(bytes);
        let insn = found.ok()??;
        Some(zydis_view(&insn, insn.operands(), wide))
    }

    /// What XED, the only one to know APX, says.
    pub fn xed(&self, bytes: &[u8], wide: bool) -> Option<Xed> {
        let (mode, width) = if wide {
            (XED_MACHINE_MODE_LONG_64, XED_ADDRESS_WIDTH_64b)
        } else {
            (XED_MACHINE_MODE_LEGACY_32, XED_ADDRESS_WIDTH_32b)
        };
        let mut xedd = std::mem::MaybeUninit::<xed_decoded_inst_t>::uninit();
        // SAFETY: XED's documented call sequence; it reads at most `len` bytes, and what
        // `xed_fields` reads is filled once xed_decode has succeeded.
        unsafe {
            xed_decoded_inst_zero(xedd.as_mut_ptr());
            xed_decoded_inst_set_mode(xedd.as_mut_ptr(), mode, width);
            let len = bytes.len().min(15) as u32;
            if xed_decode(xedd.as_mut_ptr(), bytes.as_ptr(), len) != XED_ERROR_NONE {
                return None;
            }
            Some(xed_fields(xedd.as_ptr()))
        }
    }

    pub fn xed_len(&self, bytes: &[u8], wide: bool) -> Option<u8> {
        self.xed(bytes, wide).map(|x| x.len)
    }
}

pub struct Xed {
    pub len: u8,
    pub disp: Field,
    pub imm: Field,
    /// General registers that are operands or addresses, and whether rsp is written.
    pub gp: u32,
    pub writes_sp: bool,
}

/// Number of a general register of any width.
unsafe fn xed_number(reg: xed_reg_enum_t) -> Option<u32> {
    let full = xed_get_largest_enclosing_register(reg);
    (XED_REG_RAX..=XED_REG_R31)
        .contains(&full)
        .then(|| full - XED_REG_RAX)
}

unsafe fn xed_fields(d: *const xed_decoded_inst_t) -> Xed {
    let at = xed3_operand_get_pos_disp(d) as u8;
    let mut disp = Field::new(
        at,
        xed_decoded_inst_get_memory_displacement_width(d, 0) as u8,
    );
    let second = (xed3_operand_get_pos_imm1(d) != 0) as u8;
    let mut imm = Field::new(
        xed3_operand_get_pos_imm(d) as u8,
        xed_decoded_inst_get_immediate_width(d) as u8 + second,
    );
    if imm.off == 0 {
        imm = Field::default(); // shifts by one have a 1 there that is not encoded
    }
    let branch = xed_decoded_inst_get_branch_displacement_width(d) as u8;
    if branch != 0 {
        (disp, imm) = (Field::default(), Field::new(at, branch));
    }
    let (mut gp, mut writes_sp) = (0, false);
    let mut add = |reg, written| {
        if let Some(n) = xed_number(reg) {
            gp |= 1 << n;
            writes_sp |= written && n == 4;
        }
    };
    let inst = xed_decoded_inst_inst(d);
    for n in 0..xed_inst_noperands(inst) {
        let op = xed_inst_operand(inst, n);
        let name = xed_operand_name(op);
        if xed_operand_is_register(name) != 0 {
            add(
                xed_decoded_inst_get_reg(d, name),
                xed_operand_written(op) != 0,
            );
        }
    }
    for n in 0..xed_decoded_inst_number_of_memory_operands(d) {
        add(xed_decoded_inst_get_base_reg(d, n), false);
        add(xed_decoded_inst_get_index_reg(d, n), false);
    }
    Xed {
        len: xed_decoded_inst_get_length(d) as u8,
        disp,
        imm,
        gp,
        writes_sp,
    }
}

fn iced_flow(insn: &Instruction) -> Flow {
    use Mnemonic::*;
    if matches!(
        insn.code(),
        Code::Retnw
            | Code::Retnw_imm16
            | Code::Retnd
            | Code::Retnd_imm16
            | Code::Retnq
            | Code::Retnq_imm16
    ) {
        return Flow::Ret;
    }
    match insn.mnemonic() {
        Syscall | Sysenter | Sysret | Sysretq | Sysexit | Sysexitq | Hlt | Rsm => {
            return Flow::Other
        }
        Skinit | Iret | Iretd | Iretq | Uiret | Eretu | Erets | Retf => return Flow::Other,
        Xbegin => return Flow::Jcc,
        Bound | Xabort | Xend | Vmlaunch | Vmresume | Vmcall | Vmmcall | Vmgexit | Vmrun => {
            return Flow::Next
        }
        Tdcall | Seamcall | Seamret => return Flow::Next,
        _ => {}
    }
    match insn.flow_control() {
        FlowControl::Next => Flow::Next,
        FlowControl::UnconditionalBranch if insn.is_jmp_far() => Flow::Other,
        FlowControl::UnconditionalBranch => Flow::Jmp,
        FlowControl::IndirectBranch if insn.is_jmp_far_indirect() => Flow::Other,
        FlowControl::IndirectBranch => Flow::JmpInd,
        FlowControl::ConditionalBranch => Flow::Jcc,
        FlowControl::Call if insn.is_call_near() => Flow::Call,
        FlowControl::IndirectCall if insn.is_call_near_indirect() => Flow::CallInd,
        _ => Flow::Other,
    }
}

fn zydis_flow(insn: &DecodedInstruction, relative: bool) -> Flow {
    let near = insn.meta.branch_type != BranchType::FAR;
    match insn.mnemonic {
        Z::HLT | Z::UD0 | Z::UD1 | Z::UD2 | Z::UIRET => return Flow::Other,
        Z::BOUND | Z::XABORT | Z::XEND => return Flow::Next,
        _ => {}
    }
    match insn.meta.category {
        InstructionCategory::COND_BR => Flow::Jcc,
        InstructionCategory::UNCOND_BR if relative => Flow::Jmp,
        InstructionCategory::UNCOND_BR if near => Flow::JmpInd,
        InstructionCategory::CALL if relative => Flow::Call,
        InstructionCategory::CALL if near => Flow::CallInd,
        InstructionCategory::RET if near && insn.meta.branch_type != BranchType::NONE => Flow::Ret,
        InstructionCategory::RET
        | InstructionCategory::UNCOND_BR
        | InstructionCategory::CALL
        | InstructionCategory::INTERRUPT
        | InstructionCategory::SYSCALL
        | InstructionCategory::SYSRET => Flow::Other,
        _ => Flow::Next,
    }
}

fn zydis_view(insn: &DecodedInstruction, operands: &[DecodedOperand], wide: bool) -> View {
    let raw = &insn.raw;
    let bytes = (raw.imm[0].size + raw.imm[1].size) / 8;
    let relative = raw.imm[0].is_relative;
    let flow = zydis_flow(insn, relative);
    let end = ip(wide).wrapping_add(insn.length as u64);
    // the binding's raw.modrm is not to be trusted: its layout is off by one byte
    let rip = operands.iter().any(|o| match &o.kind {
        DecodedOperandKind::Mem(m) => matches!(m.base, Register::RIP | Register::EIP),
        _ => false,
    });
    let rip = rip.then(|| {
        let a = end.wrapping_add(raw.disp.value as u64);
        if insn.address_width == 32 {
            a & 0xffff_ffff
        } else {
            a
        }
    });
    View {
        len: insn.length,
        flow,
        disp: Field::new(raw.disp.offset, raw.disp.size / 8),
        imm: Field::new(raw.imm[0].offset, bytes),
        rip,
        target: relative.then(|| {
            wrap(
                end.wrapping_add(raw.imm[0].value),
                wide,
                insn.operand_width == 16,
            )
        }),
    }
}
