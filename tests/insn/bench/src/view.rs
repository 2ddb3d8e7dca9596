// SPDX-License-Identifier: MIT
//! What is compared, in terms that every decoder can be asked for.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Next,
    Jcc,
    Jmp,
    Call,
    JmpInd,
    CallInd,
    Ret,
    /// Far transfers, traps, system calls, halts: the references group these differently.
    Other,
}

/// A field of the encoding: where it starts and its size; size 0: none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Field {
    pub off: u8,
    pub size: u8,
}

impl Field {
    pub fn new(off: u8, size: u8) -> Field {
        Field {
            off: if size == 0 { 0 } else { off },
            size,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    pub len: u8,
    pub flow: Flow,
    pub disp: Field,
    pub imm: Field,
    /// Address of a RIP-relative operand for an instruction at `IP`.
    pub rip: Option<u64>,
    /// Target of a direct branch at `IP`.
    pub target: Option<u64>,
}

pub const IP64: u64 = 0x7fff_1234_5678;
pub const IP32: u64 = 0x1234_5678;

pub fn ip(wide: bool) -> u64 {
    if wide {
        IP64
    } else {
        IP32
    }
}

/// What XED says.
#[cfg_attr(not(feature = "xed"), allow(dead_code))]
pub struct Xed {
    pub len: u8,
    pub disp: Field,
    pub imm: Field,
    /// General registers that are operands or addresses, and whether rsp is written.
    pub gp: u32,
    pub writes_sp: bool,
}
