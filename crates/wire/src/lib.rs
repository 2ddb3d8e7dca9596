// SPDX-License-Identifier: MIT
//! The Rust mirror of `include/trapless/wire.h`: writes module files, and knows what records are.
//!
//! Names, order and sizes of fields are those of the header, which has the
//! explanations; `tests/layout.rs` holds the two against each other.

mod encode;
mod record;
mod tap;

pub use encode::Encoder;
pub use record::*;
pub use tap::*;
