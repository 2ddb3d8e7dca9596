// SPDX-License-Identifier: MIT
//! What attr.c and the flags say, against what iced knows of operands.
use crate::ours::{self, Insn};
use crate::view::{View, Xed};
use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register};

/// Everything wrong with the answers for one instruction.
pub fn check(
    i: &Insn,
    instr: &Instruction,
    factory: &mut InstructionInfoFactory,
) -> Vec<&'static str> {
    let a = ours::attr(i);
    let mut bad = Vec::new();
    let info = factory.info(instr);
    let mut gp = 0u32;
    let (mut reads_sp, mut writes_sp) = (false, false);
    for used in info.used_registers() {
        let full = used.register().full_register();
        if !full.is_gpr() {
            continue;
        }
        gp |= 1 << full.number();
        if full == Register::RSP {
            reads_sp = true;
            writes_sp |= !matches!(used.access(), OpAccess::Read | OpAccess::CondRead);
        }
    }
    if gp & !a.gp != 0 {
        bad.push("gp_used");
    }
    if reads_sp && i.flags & (ours::USES_SP | ours::SETS_SP) == 0 {
        bad.push("USES_SP");
    }
    if writes_sp && i.flags & ours::SETS_SP == 0 && !instr.is_stack_instruction() {
        bad.push("SETS_SP");
    }
    if instr.has_lock_prefix() != (i.flags & ours::LOCK != 0) {
        bad.push("LOCK");
    }
    let string = instr.is_string_instruction();
    if string != (i.flags & ours::STRING != 0) {
        bad.push("STRING");
    }
    if string && (instr.has_rep_prefix() || instr.has_repne_prefix()) != (i.flags & ours::REP != 0)
    {
        bad.push("REP");
    }
    if instr.is_privileged()
        && i.flags & ours::PRIV == 0
        && !matches!(instr.mnemonic(), Mnemonic::Getsec)
    {
        bad.push("PRIV");
    }
    let nop = matches!(instr.mnemonic(), Mnemonic::Nop);
    if a.nop && !nop {
        bad.push("is_nop");
    }
    let stops = matches!(
        instr.flow_control(),
        FlowControl::UnconditionalBranch
            | FlowControl::IndirectBranch
            | FlowControl::Return
            | FlowControl::Exception
    );
    if a.ends != (stops || instr.mnemonic() == Mnemonic::Hlt) {
        bad.push("ends_block");
    }
    let flows = !matches!(instr.flow_control(), FlowControl::Next);
    if a.boostable && flows && !goes_on(instr) {
        bad.push("is_boostable");
    }
    if a.boostable && instr.is_ip_rel_memory_operand() {
        bad.push("is_boostable");
    }
    bad
}

/// The same for APX, where XED is the one to ask.
pub fn check_apx(i: &Insn, mine: &View, x: &Xed) -> Vec<&'static str> {
    let mut bad = Vec::new();
    // XED gives the size after scaling EVEX's disp8
    let scaled = i.flags & ours::EVEX != 0 && mine.disp.size == 1;
    if mine.disp.off != x.disp.off || (mine.disp != x.disp && !scaled) {
        bad.push("disp");
    }
    if mine.imm != x.imm {
        bad.push("imm");
    }
    // XED lists the register of hints that are no more than nops
    let hint = i.map == 1 && matches!(i.opcode, 0x0d | 0x18..=0x1f);
    if x.gp & !ours::attr(i).gp != 0 && !hint {
        bad.push("gp_used");
    }
    if !hint && x.gp & 1 << 4 != 0 && i.flags & (ours::USES_SP | ours::SETS_SP) == 0 {
        bad.push("USES_SP");
    }
    let moves = i.flags & ours::USES_SP != 0; // push and pop; anything else has to say that it writes
    if x.writes_sp && i.flags & ours::SETS_SP == 0 && !(moves && is_push_pop(i)) {
        bad.push("SETS_SP");
    }
    bad
}

fn is_push_pop(i: &Insn) -> bool {
    matches!(
        (i.map, i.opcode),
        (
            0,
            0x50..=0x5f | 0x68 | 0x6a | 0x8f | 0x9c | 0x9d | 0xc2 | 0xc3 | 0xcf | 0xff
        )
    ) || matches!(
        (i.map, i.opcode),
        (0, 0xca | 0xcb) | (1, 0xa0 | 0xa1 | 0xa8 | 0xa9) | (4, 0x8f | 0xff)
    )
}

/// iced counts these as calls; they do go on with the next instruction.
fn goes_on(instr: &Instruction) -> bool {
    use Mnemonic::*;
    matches!(
        instr.mnemonic(),
        Vmcall | Vmmcall | Vmgexit | Xend | Xabort | Bound
    )
}
