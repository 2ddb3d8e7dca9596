// SPDX-License-Identifier: MIT
//! A format and its arguments under construction.

use crate::ir::{Expr, ExprKind, Print, Ty};
use trapless_syntax::Span;

/// So many values a text has at most, as SystemTap's.
const MOST_VALUES: usize = 32;
/// And so many are in the texts that it chooses from.
const MOST_INSIDE: usize = 256;

#[derive(Default)]
pub(super) struct Text {
    format: Vec<u8>,
    args: Vec<Expr>,
    inside: usize,
    /// Containers and smart pointers around it.
    depth: u32,
}

impl Text {
    pub fn literal(&mut self, text: &str) {
        self.format.extend(text.replace('%', "%%").bytes());
    }

    pub fn name(&mut self, name: &str) {
        if !self.format.is_empty() {
            self.literal(" ");
        }
        self.literal(name);
        self.literal("=");
    }

    pub fn number(&mut self, e: Expr, conversion: &[u8]) {
        self.format.extend_from_slice(conversion);
        self.args.push(e);
    }

    pub fn string(&mut self, e: Expr) {
        self.number(e, b"%s");
    }

    pub fn is_full(&self) -> bool {
        self.args.len() >= MOST_VALUES || self.inside >= MOST_INSIDE
    }

    /// A text that this one may choose, and which `count` counts when it is made.
    pub fn choice(&self) -> Text {
        Text {
            inside: self.inside,
            depth: self.depth,
            ..Text::default()
        }
    }

    /// The same, of what is in a container.
    pub fn deeper(&self) -> Text {
        Text {
            depth: self.depth + 1,
            ..self.choice()
        }
    }

    pub fn depth(&self) -> u32 {
        self.depth
    }

    pub fn count(&mut self, choice: &Text) {
        self.inside = choice.inside + choice.args.len() + 1;
    }

    pub fn finish(self, span: Span) -> Expr {
        text(ExprKind::Print(self.print()), span)
    }

    /// The same, or "ERROR".
    pub fn finish_shielded(self, span: Span) -> Expr {
        text(ExprKind::Shielded(self.print()), span)
    }

    fn print(self) -> Print {
        Print {
            format: self.format,
            args: self.args,
            to_string: true,
            ..Print::default()
        }
    }
}

fn text(kind: ExprKind, span: Span) -> Expr {
    Expr {
        ty: Ty::Str,
        kind,
        span,
    }
}
