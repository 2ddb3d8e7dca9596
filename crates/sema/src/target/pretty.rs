// SPDX-License-Identifier: MIT
//! Variables as text: `$$parms`, `$$vars`, `$x$`.

use super::{pointee, Place, Reader, Value};
use crate::ir::{Expr, ExprKind, Print, Ty};
use crate::points::Context;
use trapless_debuginfo::{Type, VariableKind};
use trapless_syntax::ast::Pretty;
use trapless_syntax::diag::{Diagnostics, Tag};

impl Reader<'_> {
    /// `$$parms`: "a=0x1 b=0x2"; what cannot be read is `?`.
    pub(super) fn all_of(&mut self, name: &str, c: &Context, pretty: Pretty) -> Option<Expr> {
        if pretty != Pretty::No {
            self.diags
                .error(
                    Tag::NotBuilt,
                    self.span,
                    format!("`{name}$` is not built yet"),
                )
                .help(format!("use {name}, and $x$ for single variables"));
            return None;
        }
        let wanted: &[VariableKind] = match name {
            "$$parms" => &[VariableKind::Parameter],
            "$$locals" => &[VariableKind::Local],
            "$$vars" => &[VariableKind::Parameter, VariableKind::Local],
            "$$return" => return self.return_text(c),
            _ => {
                self.diags
                    .error(
                        Tag::CtxVarUnknown,
                        self.span,
                        format!("there is no `{name}`"),
                    )
                    .help("there are $$parms, $$locals, $$vars and $$return");
                return None;
            }
        };
        let binary = self.binary(c.image)?;
        let cx = self.scope(&binary, c)?;
        let vars = match binary.variables(&cx) {
            Ok(v) => v,
            Err(e) => return self.fail(&e),
        };
        let mut text = Text::default();
        for v in vars.iter().filter(|v| wanted.contains(&v.kind)) {
            let value = self.quietly(|r| {
                let value = r.located(&binary, c, v, &cx)?;
                r.shown(value)
            });
            text.variable(&v.name, value);
        }
        Some(self.text(text))
    }

    fn return_text(&mut self, c: &Context) -> Option<Expr> {
        let mut text = Text::default();
        if c.at_return {
            let value = self.quietly(|r| {
                let value = r.returned(c)?;
                r.shown(value)
            });
            text.variable("return", value);
        }
        Some(self.text(text))
    }

    /// Try; what is reported does not count.
    fn quietly<T>(&mut self, f: impl FnOnce(&mut Reader) -> Option<T>) -> Option<T> {
        let mut unheard = Diagnostics::new();
        let mut r = Reader {
            world: self.world,
            diags: &mut unheard,
            span: self.span,
        };
        f(&mut r)
    }

    /// One variable in a list: its number; of a structure or array "{...}".
    fn shown(&mut self, value: Value) -> Option<Shown> {
        let types = value.types.types();
        let ty = types.strip_refs(value.ty);
        if matches!(&*types.get(ty), Type::Composite(_)) {
            return Some(Shown::Text("{...}"));
        }
        if matches!(&*types.get(ty), Type::Array { .. }) {
            return Some(Shown::Text("[...]"));
        }
        self.scalar(value).map(Shown::Number)
    }

    /// `$x$`: a structure with its members, a string in quotes, a number.
    pub(super) fn pretty(&mut self, value: Value, deep: bool) -> Option<Expr> {
        let mut text = Text::default();
        let value = self.chase(value);
        self.describe(&mut text, value, if deep { 4 } else { 1 });
        Some(self.text(text))
    }

    /// A pointer at the top stands for the structure that it leads to.
    fn chase(&mut self, value: Value) -> Value {
        let types = value.types.types();
        let to = pointee(types, value.ty).map(|to| types.strip(to));
        let Some(to) = to.filter(|to| matches!(&*types.get(*to), Type::Composite(_))) else {
            return value;
        };
        match self.quietly(|r| r.number(&value)) {
            Some(a) => Value {
                place: Place::Memory(a, None),
                ty: to,
                types: value.types.clone(),
            },
            None => value,
        }
    }

    fn describe(&mut self, text: &mut Text, value: Value, depth: u32) {
        let types = value.types.clone();
        let types = types.types();
        let ty = types.strip_refs(value.ty);
        match &*types.get(ty) {
            Type::Composite(c) if depth > 0 => {
                let Some(base) = self.quietly(|r| r.memory_of(&value)) else {
                    return text.literal("?");
                };
                text.literal("{");
                let mut first = true;
                for m in c.members.iter().filter(|m| !m.base) {
                    text.literal(if first { "." } else { ", ." });
                    first = false;
                    text.literal(m.name.as_deref().unwrap_or("<unnamed>"));
                    text.literal("=");
                    let member = Value {
                        place: Place::Memory(super::plus(base.clone(), m.offset as i64), m.bits),
                        ty: m.ty,
                        ..value.clone()
                    };
                    self.describe(text, member, depth - 1);
                }
                text.literal("}");
            }
            Type::Composite(_) => text.literal("{...}"),
            Type::Array { .. } if depth > 0 => self.elements(text, &value, depth),
            Type::Array { .. } => text.literal("[...]"),
            _ if self.is_text(&value) => match self.quietly(|r| r.scalar(value)) {
                Some(e) => text.string(e),
                None => text.literal("?"),
            },
            _ => {
                let conversion = conversion(types, ty);
                match self.quietly(|r| r.scalar(value)) {
                    Some(e) => text.value(e, conversion),
                    None => text.literal("?"),
                }
            }
        }
    }

    /// An array: its first elements; of characters the text.
    fn elements(&mut self, text: &mut Text, value: &Value, depth: u32) {
        let types = value.types.clone();
        let types = types.types();
        let ty = types.strip_refs(value.ty);
        let Type::Array { counts, .. } = &*types.get(ty) else {
            return;
        };
        let of = super::element_type(types, ty).and_then(|of| Some((of, types.size(of)?)));
        let base = self.quietly(|r| r.memory_of(value));
        let (Some((of, size)), Some(base)) = (of, base) else {
            return text.literal("?");
        };
        let count = counts.first().copied().flatten().unwrap_or(0);
        text.literal("[");
        for n in 0..count.min(MOST_ELEMENTS) {
            if n > 0 {
                text.literal(", ");
            }
            let element = Value {
                place: Place::Memory(super::plus(base.clone(), (n * size) as i64), None),
                ty: of,
                types: value.types.clone(),
            };
            self.describe(text, element, depth - 1);
        }
        text.literal(if count > MOST_ELEMENTS { ", ...]" } else { "]" });
    }

    /// A pointer to characters.
    fn is_text(&self, value: &Value) -> bool {
        let types = value.types.types();
        let to = pointee(types, value.ty).map(|to| types.get(types.strip(to)));
        to.is_some_and(
            |to| matches!(&*to, Type::Base { name, size: 1, .. } if name.contains("char")),
        )
    }

    fn text(&self, text: Text) -> Expr {
        let print = Print {
            format: text.format,
            args: text.args,
            to_string: true,
            hist: None,
        };
        self.expr(Ty::Str, ExprKind::Print(print))
    }
}

/// How many elements of an array are shown.
const MOST_ELEMENTS: u64 = 8;

/// How a number inside a structure is shown.
fn conversion(types: &trapless_debuginfo::Types, ty: trapless_debuginfo::TypeId) -> &'static [u8] {
    match &*types.get(types.strip(ty)) {
        Type::Pointer { .. } => b"%p",
        Type::Base { name, size: 1, .. } if name.contains("char") => b"'%#c'",
        _ if types.is_signed(ty) => b"%d",
        _ => b"%u",
    }
}

enum Shown {
    Number(Expr),
    Text(&'static str),
}

/// A format and its arguments under construction.
#[derive(Default)]
struct Text {
    format: Vec<u8>,
    args: Vec<Expr>,
}

impl Text {
    fn literal(&mut self, text: &str) {
        self.format.extend(text.replace('%', "%%").bytes());
    }

    fn number(&mut self, e: Expr) {
        self.format.extend_from_slice(b"%#x");
        self.args.push(e);
    }

    fn value(&mut self, e: Expr, conversion: &[u8]) {
        self.format.extend_from_slice(conversion);
        self.args.push(e);
    }

    fn string(&mut self, e: Expr) {
        // With its quotes; of what cannot be read the address.
        self.format.extend_from_slice(b"%s");
        let span = e.span;
        let text = match e.kind {
            ExprKind::Target(place) => ExprKind::TargetString(place),
            kind => kind,
        };
        self.args.push(Expr {
            ty: Ty::Str,
            kind: text,
            span,
        });
    }

    fn variable(&mut self, name: &str, value: Option<Shown>) {
        if !self.format.is_empty() {
            self.literal(" ");
        }
        self.literal(name);
        self.literal("=");
        match value {
            Some(Shown::Number(e)) => self.number(e),
            Some(Shown::Text(t)) => self.literal(t),
            None => self.literal("?"),
        }
    }
}
