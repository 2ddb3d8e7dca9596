// SPDX-License-Identifier: MIT
//! All declarations of a session: the user's script, and those tapset files
//! that it needs.

use crate::declare::call_entries;
use crate::declare::declarations::{Declarations, Origin};
use crate::declare::file_value;
use crate::declare::loader::Loader;
use crate::declare::tapset::Tapset;
use std::collections::HashSet;
use trapless_syntax::ast::{ExprKind, FunctionBody, Item, ProbePoint, Script, TargetBase};
use trapless_syntax::diag::Diagnostics;
use trapless_syntax::visit::{self, Visit};

/// Take the user's scripts, then the tapset files that define what is used,
/// until nothing is missing that a tapset could give.
pub fn collect(
    scripts: Vec<Script>,
    made: Vec<Script>,
    tapset: &Tapset,
    loader: &mut Loader,
    diags: &mut Diagnostics,
) -> Declarations {
    let mut all = Declarations::default();
    let mut wanted = Names::default();
    let scripts = scripts.into_iter().map(|s| (s, Origin::User));
    let made = made.into_iter().map(|s| (s, Origin::Made));
    for (s, origin) in scripts.chain(made) {
        visit::walk_script(&mut wanted, &s);
        all.add(s, origin, diags);
    }
    let mut loaded = HashSet::new();
    loop {
        let is_declared = |name: &String| all.globals.iter().any(|g| g.item.name.name == *name);
        wanted.variables.retain(|name| !is_declared(name));
        let files = tapset.files_for(&wanted);
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
            all.add(script, tapset.origin(&path), diags);
        }
    }
}

/// Names that scripts refer to.
#[derive(Clone, Default)]
pub struct Names {
    pub calls: HashSet<String>,
    pub variables: HashSet<String>,
    /// First components of probe points.
    pub points: HashSet<String>,
}

impl Names {
    pub fn add(&mut self, other: Names) {
        self.calls.extend(other.calls);
        self.variables.extend(other.variables);
        self.points.extend(other.points);
    }
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
        match &expr.kind {
            ExprKind::Call { name, .. } => drop(self.calls.insert(name.name.clone())),
            ExprKind::Ident(name) => drop(self.variables.insert(name.clone())),
            _ => {}
        }
        if matches!(&expr.kind, ExprKind::Entry(_)) {
            self.calls.insert(call_entries::KEYS[0].to_string());
        }
        if matches!(&expr.kind, ExprKind::Target(t) if matches!(&t.base, TargetBase::Var(v) if v.name == file_value::NAME))
        {
            self.calls.insert("_file_value".to_string());
        }
        visit::walk_expr(self, expr);
    }
}
