// SPDX-License-Identifier: MIT
//! Where a value lives, in terms that need no knowledge of DWARF.
//!
//! A [`Location`] holds at one program counter only. Its [`LocOp`] lists run on a small stack of
//! 64-bit words (32-bit ones on a 32-bit machine), empty at the start, one value at the end.

use crate::die::DieRef;
use trapless_machine::Registers;

/// One step on a stack of machine words. Register numbers are DWARF's ([`Registers`] has their names).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LocOp {
    /// Push the register's value at the probe point.
    Reg(u16),
    /// Push the value the register had at the entry of the function. At the entry itself it is a
    /// `Reg`; elsewhere somebody has to keep it there.
    EntryReg(u16),
    /// Push a number.
    Const(u64),
    /// Push the run-time address of this file address (add the load bias).
    Addr(u64),
    /// Push the address of this offset in the thread-local block of this module.
    Tls(u64),
    /// Pop an address, push the zero-extended value of that many bytes of target memory.
    Deref(u8),
    /// Add a number to the top.
    PlusConst(u64),
    /// Pop b, pop a, push `a + b` (likewise below; comparisons are signed and push 0 or 1).
    Plus,
    Minus,
    Mul,
    /// Signed division.
    Div,
    /// Unsigned remainder.
    Mod,
    And,
    Or,
    Xor,
    Shl,
    /// Logical shift right.
    Shr,
    /// Arithmetic shift right.
    Sar,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// Replace the top.
    Neg,
    Not,
    Abs,
    Drop,
    /// Push a copy of the entry n below the top (0 is the top: `dup`; 1: `over`).
    Pick(u8),
    Swap,
    /// Move the top below the two entries under it.
    Rot,
    /// Sign-extend the top from that many bytes.
    SignExtend(u8),
    /// Zero-extend the top from that many bytes.
    ZeroExtend(u8),
}

/// Where a variable is at one program counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// In memory; the operations leave its address. Can be written.
    Memory(Vec<LocOp>),
    /// In a register, in its low bytes. Can be written.
    Register(u16),
    /// Nowhere, but its value can be computed; the operations leave the value.
    Value(Vec<LocOp>),
    /// A constant that needs more than a word, in target byte order.
    Bytes(Vec<u8>),
    /// In several parts, lowest address first.
    Pieces(Vec<Piece>),
    /// A pointer that is nowhere, while what it points to is ([`Binary::locate_pointed`](crate::Binary::locate_pointed)).
    Pointer(Pointed),
    /// The compiler removed it.
    OptimizedOut,
}

/// So many bytes behind the start of another variable of that size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointed {
    pub(crate) die: DieRef,
    pub size: u64,
    pub offset: i64,
}

/// One part of a split value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Size in bits.
    pub bits: u32,
    /// First bit within the place.
    pub bit_offset: u32,
    /// `OptimizedOut` for a missing part; never `Pieces` itself.
    pub place: Location,
}

fn place(ops: &[LocOp], registers: &Registers) -> String {
    match ops {
        [LocOp::Addr(a)] => format!("{a:#x} of the file"),
        [LocOp::Tls(n)] => format!("{n} of the thread's own"),
        [LocOp::Reg(r)] => registers.name(*r),
        [LocOp::Reg(r), LocOp::PlusConst(n)] => format!("{}{:+}", registers.name(*r), *n as i64),
        _ => "an address that is computed".to_string(),
    }
}

impl Location {
    /// In few words: `in rdi`, `in memory at rbp-20`.
    pub fn in_words(&self, registers: &Registers) -> String {
        let other = match self {
            Location::Register(r) => return format!("in {}", registers.name(*r)),
            Location::Memory(ops) => return format!("in memory at {}", place(ops, registers)),
            Location::Value(ops) => match ops[..] {
                [LocOp::Const(n)] => return format!("the constant {}", n as i64),
                [LocOp::EntryReg(r)] => return format!("what {} held at entry", registers.name(r)),
                _ => "computed where it is read",
            },
            Location::Pieces(p) => return format!("in {} parts", p.len()),
            Location::Bytes(_) => "a constant",
            Location::Pointer(_) => "a pointer that is nowhere",
            Location::OptimizedOut => "removed by the compiler",
        };
        other.to_string()
    }

    /// Whether some value is there at all (pieces: every one).
    pub fn is_readable(&self) -> bool {
        match self {
            Location::OptimizedOut | Location::Pointer(_) => false,
            Location::Pieces(p) => p.iter().all(|p| p.place.is_readable()),
            _ => true,
        }
    }

    /// Whether reading needs a register's value from function entry.
    pub(crate) fn needs_entry(&self) -> bool {
        self.uses(|op| matches!(op, LocOp::EntryReg(_)))
    }

    /// Whether it counts from where the file lies.
    pub fn is_of_file(&self) -> bool {
        self.uses(|op| matches!(op, LocOp::Addr(_)))
    }

    fn uses(&self, wanted: fn(&LocOp) -> bool) -> bool {
        match self {
            Location::Memory(ops) | Location::Value(ops) => ops.iter().any(wanted),
            Location::Pieces(p) => p.iter().any(|p| p.place.uses(wanted)),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_in_words() {
        let registers = &<&trapless_machine::Machine>::default().abi.registers;
        let frame = vec![LocOp::Reg(6), LocOp::PlusConst(-20i64 as u64)];
        let all = [
            (Location::Register(5), "in rdi"),
            (Location::Register(18), "in xmm1"),
            (Location::Memory(frame), "in memory at rbp-20"),
            (Location::Value(vec![LocOp::Const(7)]), "the constant 7"),
            (Location::OptimizedOut, "removed by the compiler"),
        ];
        for (location, want) in all {
            assert_eq!(location.in_words(registers), want);
        }
    }
}
