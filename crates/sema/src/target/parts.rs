// SPDX-License-Identifier: MIT
//! Structures that are not in memory: in a register, in several, or half gone.

use super::address::{load, plus};
use super::{Place, Reader, Value};
use crate::ir::{Addr, BinOp, Reg};
use trapless_debuginfo::{BitField, Hop, TypeId};
use trapless_syntax::diag::Tag;

/// A piece of a split value: bytes from `at` on.
#[derive(Clone)]
pub(super) struct Part {
    pub at: u64,
    pub size: u64,
    pub place: Place,
}

impl Reader<'_> {
    /// A member or element, `at` bytes into a structure or array.
    pub(super) fn part(
        &mut self,
        value: &Value,
        at: u64,
        ty: TypeId,
        bits: Option<BitField>,
    ) -> Option<Value> {
        let place = match &value.place {
            Place::Memory(base, _) => Place::Memory(plus(base.clone(), at as i64), bits),
            place => {
                let size = match bits {
                    Some(b) => Some(u64::from(b.storage)),
                    None => value.types.types().size(ty),
                };
                let place = size.and_then(|size| within(place, at, size));
                let Some(place) = place else {
                    return self.missing();
                };
                match bits {
                    Some(b) => return field(&place, b, ty, value),
                    None => place,
                }
            }
        };
        Some(Value {
            place,
            ty,
            types: value.types.clone(),
        })
    }

    /// The innermost of the virtual bases on the way.
    pub(super) fn hopped(&mut self, mut value: Value, hops: &[Hop]) -> Option<Value> {
        let word = self.world.machine.abi.word;
        for hop in hops {
            let Place::Memory(base, None) = value.place else {
                return self.missing();
            };
            let from = plus(base, hop.offset as i64);
            let table = load(from.clone(), word, false);
            let hop = load(plus(table, -(hop.virtual_at as i64)), word, false);
            let base = Addr::Binary(BinOp::Add, Box::new(from), Box::new(hop));
            value.place = Place::Memory(base, None);
        }
        Some(value)
    }

    pub(super) fn missing<T>(&mut self) -> Option<T> {
        self.diags
            .error(
                Tag::CtxVarOptimizedOut,
                self.span,
                "this part of the value is not there at this place",
            )
            .help("read it at another line of the function");
        None
    }
}

/// Bytes of a place that is not memory.
fn within(place: &Place, at: u64, size: u64) -> Option<Place> {
    match place {
        Place::Parts(parts) => {
            let touched = parts
                .iter()
                .filter(|p| p.at < at + size && at < p.at + p.size);
            let cut = |p: &Part| {
                let from = at.max(p.at);
                let to = (at + size).min(p.at + p.size);
                let place = within(&p.place, from - p.at, to - from)?;
                Some(Part {
                    at: from - at,
                    size: to - from,
                    place,
                })
            };
            let mut cut = touched.map(cut).collect::<Option<Vec<Part>>>()?;
            match (cut.len(), cut.iter().map(|p| p.size).sum::<u64>() == size) {
                (1, true) => cut.pop().map(|p| p.place),
                (_, true) => Some(Place::Parts(cut)),
                _ => None,
            }
        }
        Place::Memory(base, None) => Some(Place::Memory(plus(base.clone(), at as i64), None)),
        Place::Memory(_, Some(_)) => None,
        place if at == 0 => Some(place.clone()),
        place => Some(Place::Computed(shifted(
            whole(place)?,
            BinOp::UShr,
            8 * at as i64,
        ))),
    }
}

/// The number that a place of at most 8 bytes holds; what is above its size may be anything.
pub(super) fn whole(place: &Place) -> Option<Addr> {
    match place {
        Place::Register(r) => Some(Addr::Register(Reg(*r))),
        Place::Computed(a) => Some(a.clone()),
        Place::Memory(..) | Place::Pointer(_) => None,
        Place::Parts(parts) => {
            let mut sum = Addr::Const(0);
            for p in parts {
                let n = match &p.place {
                    Place::Memory(a, None) => load(a.clone(), p.size as u8, false),
                    place => extended(whole(place)?, p.size, false),
                };
                let n = shifted(n, BinOp::Shl, 8 * p.at as i64);
                sum = Addr::Binary(BinOp::BitOr, Box::new(sum), Box::new(n));
            }
            Some(sum)
        }
    }
}

fn shifted(a: Addr, op: BinOp, by: i64) -> Addr {
    match by {
        0 => a,
        by => Addr::Binary(op, Box::new(a), Box::new(Addr::Const(by))),
    }
}

/// The low bytes, extended to a word.
pub(super) fn extended(a: Addr, bytes: u64, signed: bool) -> Addr {
    cut(a, 0, 8 * bytes.clamp(1, 8) as i64, signed)
}

/// In the target's byte order, whatever that of the storage is.
fn field(storage: &Place, b: BitField, ty: TypeId, of: &Value) -> Option<Value> {
    let types = of.types.types();
    let number = ordered(whole(storage)?, b.storage.into(), types.is_swapped(ty));
    let (shift, width) = (i64::from(b.shift), i64::from(b.width));
    Some(Value {
        place: Place::Computed(cut(number, shift, width, types.is_signed(ty))),
        ty: types.strip(ty),
        types: of.types.clone(),
    })
}

/// The low bytes in the target's order.
pub(super) fn ordered(a: Addr, bytes: u64, swapped: bool) -> Addr {
    match swapped {
        true => Addr::Swap {
            of: Box::new(a),
            size: bytes.clamp(1, 8) as u8,
        },
        false => a,
    }
}

fn cut(a: Addr, shift: i64, width: i64, signed: bool) -> Addr {
    let back = if signed { BinOp::Shr } else { BinOp::UShr };
    let up = shifted(a, BinOp::Shl, 64 - width - shift);
    shifted(up, back, 64 - width)
}
