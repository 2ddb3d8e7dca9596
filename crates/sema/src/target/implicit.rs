// SPDX-License-Identifier: MIT
//! Pointers that the compiler has done away with: what they point to is still there, and has a place of its own.

use super::{Place, Reader, Value};
use crate::ir::{Expr, ExprKind, ImageId};
use std::sync::Arc;
use trapless_debuginfo as di;
use trapless_debuginfo::{Binary, Location, TypeId};
use trapless_syntax::diag::Tag;

/// Where the object is, how much of it there is, and how far into it the pointer points.
#[derive(Clone)]
pub(super) struct Pointed {
    place: Place,
    size: u64,
    offset: i64,
}

impl Reader<'_> {
    /// Where a variable is; of such a pointer what it points to is looked up at once.
    pub(super) fn place_in(
        &mut self,
        binary: &Arc<Binary>,
        cx: &di::Context,
        location: &Location,
        image: ImageId,
    ) -> Option<Place> {
        // Pointers to pointers.
        let (mut at, mut levels) = (location.clone(), Vec::new());
        while let Location::Pointer(p) = &at {
            levels.push((p.offset, p.size));
            at = match binary.locate_pointed(p, cx) {
                Ok(next) => next,
                Err(e) => return self.fail(&e),
            };
        }
        let mut place = self.place(&at, image)?;
        for (offset, size) in levels.into_iter().rev() {
            place = Place::Pointer(Box::new(Pointed {
                place,
                size,
                offset,
            }));
        }
        Some(place)
    }

    /// What such a pointer points to, `more` bytes behind it.
    pub(super) fn pointed(&mut self, value: &Value, more: i64, ty: TypeId) -> Option<Value> {
        let Place::Pointer(p) = &value.place else {
            return None;
        };
        let whole = Value {
            place: p.place.clone(),
            ty,
            types: value.types.clone(),
        };
        let at = u64::try_from(p.offset.wrapping_add(more)).ok();
        let end = at.and_then(|at| at.checked_add(value.types.types().size(ty)?));
        match at.filter(|_| end.is_some_and(|end| end <= p.size)) {
            Some(at) => self.part(&whole, at, ty, None),
            None => self.missing(),
        }
    }

    /// `$p[2]`: there is no address to compute with.
    pub(super) fn pointed_element(
        &mut self,
        value: &Value,
        index: &Expr,
        size: u64,
        ty: TypeId,
    ) -> Option<Value> {
        match index.kind {
            ExprKind::Long(n) => self.pointed(value, n.wrapping_mul(size.max(1) as i64), ty),
            _ => self.no_pointer(),
        }
    }

    pub(super) fn no_pointer<T>(&mut self) -> Option<T> {
        self.diags
            .error(
                Tag::CtxVarOptimizedOut,
                self.span,
                "the compiler has done away with this pointer: only what it points to is there",
            )
            .help("read that: $p->member, $p[0]; or the pointer at another line of the function");
        None
    }
}
