// SPDX-License-Identifier: MIT
//! `kprobe...` points: SystemTap's functions without debug information. Here the kernel's own points need none either, so they
//! are the same, parameters and all.

use super::point::{FAMILY, MODULE};
use crate::points::components;
use crate::points::resolve_one;
use crate::points::Place;
use crate::world::World;
use trapless_syntax::ast::ProbePoint;
use trapless_syntax::diag::{Diagnostics, Tag};

pub const KPROBE: &str = "kprobe";

/// Whatever fails is reported.
pub fn resolve(point: &ProbePoint, world: &mut World, diags: &mut Diagnostics) -> Vec<Place> {
    let Some(what) = point.components.get(1) else {
        diags
            .error(Tag::PointUnknown, point.span, "this names no place")
            .help("add .function(\"NAME\")");
        return Vec::new();
    };
    let mut same = point.clone();
    match what.name.name.as_str() {
        MODULE => drop(same.components.remove(0)),
        "function" | "statement" => same.components[0].name.name = FAMILY.into(),
        _ => {
            components::unknown(what, &components::OF_KPROBE, diags);
            return Vec::new();
        }
    }
    resolve_one(&same, world, diags)
}
