// SPDX-License-Identifier: MIT
//! Which handlers of returns read what the function returns: they are of no
//! use where a call leaves by a jump to a function that is not watched.

use trapless_sema::ir::{FunctionBody, Handler, Program, Stmt};
use trapless_sema::walk::{callees, each_expr, reads_register};

/// What a tapset function calls to read it.
const READER: &str = "tl_returnval";

pub fn reads_result(program: &Program, handler: &Handler) -> bool {
    let mut todo = callees(&handler.body);
    let mut seen = vec![false; program.functions.len()];
    if reads_registers(&handler.body) {
        return true;
    }
    while let Some(f) = todo.pop() {
        if std::mem::replace(&mut seen[f], true) {
            continue;
        }
        match &program.functions[f].body {
            FunctionBody::C(text) if text.contains(READER) => return true,
            FunctionBody::C(_) => {}
            FunctionBody::Script(body) => todo.extend(callees(body)),
        }
    }
    false
}

/// In a handler of returns that is `$return`: all else was saved at entry.
fn reads_registers(body: &[Stmt]) -> bool {
    let mut found = false;
    each_expr(body, &mut |e| found |= reads_register(e, &|_| true));
    found
}
