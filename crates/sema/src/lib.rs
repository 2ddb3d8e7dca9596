// SPDX-License-Identifier: MIT
//! The semantic passes: from a syntax tree to a typed program.

pub mod ir;
pub mod points;
mod process_points;
mod session_points;
pub mod target;
pub mod world;
