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

const GLOB_DAT: u32 = 6;
const JUMP_SLOT: u32 = 7;
const IRELATIVE: u32 = 37;

impl Binary {
    /// The entries by address. With `.plt.sec` those of `.plt` only load numbers for the linker: nobody calls them.
    pub fn plt(&self) -> Vec<PltEntry> {
        let slots = self.slots();
        let mut found = BTreeMap::new();
        for name in SECTIONS {
            if let Some(at) = self.elf.section_addr(name) {
                scan(at, self.elf.section(name), &slots, &mut found);
            }
        }
        found.into_values().collect()
    }

    /// What the words are filled with, by their addresses.
    fn slots(&self) -> HashMap<u64, String> {
        let mut slots = HashMap::new();
        for name in RELOCATIONS {
            for r in self.elf.section(name).chunks_exact(24) {
                let word = |i: usize| r[i..i + 8].try_into().map_or(0, u64::from_le_bytes);
                let target = match word(8) as u32 {
                    GLOB_DAT | JUMP_SLOT => self.dynamic_name((word(8) >> 32) as usize),
                    IRELATIVE => self.resolver_name(word(16)),
                    _ => None,
                };
                slots.extend(target.map(|t| (word(0), t)));
            }
        }
        slots
    }

    fn dynamic_name(&self, symbol: usize) -> Option<String> {
        let entry = self.elf.section(".dynsym").get(symbol.checked_mul(24)?..)?;
        let at = u32::from_le_bytes(entry.get(..4)?.try_into().ok()?);
        let text = self.elf.section(".dynstr").get(at as usize..)?;
        let name = &text[..memchr::memchr(0, text)?];
        let name = std::str::from_utf8(name).ok()?;
        (!name.is_empty()).then(|| name.to_string())
    }

    /// In a static program: of the function that chooses the one to call.
    fn resolver_name(&self, addr: u64) -> Option<String> {
        let symbol = self.symbols().entries_at(addr).find(|s| s.kind.is_code())?;
        Some(symbol.name.to_string())
    }
}

/// `jmp *slot(%rip)`, which `bnd` and `endbr64` may precede.
fn scan(at: u64, code: &[u8], slots: &HashMap<u64, String>, found: &mut BTreeMap<u64, PltEntry>) {
    const JUMP: [u8; 2] = [0xff, 0x25];
    const ENDBR: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
    for jump in memchr::memmem::find_iter(code, &JUMP) {
        let end = jump + 6;
        let Some(disp) = code.get(jump + 2..end).and_then(|d| d.try_into().ok()) else {
            continue;
        };
        let slot = (at + end as u64).wrapping_add(i32::from_le_bytes(disp) as u64);
        let Some(name) = slots.get(&slot) else {
            continue;
        };
        let bnd = jump - usize::from(code[..jump].ends_with(&[0xf2]));
        let start = bnd - if code[..bnd].ends_with(&ENDBR) { 4 } else { 0 };
        let entry = PltEntry {
            name: name.clone(),
            addr: at + start as u64,
            size: (end - start) as u64,
        };
        found.insert(entry.addr, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_begin_with_what_precedes_the_jump() {
        let slots = HashMap::from([(0x3000, "f".to_string())]);
        let mut code = vec![0x90; 16];
        code.extend([0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25]);
        code.extend((0x3000u32 - 0x101b).to_le_bytes());
        code.extend([0xff, 0x25]); // cut
        let mut found = BTreeMap::new();
        scan(0x1000, &code, &slots, &mut found);
        let found: Vec<_> = found.into_values().map(|e| (e.addr, e.size)).collect();
        assert_eq!(found, [(0x1010, 11)]);
    }
}
