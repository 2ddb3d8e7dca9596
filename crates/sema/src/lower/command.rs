// SPDX-License-Identifier: MIT
//! `system()`: a text that no run changes stands in the module, where no record of a target can change it.

use super::Lowerer;
use crate::declare::declarations::Origin;
use crate::ir::{Expr, ExprKind};
use trapless_syntax::ast::FunctionBody;

const PRAGMA: &str = "/* command */";

impl Lowerer<'_, '_> {
    /// The library's function that starts a command, with a text that is known now.
    pub fn fixed_command(&self, f: usize, args: &[Expr]) -> Option<ExprKind> {
        let declared = &self.shared.all.functions[f];
        let body = &declared.item.body;
        let starts = declared.origin == Origin::Own
            && matches!(body, FunctionBody::EmbeddedC(c) if c.code.contains(PRAGMA));
        match args {
            [arg] if starts => constant(arg).map(ExprKind::Command),
            _ => None,
        }
    }
}

/// A text that no run changes.
fn constant(e: &Expr) -> Option<Vec<u8>> {
    match &e.kind {
        ExprKind::Str(text) => Some(text.clone()),
        ExprKind::Concat(a, b) => {
            let mut text = constant(a)?;
            text.extend(constant(b)?);
            Some(text)
        }
        _ => None,
    }
}
