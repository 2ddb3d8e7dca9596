// SPDX-License-Identifier: MIT
//! `.statement(...)` of a kernel or a module. Addresses are those of its symbol file, and become places in functions.

use super::point::{owner, refusal_of, refused, runs_once, site};
use super::sources;
use crate::points::components;
use crate::points::{Context, Place};
use crate::world::{report, World};
use std::sync::Arc;
use trapless_debuginfo::Kernel;
use trapless_syntax::ast::{Component, Literal, NumLit, ProbePoint};
use trapless_syntax::diag::{Diagnostics, Tag};

/// What statements of programs have, and addresses of kernels not yet, with the way round.
const LATER: &[(&str, &str)] = &[
    (
        "absolute",
        "give the address as nm shows it of the kernel's file",
    ),
    ("nearest", "give an instruction's own address"),
];

/// Before any file is looked at; `None`: reported.
pub fn sound(c: &Component, suffix: &[Component], diags: &mut Diagnostics) -> Option<()> {
    match &c.arg {
        Some(Literal::String(_)) => Some(()),
        Some(Literal::Number(_)) => nothing_behind(suffix, diags),
        None => {
            diags
                .error(Tag::PointArgument, c.span, "a statement needs its place")
                .help("e.g. .statement(\"vfs_read@read_write.c:460\"), .statement(0xADDRESS)");
            None
        }
    }
}

fn nothing_behind(suffix: &[Component], diags: &mut Diagnostics) -> Option<()> {
    let s = suffix.first();
    if let Some(s) = s.filter(|s| !refused(s, LATER, diags)) {
        components::unknown(s, &components::OF_KERNEL_STATEMENT, diags);
    }
    s.is_none().then_some(())
}

/// `of`: the kernel, or modules of it. What is said is sound.
pub fn statements(
    point: &ProbePoint,
    of: &[Arc<Kernel>],
    c: &Component,
    suffix: &[Component],
    world: &mut World,
    diags: &mut Diagnostics,
) -> Option<Vec<Place>> {
    let Some(Literal::Number(n)) = &c.arg else {
        return sources::places(point, of, c, suffix, world, diags);
    };
    let [one] = of else {
        let message = format!("{} modules match, and an address is one module's", of.len());
        diags
            .error(Tag::PointArgument, point.components[0].span, message)
            .help("name one: module(\"ext4\").statement(0xADDRESS)");
        return None;
    };
    address(point, one, n, world, diags)
}

fn address(
    point: &ProbePoint,
    kernel: &Kernel,
    n: &NumLit,
    world: &mut World,
    diags: &mut Diagnostics,
) -> Option<Vec<Place>> {
    let addr = n.value as u64;
    let found = kernel.at(addr);
    let found = found.map_err(|e| report(&e, n.span, diags)).ok()?;
    if kernel.runs_once(&found.function) {
        runs_once(&found.function, n.span, diags);
        return None;
    }
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
            ..Context::at(image, kernel.address_in_debug(addr))
        }),
        refusal: refusal_of(point, ""),
        never: false,
    }])
}
