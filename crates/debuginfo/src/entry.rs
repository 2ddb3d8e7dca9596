// SPDX-License-Identifier: MIT
//! Where a function is entered. One in several parts (`.cold`, ordered sections) begins with any of them in the debug
//! information: symbols tell, then the unwind table.

use crate::abi::is_entered;
use crate::binary::Binary;
use crate::demangle::whole_of_part;
use crate::die::{text, DieRef};
use crate::dwarf::Dwarf;
use gimli::constants as dw;

impl Binary {
    /// The first instruction of a function or an inlined copy; `None`: nothing tells it.
    pub(crate) fn entry_of(&self, dwarf: &Dwarf, r: DieRef) -> Option<u64> {
        let ranges = dwarf.ranges(r);
        let told = dwarf
            .entry_told(r)
            .filter(|e| ranges.is_empty() || ranges.iter().any(|r| r.contains(e)));
        if told.is_some() {
            return told;
        }
        let starts: Vec<u64> = ranges.iter().map(|r| r.start).collect();
        let own = dwarf.die(r).is_ok_and(|d| d.tag() == dw::DW_TAG_subprogram);
        match own && starts.len() > 1 {
            true => self.entry_among(dwarf, r, starts),
            false => starts.first().copied(),
        }
    }

    /// What clang makes of a coroutine besides: it is called with the frame alone, and a switch in front of the code of
    /// any line leads to where the coroutine goes on. The debug information has the whole one's parameters and result.
    pub(crate) fn goes_on_at(&self, entry: u64) -> bool {
        let ends = |n: &str| {
            let parts = [".resume", ".destroy", ".cleanup"];
            parts.iter().any(|p| n.ends_with(p))
        };
        let mut code = self.symbols().entries_at(entry);
        code.any(|s| s.kind.is_code() && ends(s.name))
    }

    fn entry_among(&self, dwarf: &Dwarf, r: DieRef, mut starts: Vec<u64>) -> Option<u64> {
        let names = |at| {
            let code = self.symbols().entries_at(at).filter(|s| s.kind.is_code());
            code.map(|s| s.name)
        };
        let whole = |at: &&u64| names(**at).any(|n| whole_of_part(n).is_none());
        if let Some(first) = starts.iter().find(whole) {
            let name = dwarf.linkage_name(r).or_else(|| dwarf.name(r)).map(text);
            let called = |at: &&u64| names(**at).any(|n| Some(n) == name.as_deref());
            return Some(*starts.iter().find(called).unwrap_or(first));
        }
        starts.retain(|at| names(*at).next().is_none());
        let entered = |at: &u64| {
            let cfa = self.cfi().cfa(*at);
            cfa.is_some_and(|c| is_entered(&c, &self.machine.abi))
        };
        if starts.len() > 1 {
            starts.retain(entered);
        }
        // gcc has the part with the entry first, others need not.
        match starts.len() == 1 || dwarf.is_by_gcc(r.unit) {
            true => starts.first().copied(),
            false => None,
        }
    }
}
