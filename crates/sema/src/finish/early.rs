// SPDX-License-Identifier: MIT
//! What a handler does before it takes its locks: a read of the program's memory may wait for somebody (a page comes
//! from a file, or another thread of the program serves it), who is not to wait for the lock.

use crate::ir::{
    Addr, Expr, ExprKind, Function, FunctionBody, Handler, HandlerKind, Local, LocalId, Place,
    Program, Stmt, StmtKind, TargetPlace, Ty, PURE,
};
use crate::walk;

/// Note how many of each handler's first statements need no lock; numbers that the next one reads from memory
/// become such statements.
pub fn read(program: &mut Program) {
    let functions = &program.functions;
    for h in &mut program.handlers {
        let hit = !matches!(h.kind, HandlerKind::Session | HandlerKind::Condition);
        if !hit || h.locks.is_empty() {
            continue;
        }
        let alone = |s: &&Stmt| is_quiet(s, functions);
        let first = h.body.iter().take_while(alone).count();
        h.early = first + hoist(h, first, functions);
        if !h.body[..h.early].iter().any(reads) {
            h.early = 0;
        }
    }
}

/// Nobody but the handler itself sees that it has run.
fn is_quiet(s: &Stmt, functions: &[Function]) -> bool {
    let all = |list: &[Stmt]| list.iter().all(|s| is_quiet(s, functions));
    let pure = |e: &Expr| is_pure(e, functions);
    match &s.kind {
        StmtKind::Expr(e) => match &e.kind {
            ExprKind::Assign(Place::Local(_), v) | ExprKind::AssignOp(Place::Local(_), _, v) => {
                pure(v)
            }
            ExprKind::Crement {
                place: Place::Local(_),
                ..
            } => true,
            _ => pure(e),
        },
        StmtKind::If {
            cond,
            then,
            otherwise,
        } => pure(cond) && all(then) && all(otherwise),
        StmtKind::Next => true,
        _ => false,
    }
}

fn is_pure(e: &Expr, functions: &[Function]) -> bool {
    let own = match &e.kind {
        kind if walk::only_computes(kind) => true,
        ExprKind::Read(Place::Local(_))
        | ExprKind::CallData(_)
        | ExprKind::NameOf { .. }
        | ExprKind::TargetString(_)
        | ExprKind::TargetAddress(_) => true,
        // Threads share these: who has the lock sees what the one before has seen, or later values.
        ExprKind::Target(place) => match &**place {
            TargetPlace::Memory { addr, .. } => !is_static(addr),
            _ => true,
        },
        ExprKind::Call {
            functions: tried, ..
        } => tried
            .iter()
            .all(|f| is_pure_c(&functions[f.0 as usize].body)),
        _ => false,
    };
    let mut all = own;
    walk::each_child(e, &mut |c| all = all && is_pure(c, functions));
    all
}

fn is_static(a: &Addr) -> bool {
    match a {
        Addr::Image { .. } => true,
        Addr::Binary(_, a, b) => is_static(a) || is_static(b),
        _ => false,
    }
}

fn is_pure_c(body: &FunctionBody) -> bool {
    matches!(body, FunctionBody::C(code) if code.contains(PURE))
}

/// Whether memory of the program may be read.
fn reads(s: &Stmt) -> bool {
    let mut found = false;
    walk::each_expr(std::slice::from_ref(s), &mut |e| {
        found |= match &e.kind {
            ExprKind::Target(place) => matches!(**place, TargetPlace::Memory { .. }),
            ExprKind::TargetString(_) | ExprKind::Call { .. } => true,
            _ => false,
        };
    });
    found
}

/// Of the statement `at` each number in memory that it reads whatever else it does, into variables of its own.
fn hoist(h: &mut Handler, at: usize, functions: &[Function]) -> usize {
    let Some(s) = h.body.get_mut(at) else {
        return 0;
    };
    let span = s.span;
    let (StmtKind::Expr(e) | StmtKind::If { cond: e, .. }) = &mut s.kind else {
        return 0;
    };
    if changes_what_is_read(e, functions) {
        return 0;
    }
    let mut found = Vec::new();
    take(e, functions, &mut h.locals, &mut found);
    let stmts: Vec<Stmt> = found
        .into_iter()
        .map(|e| Stmt {
            kind: StmtKind::Expr(e),
            span,
        })
        .collect();
    let n = stmts.len();
    h.body.splice(at..at, stmts);
    n
}

/// A function that is not known, or a variable that what is read may depend on.
fn changes_what_is_read(e: &Expr, functions: &[Function]) -> bool {
    let mut found = false;
    walk::inner_exprs(e, &mut |e| {
        found |= match &e.kind {
            ExprKind::Assign(p, _)
            | ExprKind::AssignOp(p, ..)
            | ExprKind::Crement { place: p, .. } => {
                matches!(p, Place::Local(_) | Place::Target(_))
            }
            ExprKind::Call {
                functions: tried, ..
            } => !tried
                .iter()
                .all(|f| is_pure_c(&functions[f.0 as usize].body)),
            _ => false,
        };
    });
    found
}

fn take(e: &mut Expr, functions: &[Function], locals: &mut Vec<Local>, found: &mut Vec<Expr>) {
    let memory =
        matches!(&e.kind, ExprKind::Target(p) if matches!(**p, TargetPlace::Memory { .. }));
    if memory && e.ty == Ty::Long && is_pure(e, functions) {
        let (span, ty) = (e.span, e.ty);
        let local = Place::Local(LocalId(locals.len() as u32));
        let name = format!("(read {})", locals.len());
        locals.push(Local { name, ty });
        let read = ExprKind::Read(local.clone());
        let value = std::mem::replace(
            e,
            Expr {
                ty,
                kind: read,
                span,
            },
        );
        let kind = ExprKind::Assign(local, Box::new(value));
        return found.push(Expr { ty, kind, span });
    }
    let mut inner = |e: &mut Expr| take(e, functions, locals, found);
    let keys = |p: &mut Place, f: &mut dyn FnMut(&mut Expr)| {
        if let Place::Element { keys, .. } = p {
            keys.iter_mut().for_each(f);
        }
    };
    match &mut e.kind {
        // The others are not always wanted.
        ExprKind::Unary(_, a)
        | ExprKind::And(a, _)
        | ExprKind::Or(a, _)
        | ExprKind::Ternary(a, ..)
        | ExprKind::NameOf { value: a, .. } => inner(a),
        ExprKind::Binary(_, a, b) | ExprKind::Compare(_, a, b) | ExprKind::Concat(a, b) => {
            inner(a);
            inner(b);
        }
        ExprKind::Assign(p, v) | ExprKind::AssignOp(p, _, v) => {
            keys(p, &mut inner);
            inner(v);
        }
        ExprKind::Read(p) | ExprKind::Crement { place: p, .. } => keys(p, &mut inner),
        ExprKind::Sample { keys, value, .. } => {
            keys.iter_mut().for_each(&mut inner);
            inner(value);
        }
        ExprKind::In { keys, .. } | ExprKind::Stat { keys, .. } => {
            keys.iter_mut().for_each(inner);
        }
        ExprKind::Call { args, .. } => args.iter_mut().for_each(inner),
        ExprKind::Print(p) => p.args.iter_mut().for_each(inner),
        _ => {}
    }
}
