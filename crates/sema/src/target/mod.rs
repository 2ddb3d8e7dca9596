// SPDX-License-Identifier: MIT
//! Variables of the traced program: from `$x->y[i]` to registers and memory.

mod address;
mod base;
mod constants;
mod containers;
mod debugger;
mod hook;
mod implicit;
mod kernel;
mod known;
mod location;
pub mod modules;
mod named;
mod parts;
mod path;
mod pretty;
mod reader;
mod result;
mod rust;
mod source;
mod text;

pub use constants::{constants, constants_of};

use crate::ir::{Expr, ExprKind, Reg, Ty};
use crate::points::Context;
use crate::world::World;
use reader::{Place, Reader, Value};
pub use source::Source;
use trapless_debuginfo::{LocOp, Location, Type, TypeId, Types};
use trapless_syntax::ast::{self, Pretty, TargetBase};
use trapless_syntax::diag::Diagnostics;

/// Lowers a script expression inside a target one (array index, `@cast`
/// operand, the pointer of `EXPR->member`).
pub type LowerExpr<'a> = dyn FnMut(&ast::Expr, &mut Diagnostics) -> Option<Expr> + 'a;

/// What a pointer in the script leads to, by the debug information of a file.
#[derive(Clone)]
pub struct AutoType {
    ty: TypeId,
    types: Source,
}

impl AutoType {
    pub fn same(&self, other: &AutoType) -> bool {
        let name = |t: &AutoType| t.types.types().name(t.types.types().strip(t.ty));
        self.types.is(&other.types) && (self.ty == other.ty || name(self) == name(other))
    }
}

/// Where an access starts from.
#[derive(Clone, Default)]
pub struct From<'a> {
    pub context: Option<&'a Context>,
    /// Of `EXPR->member`: the type of EXPR.
    pub auto: Option<AutoType>,
    /// In a return: what the register of `kept_for_result` held at the entry.
    pub kept: Option<Expr>,
}

/// The type of what `target` reads; nothing is reported.
pub fn type_of(
    target: &ast::Target,
    context: Option<&Context>,
    auto: Option<AutoType>,
    world: &mut World,
) -> Option<AutoType> {
    if target.pretty != Pretty::No {
        return None;
    }
    let from = From {
        context,
        auto,
        kept: None,
    };
    let word = world.machine.abi.word;
    let value = resolved(target, from, world)?;
    let types = value.types.types();
    let ty = match (target.address_of, element_type(types, value.ty)) {
        (true, _) => types.pointer_to(value.ty, word),
        (false, Some(of)) if pointee(types, value.ty).is_none() => types.pointer_to(of, word),
        _ => value.ty,
    };
    pointee(types, ty)?;
    Some(AutoType {
        ty,
        types: value.types,
    })
}

/// What `target` is, quietly.
fn resolved(target: &ast::Target, from: From, world: &mut World) -> Option<Value> {
    let mut unheard = Diagnostics::new();
    let mut r = Reader {
        world,
        diags: &mut unheard,
        span: target.span,
        homes: false,
        lists: false,
        referred: false,
        frame: None,
        kept: None,
    };
    // Only the type is wanted: any number serves as an index.
    let mut lower = |e: &ast::Expr, _: &mut Diagnostics| {
        Some(Expr {
            ty: Ty::Long,
            kind: ExprKind::Long(0),
            span: e.span,
        })
    };
    r.resolve(target, from, &mut lower)
}

/// Read a target variable: a number, or text for the pretty-printing forms.
/// `from.context` is that of the place; of a return probe only `$return` arrives
/// here with `at_return` (the others are read at entry, with a context that
/// has it false). `None`: a report has been made.
pub fn read(
    target: &ast::Target,
    from: From,
    world: &mut World,
    lower: &mut LowerExpr,
    diags: &mut Diagnostics,
) -> Option<Expr> {
    let mut r = Reader {
        world,
        diags,
        span: target.span,
        homes: false,
        lists: false,
        referred: false,
        frame: None,
        kept: from.kept.clone(),
    };
    if let TargetBase::Var(name) = &target.base {
        let context = from.context;
        if let Some(e) = context.and_then(|c| r.of_named(target, &name.name, c)) {
            return e;
        }
        if name.name.starts_with("$$") {
            return r.all_of(&name.name, from.context?, target.pretty);
        }
    }
    let value = match target.address_of {
        true => r.resolve_address(target, from, lower)?,
        false => r.resolve(target, from, lower)?,
    };
    if target.address_of {
        let is_cast = matches!(target.base, TargetBase::Cast { .. }) && target.path.is_empty();
        return match value.place {
            // `&@cast(p, "type")` is p.
            Place::Computed(a) if is_cast => {
                Some(r.expr(Ty::Long, ExprKind::TargetAddress(Box::new(a))))
            }
            _ => r.address_of(value),
        };
    }
    match target.pretty {
        Pretty::No => r.scalar(value),
        depth => r.pretty(value, depth == Pretty::Deep),
    }
}

/// The register whose value at the entry tells where the result is put.
pub fn kept_for_result(context: &Context, world: &mut World) -> Option<Reg> {
    let binary = world.binary(context.image)?;
    let found = binary.return_value(context.function.as_ref()?).ok()?;
    in_memory_of_entry(&found.location)
}

fn in_memory_of_entry(location: &Location) -> Option<Reg> {
    match location {
        Location::Memory(ops) => match ops[..] {
            [LocOp::EntryReg(r)] => Some(Reg(r)),
            _ => None,
        },
        _ => None,
    }
}

/// What a pointer leads to; arrays and references are not pointers here.
fn pointee(types: &Types, ty: TypeId) -> Option<TypeId> {
    match &*types.get(types.strip(ty)) {
        Type::Pointer { to, .. } => Some(*to),
        _ => None,
    }
}

/// One element: of `int a[2][3]` an `int[3]`.
fn element_type(types: &Types, ty: TypeId) -> Option<TypeId> {
    match &*types.get(ty) {
        Type::Pointer { to, .. } => Some(*to),
        Type::Array { of, counts } if counts.len() > 1 => Some(types.add(Type::Array {
            of: *of,
            counts: counts[1..].to_vec(),
        })),
        Type::Array { of, .. } => Some(*of),
        _ => None,
    }
}

fn is_reference(value: &Value) -> bool {
    let types = value.types.types();
    matches!(&*types.get(types.strip(value.ty)), Type::Reference { .. })
}
