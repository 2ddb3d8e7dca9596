// SPDX-License-Identifier: MIT
//! DWARF units.

/// One entry: unit number and offset in the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct DieRef {
    pub unit: u32,
    pub offset: usize,
}

pub(crate) struct Dwarf {}
