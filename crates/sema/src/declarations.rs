// SPDX-License-Identifier: MIT
//! What scripts declare, by name and as seen from each file.

use std::collections::HashMap;
use trapless_syntax::ast::{Alias, Function, Global, Item, Probe, Script};
use trapless_syntax::diag::{Diagnostics, Tag};
use trapless_syntax::FileId;

/// A body with locals of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scope {
    Function(usize),
    Unit(usize),
}

/// A declaration and where it comes from.
#[derive(Debug)]
pub struct Declared<T> {
    pub item: T,
    pub file: FileId,
    pub from_tapset: bool,
}

#[derive(Debug, Default)]
pub struct Declarations {
    pub functions: Vec<Declared<Function>>,
    pub globals: Vec<Declared<Global>>,
    pub aliases: Vec<Declared<Alias>>,
    /// The user's probes only.
    pub probes: Vec<Probe>,
    function_names: HashMap<String, Vec<usize>>,
    global_names: HashMap<String, Vec<usize>>,
}

impl Declarations {
    /// Overloads of a function, as seen from a file.
    pub fn functions_named(&self, name: &str, file: FileId) -> Vec<usize> {
        let all = self.function_names.get(name).map_or(&[][..], Vec::as_slice);
        let seen = |i: &&usize| {
            let d = &self.functions[**i];
            !d.item.private || d.file == file
        };
        all.iter().filter(seen).copied().collect()
    }

    pub fn global_named(&self, name: &str, file: FileId) -> Option<usize> {
        let all = self.global_names.get(name)?;
        let own = all.iter().find(|i| self.globals[**i].file == file);
        own.or_else(|| all.iter().find(|i| !self.globals[**i].item.private))
            .copied()
    }

    /// The same, from inside a body: parameters hide globals.
    pub fn global_seen(&self, name: &str, file: FileId, scope: Scope) -> Option<usize> {
        let hidden = match scope {
            Scope::Function(f) => self.functions[f]
                .item
                .params
                .iter()
                .any(|p| p.name.name == name),
            Scope::Unit(_) => false,
        };
        self.global_named(name, file).filter(|_| !hidden)
    }

    pub fn function_names(&self) -> impl Iterator<Item = &str> {
        self.function_names.keys().map(String::as_str)
    }

    /// All of a file; complains of names that are there already.
    pub fn add(&mut self, script: Script, from_tapset: bool, diags: &mut Diagnostics) {
        let file = script.file;
        for item in script.items {
            match item {
                Item::Function(item) => self.add_function(item, file, from_tapset, diags),
                Item::Global(item) => self.add_global(item, file, from_tapset, diags),
                Item::Alias(item) => self.aliases.push(Declared {
                    item,
                    file,
                    from_tapset,
                }),
                Item::Probe(p) if !from_tapset => self.probes.push(p),
                Item::Probe(_) => {}
                Item::EmbeddedC(c) => {
                    diags
                        .error(Tag::NotBuilt, c.span, "embedded C is not built yet")
                        .help("write it as script functions");
                }
            }
        }
    }

    fn add_function(
        &mut self,
        item: Function,
        file: FileId,
        from_tapset: bool,
        diags: &mut Diagnostics,
    ) {
        let same = |i: &&usize| {
            let d = &self.functions[**i];
            d.from_tapset == from_tapset
                && (d.file == file || !d.item.private && !item.private)
                && d.item.params.len() == item.params.len()
        };
        let known = self
            .function_names
            .entry(item.name.name.clone())
            .or_default();
        if let Some(first) = known.iter().find(same) {
            let first = self.functions[*first].item.name.span;
            diags
                .error(
                    Tag::NotBuilt,
                    item.name.span,
                    format!(
                        "`{}` is defined twice; overloads are not built yet",
                        item.name.name
                    ),
                )
                .label(first, "first defined here")
                .help("give the second one another name");
            return;
        }
        let declared = Declared {
            item,
            file,
            from_tapset,
        };
        // The user's functions hide those of the tapset.
        match from_tapset {
            true => known.push(self.functions.len()),
            false => known.insert(0, self.functions.len()),
        }
        self.functions.push(declared);
    }

    fn add_global(
        &mut self,
        item: Global,
        file: FileId,
        from_tapset: bool,
        diags: &mut Diagnostics,
    ) {
        let known = self.global_names.entry(item.name.name.clone()).or_default();
        let same = known.iter().find(|i| {
            let d = &self.globals[**i];
            d.file == file || !d.item.private && !item.private
        });
        if let Some(first) = same {
            let first = self.globals[*first].item.name.span;
            diags
                .error(
                    Tag::NameDuplicate,
                    item.name.span,
                    format!("global `{}` is declared twice", item.name.name),
                )
                .label(first, "first declared here")
                .help("remove one of the two");
            return;
        }
        known.push(self.globals.len());
        self.globals.push(Declared {
            item,
            file,
            from_tapset,
        });
    }
}
