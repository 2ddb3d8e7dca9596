// SPDX-License-Identifier: MIT
//! The symbol table of a binary: `.symtab`, `.dynsym`, those of the debug file and of
//! `.gnu_debugdata`, merged by address.

use crate::demangle::whole_of_part;
use crate::elf::{RawSymbol, STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE, STT_TLS};
use std::collections::HashMap;

/// What a symbol names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    Function,
    /// Resolver of an indirect function.
    Ifunc,
    Data,
    /// `addr` is an offset in the thread-local block.
    Tls,
}

impl SymbolKind {
    pub fn is_code(self) -> bool {
        matches!(self, SymbolKind::Function | SymbolKind::Ifunc)
    }
}

/// A defined symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbol<'a> {
    pub addr: u64,
    pub size: u64,
    pub name: &'a str,
    pub kind: SymbolKind,
    /// Not its file's alone: in `.dynsym`, or global or weak in `.symtab`.
    pub exported: bool,
}

#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub addr: u64,
    pub size: u64,
    pub name: &'static str,
    pub kind: SymbolKind,
    pub exported: bool,
    /// Better names come first: global, then weak, then local.
    rank: u8,
}

impl Entry {
    /// Other files may refer to it.
    pub fn is_global(&self) -> bool {
        self.rank < 2
    }
}

/// All symbols, sorted by address; where several share one, the best known name comes first.
#[derive(Default)]
pub struct SymbolTable {
    pub(crate) entries: Vec<Entry>,
    by_name: HashMap<&'static str, Vec<u32>>,
}

impl SymbolTable {
    pub(crate) fn new(full: &[RawSymbol], dynamic: &[RawSymbol]) -> SymbolTable {
        let mut entries = Vec::with_capacity(full.len() + dynamic.len());
        for (dynamic, table) in [(true, dynamic), (false, full)] {
            for s in table {
                let Ok(name) = std::str::from_utf8(s.name) else {
                    continue;
                };
                let kind = match s.kind {
                    STT_FUNC => SymbolKind::Function,
                    STT_GNU_IFUNC => SymbolKind::Ifunc,
                    STT_TLS => SymbolKind::Tls,
                    // clang's parts of functions have no type.
                    STT_NOTYPE if s.size > 0 && whole_of_part(name).is_some() => {
                        SymbolKind::Function
                    }
                    _ => SymbolKind::Data,
                };
                let rank = match (s.global, s.weak) {
                    (true, false) => 0,
                    (true, true) => 1,
                    _ => 2,
                };
                // `f@@VERS_2` of a .symtab is `f` of the .dynsym.
                let name = name.split('@').next().unwrap_or(name);
                if !name.is_empty() {
                    entries.push(Entry {
                        addr: s.value,
                        size: s.size,
                        name,
                        kind,
                        exported: dynamic || s.global,
                        rank,
                    });
                }
            }
        }
        let tls = |e: &Entry| e.kind == SymbolKind::Tls;
        entries.sort_by(|a, b| {
            (tls(a), a.addr, a.rank, a.name, !a.exported).cmp(&(
                tls(b),
                b.addr,
                b.rank,
                b.name,
                !b.exported,
            ))
        });
        entries.dedup_by(|b, a| {
            let same = a.addr == b.addr && a.name == b.name && tls(a) == tls(b);
            if same {
                a.exported |= b.exported;
                a.size = a.size.max(b.size);
            }
            same
        });
        let mut by_name: HashMap<&'static str, Vec<u32>> = HashMap::with_capacity(entries.len());
        for (i, e) in entries.iter().enumerate() {
            by_name.entry(e.name).or_default().push(i as u32);
        }
        SymbolTable { entries, by_name }
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Every symbol, by address (thread-local ones last, by offset).
    pub fn iter(&self) -> impl Iterator<Item = Symbol<'_>> {
        self.entries.iter().map(Entry::public)
    }

    /// All symbols of that exact name.
    pub fn named<'a>(&'a self, name: &str) -> impl Iterator<Item = Symbol<'a>> {
        self.entries_named(name).map(Entry::public)
    }

    pub(crate) fn entries_named<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a Entry> {
        let found = self.by_name.get(name).map_or(&[][..], Vec::as_slice);
        found.iter().map(|&i| &self.entries[i as usize])
    }

    /// The symbols at exactly this address.
    pub(crate) fn entries_at(&self, addr: u64) -> impl Iterator<Item = &Entry> {
        let place = |e: &Entry| e.kind != SymbolKind::Tls && e.addr < addr;
        let from = self.entries.partition_point(place);
        self.entries[from..]
            .iter()
            .take_while(move |e| e.addr == addr && e.kind != SymbolKind::Tls)
    }

    /// The symbol that holds the address; one without a size reaches to the next symbol.
    pub fn at(&self, addr: u64) -> Option<Symbol<'_>> {
        let code = self
            .entries
            .partition_point(|e| e.kind != SymbolKind::Tls && e.addr <= addr);
        let last = self.entries[..code].last()?.addr;
        let from = self.entries[..code].partition_point(|e| e.addr < last);
        let here = &self.entries[from..code];
        let holds = |e: &&Entry| e.addr == addr || e.size == 0 || addr - e.addr < e.size;
        if let Some(e) = here.iter().find(holds) {
            return Some(e.public());
        }
        // A symbol inside a longer one has ended.
        Self::longer(&self.entries[..from], addr)
    }

    /// The symbol that says by its size that it holds the address: labels inside say nothing.
    pub fn around(&self, addr: u64) -> Option<Symbol<'_>> {
        let upto = |e: &Entry| e.kind != SymbolKind::Tls && e.addr <= addr;
        Self::longer(&self.entries[..self.entries.partition_point(upto)], addr)
    }

    /// Looks back a little.
    fn longer(before: &[Entry], addr: u64) -> Option<Symbol<'_>> {
        before
            .iter()
            .rev()
            .filter(|e| e.size > 0)
            .take(16)
            .find(|e| addr - e.addr < e.size)
            .map(Entry::public)
    }
}

impl Entry {
    pub fn public(&self) -> Symbol<'_> {
        Symbol {
            addr: self.addr,
            size: self.size,
            name: self.name,
            kind: self.kind,
            exported: self.exported,
        }
    }
}
