// SPDX-License-Identifier: MIT
//! In the place of xed.rs where XED, which takes minutes to build, is not asked.
use crate::view::Xed;

pub const HERE: bool = false;

pub fn decode(_: &[u8], _: bool) -> Option<Xed> {
    None
}
