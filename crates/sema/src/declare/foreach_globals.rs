// SPDX-License-Identifier: MIT
//! `foreach` and `catch` set variables, which may be globals: a local takes the value then,
//! and what runs with it begins with an assignment to the global.

use crate::declare::declarations::{Declarations, Scope};
use crate::declare::unit::Unit;
use trapless_syntax::ast::{
    AssignOp, Block, Expr, ExprKind, FunctionBody, Ident, NodeIds, Stmt, StmtKind,
};
use trapless_syntax::visit::{walk_stmt_mut, VisitMut};
use trapless_syntax::FileId;

/// In the bodies of all probes and functions.
pub fn rewrite(all: &mut Declarations, units: &mut [Unit], ids: &NodeIds) {
    for (n, unit) in units.iter_mut().enumerate() {
        rewrite_body(all, &mut unit.body, unit.file, Scope::Unit(n), ids);
    }
    for n in 0..all.functions.len() {
        let f = &mut all.functions[n];
        let FunctionBody::Script(body) = &mut f.item.body else {
            continue;
        };
        let nothing = Block {
            stmts: Vec::new(),
            span: body.span,
        };
        let (mut body, file) = (std::mem::replace(body, nothing), f.file);
        rewrite_body(all, &mut body, file, Scope::Function(n), ids);
        all.functions[n].item.body = FunctionBody::Script(body);
    }
}

fn rewrite_body(all: &Declarations, body: &mut Block, file: FileId, scope: Scope, ids: &NodeIds) {
    let is_global = |name: &str| all.global_seen(name, file, scope).is_some();
    let is_global = &is_global;
    Rewrite { is_global, ids }.visit_block(body);
}

struct Rewrite<'a> {
    is_global: &'a dyn Fn(&str) -> bool,
    ids: &'a NodeIds,
}

impl Rewrite<'_> {
    /// Give the variable a name that no script can write; the assignment that it is for.
    fn rename(&self, name: &mut Ident) -> Option<Stmt> {
        if !(self.is_global)(&name.name) {
            return None;
        }
        let global = self.variable(name);
        name.name.push('\'');
        let kind = ExprKind::Assign {
            op: AssignOp::Set,
            target: Box::new(global),
            value: Box::new(self.variable(name)),
        };
        Some(Stmt {
            kind: StmtKind::Expr(self.expr(kind, name)),
            span: name.span,
        })
    }

    fn variable(&self, name: &Ident) -> Expr {
        self.expr(ExprKind::Ident(name.name.clone()), name)
    }

    fn expr(&self, kind: ExprKind, name: &Ident) -> Expr {
        Expr {
            id: self.ids.fresh(),
            kind,
            span: name.span,
        }
    }
}

impl VisitMut for Rewrite<'_> {
    fn visit_stmt(&mut self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::Foreach(f) => {
                let names = f.keys.iter_mut().chain(&mut f.value);
                let mut stmts: Vec<Stmt> = names.filter_map(|n| self.rename(n)).collect();
                if !stmts.is_empty() {
                    let span = f.body.span;
                    stmts.push(f.body.clone());
                    let kind = StmtKind::Block(Block { stmts, span });
                    f.body = Stmt { kind, span };
                }
            }
            StmtKind::Try {
                message: Some(message),
                handler,
                ..
            } => {
                let copied = self.rename(message);
                handler.stmts.splice(0..0, copied);
            }
            _ => {}
        }
        walk_stmt_mut(self, stmt);
    }
}
