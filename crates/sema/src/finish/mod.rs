// SPDX-License-Identifier: MIT
//! What is decided once all bodies are typed: probes and handlers that are made, locks, limits; and what is complained of then.

pub(crate) mod display;
pub(crate) mod early;
pub(crate) mod entered;
mod made;
pub(crate) mod nesting;
pub(crate) mod registers;
pub(crate) mod rows;
pub(crate) mod share;
pub(crate) mod walked;
