// SPDX-License-Identifier: MIT
//! Where a function's arguments and result are, in the eightbytes of the System V ABI for x86-64 (section 3.2.3). Which
//! registers these take says the machine's table.

use crate::cfi::Cfa;
use crate::error::{Error, Result};
use crate::location::{LocOp, Location, Piece};
use crate::types::{Composite, Encoding, Type, TypeId, Types};
use trapless_machine::Abi;

const EIGHTBYTE: u64 = 8;
/// Larger ones go through memory.
const LARGEST: u64 = 2 * EIGHTBYTE;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    None,
    Integer,
    Float,
    /// Upper half of a 16-byte vector or `__float128`.
    FloatUp,
    /// `long double`
    Extended,
    Memory,
}

/// Whether the frame is what a call leaves: nothing but the return address is on the stack.
pub(crate) fn is_entered(cfa: &Cfa, abi: &Abi) -> bool {
    let Cfa::Register(register, offset) = cfa else {
        return false;
    };
    *register == abi.registers.stack_pointer && *offset == abi.pushed_by_call().into()
}

/// Place of a result of that type. `by_reference`: the language says it goes through memory.
pub(crate) fn return_location(
    types: &Types,
    ty: TypeId,
    by_reference: bool,
    abi: &Abi,
) -> Result<Location> {
    let passing = &abi.passing;
    let unknown = |what: &str| Error::Unsupported {
        what: format!("{what} `{}`", types.name(ty)),
    };
    let memory = || match passing.result_area_returned {
        Some(register) => Ok(Location::Memory(vec![LocOp::Reg(register)])),
        None => Err(unknown("the place of a result")),
    };
    if by_reference {
        return memory();
    }
    let size = types
        .size(ty)
        .ok_or_else(|| unknown("the size of the result"))?;
    if size == 0 {
        return Ok(Location::OptimizedOut);
    }
    let mut halves = [Class::None; 2];
    if size > LARGEST || !classify(types, ty, 0, &mut halves, 0) || halves.contains(&Class::Memory)
    {
        // Complex long double is 32 bytes and comes in st0 and st1.
        return match &*types.get(types.strip(ty)) {
            Type::Base { .. } => Err(unknown("the place of a result")),
            _ => memory(),
        };
    }
    match (
        halves.map(|h| h == Class::Extended),
        passing.extended_result,
    ) {
        ([true, true], Some(register)) => return Ok(Location::Register(register)),
        ([false, false], _) => {}
        _ => return memory(),
    }
    in_registers(size, &halves, passing.results, passing.float_results).map_or_else(memory, Ok)
}

/// A value of at most 16 bytes in registers.
fn in_registers(
    size: u64,
    halves: &[Class; 2],
    integers: &[u16],
    floats: &[u16],
) -> Option<Location> {
    let (mut integers, mut floats) = (integers.iter().copied(), floats.iter().copied());
    let mut last = None;
    let mut pieces = Vec::new();
    for (i, class) in halves.iter().enumerate() {
        let bytes = (size - EIGHTBYTE * i as u64).min(EIGHTBYTE);
        let (place, bit_offset) = match class {
            Class::Integer => (integers.next().map(Location::Register), 0),
            Class::Float => {
                last = floats.next();
                (last.map(Location::Register), 0)
            }
            Class::FloatUp => (last.map(Location::Register), 64),
            _ => (None, 0),
        };
        let place = place.unwrap_or(Location::OptimizedOut);
        pieces.push(Piece {
            bits: bytes as u32 * 8,
            bit_offset,
            place,
        });
        if size <= EIGHTBYTE {
            return pieces.pop().map(|p| p.place);
        }
    }
    Some(Location::Pieces(pieces))
}

/// The places of a call's arguments, one after the other, at the callee's first instruction.
pub(crate) struct Arguments {
    abi: &'static Abi,
    integers: usize,
    floats: usize,
    /// Bytes of those in memory.
    stack: u64,
}

impl Arguments {
    /// `hidden`: the caller passes the address of the result.
    pub fn new(hidden: bool, abi: &'static Abi) -> Arguments {
        Arguments {
            abi,
            integers: usize::from(hidden),
            floats: 0,
            stack: 0,
        }
    }

    /// `by_reference`: the language passes the address of an object instead. `None`: the size is
    /// not known.
    pub fn next(&mut self, types: &Types, ty: TypeId, by_reference: bool) -> Option<Location> {
        if by_reference {
            return Some(match self.take(&[Class::Integer, Class::None]) {
                Some((integers, _)) => Location::Memory(vec![LocOp::Reg(integers[0])]),
                None => {
                    let word = self.abi.word;
                    let mut at = self.on_stack(word.into(), word.into());
                    at.push(LocOp::Deref(word));
                    Location::Memory(at)
                }
            });
        }
        let size = types.size(ty)?;
        let mut halves = [Class::None; 2];
        let small = size <= LARGEST && classify(types, ty, 0, &mut halves, 0);
        if small && halves == [Class::None; 2] {
            return Some(Location::OptimizedOut); // an empty class
        }
        let registers = small && !in_memory(&halves);
        match self.take(&halves).filter(|_| registers) {
            Some((integers, floats)) => in_registers(size, &halves, integers, floats),
            None => Some(Location::Memory(
                self.on_stack(size, alignment(types, ty, 0)),
            )),
        }
    }

    /// The registers for such a value, where there are as many left.
    fn take(&mut self, halves: &[Class; 2]) -> Option<(&'static [u16], &'static [u16])> {
        let (words, numbers) = (self.abi.passing.arguments, self.abi.passing.float_arguments);
        let count = |c| halves.iter().filter(|h| **h == c).count();
        let integers = self.integers + count(Class::Integer);
        let floats = self.floats + count(Class::Float);
        let fits = integers <= words.len() && floats <= numbers.len();
        if !fits || in_memory(halves) {
            return None;
        }
        let taken = (
            &words[self.integers..integers],
            &numbers[self.floats..floats],
        );
        (self.integers, self.floats) = (integers, floats);
        Some(taken)
    }

    fn on_stack(&mut self, size: u64, align: u64) -> Vec<LocOp> {
        // The first argument there is aligned to 16 bytes.
        let at = self.stack.next_multiple_of(align.max(EIGHTBYTE));
        self.stack = at + size.next_multiple_of(EIGHTBYTE);
        vec![
            LocOp::Reg(self.abi.registers.stack_pointer),
            LocOp::PlusConst(self.abi.passing.stack_arguments + at),
        ]
    }
}

fn in_memory(halves: &[Class; 2]) -> bool {
    halves.contains(&Class::Memory) || halves.contains(&Class::Extended)
}

fn alignment(types: &Types, ty: TypeId, depth: u32) -> u64 {
    let ty = types.strip(ty);
    match &*types.get(ty) {
        Type::Array { of, .. } if depth < 16 => alignment(types, *of, depth + 1),
        Type::Composite(c) if depth < 16 => {
            let members = c.members.iter().map(|m| alignment(types, m.ty, depth + 1));
            members.max().unwrap_or(1)
        }
        _ => types.size(ty).unwrap_or(EIGHTBYTE).clamp(1, LARGEST),
    }
}

/// A number or a pointer of at most a word.
pub(crate) fn is_word(types: &Types, ty: TypeId, abi: &Abi) -> bool {
    let ty = types.strip(ty);
    match &*types.get(ty) {
        Type::Base { size, .. } => *size <= abi.word.into(),
        Type::Pointer { .. } | Type::Reference { .. } | Type::Enum { .. } => true,
        _ => false,
    }
}

/// Merge the type at `offset` into its eightbytes. `false`: it goes through memory.
fn classify(types: &Types, ty: TypeId, offset: u64, halves: &mut [Class; 2], depth: u32) -> bool {
    let ty = types.strip(ty);
    let size = types.size(ty).unwrap_or(0);
    if depth > 16 || offset.checked_add(size).is_none_or(|end| end > LARGEST) {
        return false;
    }
    let mut put = |at: u64, class| {
        let h = &mut halves[(at / EIGHTBYTE).min(1) as usize];
        *h = merge(*h, class);
        true
    };
    match &*types.get(ty) {
        Type::Base {
            name,
            size,
            encoding: Encoding::Float,
        } => match size {
            16 if name == "long double" => {
                offset == 0 && put(0, Class::Extended) && put(EIGHTBYTE, Class::Extended)
            }
            16 => offset == 0 && put(0, Class::Float) && put(EIGHTBYTE, Class::FloatUp),
            _ => offset.is_multiple_of(*size.max(&1)) && put(offset, Class::Float),
        },
        Type::Base {
            name,
            size,
            encoding: Encoding::Other,
        } if name.contains("complex") => match size {
            8 => put(offset, Class::Float),
            16 => put(offset, Class::Float) && put(offset + EIGHTBYTE, Class::Float),
            _ => false,
        },
        Type::Base { size: 16, .. } => {
            put(offset, Class::Integer) && put(offset + EIGHTBYTE, Class::Integer)
        }
        Type::Base { size, .. } | Type::Enum { size, .. } => {
            offset.is_multiple_of(*size.max(&1)) && put(offset, Class::Integer)
        }
        Type::Pointer { .. } | Type::Reference { .. } => {
            offset.is_multiple_of(EIGHTBYTE) && put(offset, Class::Integer)
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
            let h = &mut halves[(at / EIGHTBYTE).min(1) as usize];
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
        (Class::Extended, _) | (_, Class::Extended) => Class::Memory,
        _ => Class::Float,
    }
}
