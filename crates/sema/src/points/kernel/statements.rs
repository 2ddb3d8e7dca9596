// SPDX-License-Identifier: MIT
//! `.statement(ADDRESS)` of a kernel or a module: its symbol file's addresses, which become places in functions.

use super::point::{owner, refusal_of, refused, site};
use crate::points::components;
use crate::points::{Context, Place};
use crate::world::{report, World};
use trapless_debuginfo::Kernel;
use trapless_syntax::ast::{Component, Literal, NumLit, ProbePoint};
use trapless_syntax::diag::{Diagnostics, Tag};

/// What statements of programs have, and those of kernels not yet, with the way round.
const LATER: &[(&str, &str)] = &[
    (
        "absolute",
        "give the address as nm shows it of the kernel's file",
    ),
    ("nearest", "give an instruction's own address"),
];

/// What is meant; `None`: reported.
pub fn address_of<'a>(
    c: &'a Component,
    suffix: &[Component],
    diags: &mut Diagnostics,
) -> Option<&'a NumLit> {
    if let Some(s) = suffix.first() {
        if !refused(s, LATER, diags) {
            components::unknown(s, &components::OF_KERNEL_STATEMENT, diags);
        }
        return None;
    }
    let (tag, message) = match &c.arg {
        Some(Literal::Number(n)) => return Some(n),
        Some(Literal::String(_)) => (
            Tag::PointKernel,
            "source files of kernels are not known yet",
        ),
        None => (Tag::PointArgument, "a statement needs its place"),
    };
    diags
        .error(tag, c.span, message)
        .help("give an address: .statement(0xADDRESS), or probe the function: .function(\"NAME\")");
    None
}

pub fn statement(
    point: &ProbePoint,
    kernel: &Kernel,
    n: &NumLit,
    world: &mut World,
    diags: &mut Diagnostics,
) -> Option<Vec<Place>> {
    let addr = n.value as u64;
    let found = kernel.at(addr);
    let found = found.map_err(|e| report(&e, n.span, diags)).ok()?;
    let image = world.kernel_image(kernel);
    // Parameters are where the calling convention has them at the entry alone.
    let mut of_name = kernel.functions(&found.function).into_iter();
    let at_entry = of_name.find(|f| f.nth == found.nth && found.offset == 0);
    Some(vec![Place {
        point: format!("{}.statement({addr:#x})", owner(kernel.module_name())).into(),
        func: found.function,
        kind: site(image, found.nth, found.offset),
        context: Some(Context {
            kernel: at_entry,
            ..Context::at(image, found.offset)
        }),
        refusal: refusal_of(point, ""),
        never: false,
    }])
}
