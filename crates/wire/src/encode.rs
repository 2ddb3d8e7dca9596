// SPDX-License-Identifier: MIT
//! Bytes in the target's order.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Endian {
    Little,
    Big,
}

/// The target that a module is made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    /// ELF `e_machine`.
    pub elf: u16,
    /// 32 or 64.
    pub word: u8,
    pub endian: Endian,
}

impl Machine {
    pub const X86_64: Machine = Machine {
        elf: 62,
        word: 64,
        endian: Endian::Little,
    };
}

/// Appends integers in one byte order.
#[derive(Debug)]
pub struct Encoder {
    pub bytes: Vec<u8>,
    endian: Endian,
}

macro_rules! put {
    ($($name:ident $ty:ty;)*) => {
        $(pub fn $name(&mut self, v: $ty) {
            match self.endian {
                Endian::Little => self.bytes.extend_from_slice(&v.to_le_bytes()),
                Endian::Big => self.bytes.extend_from_slice(&v.to_be_bytes()),
            }
        })*
    };
}

impl Encoder {
    pub fn new(endian: Endian) -> Encoder {
        Encoder {
            bytes: Vec::new(),
            endian,
        }
    }

    put! { u16 u16; u32 u32; u64 u64; i64 i64; }

    pub fn u8(&mut self, v: u8) {
        self.bytes.push(v);
    }

    pub fn align(&mut self, to: usize) {
        while self.bytes.len() % to != 0 {
            self.bytes.push(0);
        }
    }
}
