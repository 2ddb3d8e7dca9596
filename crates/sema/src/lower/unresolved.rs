// SPDX-License-Identifier: MIT
//! Values whose type nothing tells: errors where the value matters, as in SystemTap.

use super::Lowerer;
use crate::declarations::Scope;
use crate::infer::VTy;
use crate::ir;
use trapless_syntax::ast::{Expr, ExprKind, Key};
use trapless_syntax::diag::Tag;
use trapless_syntax::Span;

/// It changes, calls and prints nothing: SystemTap leaves such a statement out.
fn is_idle(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Number(_) | ExprKind::Str(_) | ExprKind::Ident(_) => true,
        ExprKind::Unary(_, a) => is_idle(a),
        ExprKind::Binary(_, a, b) => is_idle(a) && is_idle(b),
        ExprKind::Index { keys, .. } => keys.iter().all(|k| match k {
            Key::Expr(e) => is_idle(e),
            Key::Any(_) => false,
        }),
        _ => false,
    }
}

impl Lowerer<'_, '_> {
    /// A statement: its value is dropped.
    pub fn effect(&mut self, e: &Expr) -> Option<ir::Expr> {
        if is_idle(e) {
            return self.leniently(|l| l.expr(e, VTy::Unknown));
        }
        self.dropped = matches!(e.kind, ExprKind::Call { .. });
        let v = self.expr(e, VTy::Unknown);
        self.dropped = false;
        v
    }

    /// What is computed for nobody may lack a type.
    pub fn leniently<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        self.lenient += 1;
        let v = f(self);
        self.lenient -= 1;
        v
    }

    fn is_strict(&self) -> bool {
        let of_tapset = match self.scope {
            Scope::Function(f) => self.shared.all.functions[f].from_tapset(),
            Scope::Unit(_) => false,
        };
        self.lenient == 0 && !of_tapset
    }

    /// A local that is read.
    pub fn resolved_local(&mut self, name: &str, id: ir::LocalId, span: Span) {
        if self.shared.types.local(self.scope, name) != VTy::Unknown || !self.is_strict() {
            return;
        }
        self.assigned[id.0 as usize] = true; // no second complaint
        let near = self.near_variable(name);
        let other = self.other_word(name);
        self.unresolved(name, span)
            .help("assign a value to it, or declare it with `global`")
            .help(near.as_deref())
            .help(other);
    }

    pub fn resolved_global(&mut self, g: usize, name: &str, span: Span) {
        let ty = &self.shared.types.globals[g];
        let keys = ty.keys.iter().flatten();
        let known = ty.value != VTy::Unknown && keys.copied().all(|k| k != VTy::Unknown);
        if known || !self.is_strict() {
            return;
        }
        let help = match self.is_array(g) {
            true => "set an element to a number or a string somewhere",
            false => "set it to a number or a string somewhere",
        };
        self.unresolved(name, span).help(help);
    }

    /// The result of the functions that a call may run, where it is used.
    pub fn resolved_result(&mut self, found: &[usize], name: &str, span: Span) {
        let returns = &self.shared.types.returns;
        if found.iter().all(|f| returns[*f] == VTy::Unknown) && self.is_strict() {
            self.unresolved(name, span)
                .help("let it `return` a number or a string");
        }
    }

    fn unresolved(&mut self, name: &str, span: Span) -> &mut trapless_syntax::Diagnostic {
        let message = format!("nothing tells the type of `{name}`");
        self.error(Tag::TypeUnresolved, span, message)
    }
}
