// SPDX-License-Identifier: MIT
//! Which units can hold a name, or refer to an entry: found in the bytes, without reading entries.

use crate::die::Entry;
use crate::die::{DieRef, R};
use crate::dwarf::{Dwarf, Space};
use gimli::{constants as dw, Section};
use memchr::memmem;
use trapless_machine::ByteOrder;

impl Dwarf {
    /// The units that may hold an entry of that name: their bytes hold the name, or a reference to
    /// a string table entry that ends with it. Far quicker than reading the entries, and never
    /// misses one.
    pub fn units_naming(&self, name: &[u8]) -> Vec<u32> {
        let mut needle = name.to_vec();
        needle.push(0);
        let finder = memmem::Finder::new(&needle);
        let mut hit = vec![false; self.units.len()];
        let main = &self.main;
        let strings = |d: &gimli::Dwarf<R>| {
            let mut o: Vec<u32> = Vec::new();
            o.extend(
                finder
                    .find_iter(d.debug_str.reader().slice())
                    .map(|i| i as u32),
            );
            o.extend(
                finder
                    .find_iter(d.debug_line_str.reader().slice())
                    .map(|i| i as u32),
            );
            o.sort_unstable();
            o.dedup();
            o
        };
        let mut offsets = strings(main);
        if let Some(sup) = main.sup() {
            let of_sup = strings(sup);
            self.mark(
                Space::Sup,
                sup.debug_info.reader().slice(),
                &finder,
                &of_sup,
                &mut hit,
            );
            offsets.extend(of_sup);
            offsets.sort_unstable();
            offsets.dedup();
        }
        self.mark(
            Space::Info,
            main.debug_info.reader().slice(),
            &finder,
            &offsets,
            &mut hit,
        );
        if self.type_units > self.info_units {
            let bytes = main.debug_types.reader().slice();
            self.mark(Space::Types, bytes, &finder, &offsets, &mut hit);
        }
        self.mark_indexed(&offsets, &mut hit);
        self.mark_split(&finder, &mut hit);
        let own = (0..hit.len() as u32).filter(|&n| hit[n as usize]);
        own.chain(self.types_naming(&finder, &hit)).collect()
    }

    fn mark(
        &self,
        space: Space,
        bytes: &[u8],
        inline: &memmem::Finder<'_>,
        offsets: &[u32],
        hit: &mut [bool],
    ) {
        let range = self.space_range(space);
        let slots = &self.units[range.clone()];
        let mut found = |at: usize| {
            if let Some(i) = slots.partition_point(|s| s.start <= at).checked_sub(1) {
                hit[range.start + i] = true;
            }
        };
        inline.find_iter(bytes).for_each(&mut found);
        self.find_words(bytes, offsets, found);
    }

    /// Every place where one of the numbers, which are sorted, stands as four bytes.
    fn find_words(&self, bytes: &[u8], numbers: &[u32], mut found: impl FnMut(usize)) {
        let little = self.order() == ByteOrder::Little;
        if numbers.len() <= 6 {
            for n in numbers {
                let pattern = if little {
                    n.to_le_bytes()
                } else {
                    n.to_be_bytes()
                };
                memmem::find_iter(bytes, &pattern).for_each(&mut found);
            }
            return;
        }
        // One bit for each lower half: small enough to stay in the innermost cache.
        let mut lower_halves = [0u64; 1 << 10];
        for n in numbers {
            let low = *n as u16 as usize;
            lower_halves[low / 64] |= 1 << (low % 64);
        }
        for (i, w) in bytes.windows(4).enumerate() {
            let w = [w[0], w[1], w[2], w[3]];
            let n = if little {
                u32::from_le_bytes(w)
            } else {
                u32::from_be_bytes(w)
            };
            let low = n as u16 as usize;
            if lower_halves[low / 64] & (1 << (low % 64)) != 0 && numbers.binary_search(&n).is_ok()
            {
                found(i);
            }
        }
    }

    /// DWARF 5 units that name strings by their number in `.debug_str_offsets`.
    fn mark_indexed(&self, offsets: &[u32], hit: &mut [bool]) {
        let table = self.main.debug_str_offsets.reader().slice();
        if table.is_empty() {
            return;
        }
        let mut at = Vec::new();
        self.find_words(table, offsets, |i| at.push(i));
        if at.is_empty() {
            return;
        }
        at.sort_unstable();
        for (n, hit) in hit.iter_mut().enumerate().take(self.type_units) {
            if *hit || self.units[n].header.version() < 5 {
                continue;
            }
            let Ok(u) = self.unit(n as u32) else { continue };
            let base = u.str_offsets_base.0;
            let length = base
                .checked_sub(8)
                .and_then(|i| table.get(i..i + 4))
                .map(|w| {
                    let w = [w[0], w[1], w[2], w[3]];
                    u32::from_le_bytes(w).min(u32::from_be_bytes(w)) as usize
                });
            let end = base.saturating_add(length.unwrap_or(usize::MAX));
            let i = at.partition_point(|&p| p < base);
            *hit = at.get(i).is_some_and(|&p| p < end);
        }
    }

    /// The entries of that exact name (source or linkage) in the whole binary.
    pub fn named(&self, name: &[u8]) -> Vec<(u32, &Entry)> {
        let mut out = Vec::new();
        for n in self.units_naming(name) {
            for e in self.index(n) {
                if e.name == Some(name) || e.linkage == Some(name) {
                    out.push((n, e));
                }
            }
        }
        out
    }

    /// Which units refer to one of these entries from outside (LTO, dwz)?
    pub fn units_referring(&self, to: &[DieRef]) -> Vec<u32> {
        if !self.refers_outside() {
            return Vec::new();
        }
        let absolute = |r: &DieRef| {
            let s = self.units.get(r.unit as usize)?;
            u32::try_from(s.start + r.offset)
                .ok()
                .filter(|_| s.space != Space::Types)
        };
        let mut numbers: Vec<u32> = to.iter().filter_map(absolute).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut hit = vec![false; self.units.len()];
        let slots = &self.units[..self.info_units];
        self.find_words(self.main.debug_info.reader().slice(), &numbers, |at| {
            if let Some(i) = slots.partition_point(|s| s.start <= at).checked_sub(1) {
                hit[i] = true;
            }
        });
        (0..hit.len() as u32).filter(|&n| hit[n as usize]).collect()
    }

    /// Whether some kind of entry names its origin by an offset in the section: plain compilers'
    /// units refer to nothing outside.
    fn refers_outside(&self) -> bool {
        let form = dw::DW_FORM_ref_addr.0 as u8;
        let table = self.main.debug_abbrev.reader().slice();
        let origins = [dw::DW_AT_abstract_origin, dw::DW_AT_specification];
        let named = |at: &dw::DwAt| memmem::find(table, &[at.0 as u8, form]).is_some();
        self.main.sup().is_some() || origins.iter().any(named)
    }
}
