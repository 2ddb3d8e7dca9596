// SPDX-License-Identifier: MIT
//! `$value` of `procfs` points: what their files give or got is reached by
//! functions of the tapset, tapset/procfs.stp.

use trapless_syntax::ast::{AssignOp, BinOp, Block, Expr, ExprKind, Ident, ProbePoint, TargetBase};
use trapless_syntax::visit::{walk_expr_mut, VisitMut};

pub const NAME: &str = "$value";
pub const FAMILY: &str = "procfs";

pub fn is_file(point: &ProbePoint) -> bool {
    point
        .components
        .first()
        .is_some_and(|c| c.name.name == FAMILY)
}

/// A file that is written to; what it got cannot be set.
pub fn is_written(point: &ProbePoint) -> bool {
    is_file(point) && point.components.iter().any(|c| c.name.name == "write")
}

/// Of a body that runs at such points; `written`: at no other ones.
pub fn rewrite(body: &mut Block, written: bool) {
    Rewrite { written }.visit_block(body);
}

struct Rewrite {
    written: bool,
}

fn is_value(e: &Expr) -> bool {
    let ExprKind::Target(t) = &e.kind else {
        return false;
    };
    let named = matches!(&t.base, TargetBase::Var(v) if v.name == NAME);
    named && t.path.is_empty() && !t.address_of
}

fn call(name: &str, e: &Expr, args: Vec<Expr>) -> ExprKind {
    let name = Ident {
        name: name.to_string(),
        span: e.span,
    };
    ExprKind::Call { name, args }
}

impl VisitMut for Rewrite {
    fn visit_expr(&mut self, e: &mut Expr) {
        let setter = match &e.kind {
            ExprKind::Assign { op, target, .. } if is_value(target) && !self.written => match op {
                AssignOp::Set => Some("_file_value_set"),
                AssignOp::Op(BinOp::Concat) => Some("_file_value_add"),
                _ => None,
            },
            _ => None,
        };
        if is_value(e) {
            e.kind = call("_file_value", e, Vec::new());
            return;
        }
        if let (Some(setter), ExprKind::Assign { value, .. }) = (setter, &e.kind) {
            let mut value = (**value).clone();
            self.visit_expr(&mut value);
            e.kind = call(setter, e, vec![value]);
            return;
        }
        walk_expr_mut(self, e);
    }
}
