// SPDX-License-Identifier: MIT
//! The decoder under test, through its C interface (engine/insn/x86/insn.h).
use crate::view::{ip, Field, Flow, View};

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Insn {
    pub len: u8,
    pub prefix_len: u8,
    pub opcode_off: u8,
    pub opcode: u8,
    pub map: u8,
    pub modrm_off: u8,
    pub disp_off: u8,
    pub disp_size: u8,
    pub imm_off: u8,
    pub imm_size: u8,
    pub imm2_size: u8,
    pub op_size: u8,
    pub addr_size: u8,
    pub rex: u8,
    pub flow: u8,
    pub cond: u8,
    pub flags: u16,
    pub row: u16,
    pub egpr: u8,
    pub vvvv: u8,
    pub rel: i64,
    pub disp: i64,
    pub bytes: [u8; 15],
}

extern "C" {
    fn tl_insn_decode(insn: *mut Insn, buf: *const u8, max: usize, mode: u32) -> i32;
    fn tl_insn_gp_used(insn: *const Insn) -> u32;
    fn tl_insn_is_nop(insn: *const Insn) -> bool;
    fn tl_insn_ends_block(insn: *const Insn) -> bool;
    fn tl_insn_is_boostable(insn: *const Insn) -> bool;
}

pub const RIP_REL: u16 = 1 << 0;
pub const LOCK: u16 = 1 << 1;
pub const REP: u16 = 1 << 2;
pub const PRIV: u16 = 1 << 3;
pub const USES_SP: u16 = 1 << 6;
pub const SETS_SP: u16 = 1 << 8;
pub const STRING: u16 = 1 << 10;
pub const VEX: u16 = 1 << 11;
pub const EVEX: u16 = 1 << 12;
pub const REX2: u16 = 1 << 13;

pub fn decode(bytes: &[u8], wide: bool) -> Option<Insn> {
    let mut insn = Insn::default();
    (decode_into(&mut insn, bytes, wide) > 0).then_some(insn)
}

/// As C callers do it: into the same memory again and again. The length, 0 if invalid.
pub fn decode_into(insn: &mut Insn, bytes: &[u8], wide: bool) -> usize {
    // SAFETY: the decoder reads at most `max` bytes and writes only `insn`.
    unsafe { tl_insn_decode(insn, bytes.as_ptr(), bytes.len(), wide as u32) as usize }
}

/// Answers of attr.c.
pub struct Attr {
    pub gp: u32,
    pub nop: bool,
    pub ends: bool,
    pub boostable: bool,
}

pub fn attr(i: &Insn) -> Attr {
    // SAFETY: `i` was filled by tl_insn_decode; these only read it.
    unsafe {
        Attr {
            gp: tl_insn_gp_used(i),
            nop: tl_insn_is_nop(i),
            ends: tl_insn_ends_block(i),
            boostable: tl_insn_is_boostable(i),
        }
    }
}

pub fn view(insn: &Insn, wide: bool) -> View {
    let at = ip(wide).wrapping_add(insn.len as u64);
    let flow = match insn.flow {
        0 => Flow::Next,
        1 => Flow::Jcc,
        2 => Flow::Jmp,
        3 => Flow::Call,
        4 => Flow::JmpInd,
        5 => Flow::CallInd,
        6 => Flow::Ret,
        _ => Flow::Other,
    };
    let legacy = insn.flags & (VEX | EVEX | REX2) == 0;
    let moffs = legacy && insn.map == 0 && (0xa0..=0xa3).contains(&insn.opcode);
    let mut disp = Field::new(insn.disp_off, insn.disp_size);
    let mut imm = Field::new(insn.imm_off, insn.imm_size + insn.imm2_size);
    if moffs {
        (disp, imm) = (imm, disp);
    }
    let direct = matches!(flow, Flow::Jcc | Flow::Jmp | Flow::Call);
    let rip = (insn.flags & RIP_REL != 0).then(|| {
        let a = at.wrapping_add(insn.disp as u64);
        if insn.addr_size == 4 {
            a & 0xffff_ffff
        } else {
            a
        }
    });
    let target = direct.then(|| wrap(at.wrapping_add(insn.rel as u64), wide, insn.op_size == 2));
    View {
        len: insn.len,
        flow,
        disp,
        imm,
        rip,
        target,
    }
}

/// 32-bit mode: the low half is what counts, with a 66 prefix the low 16 bits.
pub fn wrap(target: u64, wide: bool, short: bool) -> u64 {
    match (wide, short) {
        (true, _) => target,
        (false, false) => target & 0xffff_ffff,
        (false, true) => target & 0xffff,
    }
}
