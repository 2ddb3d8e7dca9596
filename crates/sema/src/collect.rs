// SPDX-License-Identifier: MIT
//! All declarations of a session: the user's script, and those tapset files
//! that it needs.

use crate::infer::Scope;
use crate::tapset::Tapset;
use std::collections::{HashMap, HashSet};
use trapless_syntax::ast::{
    Alias, ExprKind, Function, FunctionBody, Global, Item, NodeIds, Probe, ProbePoint, Script,
};
use trapless_syntax::diag::{Diagnostics, Tag};
use trapless_syntax::visit::{self, Visit};
use trapless_syntax::{FileId, MacroLibrary, SourceMap};

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

    fn add(&mut self, script: Script, from_tapset: bool, diags: &mut Diagnostics) {
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

/// What parsing a tapset file needs.
pub struct Loader<'a> {
    pub map: &'a mut SourceMap,
    pub env: &'a trapless_syntax::Environment,
    pub macros: &'a MacroLibrary,
    pub ids: &'a NodeIds,
}

/// Take the user's scripts, then the tapset files that define what is used,
/// until nothing is missing that a tapset could give.
pub fn collect(
    scripts: Vec<Script>,
    tapset: &Tapset,
    loader: &mut Loader,
    diags: &mut Diagnostics,
) -> Declarations {
    let mut all = Declarations::default();
    let mut wanted = Names::default();
    for s in scripts {
        visit::walk_script(&mut wanted, &s);
        all.add(s, false, diags);
    }
    let mut loaded = HashSet::new();
    loop {
        let found: HashSet<&str> = all.function_names.keys().map(String::as_str).collect();
        let files = tapset.files_for(&wanted.calls, &wanted.points, &found);
        let new: Vec<_> = files
            .into_iter()
            .filter(|f| loaded.insert(f.to_path_buf()))
            .collect();
        if new.is_empty() {
            return all;
        }
        for path in new {
            let Some(script) = tapset.parse(&path, loader, diags) else {
                continue;
            };
            // Only what is reached decides what else is needed; a file is a
            // subject, so all of it counts.
            visit::walk_script(&mut wanted, &script);
            all.add(script, true, diags);
        }
    }
}

/// Names that scripts refer to.
#[derive(Default)]
struct Names {
    calls: HashSet<String>,
    /// First components of probe points.
    points: HashSet<String>,
}

impl Visit for Names {
    fn visit_item(&mut self, item: &Item) {
        if let Item::Function(f) = item {
            if let FunctionBody::EmbeddedC(_) = &f.body {
                return;
            }
        }
        visit::walk_item(self, item);
    }

    fn visit_point(&mut self, point: &ProbePoint) {
        if let Some(first) = point.components.first() {
            self.points.insert(first.name.name.clone());
        }
        visit::walk_point(self, point);
    }

    fn visit_expr(&mut self, expr: &trapless_syntax::ast::Expr) {
        if let ExprKind::Call { name, .. } = &expr.kind {
            self.calls.insert(name.name.clone());
        }
        visit::walk_expr(self, expr);
    }
}
