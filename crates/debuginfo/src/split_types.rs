// SPDX-License-Identifier: MIT
//! Type units of split DWARF: they are in the `.dwo` files or the package alone, with no skeleton beside the program's
//! units, and so have numbers behind those.

use crate::die::Entry;
use crate::die::{DieRef, Unit, R};
use crate::dwarf::Dwarf;
use crate::split::is_spelt;
use gimli::{Section, UnitHeader, UnitType};
use memchr::memmem;
use std::collections::hash_map::{Entry as Place, HashMap};
use std::sync::OnceLock;

#[derive(Default)]
pub(crate) struct SplitTypes {
    units: Vec<TypeUnit>,
    by_signature: HashMap<u64, DieRef>,
}

pub(crate) struct TypeUnit {
    pub unit: Unit,
    from: From,
    pub index: OnceLock<Vec<Entry>>,
}

/// What the unit's offsets refer to.
enum From {
    /// The file of that skeleton's unit.
    File(u32),
    Package(Box<gimli::Dwarf<R>>),
}

impl Dwarf {
    fn split_types(&self) -> &SplitTypes {
        self.split_types.get_or_init(|| {
            let mut all = SplitTypes::default();
            let first = self.units.len() as u32;
            for n in 0..self.info_units as u32 {
                if let Some(split) = self.split(n).filter(|s| !s.is_packed()) {
                    for (header, id, offset) in headers(&split.dwarf) {
                        all.add(first, id, offset, || {
                            let unit = split.dwarf.unit(header).ok()?;
                            Some((unit, From::File(n)))
                        });
                    }
                }
            }
            for dwarf in self.packed_types() {
                // Each row of the package's index is one unit.
                if let Some((header, id, offset)) = headers(&dwarf).pop() {
                    all.add(first, id, offset, || {
                        let unit = dwarf.unit(header).ok()?;
                        Some((unit, From::Package(Box::new(dwarf))))
                    });
                }
            }
            all
        })
    }

    pub fn type_unit(&self, n: u32) -> Option<&TypeUnit> {
        let at = (n as usize).checked_sub(self.units.len())?;
        self.split_types.get()?.units.get(at)
    }

    pub fn dwarf_of_type_unit(&self, n: u32) -> Option<&gimli::Dwarf<R>> {
        match &self.type_unit(n)?.from {
            From::File(skeleton) => Some(&self.split(*skeleton)?.dwarf),
            From::Package(dwarf) => Some(dwarf),
        }
    }

    pub fn split_signature(&self, id: u64) -> Option<DieRef> {
        self.split_types().by_signature.get(&id).copied()
    }

    /// Those that may hold an entry of that name; `hit`: the program's own units whose contents may.
    pub fn types_naming(&self, name: &memmem::Finder<'_>, hit: &[bool]) -> Vec<u32> {
        let mut in_package = None;
        let mut may = |u: &TypeUnit| match &u.from {
            From::File(skeleton) => hit[*skeleton as usize],
            From::Package(dwarf) => {
                // One table of strings for all.
                let in_table = || name.find(dwarf.debug_str.reader().slice()).is_some();
                *in_package.get_or_insert_with(in_table) || is_spelt(name, dwarf)
            }
        };
        let all = (self.units.len() as u32..).zip(&self.split_types().units);
        all.filter(|(_, u)| may(u)).map(|(n, _)| n).collect()
    }
}

impl SplitTypes {
    /// The same type is in many files.
    fn add(
        &mut self,
        first: u32,
        id: u64,
        offset: usize,
        read: impl FnOnce() -> Option<(Unit, From)>,
    ) {
        let Place::Vacant(place) = self.by_signature.entry(id) else {
            return;
        };
        let Some((unit, from)) = read() else { return };
        place.insert(DieRef {
            unit: first + self.units.len() as u32,
            offset,
        });
        self.units.push(TypeUnit {
            unit,
            from,
            index: OnceLock::new(),
        });
    }
}

/// DWARF 5 has them among the others, DWARF 4 in a section of their own.
fn headers(dwarf: &gimli::Dwarf<R>) -> Vec<(UnitHeader<R>, u64, usize)> {
    let mut all = Vec::new();
    let mut keep = |h: UnitHeader<R>| {
        let found = match h.type_() {
            UnitType::Type {
                type_signature: id,
                type_offset: at,
            }
            | UnitType::SplitType {
                type_signature: id,
                type_offset: at,
            } => Some((id.0, at.0)),
            _ => None,
        };
        all.extend(found.map(|(id, at)| (h, id, at)));
    };
    let mut units = dwarf.units();
    while let Ok(Some(h)) = units.next() {
        keep(h);
    }
    let mut types = dwarf.type_units();
    while let Ok(Some(h)) = types.next() {
        keep(h);
    }
    all
}
