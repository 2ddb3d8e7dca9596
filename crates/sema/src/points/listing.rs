// SPDX-License-Identifier: MIT
//! What `-l` and `-L` show, and editors: the places of probe points, and what a handler can read there.

use crate::declare::declarations::Scope;
use crate::declare::expand::{self, Unused};
use crate::declare::loader::Loader;
use crate::declare::tapset::Tapset;
use crate::declare::unit::Unit;
use crate::declare::{alternatives, calls, collect};
use crate::ir::{ProbeKind, Refusal};
use crate::points::components::text;
use crate::points::wildcards;
use crate::points::{self, Context, Place, SyscallPart};
use crate::types::infer::{self, Types, VTy};
use crate::world::World;
use std::sync::Arc;
use trapless_debuginfo::{
    Binary, Hook, HookParameter, KernelFunction, Location, MarkArg, Operand, SourcePos, TypeId,
    Variable, VariableKind,
};
use trapless_syntax::ast::{ProbePoint, Script};
use trapless_syntax::diag::Diagnostics;

/// A place, and what the aliases around it set.
pub struct Listed {
    pub place: Place,
    pub set: Arc<[Set]>,
}

/// A variable of an alias.
#[derive(Clone, Debug)]
pub struct Set {
    pub name: String,
    /// A text, or a number.
    is_text: bool,
}

impl Set {
    pub fn type_name(&self) -> &'static str {
        if self.is_text {
            "string"
        } else {
            "long"
        }
    }
}

/// All places of the points of a script's probes, in order; those of aliases have the aliases' names.
pub fn places(
    script: Script,
    tapset: &Tapset,
    loader: Loader,
    world: &mut World,
    diags: &mut Diagnostics,
) -> Vec<Listed> {
    let (units, types) = expanded(script, tapset, loader, diags);
    // One that stands for others has been asked for their places.
    let leaders = calls::leaders(&units);
    let found = alternatives::resolve(&units, &leaders, |p| of_point(p, world, diags));
    let found: Vec<Vec<Place>> = leaders.iter().map(|l| found[*l].clone()).collect();
    let named = units.iter().enumerate().zip(found);
    let named = named.flat_map(|((n, unit), places)| {
        let name: Option<Arc<str>> = unit.name.as_deref().map(Arc::from);
        let set = set_by_aliases(n, unit, &types);
        places.into_iter().map(move |p| Listed {
            set: set.clone(),
            place: Place {
                point: name.clone().unwrap_or(p.point),
                ..p
            },
        })
    });
    named.collect()
}

/// What the aliases around the handlers set, wherever their places are.
pub fn set(script: Script, tapset: &Tapset, loader: Loader, diags: &mut Diagnostics) -> Vec<Set> {
    let (units, types) = expanded(script, tapset, loader, diags);
    let units = units.iter().enumerate();
    let all = units.flat_map(|(n, unit)| set_by_aliases(n, unit, &types).to_vec());
    all.collect()
}

/// A script's handlers with the aliases around them, and the types of their variables.
fn expanded(
    script: Script,
    tapset: &Tapset,
    mut loader: Loader,
    diags: &mut Diagnostics,
) -> (Vec<Unit>, Types) {
    let file = script.file;
    let all = collect::collect(vec![script], Vec::new(), tapset, &mut loader, diags);
    let mut units = expand::expand(&all, Unused::In, loader.ids, diags);
    // Tapsets have probes of their own.
    units.retain(|u| u.file == file);
    let types = infer::infer(&all, &units);
    (units, types)
}

fn set_by_aliases(n: usize, unit: &Unit, types: &Types) -> Arc<[Set]> {
    let names = unit.offered.iter().flat_map(|o| &o.names);
    let typed = names.map(|name| (name, types.local(Scope::Unit(n), name)));
    let known = typed.filter(|(_, ty)| *ty != VTy::Unknown);
    let set = known.map(|(name, ty)| Set {
        name: name.clone(),
        is_text: ty == VTy::Str,
    });
    set.collect()
}

fn of_point(point: &ProbePoint, world: &mut World, diags: &mut Diagnostics) -> Vec<Place> {
    let mut one = |p: &ProbePoint, diags: &mut Diagnostics| match in_any_process(p) {
        true if world.target.program.is_none() => vec![somewhere(p)],
        _ => points::resolve_one(p, world, diags),
    };
    let mut places = wildcards::each(point, diags, &mut one);
    places.retain(|p| p.syscall() != Some(SyscallPart::Noted));
    places
}

/// Whichever program `process` will mean, it has this point.
fn in_any_process(point: &ProbePoint) -> bool {
    match point.components.as_slice() {
        [process, what, ..] => {
            let anywhere = ["begin", "end", "thread", "syscall"];
            let whole = what.name.name != "thread" || point.components.len() > 2;
            process.name.name == "process"
                && process.arg.is_none()
                && anywhere.contains(&what.name.name.as_str())
                && whole
        }
        _ => false,
    }
}

/// A point of a program that nobody has named yet.
fn somewhere(point: &ProbePoint) -> Place {
    Place {
        point: text(&point.components).into(),
        func: "".into(),
        kind: ProbeKind::Begin { order: 0 },
        context: None,
        refusal: Refusal::Nothing,
        never: true,
    }
}

/// Something that a handler can read.
#[derive(Clone, Debug)]
pub struct Readable {
    /// With its `$`.
    pub name: String,
    /// `None`: a number that has no type in the program.
    pub ty: Option<TypeId>,
    /// In words.
    pub location: Option<String>,
    pub declared: Option<SourcePos>,
}

/// Everything that a handler at this place can read.
pub fn readable(place: &Place, world: &World) -> Vec<Readable> {
    let Some(context) = &place.context else {
        return Vec::new();
    };
    if let Some(hook) = context.named.as_deref().and_then(|n| n.hook.as_ref()) {
        return of_hook(hook, world);
    }
    if let Some(named) = &context.named {
        let mut all: Vec<Readable> = named.values.iter().map(|v| number(v.0.into())).collect();
        all.extend(named.args.as_deref().into_iter().flat_map(arguments));
        return all;
    }
    if let Some(f) = &context.kernel {
        return of_kernel(f, context, world);
    }
    let Some(binary) = world.binary(context.image) else {
        return Vec::new();
    };
    let mut all: Vec<Readable> = returned(context, &binary).into_iter().collect();
    let in_kernel = world.images[context.image.0 as usize].kernel;
    all.extend(variables(context, &binary, in_kernel));
    all
}

/// Parameters of a kernel's function, and its result at the return.
fn of_kernel(f: &KernelFunction, context: &Context, world: &World) -> Vec<Readable> {
    let Some(kernel) = world.opened_kernel_of(f) else {
        return Vec::new();
    };
    let of = |name: &str, ty, location: &Location| Readable {
        name: format!("${name}"),
        ty: Some(ty),
        location: Some(location.in_words(&kernel.machine().abi.registers)),
        declared: None,
    };
    let result = kernel.return_value(f).ok().filter(|_| context.at_return);
    let mut all: Vec<Readable> = result
        .map(|r| of("return", r.ty, &r.location))
        .into_iter()
        .collect();
    let parameters = kernel.parameters(f);
    all.extend(
        parameters
            .iter()
            .filter_map(|p| Some(of(&p.name, p.ty, p.location.as_ref()?))),
    );
    all
}

/// Parameters that can be read, by the table alone.
fn of_hook(hook: &Hook, world: &World) -> Vec<Readable> {
    let readable = |p: &&HookParameter| !matches!(p.place, Operand::Unreadable(_));
    let (types, word) = (world.info().types(), world.machine.abi.word);
    let parameters = hook.parameters.iter().filter(readable);
    let told = parameters.map(|p| Readable {
        name: format!("${}", p.name),
        ty: Some(p.type_in(types, word)),
        location: Some(p.text.clone()),
        declared: None,
    });
    told.collect()
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
        location: Some(in_words(&value.location, binary)),
        declared: None,
    })
}

fn in_words(location: &Location, binary: &Binary) -> String {
    location.in_words(&binary.machine().abi.registers)
}

fn variables(context: &Context, binary: &Binary, in_kernel: bool) -> Vec<Readable> {
    let scope = match &context.function {
        Some(f) => binary.context_of(f, context.pc),
        None => binary.context_at(context.pc),
    };
    let Ok(scope) = scope else {
        return Vec::new();
    };
    // A return's are those at its call's entry, where locals have no values yet; static ones have.
    let shown = |v: &Variable| !context.at_return || v.kind != VariableKind::Local;
    let all = binary.variables(&scope).unwrap_or_default();
    // Where a kernel's file lies it alone knows.
    let is_known = |location: &Location| !(in_kernel && location.is_of_file());
    let readable = |v: Variable| {
        let location = binary.locate(&v, &scope).ok().filter(is_known)?;
        Some(Readable {
            location: Some(in_words(&location, binary)),
            name: format!("${}", v.name),
            ty: Some(v.ty),
            declared: v.decl,
        })
    };
    all.into_iter().filter(shown).filter_map(readable).collect()
}
