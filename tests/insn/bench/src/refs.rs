// SPDX-License-Identifier: MIT
//! The references: iced-x86 and Zydis. XED, a third one, is in xed.rs.
use crate::ours::wrap;
use crate::view::{ip, Field, Flow, View};
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};
use zydis::ffi::{DecodedInstruction, DecodedOperand, DecodedOperandKind};
use zydis::Mnemonic as Z;
use zydis::{BranchType, InstructionCategory, Register, VisibleOperands};

pub struct Refs {
    zydis: [zydis::Decoder; 2],
}

impl Refs {
    pub fn new() -> Refs {
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
