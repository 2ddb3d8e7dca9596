// SPDX-License-Identifier: MIT
//! Variables of the traced program: from `$x->y[i]` to registers and memory.

use crate::ir::Expr;
use crate::points::Context;
use crate::world::World;
use trapless_syntax::ast;
use trapless_syntax::diag::Diagnostics;

/// Lowers a script expression inside a target one (array index, `@cast`
/// operand, the pointer of `EXPR->member`).
pub type LowerExpr<'a> = dyn FnMut(&ast::Expr, &mut Diagnostics) -> Option<Expr> + 'a;

/// Read a target variable: a number, or text for the pretty-printing forms.
/// `context` is that of the place; of a return probe only `$return` arrives
/// here with `at_return` (the others are read at entry, with a context that
/// has it false). `None`: a report has been made.
pub fn read(
    target: &ast::Target,
    context: Option<&Context>,
    world: &mut World,
    lower: &mut LowerExpr,
    diags: &mut Diagnostics,
) -> Option<Expr> {
    let _ = (context, world, lower);
    diags
        .error(
            trapless_syntax::Tag::NotBuilt,
            target.span,
            "variables of the traced program are not built yet",
        )
        .help("use int_arg(n), pointer_arg(n) and their kin");
    None
}
