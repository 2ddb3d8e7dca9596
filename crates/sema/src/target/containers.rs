// SPDX-License-Identifier: MIT
//! Texts, containers and pointers of libraries, by the table of `known`.

use super::known::{Count, Of, Path, Shape, KNOWN};
use super::text::Text;
use super::{element_type, pointee, Place, Reader, Value};
use crate::ir::{Addr, BinOp, Elements, Expr, ExprKind, Ty};
use trapless_debuginfo::{Type, TypeId};

/// So many elements are shown.
const MOST_ELEMENTS: u32 = 8;
/// So many bytes of a text, its quotes included.
const MOST_TEXT: u32 = 200;
/// Containers and pointers in one another; what is further inside is "...".
const MOST_DEPTH: u32 = 3;

/// Elements that lie side by side.
struct Row {
    first: Addr,
    of: TypeId,
    count: Addr,
}

impl Reader<'_> {
    /// Whether its type is one that is recognised, and it has been shown.
    pub(super) fn known(
        &mut self,
        text: &mut Text,
        value: &Value,
        name: &str,
        deep: bool,
        full: bool,
    ) -> bool {
        KNOWN.iter().filter(|k| k.fits(name)).any(|k| {
            self.shielded(text, |r, inner| {
                r.shaped(inner, value, &k.shape, deep, full)
            })
        })
    }

    /// What an owning pointer leads to.
    pub(super) fn owned(&mut self, text: &mut Text, value: &Value, deep: bool, full: bool) -> bool {
        self.shielded(text, |r, inner| {
            r.pointed_text(inner, value, &[], deep, full)
        })
    }

    /// An array of the program's own.
    pub(super) fn array(&mut self, text: &mut Text, value: &Value, deep: bool, full: bool) -> bool {
        self.shielded(text, |r, inner| {
            let row = r.row_of_array(value)?;
            r.row(inner, value, row, deep, full)
        })
    }

    /// A text of its own, which an error in it ends.
    fn shielded(
        &mut self,
        text: &mut Text,
        show: impl FnOnce(&mut Reader, &mut Text) -> Option<()>,
    ) -> bool {
        if text.depth() >= MOST_DEPTH || text.is_full() {
            text.literal("...");
            return true;
        }
        let mut inner = text.deeper();
        if show(self, &mut inner).is_none() {
            return false;
        }
        text.count(&inner);
        text.string(inner.finish_shielded(self.span));
        true
    }

    fn shaped(
        &mut self,
        text: &mut Text,
        value: &Value,
        shape: &Shape,
        deep: bool,
        full: bool,
    ) -> Option<()> {
        match shape {
            Shape::Text { at, length } => {
                let shown = self.bytes(value, at, length)?;
                text.string(shown);
            }
            Shape::Row { first, of, count } => {
                let row = self.row_between(value, first, of, count)?;
                self.row(text, value, row, deep, full)?;
            }
            Shape::Part(path) => {
                let part = self.along(value, path)?;
                self.describe(text, part, deep, full);
            }
            Shape::Pointer(path) => self.pointed_text(text, value, path, deep, full)?,
            Shape::Perhaps {
                there,
                value: path,
                none,
            } => {
                let part = self.along(value, path)?;
                let cond = self.along(value, there)?;
                let cond = self.quietly(|r| r.scalar(cond))?;
                self.either(text, cond, part, none, deep, full);
            }
        }
        Some(())
    }

    /// The part that the path leads to.
    fn along(&mut self, value: &Value, path: Path) -> Option<Value> {
        let step = |r: &mut Reader, at: Value, name: &str| match name.strip_prefix(':') {
            Some(base) => r.base(&at, base),
            None => r.member(at, name, r.span),
        };
        self.quietly(|r| {
            path.iter()
                .try_fold(value.clone(), |at, name| step(r, at, name))
        })
    }

    fn base(&mut self, value: &Value, name: &str) -> Option<Value> {
        let types = value.types.clone();
        let types = types.types();
        let Type::Composite(c) = &*types.get(types.strip(value.ty)) else {
            return None;
        };
        let is_it = |ty: TypeId| match &*types.get(types.strip(ty)) {
            Type::Composite(b) => b.name.as_deref().is_some_and(|n| n.starts_with(name)),
            _ => false,
        };
        let m = c.members.iter().find(|m| m.base && is_it(m.ty))?;
        self.part(value, m.offset, m.ty, None)
    }

    fn bytes(&mut self, value: &Value, at: Path, length: Path) -> Option<Expr> {
        let [addr, size] = [at, length].map(|path| {
            let word = self.along(value, path)?;
            self.quietly(|r| r.number(&word)).map(Box::new)
        });
        let kind = ExprKind::TargetBytes {
            addr: addr?,
            size: size?,
            most: Some(MOST_TEXT),
        };
        Some(self.expr(Ty::Str, kind))
    }

    fn pointed_text(
        &mut self,
        text: &mut Text,
        value: &Value,
        path: Path,
        deep: bool,
        full: bool,
    ) -> Option<()> {
        let pointer = self.along(value, path)?;
        let types = value.types.clone();
        let to = pointee(types.types(), pointer.ty)?;
        types.types().size(to)?;
        let at = self.quietly(|r| r.number(&pointer))?;
        let cond = self.expr(Ty::Long, ExprKind::TargetAddress(Box::new(at.clone())));
        let part = Value {
            place: Place::Memory(at, None),
            ty: to,
            types,
        };
        self.either(text, cond, part, "nullptr", deep, full);
        Some(())
    }

    /// The value where the condition holds.
    fn either(
        &mut self,
        text: &mut Text,
        cond: Expr,
        value: Value,
        none: &str,
        deep: bool,
        full: bool,
    ) {
        let mut inner = text.choice();
        self.describe(&mut inner, value, deep, full);
        text.count(&inner);
        let (yes, no) = (inner.finish(self.span), self.words(none));
        text.string(self.choose(cond, yes, no));
    }

    fn row_between(&mut self, value: &Value, first: Path, of: &Of, count: &Count) -> Option<Row> {
        let start = self.along(value, first)?;
        let types = value.types.clone();
        let types = types.types();
        let to = pointee(types, start.ty)?;
        let of = match of {
            Of::Pointer => to,
            Of::Argument(n) => match &*types.get(types.strip(value.ty)) {
                Type::Composite(c) => *c.arguments.get(*n)?,
                _ => return None,
            },
        };
        let first = self.quietly(|r| r.number(&start))?;
        let (Count::Is(path) | Count::UpTo(path)) = count;
        let end = self.along(value, path)?;
        let end = self.quietly(|r| r.number(&end))?;
        let count = match count {
            Count::Is(_) => end,
            Count::UpTo(_) => {
                let bytes = both(BinOp::Sub, end, first.clone());
                both(
                    BinOp::Div,
                    bytes,
                    Addr::Const(types.size(of)?.max(1) as i64),
                )
            }
        };
        Some(Row { first, of, count })
    }

    fn row_of_array(&mut self, value: &Value) -> Option<Row> {
        let types = value.types.clone();
        let types = types.types();
        let ty = types.strip(value.ty);
        let Type::Array { counts, .. } = &*types.get(ty) else {
            return None;
        };
        let of = element_type(types, ty)?;
        Some(Row {
            first: self.quietly(|r| r.memory_of(value))?,
            of: match types.is_swapped(value.ty) {
                true => types.swapped(of),
                false => of,
            },
            count: Addr::Const((*counts.first()?)? as i64),
        })
    }

    /// `[1, 2, 3]`
    fn row(
        &mut self,
        text: &mut Text,
        value: &Value,
        row: Row,
        deep: bool,
        full: bool,
    ) -> Option<()> {
        let size = value.types.types().size(row.of)?;
        if !full {
            text.literal("[...]");
            return Some(());
        }
        let cursor = text.depth();
        let mut inner = text.choice();
        let element = Value {
            place: Place::Memory(Addr::Cursor(cursor), None),
            ty: row.of,
            types: value.types.clone(),
        };
        self.describe(&mut inner, element, deep, false);
        text.count(&inner);
        let elements = Elements {
            cursor,
            first: row.first,
            next: both(BinOp::Add, Addr::Cursor(cursor), Addr::Const(size as i64)),
            count: row.count,
            most: MOST_ELEMENTS,
            element: inner.finish(self.span),
        };
        text.literal("[");
        text.string(self.expr(Ty::Str, ExprKind::Elements(Box::new(elements))));
        text.literal("]");
        Some(())
    }
}

fn both(op: BinOp, a: Addr, b: Addr) -> Addr {
    Addr::Binary(op, Box::new(a), Box::new(b))
}
