// SPDX-License-Identifier: MIT
//! Names that scripts refer to, by which the tapset's files are chosen.

use crate::declare::{call_entries, file_value};
use std::collections::HashSet;
use trapless_syntax::ast::{ExprKind, FunctionBody, Item, ProbePoint, TargetBase};
use trapless_syntax::visit::{self, Visit};

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
