// SPDX-License-Identifier: MIT
//! `@entry(EXPR)` at the return of a system call: a probe of the call's entry keeps the value for the thread and its
//! stack pointer, which the kernel leaves as they are (tapset/entry.stp). An element is overwritten by the next call from
//! there; those of threads that have gone make room in time.

use crate::calls;
use crate::declarations::{Declarations, Origin};
use crate::expand::Unit;
use trapless_syntax::ast::{
    AssignOp, Block, Component, Expr, ExprKind, Global, Ident, Item, Key, NodeIds, ProbePoint,
    Script, Stmt, StmtKind,
};
use trapless_syntax::diag::{Diagnostics, Tag};
use trapless_syntax::visit::{refresh_ids, walk_expr, walk_expr_mut, Visit, VisitMut};
use trapless_syntax::Span;

/// Functions of the tapset, which make an element's key.
pub const KEYS: [&str; 2] = ["_entry_thread", "_entry_stack"];

/// Add what such units need: arrays to the declarations, and the entries' units.
pub fn add(all: &mut Declarations, units: &mut Vec<Unit>, ids: &NodeIds, diags: &mut Diagnostics) {
    let mut entries = Vec::new();
    let mut known = 0;
    for unit in units.iter_mut().filter(|u| u.points.iter().all(is_return)) {
        let mut taken = Taken {
            saves: Vec::new(),
            known,
            ids,
        };
        taken.visit_block(&mut unit.body);
        known = taken.known;
        if taken.saves.is_empty() {
            continue;
        }
        for s in taken
            .saves
            .iter()
            .filter(|s| has_local(all, unit, &s.value))
        {
            no_local(diags, s.name.span);
        }
        declare(all, unit, &taken.saves, diags);
        entries.push(entry_of(unit, taken.saves, ids));
    }
    units.extend(entries);
}

fn is_return(point: &ProbePoint) -> bool {
    calls::is_of_calls(point) && point.components.iter().any(is_suffix)
}

fn is_suffix(c: &Component) -> bool {
    c.name.name == calls::RETURN
}

/// What is to be kept, and by which name.
struct Save {
    name: Ident,
    value: Expr,
}

struct Taken<'a> {
    saves: Vec<Save>,
    known: usize,
    ids: &'a NodeIds,
}

impl VisitMut for Taken<'_> {
    fn visit_expr(&mut self, e: &mut Expr) {
        let ExprKind::Entry(value) = &e.kind else {
            return walk_expr_mut(self, e);
        };
        let name = Ident {
            name: format!("_entry_{}", self.known),
            span: e.span,
        };
        self.known += 1;
        let value = (**value).clone();
        e.kind = element(&name, self.ids).kind;
        self.saves.push(Save { name, value });
    }
}

/// Complain of what has no value where `@entry` is computed.
pub fn no_local(diags: &mut Diagnostics, span: Span) {
    let message = "locals have no value yet at the function's entry";
    diags
        .error(Tag::ReturnMisplaced, span, message)
        .help("use globals, $variables and functions in @entry");
}

fn has_local(all: &Declarations, unit: &Unit, value: &Expr) -> bool {
    struct Idents(Vec<String>);
    impl Visit for Idents {
        fn visit_expr(&mut self, e: &Expr) {
            if let ExprKind::Ident(name) = &e.kind {
                self.0.push(name.clone());
            }
            walk_expr(self, e);
        }
    }
    let mut idents = Idents(Vec::new());
    idents.visit_expr(value);
    let is_known = |name: &String| {
        all.global_named(name, unit.file).is_some()
            || !all.functions_named(name, unit.file).is_empty()
    };
    !idents.0.iter().all(is_known)
}

fn element(name: &Ident, ids: &NodeIds) -> Expr {
    let expr = |kind| Expr {
        id: ids.fresh(),
        kind,
        span: name.span,
    };
    let call = |function: &str| {
        let function = Ident {
            name: function.to_string(),
            span: name.span,
        };
        Key::Expr(expr(ExprKind::Call {
            name: function,
            args: Vec::new(),
        }))
    };
    expr(ExprKind::Index {
        base: Box::new(expr(ExprKind::Ident(name.name.clone()))),
        keys: KEYS.map(call).to_vec(),
    })
}

/// Nobody's to see.
fn declare(all: &mut Declarations, unit: &Unit, saves: &[Save], diags: &mut Diagnostics) {
    let global = |s: &Save| {
        Item::Global(Global {
            private: false,
            name: s.name.clone(),
            wrap: true,
            size: None,
            init: None,
            span: s.name.span,
        })
    };
    let script = Script {
        file: unit.file,
        items: saves.iter().map(global).collect(),
    };
    all.add(script, Origin::Made, diags);
}

fn entry_of(unit: &Unit, saves: Vec<Save>, ids: &NodeIds) -> Unit {
    let keep = |s: Save| {
        let (span, target) = (s.name.span, element(&s.name, ids));
        let kind = ExprKind::Assign {
            op: AssignOp::Set,
            target: Box::new(target),
            value: Box::new(s.value),
        };
        let id = ids.fresh();
        Stmt {
            kind: StmtKind::Expr(Expr { id, kind, span }),
            span,
        }
    };
    let mut body = Block {
        stmts: saves.into_iter().map(keep).collect(),
        span: unit.body.span,
    };
    refresh_ids(&mut body, ids);
    let entry = |point: &ProbePoint| {
        let mut point = point.clone();
        point.components.retain(|c| !is_suffix(c));
        point
    };
    Unit {
        body,
        points: unit.points.iter().map(entry).collect(),
        file: unit.file,
        span: unit.span,
        written: None,
        condition: unit.condition.clone(),
        name: unit.name.clone(),
    }
}
