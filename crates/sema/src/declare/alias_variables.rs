// SPDX-License-Identifier: MIT
//! The variables that the aliases around a handler set for it.

use trapless_syntax::ast::{Block, Expr, ExprKind, ProbePoint, Stmt, StmtKind, TargetBase};
use trapless_syntax::visit::{self, Visit};

#[derive(Debug)]
pub struct Offered {
    /// The outermost alias, as the script names it.
    pub alias: String,
    /// In the order of the text.
    pub names: Vec<String>,
    /// What is set at a return only, where this is none.
    at_return: Vec<String>,
}

impl Offered {
    pub fn by<'a>(
        alias: &str,
        bodies: impl Iterator<Item = &'a Block>,
        point: &ProbePoint,
    ) -> Offered {
        let last = point.components.last();
        let mut found = Found {
            at_return: last.is_some_and(|c| c.name.name == "return"),
            names: Vec::new(),
            others: Vec::new(),
        };
        bodies.for_each(|b| found.visit_block(b));
        Offered {
            alias: alias.to_string(),
            names: found.names,
            at_return: found.others,
        }
    }

    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|n| n == name)
    }

    /// The point at whose return the name is set.
    pub fn return_of(&self, name: &str) -> Option<&str> {
        let is_there = self.at_return.iter().any(|n| n == name);
        is_there.then_some(self.alias.as_str())
    }

    /// What to take instead, written in this way.
    pub fn listed(&self, way: &str) -> Option<String> {
        let (alias, names) = (&self.alias, self.names.join(", "));
        let is_any = !self.names.is_empty();
        is_any.then(|| format!("take one of those that `{alias}` sets{way}: {names}"))
    }
}

struct Found {
    at_return: bool,
    names: Vec<String>,
    others: Vec<String>,
}

impl Visit for Found {
    fn visit_expr(&mut self, e: &Expr) {
        if let ExprKind::Assign { target, .. } = &e.kind {
            if let ExprKind::Ident(name) = &target.kind {
                if !self.names.contains(name) {
                    self.names.push(name.clone());
                }
            }
        }
        visit::walk_expr(self, e);
    }

    fn visit_stmt(&mut self, s: &Stmt) {
        match &s.kind {
            StmtKind::If {
                cond,
                then,
                otherwise,
            } if !self.at_return && asks_for_result(cond) => {
                let names = std::mem::take(&mut self.names);
                self.visit_stmt(then);
                self.others
                    .extend(std::mem::replace(&mut self.names, names));
                otherwise.iter().for_each(|s| self.visit_stmt(s));
            }
            _ => visit::walk_stmt(self, s),
        }
    }
}

/// `@defined($return)`: what follows is not there at an entry.
fn asks_for_result(cond: &Expr) -> bool {
    let ExprKind::Defined(inner) = &cond.kind else {
        return false;
    };
    matches!(&inner.kind, ExprKind::Target(t)
        if matches!(&t.base, TargetBase::Var(name) if name.name == "$return"))
}
