// SPDX-License-Identifier: MIT
//! The semantic passes: from a syntax tree to a typed program.

pub mod ir;
