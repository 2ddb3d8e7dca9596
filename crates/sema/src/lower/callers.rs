// SPDX-License-Identifier: MIT
//! A callee's handler runs for some calls only: by where they return to, which
//! the word at the stack's top tells as long as the function has done nothing.

use super::Lowerer;
use crate::ir::{Addr, BinOp, Expr, ExprKind, ImageId, Reg, Stmt, StmtKind, TargetPlace, Ty};
use trapless_syntax::Span;

/// By DWARF number.
const STACK_POINTER: Reg = Reg(7);

impl Lowerer<'_, '_> {
    /// The body, for the calls that are meant.
    pub(super) fn only_callers(&mut self, body: Vec<Stmt>, span: Span) -> Vec<Stmt> {
        let Some(context) = self.context.as_ref().filter(|c| !c.callers.is_empty()) else {
            return body;
        };
        let image = context.image;
        let equal = context
            .callers
            .iter()
            .map(|to| returns_to(image, *to, span));
        let any = equal.reduce(|a, b| number(ExprKind::Or(Box::new(a), Box::new(b)), span));
        let Some(mut cond) = any else { return body };
        if self.entry.is_some() {
            cond = self.save("callers".into(), cond);
        }
        let kind = StmtKind::If {
            cond,
            then: body,
            otherwise: Vec::new(),
        };
        vec![Stmt { kind, span }]
    }
}

fn returns_to(image: ImageId, vaddr: u64, span: Span) -> Expr {
    let top = TargetPlace::Memory {
        addr: Addr::Register(STACK_POINTER),
        size: 8,
        signed: false,
        bits: None,
    };
    let there = ExprKind::TargetAddress(Box::new(Addr::Image { image, vaddr }));
    let (top, there) = (
        number(ExprKind::Target(Box::new(top)), span),
        number(there, span),
    );
    number(
        ExprKind::Binary(BinOp::Eq, Box::new(top), Box::new(there)),
        span,
    )
}

fn number(kind: ExprKind, span: Span) -> Expr {
    let ty = Ty::Long;
    Expr { ty, kind, span }
}
