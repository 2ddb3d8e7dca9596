// SPDX-License-Identifier: MIT
//! Types for `EXPR->member`: which script values are known to be pointers of
//! the traced program.

use super::lowerer::Assigned;
use super::Lowerer;
use crate::points::Context;
use crate::target::{self, AutoType};
use trapless_syntax::ast::{
    AssignOp, Block, Expr, ExprKind, FunctionBody, Stmt, StmtKind, Target, TargetBase,
};
use trapless_syntax::visit::{self, Visit};

/// Deeper chains of variables are taken as unknown.
const MAX_DEPTH: u32 = 16;

/// The assignments of a body; none when nothing asks for them.
pub fn assigned(body: &Block) -> Assigned {
    let mut look = Look::default();
    visit::walk_block(&mut look, body);
    match look.asked {
        true => look.found,
        false => Assigned::new(),
    }
}

#[derive(Default)]
struct Look {
    found: Assigned,
    asked: bool,
}

impl Look {
    /// `None`: a value without a type.
    fn note(&mut self, target: &Expr, value: Option<&Expr>) {
        if let ExprKind::Ident(name) = &target.kind {
            let value = value.cloned().unwrap_or(Expr {
                kind: ExprKind::Error,
                ..target.clone()
            });
            self.found.entry(name.clone()).or_default().push(value);
        }
    }
}

impl Visit for Look {
    fn visit_expr(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Assign {
                op: AssignOp::Set,
                target,
                value,
            } => {
                // what may be a global's type
                self.asked |= matches!(value.kind, ExprKind::Ident(_));
                self.note(target, Some(value))
            }
            ExprKind::Assign { target, .. } | ExprKind::Crement { target, .. } => {
                self.note(target, None)
            }
            ExprKind::Target(t) => self.asked |= matches!(t.base, TargetBase::Auto(_)),
            _ => {}
        }
        visit::walk_expr(self, e);
    }
}

/// The values that a function returns.
pub(super) fn returned(body: &Block) -> Vec<Expr> {
    struct Returns(Vec<Expr>);
    impl Visit for Returns {
        fn visit_stmt(&mut self, s: &Stmt) {
            if let StmtKind::Return(Some(e)) = &s.kind {
                self.0.push(e.clone());
            }
            visit::walk_stmt(self, s);
        }
    }
    let mut found = Returns(Vec::new());
    visit::walk_block(&mut found, body);
    found.0
}

impl Lowerer<'_, '_> {
    /// The type that debug information gives the value of an expression.
    pub fn auto_type(&mut self, e: &Expr) -> Option<AutoType> {
        self.auto_at(e, &mut Vec::new())
    }

    fn auto_at(&mut self, e: &Expr, through: &mut Vec<String>) -> Option<AutoType> {
        match &e.kind {
            ExprKind::Target(t) => self.auto_target(t, through),
            ExprKind::Entry(e) => self.auto_at(e, through),
            ExprKind::Assign {
                op: AssignOp::Set,
                value,
                ..
            } => self.auto_at(value, through),
            ExprKind::Ternary {
                then, otherwise, ..
            } => {
                let then = self.auto_at(then, through);
                then.or_else(|| self.auto_at(otherwise, through))
            }
            ExprKind::Ident(name) if self.global(name).is_none() => self.auto_local(name, through),
            ExprKind::Call { name, args } => self.auto_result(&name.name, args.len(), through),
            _ => None,
        }
    }

    fn auto_target(&mut self, t: &Target, through: &mut Vec<String>) -> Option<AutoType> {
        let auto = match &t.base {
            TargetBase::Auto(e) => Some(self.auto_at(e, through)?),
            _ => None,
        };
        let context = self.context.clone().map(|c| Context {
            at_return: c.at_return && super::program::is_return(t),
            ..c
        });
        target::type_of(t, context.as_ref(), auto, self.shared.world)
    }

    /// All assignments must have the one type, but for those that only pass
    /// the variable's own type on (`p = p->next`).
    fn auto_local(&mut self, name: &str, through: &mut Vec<String>) -> Option<AutoType> {
        if through.len() as u32 >= MAX_DEPTH || through.iter().any(|n| n == name) {
            return None;
        }
        let values = self.auto_values.get(name)?.clone();
        through.push(name.to_string());
        let found: Vec<_> = values
            .iter()
            .filter(|v| v.as_number() != Some(0))
            .filter(|v| !names_itself(v, name))
            .map(|v| self.auto_at(v, through))
            .collect();
        through.pop();
        let mut found = found.into_iter();
        let first = found.next()??;
        found
            .all(|t| t.is_some_and(|t| t.same(&first)))
            .then_some(first)
    }

    /// A function whose results all have one type, without a place of its own:
    /// `@cast` with a module.
    fn auto_result(
        &mut self,
        name: &str,
        nargs: usize,
        through: &mut Vec<String>,
    ) -> Option<AutoType> {
        let all = self.shared.all;
        let mut given = Vec::new();
        for f in all.overloads(name, nargs, self.file) {
            let FunctionBody::Script(body) = &all.functions[f].item.body else {
                return None;
            };
            given.extend(returned(body));
        }
        if through.len() as u32 >= MAX_DEPTH {
            return None;
        }
        let (context, values) = (self.context.take(), std::mem::take(&mut self.auto_values));
        through.push(format!("{name}()"));
        let found: Vec<_> = given.iter().map(|e| self.auto_at(e, through)).collect();
        through.pop();
        (self.context, self.auto_values) = (context, values);
        let mut found = found.into_iter();
        let first = found.next()??;
        found
            .all(|t| t.is_some_and(|t| t.same(&first)))
            .then_some(first)
    }
}

fn names_itself(e: &Expr, name: &str) -> bool {
    let ExprKind::Target(t) = &e.kind else {
        return false;
    };
    match &t.base {
        TargetBase::Auto(base) => {
            matches!(&base.kind, ExprKind::Ident(n) if n == name) || names_itself(base, name)
        }
        _ => false,
    }
}
