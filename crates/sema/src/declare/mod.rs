// SPDX-License-Identifier: MIT
//! What is declared, and probes as they are once nothing stands for something else.

pub(crate) mod alias_variables;
pub(crate) mod alternatives;
pub mod arguments;
pub(crate) mod assigned;
pub(crate) mod call_entries;
pub(crate) mod calls;
pub mod collect;
pub mod declarations;
pub mod expand;
pub(crate) mod file_value;
pub(crate) mod foreach_globals;
pub mod loader;
pub(crate) mod names;
pub mod tapset;
pub mod unit;
pub(crate) mod unused;
