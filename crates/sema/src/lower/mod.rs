// SPDX-License-Identifier: MIT
//! From syntax to the typed program: every body at every kind of place.
//!
//! This is the pass that complains: it sees each expression with the types
//! that inference found.

mod auto;
mod bodies;
mod callers;
mod command;
mod condition;
pub mod embedded;
mod enums;
mod expr;
mod globals;
mod handlers;
mod lowerer;
mod matching;
mod print;
mod program;
mod stmt;
mod unresolved;

pub use bodies::{lower_functions, lower_unit, Lowered};
pub use condition::{can_be_armed, lower_condition};
pub use globals::lower_globals;
pub use handlers::{lower_places, Handlers};
use lowerer::{is_error, type_name, up_to_nul, value_type, Reached};
pub use lowerer::{Lowerer, Shared};
