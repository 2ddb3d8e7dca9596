// SPDX-License-Identifier: MIT
//! What is read of the traced program, and who reads it.

use super::{implicit, parts, Source};
use crate::ir::{self, Addr, Expr};
use crate::world::{report, World};
use std::sync::Arc;
use trapless_debuginfo as di;
use trapless_debuginfo::{Binary, LocOp, TypeId};
use trapless_syntax::diag::{Diagnostics, Tag};
use trapless_syntax::Span;

/// A value of the traced program with its type.
#[derive(Clone)]
pub(super) struct Value {
    pub(super) place: Place,
    pub(super) ty: TypeId,
    pub(super) types: Source,
}

#[derive(Clone)]
pub(super) enum Place {
    Memory(Addr, Option<di::BitField>),
    /// Also a vector register, by its low half.
    Register(u16),
    /// Split over several places.
    Parts(Vec<parts::Part>),
    /// A computed value, e.g. a pointer that a script gave.
    Computed(Addr),
    /// A pointer without a value.
    Pointer(Box<implicit::Pointed>),
}

pub(super) struct Reader<'a> {
    pub(super) world: &'a mut World,
    pub(super) diags: &'a mut Diagnostics,
    pub(super) span: Span,
    /// Parameters are where the function will keep them.
    pub(super) homes: bool,
    /// For a list of variables no function's entry is probed.
    pub(super) lists: bool,
    /// What was resolved last is what a reference leads to.
    pub(super) referred: bool,
    /// Entry of the function around the place, and where its frame is.
    pub(super) frame: Option<(u64, Vec<LocOp>)>,
    /// As in `From`.
    pub(super) kept: Option<Expr>,
}

impl Reader<'_> {
    pub(super) fn fail<T>(&mut self, e: &di::Error) -> Option<T> {
        let in_header = match e {
            di::Error::NoType { name, path } => {
                self.world.headers.get(path).map(|h| di::Error::NoType {
                    name: name.clone(),
                    path: h.into(),
                })
            }
            _ => None,
        };
        report(in_header.as_ref().unwrap_or(e), self.span, self.diags);
        None
    }

    pub(super) fn binary(&mut self, image: ir::ImageId) -> Option<Arc<Binary>> {
        if self.world.images[image.0 as usize].kernel {
            return match self.world.debug_of_image(image) {
                Ok(debug) => Some(debug.binary.clone()),
                Err(e) => self.fail(&e),
            };
        }
        let found = self.world.binary(image);
        if found.is_none() {
            self.diags.error(
                Tag::ContextNone,
                self.span,
                "the file of this place is not open",
            );
        }
        found
    }
}
