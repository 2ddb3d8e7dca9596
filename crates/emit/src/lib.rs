// SPDX-License-Identifier: MIT
//! From the typed program to a module file: C text, the C compiler, the
//! layout of its object file.

pub mod link;
