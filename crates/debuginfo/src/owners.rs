// SPDX-License-Identifier: MIT
//! Whose a row of the line table is: the innermost function's or inlined copy's at its address; but at a copy's
//! entry, the row of the line that calls it is the caller's.

use crate::binary::Binary;
use crate::die::DieRef;
use crate::dwarf::Dwarf;
use crate::function::Function;
use crate::lines::Row;
use crate::vars::is_function;
use gimli::{constants as dw, AttributeValue};
use std::collections::{HashMap, HashSet};

/// A function or inlined copy, and what it is one of.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Owner {
    pub die: DieRef,
    pub origin: DieRef,
    /// Not the caller of a copy that begins there.
    pub innermost: bool,
}

struct Copy {
    owner: Owner,
    entry: Option<u64>,
    /// Number of the file, and line.
    called: Option<(u64, u64)>,
}

/// By address, innermost first.
pub(crate) struct Owners<'d> {
    binary: &'d Binary,
    dwarf: &'d Dwarf,
    known: HashMap<u64, Vec<Copy>>,
}

impl<'d> Owners<'d> {
    pub fn new(binary: &'d Binary, dwarf: &'d Dwarf) -> Owners<'d> {
        Owners {
            binary,
            dwarf,
            known: HashMap::new(),
        }
    }

    /// `None`: the debug information has no function there.
    pub fn of(&mut self, row: &Row) -> Option<Owner> {
        let (binary, dwarf) = (self.binary, self.dwarf);
        let chain = self.known.entry(row.addr);
        let chain = chain.or_insert_with(|| chain_at(binary, dwarf, row.addr));
        let line = (u64::from(row.file), u64::from(row.line));
        let begins = chain.iter().take_while(|c| c.entry == Some(row.addr));
        let callers = begins.enumerate().filter(|(_, c)| c.called == Some(line));
        let owner = callers.last().map_or(0, |(n, _)| n + 1);
        let found = chain.get(owner)?.owner;
        Some(Owner {
            innermost: owner == 0,
            ..found
        })
    }

    /// Those of the rows that are the functions' own.
    pub fn own<'r>(
        &mut self,
        functions: &[Function],
        rows: &[(u32, &'r Row)],
    ) -> Vec<(u32, &'r Row)> {
        let dies = functions
            .iter()
            .filter_map(|f| self.binary.function_die(f).ok());
        let dies: HashSet<DieRef> = dies.collect();
        let mut own = |r: &Row| match self.of(r) {
            Some(owner) => dies.contains(&owner.die),
            None => true,
        };
        rows.iter().filter(|(_, r)| own(r)).copied().collect()
    }
}

fn chain_at(binary: &Binary, dwarf: &Dwarf, addr: u64) -> Vec<Copy> {
    let Ok(context) = binary.make_context_at(addr) else {
        return Vec::new();
    };
    let functions = context
        .scopes
        .into_iter()
        .filter(|s| is_function(dwarf, *s));
    let copy = |die| Copy {
        owner: Owner {
            die,
            origin: dwarf.origin(die).unwrap_or(die),
            innermost: true,
        },
        entry: binary.entry_of(dwarf, die),
        called: called_at(dwarf, die),
    };
    functions.map(copy).collect()
}

fn called_at(dwarf: &Dwarf, die: DieRef) -> Option<(u64, u64)> {
    let line = dwarf.own_attr(die, dw::DW_AT_call_line)?.udata_value()?;
    let file = match dwarf.own_attr(die, dw::DW_AT_call_file)? {
        AttributeValue::FileIndex(n) => n,
        v => v.udata_value()?,
    };
    Some((file, line))
}
