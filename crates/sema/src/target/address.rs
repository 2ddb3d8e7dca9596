// SPDX-License-Identifier: MIT
//! Addresses put together.

use crate::ir::{Addr, BinOp};

pub(super) fn load(addr: Addr, size: u8, signed: bool) -> Addr {
    Addr::Load {
        addr: Box::new(addr),
        size,
        signed,
    }
}

pub(super) fn plus(a: Addr, n: i64) -> Addr {
    match (n, a) {
        (0, a) => a,
        (n, Addr::Const(m)) => Addr::Const(m.wrapping_add(n)),
        (n, Addr::Image { image, vaddr }) => Addr::Image {
            image,
            vaddr: vaddr.wrapping_add(n as u64),
        },
        (n, a) => Addr::Binary(BinOp::Add, Box::new(a), Box::new(Addr::Const(n))),
    }
}
