// SPDX-License-Identifier: MIT
//! Walking the typed program.

use crate::ir::{Addr, Expr, ExprKind, FunctionBody, Place, Program, Stmt, StmtKind, TargetPlace};
use trapless_machine::Registers;

/// Every statement, inner ones included, outer ones first.
pub fn each_stmt<'a>(stmts: &'a [Stmt], f: &mut dyn FnMut(&'a Stmt)) {
    for s in stmts {
        f(s);
        match &s.kind {
            StmtKind::If {
                then, otherwise, ..
            } => {
                each_stmt(then, f);
                each_stmt(otherwise, f);
            }
            StmtKind::Loop { body, .. } => each_stmt(body, f),
            StmtKind::Foreach(x) => each_stmt(&x.body, f),
            StmtKind::Buckets(x) => each_stmt(&x.body, f),
            StmtKind::Try { body, handler, .. } => {
                each_stmt(body, f);
                each_stmt(handler, f);
            }
            _ => {}
        }
    }
}

/// Every expression in the statements, inner ones included.
pub fn each_expr<'a>(stmts: &'a [Stmt], f: &mut dyn FnMut(&'a Expr)) {
    each_stmt(stmts, &mut |s| {
        for e in own_exprs(s) {
            inner_exprs(e, f);
        }
    });
}

/// The expressions that stand in the statement itself.
pub fn own_exprs(s: &Stmt) -> Vec<&Expr> {
    match &s.kind {
        StmtKind::Expr(e) | StmtKind::If { cond: e, .. } => vec![e],
        StmtKind::Loop { cond, step, .. } => cond.iter().chain(step.as_deref()).collect(),
        StmtKind::Foreach(x) => x.limit.iter().chain(x.slice.iter().flatten()).collect(),
        StmtKind::Buckets(x) => x.limit.iter().chain(&x.keys).collect(),
        StmtKind::DeleteSlice { slice, .. } => slice.iter().flatten().collect(),
        StmtKind::Return(e) => e.iter().collect(),
        StmtKind::Delete { keys, .. } => keys.iter().collect(),
        _ => Vec::new(),
    }
}

/// The expression and all inside it.
pub fn inner_exprs<'a>(e: &'a Expr, f: &mut dyn FnMut(&'a Expr)) {
    f(e);
    each_child(e, &mut |c| inner_exprs(c, f));
}

/// The expressions directly inside.
pub fn each_child<'a>(e: &'a Expr, f: &mut dyn FnMut(&'a Expr)) {
    match &e.kind {
        ExprKind::Unary(_, a)
        | ExprKind::HistBound { bucket: a, .. }
        | ExprKind::FloatText(a, _)
        | ExprKind::NameOf { value: a, .. }
        | ExprKind::SaveCallData(_, a)
        | ExprKind::Match { subject: a, .. } => f(a),
        ExprKind::Binary(_, a, b)
        | ExprKind::Compare(_, a, b)
        | ExprKind::Concat(a, b)
        | ExprKind::And(a, b)
        | ExprKind::Or(a, b)
        | ExprKind::MemoryBytes(a, b) => {
            f(a);
            f(b);
        }
        ExprKind::Ternary(a, b, c) => {
            f(a);
            f(b);
            f(c);
        }
        ExprKind::Assign(p, v) | ExprKind::AssignOp(p, _, v) => {
            place(p, f);
            f(v);
        }
        ExprKind::Read(p) | ExprKind::Crement { place: p, .. } => place(p, f),
        ExprKind::Sample { keys, value, .. } => {
            keys.iter().for_each(&mut *f);
            f(value);
        }
        ExprKind::In { keys, .. } | ExprKind::Stat { keys, .. } => keys.iter().for_each(f),
        ExprKind::InSlice { slice, .. } => slice.iter().flatten().for_each(f),
        ExprKind::HistBucket { keys, bucket, .. } => {
            keys.iter().for_each(&mut *f);
            f(bucket);
        }
        ExprKind::Call { args, .. } => args.iter().for_each(f),
        ExprKind::Print(p) | ExprKind::Shielded(p) => {
            p.args.iter().for_each(&mut *f);
            p.hist.iter().flat_map(|h| &h.keys).for_each(f);
        }
        ExprKind::Target(t) | ExprKind::TargetString(t) => target(t, f),
        ExprKind::TargetAddress(a) => addr(a, f),
        ExprKind::TargetBytes {
            addr: a, size: n, ..
        } => {
            addr(a, f);
            addr(n, f);
        }
        ExprKind::Elements(row) => {
            for a in [&row.first, &row.next, &row.count] {
                addr(a, f);
            }
            f(&row.element);
        }
        ExprKind::Long(_)
        | ExprKind::Str(_)
        | ExprKind::FuncName
        | ExprKind::Command(_)
        | ExprKind::CallData(_) => {}
    }
}

fn place<'a>(p: &'a Place, f: &mut dyn FnMut(&'a Expr)) {
    match p {
        Place::Element { keys, .. } => keys.iter().for_each(f),
        Place::Target(t) => target(t, f),
        Place::Local(_) | Place::Global(_) => {}
    }
}

fn target<'a>(t: &'a TargetPlace, f: &mut dyn FnMut(&'a Expr)) {
    match t {
        TargetPlace::Register { .. } => {}
        TargetPlace::Memory { addr: a, .. } | TargetPlace::Value(a) => addr(a, f),
    }
}

fn addr<'a>(a: &'a Addr, f: &mut dyn FnMut(&'a Expr)) {
    match a {
        Addr::Expr(e) => f(e),
        Addr::Load { addr: a, .. } | Addr::Swap { of: a, .. } => addr(a, f),
        Addr::Binary(_, a, b) => {
            addr(a, f);
            addr(b, f);
        }
        _ => {}
    }
}

/// A constant, or an operator: its value depends on its operands alone.
pub fn only_computes(kind: &ExprKind) -> bool {
    matches!(
        kind,
        ExprKind::Long(_)
            | ExprKind::Str(_)
            | ExprKind::FuncName
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Compare(..)
            | ExprKind::Concat(..)
            | ExprKind::And(..)
            | ExprKind::Or(..)
            | ExprKind::Ternary(..)
    )
}

/// Functions that the statements call directly, by number.
pub fn callees(stmts: &[Stmt]) -> Vec<usize> {
    let mut found = Vec::new();
    each_expr(stmts, &mut |e| {
        if let ExprKind::Call { functions, .. } = &e.kind {
            found.extend(functions.iter().map(|f| f.0 as usize));
        }
    });
    found
}

/// Does it use a register that a light detour does not save?
pub fn uses_preserved(e: &Expr, registers: &Registers) -> bool {
    uses_register(e, &|n| registers.is_preserved(n))
}

/// Does it read or change one of those registers of the traced program?
pub fn uses_register(e: &Expr, which: &dyn Fn(u16) -> bool) -> bool {
    fn in_addr(a: &Addr, which: &dyn Fn(u16) -> bool) -> bool {
        match a {
            Addr::Register(r) => which(r.0),
            Addr::Load { addr: a, .. } | Addr::Swap { of: a, .. } => in_addr(a, which),
            Addr::Binary(_, a, b) => in_addr(a, which) || in_addr(b, which),
            _ => false,
        }
    }
    let in_place = |t: &TargetPlace| match t {
        TargetPlace::Register { reg, .. } => which(reg.0),
        TargetPlace::Memory { addr, .. } | TargetPlace::Value(addr) => in_addr(addr, which),
    };
    let mut found = false;
    inner_exprs(e, &mut |e| {
        found |= match &e.kind {
            ExprKind::Target(t) | ExprKind::TargetString(t) => in_place(t),
            ExprKind::Assign(Place::Target(t), _)
            | ExprKind::AssignOp(Place::Target(t), ..)
            | ExprKind::Crement {
                place: Place::Target(t),
                ..
            } => in_place(t),
            ExprKind::TargetAddress(a) => in_addr(a, which),
            ExprKind::TargetBytes {
                addr: a, size: n, ..
            } => in_addr(a, which) || in_addr(n, which),
            ExprKind::Elements(row) => {
                let mut own = [&row.first, &row.next, &row.count].into_iter();
                own.any(|a| in_addr(a, which))
            }
            _ => false,
        };
    });
    found
}

/// Does a function written in C that fits lie behind these statements?
pub fn reaches_c(program: &Program, body: &[Stmt], fits: &dyn Fn(&str) -> bool) -> bool {
    let mut todo = callees(body);
    let mut seen = vec![false; program.functions.len()];
    while let Some(f) = todo.pop() {
        if std::mem::replace(&mut seen[f], true) {
            continue;
        }
        match &program.functions[f].body {
            FunctionBody::C(text) if fits(text) => return true,
            FunctionBody::C(_) | FunctionBody::Embedded(_) => {}
            FunctionBody::Script(body) => todo.extend(callees(body)),
        }
    }
    false
}
