// SPDX-License-Identifier: MIT
//! `@entry(EXPR)` at the return of a system call: a probe of the call's entry keeps the value for the thread and its
//! stack pointer, which the kernel leaves as they are (tapset/entry.stp), and behind the values the call's serial number.
//! The return asks for that first: what an earlier call from there has left, because the entry's handler could not run
//! (no lock in time, an error), is not this one's. An element is overwritten by the next call from there; those of threads
//! that have gone make room in time.

use crate::declare::calls;
use crate::declare::declarations::{Declarations, Origin};
use crate::declare::unit::Unit;
use trapless_syntax::ast::{
    AssignOp, BinOp, Block, Component, Expr, ExprKind, Global, Ident, Item, Key, NodeIds,
    ProbePoint, Script, Stmt, StmtKind,
};
use trapless_syntax::diag::{Diagnostics, Tag};
use trapless_syntax::visit::{refresh_ids, walk_expr, walk_expr_mut, Visit, VisitMut};
use trapless_syntax::Span;

/// Functions of the tapset, which make an element's key.
pub const KEYS: [&str; 2] = ["_entry_thread", "_entry_stack"];
/// ... and the one that tells which call it is.
const SERIAL: &str = "_entry_serial";
/// ... or, where nobody tells, that there is one.
const MARK: i64 = 1;

/// Add what such units need: arrays to the declarations, and the entries' units.
/// `of_system`: points without a program mean the calls of a whole system.
pub fn add(
    all: &mut Declarations,
    units: &mut Vec<Unit>,
    of_system: bool,
    ids: &NodeIds,
    diags: &mut Diagnostics,
) {
    let mut entries = Vec::new();
    let mut known = 0;
    for unit in units.iter_mut().filter(|u| u.points.iter().all(is_return)) {
        let mut taken = Taken {
            saves: Vec::new(),
            known,
            ids,
        };
        taken.visit_block(&mut unit.body);
        let Some(first) = taken.saves.first().map(|s| s.name.span) else {
            continue;
        };
        for s in taken
            .saves
            .iter()
            .filter(|s| has_local(all, unit, &s.value))
        {
            no_local(diags, s.name.span);
        }
        let told = of_system && unit.points.iter().all(is_without_program);
        let which = match told {
            true => expr(ExprKind::Number(MARK), first, ids),
            false => call(SERIAL, first, ids),
        };
        let serial = taken.save(which, first);
        known = taken.known;
        declare(all, unit, &taken.saves, diags);
        let (begin, end) = match told {
            true => (Vec::new(), take_mark(&serial, ids)),
            false => (
                vec![unless(BinOp::Eq, &serial, call(SERIAL, first, ids), ids)],
                vec![unless(BinOp::Ne, &serial, call(SERIAL, first, ids), ids)],
            ),
        };
        entries.push(entry_of(unit, begin, taken.saves, ids));
        unit.body.stmts.splice(0..0, end);
    }
    units.extend(entries);
}

fn is_return(point: &ProbePoint) -> bool {
    calls::is_of_calls(point) && point.components.iter().any(is_suffix)
}

fn is_without_program(point: &ProbePoint) -> bool {
    point
        .components
        .iter()
        .all(|c| c.name.name != "process" || c.arg.is_none())
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

impl Taken<'_> {
    fn save(&mut self, value: Expr, span: Span) -> Ident {
        let name = Ident {
            name: format!("_entry_{}", self.known),
            span,
        };
        self.known += 1;
        self.saves.push(Save {
            name: name.clone(),
            value,
        });
        name
    }
}

impl VisitMut for Taken<'_> {
    fn visit_expr(&mut self, e: &mut Expr) {
        let ExprKind::Entry(value) = &e.kind else {
            return walk_expr_mut(self, e);
        };
        let name = self.save((**value).clone(), e.span);
        e.kind = element(&name, self.ids).kind;
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

fn expr(kind: ExprKind, span: Span, ids: &NodeIds) -> Expr {
    Expr {
        id: ids.fresh(),
        kind,
        span,
    }
}

fn call(function: &str, span: Span, ids: &NodeIds) -> Expr {
    let name = Ident {
        name: function.to_string(),
        span,
    };
    let args = Vec::new();
    expr(ExprKind::Call { name, args }, span, ids)
}

fn element(name: &Ident, ids: &NodeIds) -> Expr {
    let base = expr(ExprKind::Ident(name.name.clone()), name.span, ids);
    let kind = ExprKind::Index {
        base: Box::new(base),
        keys: KEYS.map(|k| Key::Expr(call(k, name.span, ids))).to_vec(),
    };
    expr(kind, name.span, ids)
}

/// Nothing more for a call whose number is kept (or is not): `if (_entry_9[...] == _entry_serial()) next`.
fn unless(op: BinOp, kept: &Ident, number: Expr, ids: &NodeIds) -> Stmt {
    let span = kept.span;
    let kept = element(kept, ids);
    let kind = ExprKind::Binary(op, Box::new(kept), Box::new(number));
    let next = Stmt {
        kind: StmtKind::Next,
        span,
    };
    Stmt {
        kind: StmtKind::If {
            cond: expr(kind, span, ids),
            then: Box::new(next),
            otherwise: None,
        },
        span,
    }
}

/// Nothing for a call whose entry was not seen: `if (_entry_9[...] != 1) next`; the next one leaves its own mark.
fn take_mark(mark: &Ident, ids: &NodeIds) -> Vec<Stmt> {
    let number = |n| expr(ExprKind::Number(n), mark.span, ids);
    vec![
        unless(BinOp::Ne, mark, number(MARK), ids),
        set(mark, number(0), ids),
    ]
}

/// `_entry_9[...] = VALUE`
fn set(name: &Ident, value: Expr, ids: &NodeIds) -> Stmt {
    let (span, target) = (name.span, element(name, ids));
    let kind = ExprKind::Assign {
        op: AssignOp::Set,
        target: Box::new(target),
        value: Box::new(value),
    };
    Stmt {
        kind: StmtKind::Expr(expr(kind, span, ids)),
        span,
    }
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

/// What an interrupted call had when it was begun is not overwritten as it goes on: `begin` sees to that.
fn entry_of(unit: &Unit, begin: Vec<Stmt>, saves: Vec<Save>, ids: &NodeIds) -> Unit {
    let mut stmts = begin;
    stmts.extend(saves.into_iter().map(|s| set(&s.name, s.value, ids)));
    let mut body = Block {
        stmts,
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
        turns: unit.turns.clone(),
        file: unit.file,
        span: unit.span,
        written: None,
        condition: unit.condition.clone(),
        name: unit.name.clone(),
        offered: None,
    }
}
