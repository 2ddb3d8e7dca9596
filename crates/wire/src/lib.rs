// SPDX-License-Identifier: MIT
//! The Rust mirror of `include/trapless/wire.h`: writes module files.
//!
//! Names, order and sizes of fields are those of the header, which has the
//! explanations; `tests/layout.rs` holds the two against each other.

mod encode;
mod tap;

pub use encode::Encoder;
pub use tap::*;
