// SPDX-License-Identifier: MIT
//! What words of a file that is still to be linked will lead to, as its relocations tell.

use crate::elf::Elf;
use std::collections::HashMap;

/// A section's number, and bytes from its beginning.
pub(crate) type Spot = (usize, u64);

/// The words of some sections that lead somewhere.
pub(crate) struct Unlinked<'a> {
    pub elf: &'a Elf,
    leads: HashMap<Spot, Spot>,
}

impl<'a> Unlinked<'a> {
    pub fn new(elf: &'a Elf, sections: &[&str]) -> Unlinked<'a> {
        let symbols = elf.symbol_places();
        let mut leads = HashMap::new();
        for name in sections {
            let Some(section) = elf.section_number(name) else {
                continue;
            };
            for r in elf.relocations(&format!(".rela{name}")) {
                if let Some((to, at)) = symbols.get(r.symbol) {
                    leads.insert((section, r.addr), (*to, at.wrapping_add(r.addend)));
                }
            }
        }
        Unlinked { elf, leads }
    }

    /// Where the word so many bytes behind a spot leads to.
    pub fn follow(&self, from: Spot, offset: u64) -> Option<Spot> {
        self.leads.get(&(from.0, from.1 + offset)).copied()
    }

    /// Up to a zero.
    pub fn text(&self, at: Spot) -> Option<&'static str> {
        let from = self.elf.contents(at.0)?.get(at.1 as usize..)?;
        std::str::from_utf8(&from[..memchr::memchr(0, from)?]).ok()
    }
}
