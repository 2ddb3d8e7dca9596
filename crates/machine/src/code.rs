// SPDX-License-Identifier: MIT
//! What a machine's instructions look like, as far as that is asked for without running them.

/// An instruction that leads to an address that it holds.
#[derive(Debug)]
pub struct Branch {
    /// Its bytes, and those of what always runs with it (a delay slot).
    pub size: u64,
    /// Where the one at this address leads; `None`: these bytes are another instruction.
    pub target: fn(at: u64, code: &[u8]) -> Option<u64>,
}

/// Jumps by a word that the dynamic linker fills in.
#[derive(Debug)]
pub struct Linkage {
    /// Finds them in the code of a linkage table that lies at this address.
    pub jumps: fn(at: u64, code: &[u8], found: &mut dyn FnMut(LinkageJump)),
    /// Bytes of one that we write.
    pub stub_size: u64,
    /// One at this address, by the word there; `None`: it does not reach.
    pub stub: fn(at: u64, slot: u64) -> Option<Vec<u8>>,
    /// What traps, to fill with.
    pub filler: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkageJump {
    pub start: u64,
    pub end: u64,
    pub slot: u64,
}

/// The instruction that asks the kernel.
#[derive(Debug)]
pub struct SyscallCode {
    pub size: u64,
    /// The register in which a return's handler gets the call's number: the kernel leaves nothing of use there.
    pub noted_number: u16,
    /// Offsets of what reads as one, without those that return from signal handlers, or end threads without a stack.
    pub sites: fn(code: &[u8]) -> Vec<usize>,
}

/// An operand of an instruction. What is only text may name a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand<'a> {
    Constant(&'a str),
    /// Its low bytes, from bit `shift` on.
    Register {
        register: u16,
        shift: u8,
    },
    Memory {
        base: Option<u16>,
        /// And its scale.
        index: Option<(u16, u8)>,
        displacement: &'a str,
        /// Counted from the instruction.
        by_instruction: bool,
    },
    /// Why it cannot be read.
    Unreadable(&'static str),
}
