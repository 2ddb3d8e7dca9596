// SPDX-License-Identifier: MIT
//! Functions that some probe may come to call: what nobody calls tells nothing
//! of types, and has no mistakes.

use crate::declare::declarations::Declarations;
use crate::declare::unit::Unit;
use std::collections::BTreeSet;
use trapless_syntax::ast::{Block, Expr, ExprKind, FunctionBody};
use trapless_syntax::visit::{self, Visit};
use trapless_syntax::FileId;

/// Their numbers, in the order in which they are declared.
pub fn functions(all: &Declarations, units: &[Unit]) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut todo: Vec<usize> = Vec::new();
    for u in units {
        todo.extend(called(all, &u.body, u.file));
    }
    while let Some(f) = todo.pop() {
        if !found.insert(f) {
            continue;
        }
        let f = &all.functions[f];
        if let FunctionBody::Script(body) = &f.item.body {
            todo.extend(called(all, body, f.file));
        }
    }
    found
}

fn called(all: &Declarations, body: &Block, file: FileId) -> Vec<usize> {
    let mut calls = Calls(Vec::new());
    calls.visit_block(body);
    let names = calls.0.iter();
    names.flat_map(|n| all.functions_named(n, file)).collect()
}

struct Calls(Vec<String>);

impl Visit for Calls {
    fn visit_expr(&mut self, e: &Expr) {
        if let ExprKind::Call { name, .. } = &e.kind {
            self.0.push(name.name.clone());
        }
        visit::walk_expr(self, e);
    }
}
