// SPDX-License-Identifier: MIT
//! Pass 2: from syntax trees to a typed program, by the passes that [`passes::CHECKING`] and [`passes::FINISHING`] list.
//!
//! - [`declare`]: what is declared, and probes with aliases expanded
//! - [`points`]: probe points to files and addresses
//! - [`types`]: types of variables, arrays and functions
//! - [`target`]: `$variables`, to registers and memory
//! - [`lower`]: bodies to the [`ir`]
//! - `finish`: what is decided once all bodies are there

pub mod declare;
mod finish;
mod hand_over;
pub mod ir;
pub mod lower;
mod not_built;
pub mod passes;
pub mod points;
pub mod regex;
pub mod target;
pub mod types;
pub mod walk;
pub mod world;

pub use passes::{analyse, check, Input};
pub use points::running::program as running_program;
pub use trapless_debuginfo::leftover;
