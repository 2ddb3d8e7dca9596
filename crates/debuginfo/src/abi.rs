// SPDX-License-Identifier: MIT
//! Where the System V ABI for x86-64 puts a function's arguments and result (section 3.2.3).

use crate::cfi::Cfa;
use crate::error::{Error, Result};
use crate::location::{LocOp, Location, Piece};
use crate::types::{Composite, Encoding, Type, TypeId, Types};

const RAX: u16 = 0;
const RDX: u16 = 1;
const RSP: u16 = 7;
/// rdi, rsi, rdx, rcx, r8, r9 by DWARF number.
const INTEGER: [u16; 6] = [5, 4, 1, 2, 8, 9];
/// Vector registers that arguments may take.
const VECTORS: usize = 8;
const XMM0: u16 = 17;
const ST0: u16 = 33;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    None,
    Integer,
    Sse,
    /// Upper half of a 16-byte vector or `__float128`.
    SseUp,
    X87,
    Memory,
}

/// Whether the frame is what a call leaves: nothing but the return address is on the stack.
pub(crate) fn is_entered(cfa: &Cfa) -> bool {
    matches!(cfa, Cfa::Register(RSP, 8))
}

/// Place of a result of that type. `by_reference`: the language says it goes through memory.
pub(crate) fn return_location(types: &Types, ty: TypeId, by_reference: bool) -> Result<Location> {
    let memory = Location::Memory(vec![LocOp::Reg(RAX)]);
    if by_reference {
        return Ok(memory);
    }
    let unknown = |what: &str| Error::Unsupported {
        what: format!("{what} `{}`", types.name(ty)),
    };
    let size = types
        .size(ty)
        .ok_or_else(|| unknown("the size of the result"))?;
    if size == 0 {
        return Ok(Location::OptimizedOut);
    }
    let mut halves = [Class::None; 2];
    if size > 16 || !classify(types, ty, 0, &mut halves, 0) || halves.contains(&Class::Memory) {
        // Complex long double is 32 bytes and comes in st0 and st1.
        return match &*types.get(types.strip(ty)) {
            Type::Base { .. } => Err(unknown("the place of a result")),
            _ => Ok(memory),
        };
    }
    match halves.map(|h| h == Class::X87) {
        [true, true] => return Ok(Location::Register(ST0)),
        [false, false] => {}
        _ => return Ok(memory),
    }
    let places = in_registers(size, &halves, &[RAX, RDX], XMM0);
    Ok(places.unwrap_or(memory))
}

/// A value of at most 16 bytes in registers, the vector ones from `vector` on.
fn in_registers(size: u64, halves: &[Class; 2], integers: &[u16], vector: u16) -> Option<Location> {
    let (mut integers, mut vectors) = (integers.iter(), vector..);
    let mut pieces = Vec::new();
    for (i, class) in halves.iter().enumerate() {
        let bytes = (size - 8 * i as u64).min(8);
        let (place, bit_offset) = match class {
            Class::Integer => (integers.next().copied().map(Location::Register), 0),
            Class::Sse => (vectors.next().map(Location::Register), 0),
            Class::SseUp => (Some(Location::Register(vector)), 64),
            _ => (None, 0),
        };
        let place = place.unwrap_or(Location::OptimizedOut);
        pieces.push(Piece {
            bits: bytes as u32 * 8,
            bit_offset,
            place,
        });
        if size <= 8 {
            return pieces.pop().map(|p| p.place);
        }
    }
    Some(Location::Pieces(pieces))
}

/// The places of a call's arguments, one after the other, at the callee's first instruction.
pub(crate) struct Arguments {
    integers: usize,
    vectors: usize,
    /// Above the return address.
    stack: u64,
}

impl Arguments {
    /// `hidden`: the caller passes the address of the result.
    pub fn new(hidden: bool) -> Arguments {
        Arguments {
            integers: usize::from(hidden),
            vectors: 0,
            stack: 8,
        }
    }

    /// `by_reference`: the language passes the address of an object instead. `None`: the size is
    /// not known.
    pub fn next(&mut self, types: &Types, ty: TypeId, by_reference: bool) -> Option<Location> {
        if by_reference {
            return Some(match self.take(&[Class::Integer, Class::None]) {
                Some((integers, _)) => Location::Memory(vec![LocOp::Reg(integers[0])]),
                None => {
                    let mut at = self.on_stack(8, 8);
                    at.push(LocOp::Deref(8));
                    Location::Memory(at)
                }
            });
        }
        let size = types.size(ty)?;
        let mut halves = [Class::None; 2];
        let small = size <= 16 && classify(types, ty, 0, &mut halves, 0);
        if small && halves == [Class::None; 2] {
            return Some(Location::OptimizedOut); // an empty class
        }
        let registers = small && !halves.contains(&Class::Memory) && !halves.contains(&Class::X87);
        match self.take(&halves).filter(|_| registers) {
            Some((integers, vector)) => in_registers(size, &halves, integers, vector),
            None => Some(Location::Memory(
                self.on_stack(size, alignment(types, ty, 0)),
            )),
        }
    }

    /// The registers for such a value, where there are as many left.
    fn take(&mut self, halves: &[Class; 2]) -> Option<(&'static [u16], u16)> {
        let count = |c| halves.iter().filter(|h| **h == c).count();
        let integers = self.integers + count(Class::Integer);
        let vectors = self.vectors + count(Class::Sse);
        let fits = integers <= INTEGER.len() && vectors <= VECTORS;
        if !fits || halves.contains(&Class::Memory) || halves.contains(&Class::X87) {
            return None;
        }
        let taken = (
            &INTEGER[self.integers..integers],
            XMM0 + self.vectors as u16,
        );
        (self.integers, self.vectors) = (integers, vectors);
        Some(taken)
    }

    fn on_stack(&mut self, size: u64, align: u64) -> Vec<LocOp> {
        // The first argument there is aligned to 16 bytes.
        let at = (self.stack - 8).next_multiple_of(align.max(8)) + 8;
        self.stack = at + size.next_multiple_of(8);
        vec![LocOp::Reg(RSP), LocOp::PlusConst(at)]
    }
}

fn alignment(types: &Types, ty: TypeId, depth: u32) -> u64 {
    let ty = types.strip(ty);
    match &*types.get(ty) {
        Type::Array { of, .. } if depth < 16 => alignment(types, *of, depth + 1),
        Type::Composite(c) if depth < 16 => {
            let members = c.members.iter().map(|m| alignment(types, m.ty, depth + 1));
            members.max().unwrap_or(1)
        }
        _ => types.size(ty).unwrap_or(8).clamp(1, 16),
    }
}

/// A number or a pointer of at most 8 bytes.
pub(crate) fn is_word(types: &Types, ty: TypeId) -> bool {
    let ty = types.strip(ty);
    match &*types.get(ty) {
        Type::Base { size, .. } => *size <= 8,
        Type::Pointer { .. } | Type::Reference { .. } | Type::Enum { .. } => true,
        _ => false,
    }
}

/// Merge the type at `offset` into its eightbytes. `false`: it goes through memory.
fn classify(types: &Types, ty: TypeId, offset: u64, halves: &mut [Class; 2], depth: u32) -> bool {
    let ty = types.strip(ty);
    let size = types.size(ty).unwrap_or(0);
    if depth > 16 || offset.checked_add(size).is_none_or(|end| end > 16) {
        return false;
    }
    let mut put = |at: u64, class| {
        let h = &mut halves[(at / 8).min(1) as usize];
        *h = merge(*h, class);
        true
    };
    match &*types.get(ty) {
        Type::Base {
            name,
            size,
            encoding: Encoding::Float,
        } => match size {
            16 if name == "long double" => offset == 0 && put(0, Class::X87) && put(8, Class::X87),
            16 => offset == 0 && put(0, Class::Sse) && put(8, Class::SseUp),
            _ => offset % size.max(&1) == 0 && put(offset, Class::Sse),
        },
        Type::Base {
            name,
            size,
            encoding: Encoding::Other,
        } if name.contains("complex") => match size {
            8 => put(offset, Class::Sse),
            16 => put(offset, Class::Sse) && put(offset + 8, Class::Sse),
            _ => false,
        },
        Type::Base { size: 16, .. } => {
            put(offset, Class::Integer) && put(offset + 8, Class::Integer)
        }
        Type::Base { size, .. } | Type::Enum { size, .. } => {
            offset % size.max(&1) == 0 && put(offset, Class::Integer)
        }
        Type::Pointer { .. } | Type::Reference { .. } => {
            offset % 8 == 0 && put(offset, Class::Integer)
        }
        Type::Array { of, .. } => {
            let step = types.size(*of).unwrap_or(0);
            step != 0
                && (0..size / step)
                    .all(|i| classify(types, *of, offset + i * step, halves, depth + 1))
        }
        Type::Composite(c) => classify_members(types, c, offset, halves, depth),
        _ => false,
    }
}

fn classify_members(
    types: &Types,
    c: &Composite,
    offset: u64,
    halves: &mut [Class; 2],
    depth: u32,
) -> bool {
    c.members.iter().all(|m| match m.bits {
        Some(b) => {
            let at = offset + m.offset + u64::from(b.shift) / 8;
            let h = &mut halves[(at / 8).min(1) as usize];
            *h = merge(*h, Class::Integer);
            true
        }
        None if types.size(m.ty) == Some(0) => true,
        // An empty base shares its byte with what follows.
        None if m.base && is_empty(types, m.ty) => true,
        None => classify(
            types,
            m.ty,
            offset.saturating_add(m.offset),
            halves,
            depth + 1,
        ),
    })
}

fn is_empty(types: &Types, ty: TypeId) -> bool {
    matches!(&*types.get(types.strip(ty)), Type::Composite(c) if c.members.is_empty())
}

fn merge(a: Class, b: Class) -> Class {
    match (a, b) {
        (a, b) if a == b => a,
        (Class::None, x) | (x, Class::None) => x,
        (Class::Memory, _) | (_, Class::Memory) => Class::Memory,
        (Class::Integer, _) | (_, Class::Integer) => Class::Integer,
        (Class::X87, _) | (_, Class::X87) => Class::Memory,
        _ => Class::Sse,
    }
}
