// SPDX-License-Identifier: MIT
//! `process...` points: programs, libraries, functions, statements.

use crate::points::Place;
use crate::world::World;
use trapless_syntax::ast::ProbePoint;
use trapless_syntax::diag::{Diagnostics, Tag};

pub fn resolve(point: &ProbePoint, world: &mut World, diags: &mut Diagnostics) -> Vec<Place> {
    let _ = world;
    diags.error(
        Tag::NotBuilt,
        point.span,
        "process points are not built yet",
    );
    Vec::new()
}
