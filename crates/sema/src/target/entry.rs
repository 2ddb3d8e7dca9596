// SPDX-License-Identifier: MIT
//! Parameters at a function's first instruction. Code that was not optimised
//! has not stored them yet where the debug information says; the calling
//! convention tells where they are (System V ABI for x86-64, section 3.2.3).

use super::parts::Part;
use super::{is_float, plus, Place, Reader};
use crate::ir::{Addr, Reg};
use crate::points::Context;
use std::sync::Arc;
use trapless_debuginfo as di;
use trapless_debuginfo::{Binary, FunctionKind, Location, Type, TypeId, VariableKind};
use trapless_syntax::diag::Tag;

/// rdi, rsi, rdx, rcx, r8, r9 by DWARF number.
const INTEGER: [u16; 6] = [5, 4, 1, 2, 8, 9];
const VECTORS: u16 = 8;
const XMM0: u16 = 17;
const RSP: u16 = 7;

/// Where one parameter is passed.
enum Passed {
    Integer,
    Float,
    /// A small structure, in so many integer registers.
    Words(usize),
    /// On the stack, so many bytes.
    Stack(u64),
}

impl Reader<'_> {
    /// Is this before a prologue that stores the parameters?
    pub(super) fn is_unstored(&self, binary: &Binary, c: &Context) -> bool {
        let Some(f) = &c.function else { return false };
        f.kind != FunctionKind::Inlined
            && c.pc == f.entry
            && binary.probe_site(f).is_ok_and(|site| site.pc != f.entry)
    }

    /// The place of `var` there. `None`: a report has been made.
    pub(super) fn passed(
        &mut self,
        binary: &Arc<Binary>,
        var: &di::Variable,
        cx: &di::Context,
        c: &Context,
    ) -> Option<Place> {
        let params = match binary.variables(cx) {
            Ok(v) => v,
            Err(e) => return self.fail(&e),
        };
        let hidden = c
            .function
            .as_ref()
            .and_then(|f| binary.return_value(f).ok())
            .is_some_and(|r| matches!(r.location, Location::Memory(_)));
        // C++ may pass a small object by a hidden reference.
        let language = c.function.as_ref().and_then(|f| binary.language(f));
        let is_c = language == Some(di::Language::C);
        let (mut integers, mut floats, mut stack) = (usize::from(hidden), 0u16, 8);
        for p in params.iter().filter(|p| p.kind == VariableKind::Parameter) {
            let place = match class(binary, p.ty, is_c) {
                Some(Passed::Integer) if integers < INTEGER.len() => {
                    integers += 1;
                    Some(Place::Register(INTEGER[integers - 1]))
                }
                Some(Passed::Float) if floats < VECTORS => {
                    floats += 1;
                    Some(Place::Register(XMM0 + floats - 1))
                }
                Some(Passed::Words(n)) if integers + n <= INTEGER.len() => {
                    integers += n;
                    Some(Place::Parts(words(&INTEGER[integers - n..integers])))
                }
                Some(Passed::Words(n)) => Some(on_stack(&mut stack, 8 * n as u64)),
                Some(Passed::Integer | Passed::Float) => Some(on_stack(&mut stack, 8)),
                Some(Passed::Stack(size)) => Some(on_stack(&mut stack, size)),
                None => break,
            };
            if p.name == var.name {
                return place.or_else(|| self.not_at_entry(&var.name));
            }
        }
        self.not_at_entry(&var.name)
    }

    fn not_at_entry(&mut self, name: &str) -> Option<Place> {
        self.diags
            .error(
                Tag::NotBuilt,
                self.span,
                format!("`${name}` cannot be read at the function's first instruction yet"),
            )
            .help("read it in a .function probe and keep it in a global, by tid()");
        None
    }
}

/// A structure in registers, a word in each.
fn words(registers: &[u16]) -> Vec<Part> {
    let word = |(n, r): (usize, &u16)| Part {
        at: 8 * n as u64,
        size: 8,
        place: Place::Register(*r),
    };
    registers.iter().enumerate().map(word).collect()
}

fn on_stack(at: &mut u64, size: u64) -> Place {
    let offset = *at;
    *at += size.next_multiple_of(8);
    Place::Memory(plus(Addr::Register(Reg(RSP)), offset as i64), None)
}

fn class(binary: &Binary, ty: TypeId, is_c: bool) -> Option<Passed> {
    let types = binary.types();
    let stripped = types.strip(ty);
    let size = types.size(stripped).unwrap_or(8);
    match &*types.get(stripped) {
        Type::Pointer { .. } | Type::Reference { .. } | Type::Enum { .. } => Some(Passed::Integer),
        kind @ Type::Base { .. } if size <= 8 => Some(match is_float(kind) {
            true => Passed::Float,
            false => Passed::Integer,
        }),
        Type::Composite(_) if is_c && size > 16 && is_words(binary, stripped, true, 0) => {
            Some(Passed::Stack(size))
        }
        Type::Composite(_)
            if is_c && (1..=16).contains(&size) && is_words(binary, stripped, false, 0) =>
        {
            Some(Passed::Words(size.div_ceil(8) as usize))
        }
        _ => None,
    }
}

/// Is there nothing inside but pointers and numbers of at most 8 bytes?
fn is_words(binary: &Binary, ty: TypeId, floats: bool, depth: u32) -> bool {
    let types = binary.types();
    let stripped = types.strip(ty);
    match &*types.get(stripped) {
        Type::Pointer { .. } | Type::Enum { .. } => true,
        kind @ Type::Base { .. } => {
            (floats || !is_float(kind)) && types.size(stripped).unwrap_or(0) <= 8
        }
        Type::Array { of, .. } => depth < 8 && is_words(binary, *of, floats, depth + 1),
        Type::Composite(c) => {
            let inside = |m: &di::Member| is_words(binary, m.ty, floats, depth + 1);
            depth < 8 && c.members.iter().all(inside)
        }
        _ => false,
    }
}
