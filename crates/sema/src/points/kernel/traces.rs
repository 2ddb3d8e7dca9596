// SPDX-License-Identifier: MIT
//! `kernel.trace("SYSTEM:NAME")`: a kernel's tracepoints, with their parameters by BTF.

use super::{no_match, open, refusal_of};
use crate::ir::ProbeKind;
use crate::points::components;
use crate::points::{Context, Place};
use crate::world::World;
use trapless_debuginfo::{glob, KernelFunction};
use trapless_syntax::ast::{Component, Literal, ProbePoint, StrLit};
use trapless_syntax::diag::{Diagnostics, Tag};

pub fn traces(
    point: &ProbePoint,
    c: &Component,
    suffix: &[Component],
    world: &mut World,
    diags: &mut Diagnostics,
) -> Option<Vec<Place>> {
    let name = name_of(c, diags)?;
    if let Some(c) = suffix.first() {
        components::unknown(c, &components::OF_TRACE, diags);
        return None;
    }
    let kernel = open(c, world, diags)?;
    let text = name.text();
    let (system, pattern) = parts(&text);
    let found = kernel.tracepoints(pattern);
    if found.is_empty() {
        no_match(
            "tracepoint",
            &kernel,
            &kernel.nearest_tracepoints(pattern),
            name,
            diags,
        );
        return None;
    }
    let (image, refusal) = (world.kernel_image(&kernel), refusal_of(point, pattern));
    let place = |f: KernelFunction| Place {
        point: match system {
            "" | "*" => format!("kernel.trace(\"{}\")", f.name),
            _ => format!("kernel.trace(\"{system}:{}\")", f.name),
        }
        .into(),
        func: f.name.clone(),
        kind: ProbeKind::Trace,
        context: Some(Context {
            kernel: Some(f),
            ..Context::at(image, 0)
        }),
        refusal,
        never: false,
    };
    Some(found.into_iter().map(place).collect())
}

/// `SYSTEM:NAME`, or the name alone.
fn parts(text: &str) -> (&str, &str) {
    text.split_once(':').unwrap_or(("", text))
}

/// BTF does not tell which system a tracepoint is of: one that is named is believed, a pattern of several cannot be.
fn name_of<'a>(c: &'a Component, diags: &mut Diagnostics) -> Option<&'a StrLit> {
    let Some(Literal::String(name)) = &c.arg else {
        diags
            .error(Tag::PointArgument, c.span, "which tracepoint is meant?")
            .help("name it: kernel.trace(\"sched:sched_switch\"); trapless -l 'kernel.trace(\"*\")' lists them");
        return None;
    };
    let text = name.text();
    let (system, pattern) = parts(&text);
    if (glob::is_glob(system) || !system.is_empty() && pattern == "*")
        && (system, pattern) != ("*", "*")
    {
        diags
            .error(
                Tag::PointKernel,
                c.span,
                "the kernel's files do not tell which system a tracepoint is of",
            )
            .help("give a pattern of its name: kernel.trace(\"sched_*\")");
        return None;
    }
    Some(name)
}
