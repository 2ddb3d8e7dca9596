// SPDX-License-Identifier: MIT
//! `system()`: what it starts stands in the module, where no record of a target can change it.

use super::{Lowerer, Origin};
use crate::ir::{Expr, ExprKind};
use trapless_syntax::ast::FunctionBody;
use trapless_syntax::diag::Tag;

const PRAGMA: &str = "/* command */";

impl Lowerer<'_, '_> {
    /// Does the library's function start a command?
    pub fn is_command(&self, f: usize) -> bool {
        let declared = &self.shared.all.functions[f];
        let body = &declared.item.body;
        declared.origin == Origin::Own
            && matches!(body, FunctionBody::EmbeddedC(c) if c.code.contains(PRAGMA))
    }

    pub fn command(&mut self, args: &[Expr]) -> Option<ExprKind> {
        let [arg] = args else { return None };
        if let Some(text) = constant(arg) {
            return Some(ExprKind::Command(text));
        }
        self.error(
            Tag::NotBuilt,
            arg.span,
            "a command that is made while the script runs is not started: the traced program shares the memory that it is made in",
        )
        .help(
            "give a text that is known when the script is compiled: literals, @1 and their kin, and `.` between them; \
             or print the command, and pipe the output to a shell",
        );
        None
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
