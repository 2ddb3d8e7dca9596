// SPDX-License-Identifier: MIT
//! Places of a kernel that its debug information tells, as that of a program does: source lines, copies of functions, labels.
//! The kernel finds each by a function's name.

use super::point::owner;
use crate::ir::ProbeKind;
use crate::points::process::in_file;
use crate::points::{append, Place};
use crate::world::{report, World};
use std::sync::Arc;
use trapless_debuginfo::{Error, Kernel, KernelAddress, KernelDebug};
use trapless_syntax::ast::{Component, ProbePoint};
use trapless_syntax::diag::{Diagnostics, Tag};

/// It is enough when one of them has it, and the first one's mistakes stand for all.
pub fn places(
    point: &ProbePoint,
    of: &[Arc<Kernel>],
    what: &Component,
    suffix: &[Component],
    world: &mut World,
    diags: &mut Diagnostics,
) -> Option<Vec<Place>> {
    let (mut all, mut first) = (Vec::new(), None);
    for kernel in of {
        let mut own = Diagnostics::new();
        match places_of(point, kernel, what, suffix, world, &mut own) {
            Some(found) => {
                append(&mut all, found);
                diags.append(own);
            }
            None => drop(first.get_or_insert(own)),
        }
    }
    if let (true, Some(own)) = (all.is_empty(), first) {
        diags.append(own);
    }
    (!all.is_empty()).then_some(all)
}

fn places_of(
    point: &ProbePoint,
    kernel: &Kernel,
    what: &Component,
    suffix: &[Component],
    world: &mut World,
    diags: &mut Diagnostics,
) -> Option<Vec<Place>> {
    let debug = world.debug_of(kernel);
    let debug = debug.map_err(|e| report(&e, what.span, diags)).ok()?;
    let image = world.kernel_image(kernel);
    let text = owner(kernel.module_name());
    let binary = debug.binary.clone();
    let found = in_file(point, (binary, image, text), (what, suffix), world, diags)?;
    let (mut here, mut problems) = (Vec::new(), Vec::new());
    for place in found {
        match placed(place, kernel, &debug) {
            Ok(place) => here.extend(place),
            Err(e) => problems.push(e),
        }
    }
    told(&problems, here.is_empty(), what, diags);
    (!here.is_empty()).then_some(here)
}

/// Nothing: it is no code that stays.
fn placed(place: Place, kernel: &Kernel, debug: &KernelDebug) -> Result<Option<Place>, Error> {
    let (ProbeKind::Site { addr, .. } | ProbeKind::Return { addr, .. }) = &place.kind else {
        return Ok(None);
    };
    if !debug.binary.is_code(*addr) {
        return Ok(None);
    }
    let found = debug.at(*addr)?;
    if kernel.runs_once(&found.function) {
        return Ok(None);
    }
    Ok(Some(Place {
        kind: found_by_name(place.kind, &found),
        func: found.function,
        ..place
    }))
}

/// Where the function's parts lie is known to the kernel.
fn found_by_name(mut kind: ProbeKind, found: &KernelAddress) -> ProbeKind {
    if let ProbeKind::Site {
        addr, nth, parts, ..
    }
    | ProbeKind::Return {
        addr, nth, parts, ..
    } = &mut kind
    {
        (*addr, *nth, *parts) = (found.offset, found.nth, Arc::default());
    }
    kind
}

/// Of what the kernel cannot find.
fn told(problems: &[Error], all: bool, what: &Component, diags: &mut Diagnostics) {
    let Some(first) = problems.first() else {
        return;
    };
    if all {
        report(first, what.span, diags);
        return;
    }
    let message = format!("{} more places are left out: {first}", problems.len());
    diags.warn(Tag::KernelAddress, what.span, message);
}
