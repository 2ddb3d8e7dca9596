// SPDX-License-Identifier: MIT
//! Complains of loops that change the array they walk. To delete all of it is
//! no change: the walk ends there.

use crate::ir::{Expr, ExprKind, Foreach, FunctionBody, GlobalId, Place, Program, Stmt, StmtKind};
use crate::walk;
use std::collections::HashSet;
use trapless_syntax::diag::{Diagnostics, Tag};

pub fn check(program: &Program, diags: &mut Diagnostics) {
    let changes: Vec<HashSet<GlobalId>> = (0..program.functions.len())
        .map(|f| function_changes(program, f))
        .collect();
    let functions = program.functions.iter().filter_map(|f| match &f.body {
        FunctionBody::Script(body) => Some(body),
        FunctionBody::C(_) | FunctionBody::Embedded(_) => None,
    });
    let bodies = program.handlers.iter().map(|h| &h.body).chain(functions);
    for body in bodies {
        walk::each_stmt(body, &mut |s| {
            if let StmtKind::Foreach(f) = &s.kind {
                check_loop(program, f, &changes, diags);
            }
        });
    }
}

fn check_loop(
    program: &Program,
    f: &Foreach,
    changes: &[HashSet<GlobalId>],
    diags: &mut Diagnostics,
) {
    let name = &program.globals[f.map.0 as usize].name;
    let mut report = |span, what: String| {
        diags
            .error(Tag::ForeachChange, span, what)
            .help("note the keys in a second array, and change this one behind the loop");
    };
    walk::each_stmt(&f.body, &mut |s| {
        if deleted(s) == Some(f.map) {
            report(s.span, format!("`{name}` changes while this loop walks it"));
        }
    });
    walk::each_expr(&f.body, &mut |e| {
        if changed(e) == Some(f.map) {
            report(e.span, format!("`{name}` changes while this loop walks it"));
        }
        let ExprKind::Call { functions, .. } = &e.kind else {
            return;
        };
        let changes = |f: &&crate::ir::FunctionId, g| changes[f.0 as usize].contains(g);
        if let Some(called) = functions.iter().find(|c| changes(c, &f.map)) {
            let called = &program.functions[called.0 as usize].name;
            report(
                e.span,
                format!("`{called}` changes `{name}`, which this loop walks"),
            );
        }
    });
}

/// The array that a statement takes elements out of.
fn deleted(s: &Stmt) -> Option<GlobalId> {
    match &s.kind {
        StmtKind::Delete { global, keys } if !keys.is_empty() => Some(*global),
        StmtKind::DeleteSlice { map, .. } => Some(*map),
        _ => None,
    }
}

/// The array that an expression sets an element of.
fn changed(e: &Expr) -> Option<GlobalId> {
    match &e.kind {
        ExprKind::Assign(Place::Element { map, .. }, _)
        | ExprKind::AssignOp(Place::Element { map, .. }, ..)
        | ExprKind::Crement {
            place: Place::Element { map, .. },
            ..
        } => Some(*map),
        ExprKind::Sample { global, keys, .. } if !keys.is_empty() => Some(*global),
        _ => None,
    }
}

/// The arrays that a function, or one that it calls, changes.
fn function_changes(program: &Program, function: usize) -> HashSet<GlobalId> {
    let mut found = HashSet::new();
    let mut seen = vec![false; program.functions.len()];
    let mut todo = vec![function];
    while let Some(f) = todo.pop() {
        if std::mem::replace(&mut seen[f], true) {
            continue;
        }
        let FunctionBody::Script(body) = &program.functions[f].body else {
            continue;
        };
        walk::each_stmt(body, &mut |s| found.extend(deleted(s)));
        walk::each_expr(body, &mut |e| found.extend(changed(e)));
        todo.extend(walk::callees(body));
    }
    found
}
