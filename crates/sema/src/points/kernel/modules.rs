// SPDX-License-Identifier: MIT
//! `module("NAME")` points: functions and addresses of a kernel's modules.

use super::point::{open, MODULE};
use super::{functions, split, statements};
use crate::points::components;
use crate::points::Place;
use crate::world::{report, World};
use std::sync::Arc;
use trapless_debuginfo::Kernel;
use trapless_syntax::ast::{Component, Literal, ProbePoint, StrLit};
use trapless_syntax::diag::{Diagnostics, Tag};

/// So many are read for one pattern.
const MOST: usize = 256;

/// Whatever fails is reported.
pub fn resolve(point: &ProbePoint, world: &mut World, diags: &mut Diagnostics) -> Vec<Place> {
    let Some((what, suffix)) = split(point, "a module", diags) else {
        return Vec::new();
    };
    let of = &point.components[0];
    let found = match what.name.name.as_str() {
        "function" => {
            named(of, world, diags).and_then(|of| functions(point, &of, what, suffix, world, diags))
        }
        "statement" => statements::sound(what, suffix, diags)
            .and_then(|()| named(of, world, diags))
            .and_then(|of| statements::statements(point, &of, what, suffix, world, diags)),
        _ => {
            components::unknown(what, &components::OF_MODULE, diags);
            None
        }
    };
    found.unwrap_or_default()
}

/// Those that a point names.
fn named(c: &Component, world: &mut World, diags: &mut Diagnostics) -> Option<Vec<Arc<Kernel>>> {
    let Some(Literal::String(name)) = &c.arg else {
        diags
            .error(Tag::PointArgument, c.span, "which module is meant?")
            .help("name it: module(\"ext4\").function(\"NAME\")");
        return None;
    };
    let kernel = open(c, world, diags)?;
    // As the kernel writes it.
    let pattern = name.text().replace('-', "_");
    let names = kernel.modules(&pattern);
    if names.is_empty() || names.len() > MOST {
        not_so_many(&kernel, &pattern, names.len(), name, diags);
        return None;
    }
    let opened = names.iter().map(|n| world.kernel_module(n));
    let opened: Result<Vec<_>, _> = opened.collect();
    opened.map_err(|e| report(&e, c.span, diags)).ok()
}

fn not_so_many(kernel: &Kernel, pattern: &str, n: usize, name: &StrLit, diags: &mut Diagnostics) {
    let (tag, message, help) = match n {
        0 => (
            Tag::PointNoMatch,
            format!("the kernel has no {MODULE} `{pattern}` ({})", kernel.path().display()),
            match kernel.nearest_modules(pattern) {
                near if near.is_empty() => {
                    "they are looked for in lib/modules/RELEASE; kernel.function(\"NAME\") is of what is built in".into()
                }
                near => format!("did you mean {}?", near.join(", ")),
            },
        ),
        _ => (
            Tag::PointKernel,
            format!("{n} modules match `{pattern}`, and no more than {MOST} are looked into"),
            "name fewer: module(\"ext*\")".into(),
        ),
    };
    diags.error(tag, name.span, message).help(help);
}
