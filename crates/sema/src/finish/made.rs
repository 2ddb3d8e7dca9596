// SPDX-License-Identifier: MIT
//! What handlers that the compiler makes are made of.

use crate::ir::*;
use trapless_syntax::Span;

/// Add a probe with its handler.
pub(super) fn push(
    program: &mut Program,
    handler: Handler,
    point: &str,
    func: String,
    kind: ProbeKind,
) {
    program.probes.push(Probe {
        point: point.into(),
        func: func.into(),
        script: "".into(),
        name: "".into(),
        kind,
        handler: HandlerId(program.handlers.len() as u32),
        condition: None,
        at_syscall: false,
        refusal: Refusal::Error,
        never: false,
        hierarchy: false,
    });
    program.handlers.push(handler);
}

/// Of expressions and statements that stand for one place of the script.
pub(super) struct Writer {
    pub span: Span,
}

impl Writer {
    pub fn expr(&self, ty: Ty, kind: ExprKind) -> Expr {
        Expr {
            ty,
            kind,
            span: self.span,
        }
    }

    pub fn stmt(&self, kind: StmtKind) -> Stmt {
        Stmt {
            kind,
            span: self.span,
        }
    }

    /// `names`: of the last of the arguments; "": it is no field of the event.
    pub fn print_named(
        &self,
        format: String,
        args: Vec<Expr>,
        names: &'static [&'static str],
    ) -> Stmt {
        let print = Print {
            format: format.into_bytes(),
            args,
            names,
            ..Print::default()
        };
        self.stmt(StmtKind::Expr(self.expr(Ty::Long, ExprKind::Print(print))))
    }

    pub fn stat(&self, op: StatOp, global: GlobalId, keys: &[Expr]) -> Expr {
        let kind = ExprKind::Stat {
            op,
            global,
            keys: keys.to_vec(),
        };
        self.expr(Ty::Long, kind)
    }
}
