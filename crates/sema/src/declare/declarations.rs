// SPDX-License-Identifier: MIT
//! What scripts declare, by name and as seen from each file.

use std::collections::HashMap;
use trapless_syntax::ast::{
    Alias, EmbeddedC, Function, FunctionBody, Global, Item, Probe, Script, Stmt, StmtKind,
};
use trapless_syntax::diag::{Diagnostics, Tag};
use trapless_syntax::visit::{self, Visit};
use trapless_syntax::FileId;

/// A body with locals of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scope {
    Function(usize),
    Unit(usize),
}

/// Whose a file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    User,
    /// Stands for words of the command line; its probes run, its globals are nobody's to see.
    Made,
    /// A folder that was given with -I.
    Folder,
    /// Our own tapset: C in it stands on the runtime.
    Own,
}

/// A declaration and where it comes from.
#[derive(Debug)]
pub struct Declared<T> {
    pub item: T,
    pub file: FileId,
    pub origin: Origin,
    /// Of a function: it may leave the call to the following one.
    pub says_next: bool,
}

impl<T> Declared<T> {
    pub fn from_tapset(&self) -> bool {
        matches!(self.origin, Origin::Folder | Origin::Own)
    }
}

impl Declared<Function> {
    /// The user's functions come before those of the tapset.
    fn priority(&self) -> i64 {
        let given = self.item.priority.as_ref().map(|p| p.value);
        given.unwrap_or(self.from_tapset() as i64)
    }
}

/// What embedded C says for `next`.
const NEXT_IN_C: &str = "STAP_NEXT";

fn says_next(body: &FunctionBody) -> bool {
    struct Look(bool);
    impl Visit for Look {
        fn visit_stmt(&mut self, s: &Stmt) {
            self.0 |= matches!(s.kind, StmtKind::Next);
            visit::walk_stmt(self, s);
        }
    }
    match body {
        FunctionBody::EmbeddedC(c) => c.code.contains(NEXT_IN_C),
        FunctionBody::Script(body) => {
            let mut look = Look(false);
            visit::walk_block(&mut look, body);
            look.0
        }
    }
}

#[derive(Debug, Default)]
pub struct Declarations {
    pub functions: Vec<Declared<Function>>,
    pub globals: Vec<Declared<Global>>,
    pub aliases: Vec<Declared<Alias>>,
    pub c_blocks: Vec<Declared<EmbeddedC>>,
    /// The user's probes only.
    pub probes: Vec<Probe>,
    /// Those of the tapset's files that are used.
    pub library_probes: Vec<Probe>,
    function_names: HashMap<String, Vec<usize>>,
    global_names: HashMap<String, Vec<usize>>,
}

impl Declarations {
    /// The functions that a call tries: the first one, and further ones as long
    /// as those before them may say `next`. By priority, then as declared.
    pub fn overloads(&self, name: &str, nargs: usize, file: FileId) -> Vec<usize> {
        let mut found = self.functions_named(name, file);
        found.retain(|f| self.functions[*f].item.params.len() == nargs);
        found.sort_by_key(|f| (self.functions[*f].priority(), *f));
        let last = found.iter().position(|f| !self.functions[*f].says_next);
        found.truncate(last.map_or(found.len(), |n| n + 1));
        found
    }

    /// All functions of a name, as seen from a file.
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

    /// The same, from inside a body: parameters hide globals, and our own functions do not see those of scripts, whose names
    /// their locals may have.
    pub fn global_seen(&self, name: &str, file: FileId, scope: Scope) -> Option<usize> {
        let g = self.global_named(name, file)?;
        let hidden = match scope {
            Scope::Function(f) => {
                let f = &self.functions[f];
                let is_param = f.item.params.iter().any(|p| p.name.name == name);
                is_param || f.origin == Origin::Own && self.globals[g].origin != Origin::Own
            }
            Scope::Unit(_) => false,
        };
        (!hidden).then_some(g)
    }

    pub fn function_names(&self) -> impl Iterator<Item = &str> {
        self.function_names.keys().map(String::as_str)
    }

    /// All of a file; complains of names that are there already.
    pub fn add(&mut self, script: Script, origin: Origin, diags: &mut Diagnostics) {
        let file = script.file;
        for item in script.items {
            match item {
                Item::Function(item) => self.add_function(item, file, origin),
                Item::Global(item) => self.add_global(item, file, origin, diags),
                Item::Alias(item) => self.aliases.push(Declared {
                    item,
                    file,
                    origin,
                    says_next: false,
                }),
                Item::Probe(p) if matches!(origin, Origin::User | Origin::Made) => {
                    self.probes.push(p)
                }
                Item::Probe(p) => self.library_probes.push(p),
                Item::EmbeddedC(item) => self.c_blocks.push(Declared {
                    item,
                    file,
                    origin,
                    says_next: false,
                }),
            }
        }
    }

    fn add_function(&mut self, item: Function, file: FileId, origin: Origin) {
        self.function_names
            .entry(item.name.name.clone())
            .or_default()
            .push(self.functions.len());
        self.functions.push(Declared {
            says_next: says_next(&item.body),
            item,
            file,
            origin,
        });
    }

    fn add_global(&mut self, item: Global, file: FileId, origin: Origin, diags: &mut Diagnostics) {
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
            origin,
            says_next: false,
        });
    }
}
