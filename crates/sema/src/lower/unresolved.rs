// SPDX-License-Identifier: MIT
//! Values whose type nothing tells: errors where the value matters, as in SystemTap.

use super::Lowerer;
use crate::declare::declarations::Scope;
use crate::ir;
use crate::types::infer::VTy;
use trapless_syntax::ast::{Expr, ExprKind, FunctionBody, Key};
use trapless_syntax::diag::{Severity, Tag};
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
        if let Some(function) = self.resultless.get(name).cloned() {
            let message = format!(
                "nothing tells the type of `{name}`: `{function}`, set to it, has no result"
            );
            let help = self.without_result(&function);
            self.error(Tag::TypeUnresolved, span, message).help(help);
            return;
        }
        if let Some(told) = self.told(Severity::Error, span, self.shared.diags.len()) {
            self.shared.diags.push(told);
            return;
        }
        let meant = self.meant(name);
        self.unresolved(name, span)
            .help("assign a value to it, or declare it with `global`")
            .help(meant);
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
        if !found.iter().all(|f| returns[*f] == VTy::Unknown) || !self.is_strict() {
            return;
        }
        if !found.iter().all(|f| self.has_no_result(*f)) {
            self.unresolved(name, span)
                .help("let it `return` a number or a string");
            return;
        }
        let help = self.without_result(name);
        let message = format!("`{name}` has no result");
        self.error(Tag::TypeUnresolved, span, message).help(help);
    }

    fn has_no_result(&self, function: usize) -> bool {
        match &self.shared.all.functions[function].item.body {
            FunctionBody::Script(body) => super::auto::returned(body).is_empty(),
            _ => true,
        }
    }

    /// `x = f()`, of an `f` that returns nothing.
    pub fn note_resultless(&mut self, local: &str, value: &Expr) {
        if let ExprKind::Call { name, .. } = &value.kind {
            self.resultless.insert(local.to_string(), name.name.clone());
        }
    }

    fn without_result(&self, function: &str) -> String {
        let library = &self.shared.known_functions;
        let text = format!("s{function}");
        match library.contains(&text) {
            true => format!("{text}() gives the text"),
            false if library.iter().any(|f| f == function) => {
                format!("call it alone: {function}(...)")
            }
            false => {
                format!("let it `return` a number or a string, or call it alone: {function}(...)")
            }
        }
    }

    fn unresolved(&mut self, name: &str, span: Span) -> &mut trapless_syntax::Diagnostic {
        let message = match self.offered.as_deref() {
            Some(o) if !o.names.is_empty() => format!(
                "`{}` has no variable `{name}`, and nothing tells its type",
                o.alias
            ),
            _ => format!("nothing tells the type of `{name}`"),
        };
        self.error(Tag::TypeUnresolved, span, message)
    }
}
