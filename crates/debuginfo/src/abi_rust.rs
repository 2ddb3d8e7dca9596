// SPDX-License-Identifier: MIT
//! Where rustc puts a result, seen on x86-64, which it promises to nobody: as LLVM returns one number, or two that each have
//! a register of their own; else in a register as it lies in memory, or, of more than a word, where the register for such
//! addresses pointed at the entry (what the result's register holds then is not the address in every function).

use crate::error::{Error, Result};
use crate::location::{LocOp, Location, Piece};
use crate::types::{Composite, CompositeKind, Encoding, Member, Type, TypeId, Types};
use trapless_machine::Abi;

/// Types within types.
const DEEPEST: u32 = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Number {
    at: u64,
    size: u64,
    float: bool,
}

/// What a value looks like to the code generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Nothing,
    One(Number),
    Two(Number, Number),
    Bytes,
}

pub(crate) fn return_location(types: &Types, ty: TypeId, abi: &Abi) -> Result<Location> {
    let (words, floats) = (abi.passing.results, abi.passing.float_results);
    let word = u64::from(abi.word);
    let unknown = || Error::Unsupported {
        what: format!("the place of a result `{}`", types.name(ty)),
    };
    let size = types.size(ty).ok_or_else(unknown)?;
    Ok(match shape(types, ty, 0, 0) {
        Shape::Nothing => Location::OptimizedOut,
        Shape::One(n) if n.float && n.size <= 8 => Location::Register(floats[0]),
        Shape::One(n) if n.size <= word => Location::Register(words[0]),
        Shape::One(n) if n.size == 2 * word && !n.float => {
            pieces([(words[0], word), (words[1], word)])
        }
        Shape::Two(a, b) if a.size <= word && b.size <= word => {
            let first = if a.float { floats[0] } else { words[0] };
            let second = match (a.float, b.float) {
                (true, true) => floats[1],
                (false, true) => floats[0],
                (true, false) => words[0],
                (false, false) => words[1],
            };
            pieces([(first, b.at), (second, size - b.at)])
        }
        Shape::Bytes if size <= word => Location::Register(words[0]),
        Shape::Bytes => Location::Memory(vec![LocOp::EntryReg(abi.passing.result_area)]),
        Shape::One(_) | Shape::Two(..) => return Err(unknown()),
    })
}

/// Padding goes with what stands before it.
fn pieces(parts: [(u16, u64); 2]) -> Location {
    let piece = |(register, bytes): (u16, u64)| Piece {
        bits: bytes as u32 * 8,
        bit_offset: 0,
        place: Location::Register(register),
    };
    Location::Pieces(parts.map(piece).to_vec())
}

fn shape(types: &Types, ty: TypeId, at: u64, depth: u32) -> Shape {
    let ty = types.strip(ty);
    let size = types.size(ty).unwrap_or(0);
    if size == 0 {
        return Shape::Nothing;
    }
    let number = |float| Shape::One(Number { at, size, float });
    match &*types.get(ty) {
        Type::Base { encoding, .. } => number(*encoding == Encoding::Float),
        Type::Enum { .. } | Type::Pointer { .. } | Type::Reference { .. } => number(false),
        Type::Composite(c) if depth < DEEPEST => composite(types, c, at, size, depth + 1),
        _ => Shape::Bytes,
    }
}

fn composite(types: &Types, c: &Composite, at: u64, size: u64, depth: u32) -> Shape {
    let found = match c.variants.list.is_empty() {
        false => variants(types, c, at, depth),
        true if c.kind == CompositeKind::Union => alternatives(types, &c.members, at, depth),
        true => fields(types, &c.members, at, depth),
    };
    match found {
        Shape::One(n) if n.at != at || n.size != size => Shape::Bytes,
        Shape::Two(a, b) if !is_pair(a, b, at, size) => Shape::Bytes,
        found => found,
    }
}

/// Two numbers as the code generator itself would lay them out.
fn is_pair(a: Number, b: Number, at: u64, size: u64) -> bool {
    let end = (b.at - at + b.size).next_multiple_of(a.size.max(b.size));
    a.at == at && b.at == at + a.size.next_multiple_of(b.size) && end == size
}

fn shapes<'a>(
    types: &'a Types,
    members: &'a [Member],
    at: u64,
    depth: u32,
) -> impl Iterator<Item = Shape> + 'a {
    let all = members.iter();
    all.map(move |m| shape(types, m.ty, at + m.offset, depth))
        .filter(|s| *s != Shape::Nothing)
}

fn fields(types: &Types, members: &[Member], at: u64, depth: u32) -> Shape {
    let mut found = shapes(types, members, at, depth);
    match (found.next(), found.next(), found.next()) {
        (None, ..) => Shape::Nothing,
        (Some(only), None, _) => only,
        (Some(Shape::One(a)), Some(Shape::One(b)), None) if a.at < b.at => Shape::Two(a, b),
        (Some(Shape::One(a)), Some(Shape::One(b)), None) => Shape::Two(b, a),
        _ => Shape::Bytes,
    }
}

/// Members at one place that look alike.
fn alternatives(types: &Types, members: &[Member], at: u64, depth: u32) -> Shape {
    let mut found = shapes(types, members, at, depth);
    let first = found.next().unwrap_or(Shape::Nothing);
    match found.all(|s| s == first) {
        true => first,
        false => Shape::Bytes,
    }
}

/// An enum with its tag before the fields, or with one that is a value which a field never has.
fn variants(types: &Types, c: &Composite, at: u64, depth: u32) -> Shape {
    let inside = |m: &Member| match &*types.get(types.strip(m.ty)) {
        Type::Composite(v) => fields(types, &v.members, at + m.offset, depth),
        _ => Shape::Bytes,
    };
    let all = c.variants.list.iter().map(|v| inside(&v.member));
    let mut full = all.filter(|s| *s != Shape::Nothing);
    let tag = c.variants.tag.as_ref();
    let Some(Shape::One(tag)) = tag.map(|t| shape(types, t.ty, at + t.offset, depth)) else {
        return full.next().unwrap_or(Shape::Nothing); // there is but one
    };
    let Some(first) = full.next() else {
        return Shape::One(tag);
    };
    let others: Vec<Shape> = full.collect();
    match first {
        Shape::One(n) if n.at >= tag.at + tag.size => match others.iter().all(|o| *o == first) {
            true => Shape::Two(tag, n),
            false => Shape::Bytes,
        },
        // The fields of one variant have the tag among them.
        Shape::One(n) if others.is_empty() && n.at == tag.at => first,
        Shape::Two(a, b) if others.is_empty() && (a.at == tag.at || b.at == tag.at) => first,
        _ => Shape::Bytes,
    }
}
