// SPDX-License-Identifier: MIT
//! `kernel.trace("SYSTEM:NAME")`: a kernel's tracepoints, with their parameters by BTF. Where it has none such itself, those
//! of its modules are meant.

use super::point::{no_match, open, refusal_of};
use crate::ir::{ImageId, ProbeKind, Refusal};
use crate::points::components;
use crate::points::{Context, Place};
use crate::world::World;
use std::sync::Arc;
use trapless_debuginfo::{glob, Kernel, KernelFunction};
use trapless_syntax::ast::{Component, Literal, ProbePoint, StrLit};
use trapless_syntax::diag::{nearest, Diagnostics, Tag};

pub fn traces(
    point: &ProbePoint,
    c: &Component,
    suffix: &[Component],
    world: &mut World,
    diags: &mut Diagnostics,
) -> Option<Vec<Place>> {
    let name = name_of(c, world, diags)?;
    if let Some(c) = suffix.first() {
        components::unknown(c, &components::OF_TRACE, diags);
        return None;
    }
    let kernel = open(c, world, diags)?;
    let text = name.text();
    let (system, pattern) = parts(&text);
    if !tells_enough(&kernel, system, pattern) {
        not_told(c, diags);
        return None;
    }
    let found = match matching(&kernel, system, pattern) {
        found if found.is_empty() => in_modules(&kernel, system, pattern, world),
        found => with_owner(&kernel, found),
    };
    if found.is_empty() {
        none_matches(&kernel, (system, pattern), name, world, diags);
        return None;
    }
    let refusal = match glob::is_glob(system) {
        true => refusal_of(point, system),
        false => refusal_of(point, pattern),
    };
    let place = |(owner, f): (Arc<Kernel>, _)| {
        let image = world.kernel_image(&owner);
        place(&owner, f, system, image, refusal)
    };
    Some(found.into_iter().map(place).collect())
}

type Owned = (Arc<Kernel>, KernelFunction);

fn with_owner(owner: &Arc<Kernel>, found: Vec<KernelFunction>) -> Vec<Owned> {
    found.into_iter().map(|f| (owner.clone(), f)).collect()
}

/// Those of modules, of which the kernel itself has none such. What cannot be read has none.
fn in_modules(kernel: &Kernel, system: &str, pattern: &str, world: &mut World) -> Vec<Owned> {
    let names = kernel.modules_tracing(system, pattern).into_iter();
    let opened = names.filter_map(|name| world.kernel_module(&name).ok());
    opened
        .flat_map(|module| with_owner(&module, matching(&module, system, pattern)))
        .collect()
}

/// `SYSTEM:NAME`, or the name alone.
fn parts(text: &str) -> (&str, &str) {
    text.split_once(':').unwrap_or(("*", text))
}

fn name_of<'a>(c: &'a Component, world: &World, diags: &mut Diagnostics) -> Option<&'a StrLit> {
    let Some(Literal::String(name)) = &c.arg else {
        diags
            .error(Tag::PointArgument, c.span, "which tracepoint is meant?")
            .help("name it: kernel.trace(\"sched:sched_switch\")")
            .help(world.listed_by("-l", "kernel.trace(\"*\")"));
        return None;
    };
    Some(name)
}

/// Where nobody tells systems one that is named is believed, but a pattern cannot be.
fn tells_enough(kernel: &Kernel, system: &str, pattern: &str) -> bool {
    let by_system = glob::is_glob(system) || pattern == "*";
    system == "*" || !by_system || !kernel.trace_systems().is_empty()
}

fn not_told(c: &Component, diags: &mut Diagnostics) {
    diags
        .error(
            Tag::PointKernel,
            c.span,
            "which system a tracepoint is of, neither this kernel's file nor /sys/kernel/tracing tells",
        )
        .help("give a pattern of its name: kernel.trace(\"sched_*\"); or run as root");
}

/// Some are of no system: what is named is believed of them.
fn matching(kernel: &Kernel, system: &str, pattern: &str) -> Vec<KernelFunction> {
    let exact = !glob::is_glob(system) && !glob::is_glob(pattern);
    let is_of = |f: &KernelFunction| match kernel.system_of(&f.name) {
        Some(own) => glob::matches(system, own),
        None => system == "*" || exact || kernel.trace_systems().is_empty(),
    };
    let mut found = kernel.tracepoints(pattern);
    found.retain(is_of);
    found
}

fn none_matches(
    kernel: &Kernel,
    (system, pattern): (&str, &str),
    name: &StrLit,
    world: &World,
    diags: &mut Diagnostics,
) {
    let elsewhere = kernel.tracepoints(pattern);
    let systems = kernel.trace_systems();
    let is_known = glob::is_glob(system) || systems.contains(&system);
    match (elsewhere.as_slice(), kernel.system_of(pattern)) {
        ([_], Some(own)) => {
            let message = format!("the tracepoint `{pattern}` is of the system `{own}`");
            diags
                .error(Tag::PointNoMatch, name.span, message)
                .help(format!("kernel.trace(\"{own}:{pattern}\")"));
        }
        ([_, ..], _) if !is_known => {
            let message = format!("the kernel has no system `{system}` of tracepoints");
            let near = nearest(system, systems);
            diags
                .error(Tag::PointNoMatch, name.span, message)
                .help(near.map(|near| format!("did you mean `{near}`?")));
        }
        _ => {
            let mut near = kernel.nearest_tracepoints(pattern);
            near.extend(kernel.nearest_traced(pattern));
            no_match("tracepoint", kernel, &near, name, world, diags);
        }
    }
}

/// `system`: as it is named, of one that has none.
fn place(
    kernel: &Arc<Kernel>,
    f: KernelFunction,
    system: &str,
    image: ImageId,
    refusal: Refusal,
) -> Place {
    let system = kernel.system_of(&f.name).unwrap_or(system);
    Place {
        point: match system {
            "*" => format!("kernel.trace(\"{}\")", f.name),
            _ => format!("kernel.trace(\"{system}:{}\")", f.name),
        }
        .into(),
        func: f.name.clone(),
        kind: ProbeKind::Trace { image },
        context: Some(Context {
            kernel: Some(f),
            ..Context::at(image, 0)
        }),
        refusal,
        never: false,
    }
}
