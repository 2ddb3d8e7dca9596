// SPDX-License-Identifier: MIT
//! Statements.

use super::expr::all_given;
use super::{value_type, Lowerer};
use crate::declare::declarations::Scope;
use crate::ir::{self, Ty};
use crate::types::infer::VTy;
use trapless_syntax::ast::{self, Block, ExprKind, Foreach, Ident, Stmt, StmtKind};
use trapless_syntax::diag::Tag;
use trapless_syntax::Span;

/// Where SystemTap counts a turn of a loop: at the body's only statement, the first that may go elsewhere, or its brace.
fn turn(body: &Stmt) -> Span {
    let stmts = flat(body);
    let straight = |s: &Stmt| matches!(s.kind, StmtKind::Expr(_) | StmtKind::Delete(_));
    match stmts[..] {
        [only] => only.span,
        _ => stmts
            .iter()
            .find(|s| !straight(s))
            .map_or(body.span, |s| s.span),
    }
}

/// The statements of nested blocks, one after another.
fn flat(s: &Stmt) -> Vec<&Stmt> {
    match &s.kind {
        StmtKind::Block(b) => b.stmts.iter().flat_map(flat).collect(),
        StmtKind::Empty => Vec::new(),
        _ => vec![s],
    }
}

impl Lowerer<'_, '_> {
    pub fn block(&mut self, b: &Block) -> Vec<ir::Stmt> {
        let mut out = Vec::new();
        let mut dead = 0;
        for s in &b.stmts {
            self.stmt(s, &mut out);
            if let StmtKind::Next | StmtKind::Return(_) | StmtKind::Break | StmtKind::Continue =
                s.kind
            {
                dead += 1;
                self.lenient += 1; // what follows never runs
            }
        }
        self.lenient -= dead;
        out
    }

    fn body(&mut self, s: &Stmt) -> Vec<ir::Stmt> {
        let mut out = Vec::new();
        self.stmt(s, &mut out);
        out
    }

    fn stmt(&mut self, s: &Stmt, out: &mut Vec<ir::Stmt>) {
        let kind = match &s.kind {
            StmtKind::Empty => return,
            StmtKind::Block(b) => return out.extend(self.block(b)),
            StmtKind::Expr(e) => self.effect(e).map(ir::StmtKind::Expr),
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => return self.branch(cond, then, otherwise.as_deref(), s.span, out),
            StmtKind::While { cond, body } => self.repeat(Some(cond), None, body),
            StmtKind::For {
                init,
                cond,
                step,
                body,
            } => {
                if let Some(e) = init {
                    if let Some(e) = self.expr(e, VTy::Unknown) {
                        let span = e.span;
                        out.push(ir::Stmt {
                            kind: ir::StmtKind::Expr(e),
                            span,
                        });
                    }
                }
                self.repeat(cond.as_ref(), step.as_ref(), body)
            }
            StmtKind::Foreach(f) => self.foreach(f, s.span),
            StmtKind::Return(e) => self.give(e.as_ref(), s.span),
            StmtKind::Delete(e) => self.delete(e),
            StmtKind::Break => self.in_loop(s.span, "break").map(|_| ir::StmtKind::Break),
            StmtKind::Continue => self
                .in_loop(s.span, "continue")
                .map(|_| ir::StmtKind::Continue),
            StmtKind::Next => self.next(),
            StmtKind::Try {
                body,
                message,
                handler,
            } => {
                let body = self.block(body);
                let message = message.as_ref();
                let message = message.and_then(|m| self.local_given(m, VTy::Str));
                let handler = self.block(handler);
                Some(ir::StmtKind::Try {
                    body,
                    message,
                    handler,
                })
            }
            StmtKind::EmbeddedC(c) => self.embedded_stmt(c),
        };
        if let Some(kind) = kind {
            out.push(ir::Stmt { kind, span: s.span });
        }
    }

    /// A constant condition leaves one branch only: the other one may name
    /// variables that are not there (`if (@defined($x))`).
    fn branch(
        &mut self,
        cond: &ast::Expr,
        then: &Stmt,
        otherwise: Option<&Stmt>,
        span: Span,
        out: &mut Vec<ir::Stmt>,
    ) {
        let Some(cond) = self.condition(cond) else {
            self.body(then);
            otherwise.map(|s| self.body(s));
            return;
        };
        if let ir::ExprKind::Long(n) = cond.kind {
            let taken = if n != 0 { Some(then) } else { otherwise };
            return out.extend(taken.map(|s| self.body(s)).unwrap_or_default());
        }
        let then = self.body(then);
        let otherwise = otherwise.map(|s| self.body(s)).unwrap_or_default();
        out.push(ir::Stmt {
            kind: ir::StmtKind::If {
                cond,
                then,
                otherwise,
            },
            span,
        });
    }

    fn repeat(
        &mut self,
        cond: Option<&ast::Expr>,
        step: Option<&ast::Expr>,
        body: &Stmt,
    ) -> Option<ir::StmtKind> {
        let cond = match cond {
            None => None,
            Some(c) => Some(self.condition(c)?),
        };
        let (turn, body) = (turn(body), self.loop_body(body));
        let step = match step {
            None => None,
            Some(e) => Some(Box::new(self.expr(e, VTy::Unknown)?)),
        };
        Some(ir::StmtKind::Loop {
            cond,
            step,
            body,
            turn,
        })
    }

    fn loop_body(&mut self, body: &Stmt) -> Vec<ir::Stmt> {
        self.in_loop += 1;
        let body = self.body(body);
        self.in_loop -= 1;
        body
    }

    fn in_loop(&mut self, span: Span, word: &str) -> Option<()> {
        if self.in_loop > 0 {
            return Some(());
        }
        self.error(
            Tag::FlowMisplaced,
            span,
            format!("`{word}` stands outside of a loop"),
        )
        .help("use `next` to leave a probe, `return` to leave a function");
        None
    }

    fn next(&self) -> Option<ir::StmtKind> {
        match self.scope {
            Scope::Unit(_) => Some(ir::StmtKind::Next),
            Scope::Function(_) => Some(ir::StmtKind::NextFunction),
        }
    }

    fn give(&mut self, e: Option<&ast::Expr>, span: Span) -> Option<ir::StmtKind> {
        let Scope::Function(f) = self.scope else {
            self.error(
                Tag::FlowMisplaced,
                span,
                "`return` stands outside of a function",
            )
            .help("use `next` to leave a probe");
            return None;
        };
        let want = self.shared.types.returns[f];
        match e {
            None => Some(ir::StmtKind::Return(None)),
            Some(e) => {
                let value = match want {
                    // who uses the result complains
                    VTy::Unknown => self.leniently(|l| l.expr(e, want)),
                    _ => self.expr(e, want),
                }?;
                let value = self.typed(value, value_type(want))?;
                Some(ir::StmtKind::Return(Some(value)))
            }
        }
    }

    /// `delete x` of a local: it holds what it held at first.
    fn cleared(&self, id: ir::LocalId, span: Span) -> ir::StmtKind {
        let ty = self.locals[id.0 as usize].ty;
        let expr = |kind| ir::Expr { ty, kind, span };
        let first = match ty {
            Ty::Long => expr(ir::ExprKind::Long(0)),
            Ty::Str => expr(ir::ExprKind::Str(Vec::new())),
        };
        let set = ir::ExprKind::Assign(ir::Place::Local(id), Box::new(first));
        ir::StmtKind::Expr(expr(set))
    }

    fn delete(&mut self, e: &ast::Expr) -> Option<ir::StmtKind> {
        match &e.kind {
            ExprKind::Ident(name) => {
                let Some(g) = self.global(name) else {
                    if let Some(id) = self.assigned_local(name) {
                        return Some(self.cleared(id, e.span));
                    }
                    self.error(
                        Tag::AssignTarget,
                        e.span,
                        format!("`{name}` is neither a global nor set before"),
                    )
                    .help("delete takes an array, an array element, or a variable");
                    return None;
                };
                self.resolved_global(g, name, e.span);
                let global = ir::GlobalId(g as u32);
                Some(match self.is_array(g) {
                    true => ir::StmtKind::DeleteAll(global),
                    false => ir::StmtKind::Delete {
                        global,
                        keys: Vec::new(),
                    },
                })
            }
            ExprKind::Index { base, keys } => {
                let (g, slice) = self.slice(base, keys, e.span)?;
                let map = ir::GlobalId(g as u32);
                Some(match all_given(&slice) {
                    Some(keys) => ir::StmtKind::Delete { global: map, keys },
                    None => ir::StmtKind::DeleteSlice { map, slice },
                })
            }
            _ => {
                self.error(Tag::AssignTarget, e.span, "this cannot be deleted")
                    .help("delete takes an array, an array element, or a variable");
                None
            }
        }
    }

    fn foreach(&mut self, f: &Foreach, span: Span) -> Option<ir::StmtKind> {
        let ExprKind::Ident(name) = &f.base.kind else {
            return self.buckets(f);
        };
        let Some(g) = self.global(name).filter(|g| self.is_array(*g)) else {
            self.error(
                Tag::ArrayScalar,
                f.base.span,
                format!("`{name}` is not an array"),
            )
            .help("foreach walks global arrays");
            return None;
        };
        self.resolved_global(g, name, f.base.span);
        let types = self.shared.types.globals[g].clone();
        let arity = types.keys.as_ref().map_or(0, Vec::len);
        if arity != f.keys.len() {
            self.error(
                Tag::ArrayKeys,
                f.base.span,
                format!("`{name}` has {arity} keys, not {}", f.keys.len()),
            )
            .help("name one variable for each key: foreach ([a, b] in x)");
            return None;
        }
        let known = types.keys.iter().flatten();
        let keys = f.keys.iter().zip(known);
        let keys: Option<_> = keys.map(|(k, ty)| self.local_given(k, *ty)).collect();
        let keys = keys?;
        let value = match &f.value {
            Some(v) if types.value == VTy::Stats => {
                self.error(Tag::StatMisuse, v.span, "a statistic has no value to bind")
                    .help("use @count(a[k]) and its kin inside the loop");
                return None;
            }
            Some(v) => Some(self.local_given(v, types.value)?),
            None => None,
        };
        let sort = match f.sort {
            None => None,
            Some(s) => Some(self.sort(s, types.value)?),
        };
        let slice = match &f.slice {
            None => Vec::new(),
            Some(keys) => self.slice(&f.base, keys, span)?.1,
        };
        let limit = self.limit(f)?;
        let (turn, body) = (turn(&f.body), self.loop_body(&f.body));
        Some(ir::StmtKind::Foreach(ir::Foreach {
            map: ir::GlobalId(g as u32),
            slice,
            keys,
            value,
            sort,
            limit,
            body,
            turn,
        }))
    }

    /// Buckets have their order: as in SystemTap nothing sorts them.
    fn buckets(&mut self, f: &Foreach) -> Option<ir::StmtKind> {
        let (ExprKind::Hist { operand, .. }, [bucket]) = (&f.base.kind, &f.keys[..]) else {
            self.error(
                Tag::ArrayKeys,
                f.base.span,
                "a histogram has one key: the bucket",
            )
            .help("foreach (n in @hist_log(x))");
            return None;
        };
        let (global, keys) = self.statistic(operand)?;
        let bucket = self.local_given(bucket, VTy::Long)?;
        let count = match &f.value {
            Some(v) => Some(self.local_given(v, VTy::Long)?),
            None => None,
        };
        let limit = self.limit(f)?;
        let (turn, body) = (turn(&f.body), self.loop_body(&f.body));
        Some(ir::StmtKind::Buckets(ir::Buckets {
            global,
            keys,
            bucket,
            count,
            limit,
            body,
            turn,
        }))
    }

    /// A variable that a statement sets to values of this type.
    fn local_given(&mut self, name: &Ident, given: VTy) -> Option<ir::LocalId> {
        let id = self.local_set(&name.name);
        let is = self.locals[id.0 as usize].ty;
        let (is, gets) = match (is, given) {
            (Ty::Long, VTy::Str) => ("a number", "a string"),
            (Ty::Str, VTy::Long) => ("a string", "a number"),
            _ => return Some(id),
        };
        let message = format!("`{}` is {is} elsewhere, and gets {gets} here", name.name);
        self.error(Tag::TypeMismatch, name.span, message)
            .help("take another name for one of the two");
        None
    }

    /// How often at most; `Some(None)`: there is no such limit.
    fn limit(&mut self, f: &Foreach) -> Option<Option<ir::Expr>> {
        match &f.limit {
            None => Some(None),
            Some(e) => Some(Some(self.number(e)?)),
        }
    }

    fn sort(&mut self, s: ast::Sort, value: VTy) -> Option<ir::Sort> {
        let by = match s.by {
            ast::SortBy::Key(n) => ir::SortBy::Key(n as u32),
            ast::SortBy::Value => ir::SortBy::Value,
            ast::SortBy::Aggregate(op) if value == VTy::Stats => ir::SortBy::Stat(op),
            ast::SortBy::Aggregate(_) => {
                self.error(Tag::StatMisuse, s.span, "the array holds no statistics")
                    .help("sort by the value: foreach (k in a-)");
                return None;
            }
        };
        Some(ir::Sort {
            by,
            descending: s.descending,
        })
    }
}
