// SPDX-License-Identifier: MIT
//! Words of DWARF: what units and entries are called here, and how their bytes are read.

use crate::elf::Elf;
use gimli::{
    constants as dw, AttributeValue, DebuggingInformationEntry, EndianSlice, RunTimeEndian,
};

pub(crate) type R = EndianSlice<'static, RunTimeEndian>;
pub(crate) type Unit = gimli::Unit<R>;
pub(crate) type Die<'u> = DebuggingInformationEntry<'u, 'u, R>;
pub(crate) type Value = AttributeValue<R>;

/// One entry: unit number and offset in the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DieRef {
    pub unit: u32,
    pub offset: usize,
}

const OFFSET_BITS: u32 = 38;

impl DieRef {
    pub fn key(self) -> u64 {
        (u64::from(self.unit) << OFFSET_BITS) | self.offset as u64
    }

    pub fn from_key(key: u64) -> DieRef {
        DieRef {
            unit: (key >> OFFSET_BITS) as u32,
            offset: (key & ((1 << OFFSET_BITS) - 1)) as usize,
        }
    }
}

/// A named entry at file, namespace or class scope, or a function, wherever it stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub offset: usize,
    /// Behind the last entry inside, where those were looked at; else 0.
    pub end: usize,
    /// Index of the enclosing entry.
    pub parent: u32,
    pub tag: dw::DwTag,
    pub name: Option<&'static [u8]>,
    pub linkage: Option<&'static [u8]>,
    pub declaration: bool,
    pub low: Option<u64>,
    pub high: u64,
    pub has_ranges: bool,
    pub origin: Option<DieRef>,
}

pub(crate) fn endian(elf: &Elf) -> RunTimeEndian {
    match elf.endian {
        object::Endianness::Little => RunTimeEndian::Little,
        object::Endianness::Big => RunTimeEndian::Big,
    }
}

pub(crate) fn text(b: &[u8]) -> String {
    String::from_utf8_lossy(b).into_owned()
}

pub(crate) fn is_composite(tag: dw::DwTag) -> bool {
    matches!(
        tag,
        dw::DW_TAG_structure_type
            | dw::DW_TAG_union_type
            | dw::DW_TAG_class_type
            | dw::DW_TAG_interface_type
    )
}
