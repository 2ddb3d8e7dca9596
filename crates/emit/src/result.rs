// SPDX-License-Identifier: MIT
//! Which handlers of returns read what the function returns: they are of no
//! use where a call leaves by a jump to a function that is not watched.

use trapless_sema::ir::{Handler, Program, Stmt};
use trapless_sema::walk::reaches_c;
use trapless_sema::walk::{each_expr, uses_register};

/// What a tapset function calls to read it.
const READER: &str = "tl_returnval";

pub fn reads_result(program: &Program, handler: &Handler) -> bool {
    uses_registers(&handler.body)
        || reaches_c(program, &handler.body, &|text| text.contains(READER))
}

/// In a handler of returns that is `$return`: all else was saved at entry.
fn uses_registers(body: &[Stmt]) -> bool {
    let mut found = false;
    each_expr(body, &mut |e| found |= uses_register(e, &|_| true));
    found
}
