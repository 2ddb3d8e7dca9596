// SPDX-License-Identifier: MIT
//! `probe POINT if (EXPR)`: besides the test in front of the body, a handler by which the runner sees when the probe
//! can do without its place in the program.

use super::{Lowerer, Shared};
use crate::declare::declarations::Scope;
use crate::declare::unit::Unit;
use crate::ir::{self, ExprKind, ProbeKind};
use crate::walk;

/// Of a unit with a condition that only reads globals; of any other one the body's own test is all there is.
pub fn lower_condition(shared: &mut Shared, units: &[Unit], n: usize) -> Option<ir::Handler> {
    let unit = &units[n];
    let condition = unit.condition.as_ref()?;
    let told = shared.diags.len();
    let mut l = Lowerer::new(shared, Scope::Unit(n), unit.file);
    let cond = l.condition(condition);
    let plain = l.locals.is_empty();
    shared.diags.truncate(told); // the body tells it
    let cond = cond.filter(|c| plain && only_reads_globals(c))?;
    let stmt = |kind| ir::Stmt {
        kind,
        span: condition.span,
    };
    let test = ir::StmtKind::If {
        cond,
        then: vec![stmt(ir::StmtKind::Next)],
        otherwise: Vec::new(),
    };
    Some(ir::Handler::new(
        ir::HandlerKind::Condition,
        vec![stmt(test)],
        condition.span,
    ))
}

/// Those of SystemTap's ON-THE-FLY ARMING, and variables that are watched.
pub fn can_be_armed(kind: &ProbeKind) -> bool {
    matches!(
        kind,
        ProbeKind::Timer { .. }
            | ProbeKind::Site { .. }
            | ProbeKind::Return { .. }
            | ProbeKind::Watch { .. }
    )
}

fn only_reads_globals(e: &ir::Expr) -> bool {
    let (mut pure, mut reads) = (true, false);
    walk::inner_exprs(e, &mut |e| match &e.kind {
        ExprKind::Read(ir::Place::Global(_) | ir::Place::Element { .. })
        | ExprKind::In { .. }
        | ExprKind::InSlice { .. }
        | ExprKind::Stat { .. }
        | ExprKind::HistBucket { .. } => reads = true,
        kind if walk::only_computes(kind) => {}
        _ => pure = false,
    });
    pure && reads
}
