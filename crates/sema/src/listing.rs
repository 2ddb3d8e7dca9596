// SPDX-License-Identifier: MIT
//! What `-l` and `-L` show, and editors: the places of probe points, and what a handler can read there.

use crate::collect;
use crate::expand;
use crate::loader::Loader;
use crate::points::{self, Context, Place, SyscallPart};
use crate::tapset::Tapset;
use crate::world::World;
use trapless_debuginfo::{
    Binary, Location, MarkArg, Operand, SourcePos, TypeId, Variable, VariableKind,
};
use trapless_syntax::ast::Script;
use trapless_syntax::diag::Diagnostics;

/// All places of the points of a script's probes, in order.
pub fn places(
    script: Script,
    tapset: &Tapset,
    mut loader: Loader,
    world: &mut World,
    diags: &mut Diagnostics,
) -> Vec<Place> {
    let all = collect::collect(vec![script], Vec::new(), tapset, &mut loader, diags);
    let units = expand::expand(&all, loader.ids, diags);
    let leaders = crate::calls::leaders(&units);
    let leading = units
        .iter()
        .zip(leaders)
        .enumerate()
        .filter(|(n, (_, l))| n == l);
    let points = leading.flat_map(|(_, (u, _))| &u.points);
    let shown = |p: &Place| p.syscall() != Some(SyscallPart::Noted);
    points
        .flat_map(|p| points::resolve(p, world, diags))
        .filter(shown)
        .collect()
}

/// Something that a handler can read.
#[derive(Clone, Debug)]
pub struct Readable {
    /// With its `$`.
    pub name: String,
    /// `None`: a number that has no type in the program.
    pub ty: Option<TypeId>,
    pub location: Option<Location>,
    pub declared: Option<SourcePos>,
}

/// Everything that a handler at this place can read.
pub fn readable(place: &Place, world: &World) -> Vec<Readable> {
    let Some(context) = &place.context else {
        return Vec::new();
    };
    if let Some(named) = &context.named {
        let mut all: Vec<Readable> = named.values.iter().map(|v| number(v.0.into())).collect();
        all.extend(named.args.as_deref().into_iter().flat_map(arguments));
        return all;
    }
    let Some(binary) = world.binary(context.image) else {
        return Vec::new();
    };
    let mut all: Vec<Readable> = returned(context, &binary).into_iter().collect();
    all.extend(variables(context, &binary));
    all
}

/// Of a mark, those that can be read.
fn arguments(args: &[MarkArg]) -> Vec<Readable> {
    let readable = |a: &MarkArg| !matches!(a.operand, Operand::Unreadable(_));
    let numbered = args.iter().enumerate().filter(|(_, a)| readable(a));
    numbered
        .map(|(i, _)| number(format!("$arg{}", i + 1)))
        .collect()
}

fn number(name: String) -> Readable {
    Readable {
        name,
        ty: None,
        location: None,
        declared: None,
    }
}

fn returned(context: &Context, binary: &Binary) -> Option<Readable> {
    let function = context.function.as_ref().filter(|_| context.at_return)?;
    let value = binary.return_value(function).ok()?;
    Some(Readable {
        name: "$return".to_string(),
        ty: Some(value.ty),
        location: Some(value.location),
        declared: None,
    })
}

fn variables(context: &Context, binary: &Binary) -> Vec<Readable> {
    let scope = match &context.function {
        Some(f) => binary.context_of(f, context.pc),
        None => binary.context_at(context.pc),
    };
    let Ok(scope) = scope else {
        return Vec::new();
    };
    // Globals are many, and the same at every place; @var reads them.
    let shown = |v: &Variable| match context.at_return {
        true => v.kind == VariableKind::Parameter,
        false => v.kind != VariableKind::Global,
    };
    let all = binary.variables(&scope).unwrap_or_default();
    let readable = |v: Variable| {
        Some(Readable {
            location: Some(binary.locate(&v, &scope).ok()?),
            name: format!("${}", v.name),
            ty: Some(v.ty),
            declared: v.decl,
        })
    };
    all.into_iter().filter(shown).filter_map(readable).collect()
}
