// SPDX-License-Identifier: MIT
//! What a handler writes to, for `@probewrite` in the aliases around it.

use std::collections::HashSet;
use trapless_syntax::ast::{Block, Expr, ExprKind, TargetBase};
use trapless_syntax::visit::{self, Visit};

/// The names that a body sets: variables, arrays and `$variables`.
pub fn names(body: &Block) -> HashSet<String> {
    let mut found = Written(HashSet::new());
    visit::walk_block(&mut found, body);
    found.0
}

/// The variable that an expression names or is a part of.
pub fn name(e: &Expr) -> Option<&str> {
    match &e.kind {
        ExprKind::Ident(name) => Some(name),
        ExprKind::Index { base, .. } => name(base),
        ExprKind::Target(t) => match &t.base {
            TargetBase::Var(name) => Some(&name.name),
            _ => None,
        },
        _ => None,
    }
}

struct Written(HashSet<String>);

impl Visit for Written {
    fn visit_expr(&mut self, e: &Expr) {
        if let ExprKind::Assign { target, .. } | ExprKind::Crement { target, .. } = &e.kind {
            self.0.extend(name(target).map(str::to_string));
        }
        visit::walk_expr(self, e);
    }
}
