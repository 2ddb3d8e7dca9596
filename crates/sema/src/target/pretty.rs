// SPDX-License-Identifier: MIT
//! Variables as text: `$$parms`, `$$vars$`, `$x$`, `$x$$`; in SystemTap's words,
//! which are what its pass 2 makes of these.

use super::text::Text;
use super::{pointee, Place, Reader, Value};
use crate::ir::{Addr, Expr, ExprKind, Ty};
use crate::points::Context;
use trapless_debuginfo::{Encoding, Hop, Member, Type, TypeId, Types, VariableKind};
use trapless_syntax::ast::Pretty;
use trapless_syntax::diag::{Diagnostic, Diagnostics, Tag};

impl Reader<'_> {
    /// `$$parms`: "a=0x1 b=0x2"; what cannot be read is `?`.
    pub(super) fn all_of(&mut self, name: &str, c: &Context, pretty: Pretty) -> Option<Expr> {
        let wanted: &[VariableKind] = match name {
            "$$parms" => &[VariableKind::Parameter],
            "$$locals" => &[VariableKind::Local, VariableKind::Global],
            "$$vars" => &[
                VariableKind::Parameter,
                VariableKind::Local,
                VariableKind::Global,
            ],
            "$$return" => &[],
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
        if let Some(f) = &c.kernel {
            return match name {
                "$$return" => self.return_text(c, pretty),
                _ => self.kernel_parameters(name, f, c, pretty),
            };
        }
        let binary = self.binary(c.image)?;
        let cx = match Self::context_in(&binary, c) {
            Err(e) if is_bare(&e) => return Some(self.nothing_known(name, &e)),
            _ if name == "$$return" => return self.return_text(c, pretty),
            Ok(cx) => cx,
            Err(e) => return self.fail(&e),
        };
        let vars = match binary.variables(&cx) {
            Ok(v) => v,
            Err(e) => return self.fail(&e),
        };
        let mut text = Text::default();
        for v in vars.iter().filter(|v| wanted.contains(&v.kind)) {
            let value = self.quietly(|r| {
                r.lists = true;
                r.located(&binary, c, v, &cx)
            });
            self.listed(&mut text, &v.name, value, pretty);
        }
        Some(text.finish(self.span))
    }

    /// A list of nothing, so that one script serves programs with and without debug information.
    fn nothing_known(&mut self, name: &str, e: &trapless_debuginfo::Error) -> Expr {
        let tag = Tag::from_name(e.tag()).unwrap_or(Tag::DebuginfoNone);
        let known = |d: &Diagnostic| d.tag == tag && d.span == Some(self.span);
        // A wildcard leads to many functions.
        if !self.diags.iter().any(known) {
            let message = format!("`{name}` is empty here: {e}");
            let warning = self.diags.warn(tag, self.span, message);
            warning.help(e.help().unwrap_or_default());
        }
        self.expr(Ty::Str, ExprKind::Str(Vec::new()))
    }

    /// Nothing where the function returns nothing, or what has no plain number.
    fn return_text(&mut self, c: &Context, pretty: Pretty) -> Option<Expr> {
        let mut text = Text::default();
        let value = match c.at_return {
            true => self.quietly(|r| r.returned(c)),
            false => None,
        };
        if let Some(value) = value.filter(|v| pretty != Pretty::No || self.is_plain(v)) {
            self.listed(&mut text, "return", Some(value), pretty);
        }
        Some(text.finish(self.span))
    }

    /// One variable of a list.
    pub(super) fn listed(
        &mut self,
        text: &mut Text,
        name: &str,
        value: Option<Value>,
        pretty: Pretty,
    ) {
        text.name(name);
        let Some(value) = value else {
            return text.literal("?");
        };
        if pretty != Pretty::No {
            return match self.pretty(value, pretty == Pretty::Deep) {
                Some(e) => text.string(e),
                None => text.literal("?"),
            };
        }
        let types = value.types.types();
        match &*types.get(types.strip(value.ty)) {
            Type::Composite(_) | Type::Named { .. } => text.literal("{...}"),
            Type::Array { .. } => text.literal("[...]"),
            _ => match self.quietly(|r| r.plain(value)) {
                Some(e) => text.number(e, b"%#x"),
                None => text.literal("?"),
            },
        }
    }

    fn is_plain(&self, value: &Value) -> bool {
        let types = value.types.types();
        let ty = types.get(types.strip(value.ty));
        !matches!(*ty, Type::Composite(_) | Type::Array { .. })
    }

    /// A number; a reference to what is none is its address.
    fn plain(&mut self, value: Value) -> Option<Expr> {
        let value = match value.place {
            Place::Pointer(_) => self.through(value),
            _ => value,
        };
        let types = value.types.clone();
        let types = types.types();
        let to = types.strip_refs(value.ty);
        match &*types.get(to) {
            Type::Composite(_) | Type::Array { .. } => {
                let at = self.memory_of(&value)?;
                Some(self.expr(Ty::Long, ExprKind::TargetAddress(Box::new(at))))
            }
            _ => self.scalar(value),
        }
    }

    /// Try; what is reported does not count.
    pub(super) fn quietly<T>(&mut self, f: impl FnOnce(&mut Reader) -> Option<T>) -> Option<T> {
        let mut unheard = Diagnostics::new();
        let mut r = Reader {
            world: self.world,
            diags: &mut unheard,
            span: self.span,
            homes: self.homes,
            lists: self.lists,
            referred: self.referred,
            frame: self.frame.clone(),
            kept: self.kept.clone(),
        };
        f(&mut r)
    }

    /// `$x$`: a structure with its members, a string in quotes, a number; "ERROR" where reading
    /// it faults.
    pub(super) fn pretty(&mut self, value: Value, deep: bool) -> Option<Expr> {
        let mut text = Text::default();
        self.outermost(&mut text, value, deep);
        Some(text.finish_shielded(self.span))
    }

    /// Pointers at the top stand for what they lead to in the end.
    fn outermost(&mut self, text: &mut Text, mut value: Value, deep: bool) {
        loop {
            value = self.through(value);
            if let Some(known) = self.quietly(|r| r.filled_in(value.clone(), r.span)) {
                value = known;
            }
            let types = value.types.clone();
            let types = types.types();
            let Some(to) = pointee(types, value.ty).map(|to| types.strip(to)) else {
                return self.describe(text, value, deep, true);
            };
            match &*types.get(to) {
                _ if is_char(types, to) => return self.describe(text, value, deep, true),
                Type::Function { .. } => {
                    text.literal("<function>:");
                    return self.described_number(text, value, b"%p");
                }
                Type::Void | Type::Named { .. } | Type::Unknown { .. } => {
                    return self.described_number(text, value, b"%p")
                }
                _ => {}
            }
            if matches!(value.place, Place::Pointer(_)) {
                match self.quietly(|r| r.pointed(&value, 0, to)) {
                    Some(next) => value = next,
                    None => return text.literal("?"),
                }
                continue;
            }
            let Some(at) = self.quietly(|r| r.number(&value)) else {
                return text.literal("?");
            };
            value = Value {
                place: Place::Memory(at, None),
                ty: to,
                ..value
            };
        }
    }

    fn described_number(&mut self, text: &mut Text, value: Value, conversion: &[u8]) {
        match self.quietly(|r| r.scalar(value)) {
            Some(e) => text.number(e, conversion),
            None => text.literal("?"),
        }
    }

    /// A bit field is a number, also one of characters.
    fn described_bits(&mut self, text: &mut Text, value: Value) {
        if self.as_debugger(text, &value, false, false) {
            return;
        }
        let types = value.types.types();
        let conversion = match types.is_signed(value.ty) {
            true => b"%i",
            false => b"%u",
        };
        self.described_number(text, value, conversion);
    }

    pub(super) fn describe(&mut self, text: &mut Text, value: Value, deep: bool, top: bool) {
        let types = value.types.clone();
        let types = types.types();
        let ty = types.strip(value.ty);
        if let Some(e) = self.rust_text(&value) {
            return text.string(e);
        }
        if self.as_debugger(text, &value, deep, deep || top) {
            return;
        }
        match &*types.get(ty) {
            Type::Composite(c) if !c.variants.list.is_empty() => {
                self.variant(text, &value, &c.variants, deep, deep || top);
            }
            Type::Composite(c) if (deep || top) && c.size.is_some() => {
                text.literal("{");
                self.members(text, &value, deep);
                text.literal("}");
            }
            Type::Composite(_) | Type::Named { .. } => text.literal("{...}"),
            Type::Base { size: 0, name, .. } => text.literal(name), // Rust's ()
            Type::Array { .. } if deep || top => self.elements(text, &value, deep),
            Type::Array { .. } => text.literal("[...]"),
            Type::Pointer { to, .. } if is_char(types, *to) => {
                match self.quietly(|r| r.number(&value)) {
                    Some(at) => text.string(self.quoted(at)),
                    None => text.literal("?"),
                }
            }
            // What a reference inside refers to is not followed.
            Type::Reference { .. } => match self.quietly(|r| r.number(&value)) {
                Some(at) => {
                    let at = self.expr(Ty::Long, ExprKind::TargetAddress(Box::new(at)));
                    text.number(at, b"%p");
                }
                None => text.literal("?"),
            },
            _ if matches!(value.place, Place::Memory(_, Some(_))) => {
                self.described_bits(text, value);
            }
            _ => match conversion(types, ty) {
                Some(conversion) => self.described_number(text, value, conversion),
                None => text.literal("?"),
            },
        }
    }

    /// Its own members, then those of its bases.
    pub(super) fn members(&mut self, text: &mut Text, value: &Value, deep: bool) {
        let types = value.types.clone();
        let types = types.types();
        let mut list = Vec::new();
        collect(types, value.ty, (&[], 0), 0, &mut list);
        for (n, (hops, at, m)) in list.iter().enumerate() {
            if n > 0 {
                text.literal(", ");
            }
            if text.is_full() {
                return text.literal("...");
            }
            text.literal(&match &m.name {
                Some(name) => format!(".{name}="),
                None => format!("{}=", unnamed(types, m.ty)),
            });
            let part = |r: &mut Reader| {
                let whole = r.hopped(value.clone(), hops)?;
                r.part(&whole, *at, m.ty, m.bits)
            };
            match self.quietly(part) {
                Some(member) if m.bits.is_some() => self.described_bits(text, member),
                Some(member) => self.describe(text, member, deep, false),
                None => text.literal("?"),
            }
        }
    }

    /// An array: its first element; of characters the text.
    fn elements(&mut self, text: &mut Text, value: &Value, deep: bool) {
        let types = value.types.clone();
        let types = types.types();
        let Type::Array { of, .. } = &*types.get(types.strip(value.ty)) else {
            return;
        };
        let of = match types.is_swapped(value.ty) {
            true => types.swapped(*of),
            false => *of,
        };
        if is_char(types, of) {
            return match self.quietly(|r| r.memory_of(value)) {
                Some(at) => text.string(self.quoted(at)),
                None => text.literal("?"),
            };
        }
        text.literal("[");
        if !text.is_full() {
            match self.quietly(|r| r.part(value, 0, of, None)) {
                Some(element) => self.describe(text, element, deep, false),
                None => text.literal("?"),
            }
            text.literal(", ");
        }
        text.literal("...]");
    }

    /// The text at an address, in quotes.
    fn quoted(&self, at: Addr) -> Expr {
        let place = crate::ir::TargetPlace::Value(at);
        self.expr(Ty::Str, ExprKind::TargetString(Box::new(place)))
    }
}

/// The members with their places, those of bases behind all others.
fn collect(
    types: &Types,
    ty: TypeId,
    (hops, at): (&[Hop], u64),
    depth: u32,
    list: &mut Vec<(Vec<Hop>, u64, Member)>,
) {
    let Type::Composite(c) = &*types.get(types.strip(ty)) else {
        return;
    };
    let hidden = |m: &&Member| m.name.as_ref().is_some_and(|n| n.starts_with("_vptr"));
    let own = c.members.iter().filter(|m| !m.base && !hidden(m));
    list.extend(own.map(|m| (hops.to_vec(), at + m.offset, m.clone())));
    let masked = |m: &Member| m.name.is_some() && c.members.iter().any(|own| own.name == m.name);
    for base in c.members.iter().filter(|m| m.base && depth < 16) {
        let here = at + base.offset;
        let hop = base.virtual_at.map(|virtual_at| Hop {
            offset: here,
            virtual_at,
        });
        let from = hop.map_or(here, |_| 0);
        let hops: Vec<Hop> = hops.iter().copied().chain(hop).collect();
        let mut more = Vec::new();
        collect(types, base.ty, (&hops, from), depth + 1, &mut more);
        // Of a virtual base there is one, however many derive from it.
        let known = |m: &Member| list.iter().any(|(h, _, l)| !h.is_empty() && l == m);
        more.retain(|(hops, _, m)| !masked(m) && (hops.is_empty() || !known(m)));
        list.extend(more);
    }
}

/// It says nothing of the place's variables, and no other place of the function is better.
fn is_bare(e: &trapless_debuginfo::Error) -> bool {
    use trapless_debuginfo::Error;
    matches!(
        e,
        Error::NoDebugInfo { .. } | Error::NoDebugInfoAt { .. } | Error::Stripped { .. }
    )
}

fn unnamed(types: &Types, ty: TypeId) -> &'static str {
    use trapless_debuginfo::CompositeKind;
    match &*types.get(types.strip(ty)) {
        Type::Composite(c) if c.kind == CompositeKind::Union => "<union>",
        Type::Composite(_) => "<class>",
        _ => "<unnamed>",
    }
}

/// What makes up texts.
pub(super) fn is_char(types: &Types, ty: TypeId) -> bool {
    let ty = types.get(types.strip(ty));
    matches!(&*ty, Type::Base { name, .. } if name == "char" || name == "unsigned char")
}

/// How a number is shown; `None`: not at all.
fn conversion(types: &Types, ty: TypeId) -> Option<&'static [u8]> {
    Some(match &*types.get(ty) {
        Type::Pointer { .. } => b"%p",
        Type::Base { encoding, .. } => match encoding {
            Encoding::Float | Encoding::Other => return None,
            Encoding::SignedChar | Encoding::UnsignedChar => b"'%#c'",
            Encoding::Utf => b"'%#C'",
            Encoding::Unsigned => b"%u",
            Encoding::Signed | Encoding::Bool => b"%i",
        },
        Type::Enum { signed, .. } => match signed {
            true => b"%i",
            false => b"%u",
        },
        _ => return None,
    })
}
