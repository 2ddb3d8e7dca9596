// SPDX-License-Identifier: MIT
//! The program linkage table: small jumps, each by a word that the dynamic linker fills in.

use crate::binary::Binary;
use std::collections::BTreeMap;
use std::collections::HashMap;

/// One of those jumps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PltEntry {
    /// What it leads to.
    pub name: String,
    pub addr: u64,
    /// Up to the jump's end.
    pub size: u64,
}

const SECTIONS: [&str; 5] = [".plt", ".plt.sec", ".plt.got", ".plt.bnd", ".iplt"];
const RELOCATIONS: [&str; 3] = [".rela.plt", ".rela.iplt", ".rela.dyn"];

impl Binary {
    /// The entries by address. With `.plt.sec` those of `.plt` only load numbers for the linker: nobody calls them.
    pub fn plt(&self) -> Vec<PltEntry> {
        let slots = self.slots();
        let mut found = BTreeMap::new();
        for name in SECTIONS {
            let Some(at) = self.elf.section_addr(name) else {
                continue;
            };
            (self.machine.linkage.jumps)(at, self.elf.section(name), &mut |jump| {
                let entry = slots.get(&jump.slot).map(|name| PltEntry {
                    name: name.clone(),
                    addr: jump.start,
                    size: jump.end - jump.start,
                });
                found.extend(entry.map(|e| (e.addr, e)));
            });
        }
        found.into_values().collect()
    }

    /// What the words are filled with, by their addresses.
    fn slots(&self) -> HashMap<u64, String> {
        let numbers = &self.machine.dynamic;
        let mut slots = HashMap::new();
        for r in RELOCATIONS.iter().flat_map(|s| self.elf.relocations(s)) {
            let by_name = r.kind == numbers.jump_slot || Some(r.kind) == numbers.glob_dat;
            let target = match by_name {
                true => self.dynamic_name(r.symbol),
                false if r.kind == numbers.irelative => self.resolver_name(r.addend),
                false => None,
            };
            slots.extend(target.map(|t| (r.addr, t)));
        }
        slots
    }

    fn dynamic_name(&self, symbol: usize) -> Option<String> {
        let (name, ..) = self.elf.dynamic_symbol(symbol)?;
        (!name.is_empty()).then(|| name.to_string())
    }

    /// In a static program: of the function that chooses the one to call.
    fn resolver_name(&self, addr: u64) -> Option<String> {
        let symbol = self.symbols().entries_at(addr).find(|s| s.kind.is_code())?;
        Some(symbol.name.to_string())
    }
}
