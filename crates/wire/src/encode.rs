// SPDX-License-Identifier: MIT
//! Bytes in the target's order.

use trapless_machine::ByteOrder;

/// Appends integers in one byte order.
#[derive(Debug)]
pub struct Encoder {
    pub bytes: Vec<u8>,
    order: ByteOrder,
}

macro_rules! put {
    ($($name:ident $ty:ty;)*) => {
        $(pub fn $name(&mut self, v: $ty) {
            self.order.append(&mut self.bytes, v as u64, std::mem::size_of::<$ty>() as u8);
        })*
    };
}

impl Encoder {
    pub fn new(order: ByteOrder) -> Encoder {
        Encoder {
            bytes: Vec::new(),
            order,
        }
    }

    put! { u16 u16; u32 u32; u64 u64; i64 i64; }

    pub fn u8(&mut self, v: u8) {
        self.bytes.push(v);
    }

    pub fn align(&mut self, to: usize) {
        while !self.bytes.len().is_multiple_of(to) {
            self.bytes.push(0);
        }
    }
}
