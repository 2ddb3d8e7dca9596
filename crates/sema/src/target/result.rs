// SPDX-License-Identifier: MIT
//! What is read in the end: a number, or an address.

use super::{is_reference, parts, Place, Reader, Value};
use crate::ir::{self, Expr, ExprKind, Reg, TargetPlace, Ty};
use trapless_debuginfo as di;
use trapless_debuginfo::Type;
use trapless_syntax::diag::Tag;

impl Reader<'_> {
    pub(super) fn expr(&self, ty: Ty, kind: ExprKind) -> Expr {
        Expr {
            ty,
            kind,
            span: self.span,
        }
    }

    pub(super) fn address_of(&mut self, value: Value) -> Option<Expr> {
        match value.place {
            Place::Memory(a, None) => {
                Some(self.expr(Ty::Long, ExprKind::TargetAddress(Box::new(a))))
            }
            _ => {
                self.diags
                    .error(
                        Tag::CtxVarKind,
                        self.span,
                        "this is in a register or a bit-field: it has no address",
                    )
                    .help("read its value");
                None
            }
        }
    }

    pub(super) fn scalar(&mut self, value: Value) -> Option<Expr> {
        let types = value.types.types();
        let ty = types.strip_refs(value.ty);
        let is_reference = is_reference(&value);
        let kind = types.get(ty);
        // An array is its address, as in C, and so is an object that a reference leads to.
        let is_object = matches!(&*kind, Type::Composite(_) | Type::Named { .. });
        if matches!(&*kind, Type::Array { .. }) || is_object && self.referred {
            let a = self.memory_of(&value)?;
            return Some(self.expr(Ty::Long, ExprKind::TargetAddress(Box::new(a))));
        }
        let size = types.size(ty).unwrap_or(8);
        if is_object || !matches!(size, 1 | 2 | 4 | 8) {
            let name = types.name(value.ty);
            self.diags
                .error(
                    Tag::CtxVarKind,
                    self.span,
                    format!("a `{name}` is not a number"),
                )
                .help("read a member (->name), its address (&$x), or its text ($x$)");
            return None;
        }
        let signed = types.is_signed(ty);
        let swapped = size > 1 && types.is_swapped(value.ty);
        let memory = |addr, bits: Option<di::BitField>| TargetPlace::Memory {
            addr,
            size: bits.map_or(size as u8, |b| b.storage),
            signed,
            bits: bits.map(|b| ir::Bits {
                offset: b.shift,
                width: b.width,
            }),
            swapped,
        };
        let place = match value.place {
            Place::Pointer(_) => return self.no_pointer(),
            _ if is_reference => memory(self.number(&value)?, None),
            Place::Memory(addr, bits) => memory(addr, bits),
            Place::Register(r) if !swapped => TargetPlace::Register {
                reg: Reg(r),
                size: size as u8,
                signed,
            },
            place => {
                let number = parts::ordered(parts::whole(&place)?, size, swapped);
                TargetPlace::Value(parts::extended(number, size, signed))
            }
        };
        Some(self.expr(Ty::Long, ExprKind::Target(Box::new(place))))
    }
}
