// SPDX-License-Identifier: MIT
//! Along the path: members and elements.

use super::address::load;
use super::{element_type, is_reference, parts, pointee, Place, Reader, Value};
use crate::ir::{Addr, BinOp, Expr};
use crate::world::report;
use trapless_debuginfo as di;
use trapless_debuginfo::Type;
use trapless_syntax::diag::{nearest, Tag};
use trapless_syntax::Span;

impl Reader<'_> {
    pub(super) fn member(&mut self, value: Value, name: &str, span: Span) -> Option<Value> {
        let value = self.filled_in(value, span)?;
        let types = value.types.types();
        let to = pointee(types, value.ty);
        let inner = to.unwrap_or(value.ty);
        let member = match types.member(inner, name) {
            Ok(m) => m,
            Err(e) => {
                let names = types.member_names(inner);
                let near = nearest(name, names.iter().map(String::as_str)).map(str::to_string);
                report(&e, span, self.diags).help(near.as_deref());
                return None;
            }
        };
        let whole = match to {
            Some(to) if matches!(value.place, Place::Pointer(_)) => self.pointed(&value, 0, to)?,
            Some(to) => Value {
                place: Place::Memory(self.number(&value)?, None),
                ty: to,
                types: value.types.clone(),
            },
            None => value,
        };
        let whole = self.hopped(whole, &member.hops)?;
        self.part(&whole, member.offset, member.ty, member.bits)
    }

    pub(super) fn element(&mut self, value: Value, index: Expr) -> Option<Value> {
        let value = self.filled_in(value, self.span)?;
        let types = value.types.types();
        let stripped = types.strip_refs(value.ty);
        if let (Place::Pointer(_), Some(of)) = (&value.place, pointee(types, stripped)) {
            let size = types.size(of).unwrap_or(1);
            return self.pointed_element(&value, &index, size, of);
        }
        let base = match &*types.get(stripped) {
            Type::Array { .. } => self.memory_of(&value)?,
            Type::Pointer { .. } => self.number(&value)?,
            _ => {
                let name = types.name(value.ty);
                return self.fail(&di::Error::NotAggregate { ty: name });
            }
        };
        let of = match types.is_swapped(value.ty) {
            true => types.swapped(element_type(types, stripped)?),
            false => element_type(types, stripped)?,
        };
        let Some(size) = types.size(of) else {
            let ty = types.name(of);
            return self.fail(&di::Error::IncompleteType { ty });
        };
        let offset = Addr::Binary(
            BinOp::Mul,
            Box::new(Addr::Expr(Box::new(index))),
            Box::new(Addr::Const(size.max(1) as i64)),
        );
        Some(Value {
            place: Place::Memory(
                Addr::Binary(BinOp::Add, Box::new(base), Box::new(offset)),
                None,
            ),
            ty: of,
            ..value.clone()
        })
    }

    /// The address of a structure or array.
    pub(super) fn memory_of(&mut self, value: &Value) -> Option<Addr> {
        match &value.place {
            _ if is_reference(value) => self.number(value),
            Place::Memory(a, None) => Some(a.clone()),
            _ => {
                self.diags
                    .error(
                        Tag::CtxVarKind,
                        self.span,
                        "this is not in memory here: it has no address",
                    )
                    .help("read its members, or another line of the function");
                None
            }
        }
    }

    /// The value as a number, for use as a pointer.
    pub(super) fn number(&mut self, value: &Value) -> Option<Addr> {
        let types = value.types.types();
        let size = types.size(types.strip(value.ty)).unwrap_or(8);
        match &value.place {
            Place::Memory(a, _) => Some(load(a.clone(), size.min(8) as u8, false)),
            Place::Pointer(_) => self.no_pointer(),
            place => parts::whole(place),
        }
    }
}
