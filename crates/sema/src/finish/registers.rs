// SPDX-License-Identifier: MIT
//! Which handlers reach a tapset function that reads registers by name: their
//! probes save all of them.

use crate::ir::Program;
use crate::walk::reaches_c;

const PRAGMA: &str = "/* registers */";

pub fn mark(program: &mut Program) {
    let mut handlers = std::mem::take(&mut program.handlers);
    for handler in &mut handlers {
        handler.needs_all_regs |= reaches_c(program, &handler.body, &|text| text.contains(PRAGMA));
    }
    program.handlers = handlers;
}
