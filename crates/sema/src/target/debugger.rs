// SPDX-License-Identifier: MIT
//! `--pretty`: values as debuggers show them. What is not shown here is shown as SystemTap does.

use super::pretty::is_char;
use super::text::Text;
use super::{Reader, Value};
use crate::ir::{Expr, ExprKind, Ty};
use trapless_debuginfo::{Encoding, Enumerator, Type};

impl Reader<'_> {
    /// Whether it has been shown. `full`: the parts of a container are wanted, too.
    pub(super) fn as_debugger(
        &mut self,
        text: &mut Text,
        value: &Value,
        deep: bool,
        full: bool,
    ) -> bool {
        if !self.world.pretty {
            return false;
        }
        let types = value.types.clone();
        let types = types.types();
        let ty = types.get(types.strip(value.ty));
        let shown = match &*ty {
            Type::Enum { values, .. } => self.enum_text(value, values),
            Type::Base { encoding, size, .. } => self.number_text(value, *encoding, *size),
            Type::Composite(c) => {
                let name = c.name.as_deref().unwrap_or_default();
                return self.known(text, value, name, deep, full);
            }
            Type::Pointer { .. } if types.is_owning(value.ty) => {
                return self.owned(text, value, deep, full)
            }
            Type::Array { of, .. } if !is_char(types, *of) => {
                return self.array(text, value, deep, full)
            }
            _ => None,
        };
        shown.map(|e| text.string(e)).is_some()
    }

    fn enum_text(&mut self, value: &Value, values: &[Enumerator]) -> Option<Expr> {
        let number = self.quietly(|r| r.scalar(value.clone()))?;
        let mut names: Vec<(i64, String)> = Vec::new();
        for v in values {
            if !names.iter().any(|(n, _)| *n == v.value) {
                names.push((v.value, v.name.clone()));
            }
        }
        let value = Box::new(number);
        Some(self.expr(Ty::Str, ExprKind::NameOf { value, names }))
    }

    fn number_text(&mut self, value: &Value, encoding: Encoding, size: u64) -> Option<Expr> {
        let number = |r: &mut Reader| r.quietly(|r| r.scalar(value.clone()));
        match (encoding, size) {
            (Encoding::Bool, _) => {
                let cond = number(self)?;
                let [yes, no] = ["true", "false"].map(|t| self.words(t));
                Some(self.choose(cond, yes, no))
            }
            (Encoding::Float, 4 | 8) => {
                let bits = Box::new(number(self)?);
                Some(self.expr(Ty::Str, ExprKind::FloatText(bits, size as u8)))
            }
            _ => None,
        }
    }

    pub(super) fn choose(&self, cond: Expr, yes: Expr, no: Expr) -> Expr {
        let [cond, yes, no] = [cond, yes, no].map(Box::new);
        self.expr(Ty::Str, ExprKind::Ternary(cond, yes, no))
    }

    pub(super) fn words(&self, text: &str) -> Expr {
        self.expr(Ty::Str, ExprKind::Str(text.as_bytes().to_vec()))
    }
}
