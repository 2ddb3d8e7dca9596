// SPDX-License-Identifier: MIT
//! What Rust's debug information has of its own: texts that know their length, enums with variants.

use super::text::Text;
use super::{Reader, Value};
use crate::ir::{BinOp, Expr, ExprKind, Ty};
use trapless_debuginfo::{Member, Type, Variant, Variants};

/// So many variants are told apart with their fields; of enums with more the name is shown.
const MOST_VARIANTS: usize = 24;

/// Where the bytes of a `String` are, as its members have been named over the years.
const POINTERS: [&[&str]; 2] = [
    &["vec", "buf", "inner", "ptr", "pointer", "pointer"],
    &["vec", "buf", "ptr", "pointer", "pointer"],
];

impl Reader<'_> {
    /// `str` and `String`, in quotes.
    pub(super) fn rust_text(&mut self, value: &Value) -> Option<Expr> {
        let types = value.types.clone();
        let ty = types.types().get(types.types().strip(value.ty));
        let Type::Composite(c) = &*ty else {
            return None;
        };
        let name = c.name.as_deref()?;
        let (at, length) = if name == "alloc::string::String" {
            let mut at = POINTERS.iter();
            (
                at.find_map(|path| self.word(value, path))?,
                self.word(value, &["vec", "len"])?,
            )
        } else if matches!(name, "&str" | "&mut str") || name.contains("boxed::Box<str") {
            (
                self.word(value, &["data_ptr"])?,
                self.word(value, &["length"])?,
            )
        } else {
            return None;
        };
        Some(self.expr(
            Ty::Str,
            ExprKind::TargetBytes {
                addr: Box::new(at),
                size: Box::new(length),
                most: None,
            },
        ))
    }

    fn word(&mut self, value: &Value, path: &[&str]) -> Option<crate::ir::Addr> {
        self.quietly(|r| {
            let mut at = value.clone();
            for name in path {
                at = r.member(at, name, r.span)?;
            }
            r.number(&at)
        })
    }

    /// `Quit`, `Some(7)`, `Move{.x=1, .y=2}`: the variant that the tag tells.
    pub(super) fn variant(
        &mut self,
        text: &mut Text,
        value: &Value,
        of: &Variants,
        deep: bool,
        fields: bool,
    ) {
        let tag = of.tag.as_ref().and_then(|t| {
            self.quietly(|r| {
                let tag = r.part(value, t.offset, t.ty, t.bits)?;
                r.scalar(tag)
            })
        });
        let Some(tag) = tag else {
            return match &of.list[..] {
                [only] => {
                    let shown = self.one_variant(text, value, &only.member, deep, fields);
                    text.string(shown)
                }
                _ => text.literal("?"),
            };
        };
        if of.list.len() > MOST_VARIANTS {
            let name = |v: &Variant| v.value.zip(v.member.name.clone());
            let names = of.list.iter().filter_map(name).collect();
            let value = Box::new(tag);
            return text.string(self.expr(Ty::Str, ExprKind::NameOf { value, names }));
        }
        let other = of.list.iter().find(|v| v.value.is_none());
        let mut shown = match other {
            Some(v) => self.one_variant(text, value, &v.member, deep, fields),
            None => self.expr(Ty::Str, ExprKind::Str(b"?".to_vec())),
        };
        for v in of.list.iter().rev() {
            let Some(n) = v.value else { continue };
            let this = self.one_variant(text, value, &v.member, deep, fields);
            let n = self.expr(Ty::Long, ExprKind::Long(n));
            let is = ExprKind::Binary(BinOp::Eq, Box::new(tag.clone()), Box::new(n));
            let is = Box::new(self.expr(Ty::Long, is));
            shown = self.expr(
                Ty::Str,
                ExprKind::Ternary(is, Box::new(this), Box::new(shown)),
            );
        }
        text.string(shown);
    }

    fn one_variant(
        &mut self,
        into: &mut Text,
        value: &Value,
        member: &Member,
        deep: bool,
        fields: bool,
    ) -> Expr {
        let mut text = into.choice();
        text.literal(member.name.as_deref().unwrap_or("?"));
        let types = value.types.clone();
        let ty = types.types().get(types.types().strip(member.ty));
        let inside = match &*ty {
            Type::Composite(c) => &c.members[..],
            _ => &[],
        };
        let is_tuple = inside.iter().any(|m| m.name.as_deref() == Some("__0"));
        let (open, close) = if is_tuple { ("(", ")") } else { ("{", "}") };
        if !inside.is_empty() {
            text.literal(open);
            match self.quietly(|r| r.part(value, member.offset, member.ty, None)) {
                _ if !fields || text.is_full() => text.literal("..."),
                None => text.literal("?"),
                Some(v) if is_tuple => self.tuple(&mut text, &v, inside, deep),
                Some(v) => self.members(&mut text, &v, deep),
            }
            text.literal(close);
        }
        into.count(&text);
        text.finish(self.span)
    }

    fn tuple(&mut self, text: &mut Text, value: &Value, fields: &[Member], deep: bool) {
        for (n, m) in fields.iter().enumerate() {
            if n > 0 {
                text.literal(", ");
            }
            if text.is_full() {
                return text.literal("...");
            }
            match self.quietly(|r| r.part(value, m.offset, m.ty, m.bits)) {
                Some(field) => self.describe(text, field, deep, false),
                None => text.literal("?"),
            }
        }
    }
}
