// SPDX-License-Identifier: MIT
//! `.exported`: functions of a kernel, or of a module, that modules may call.

use crate::ir::ProbeKind;
use crate::points::Place;
use crate::world::{report, World};
use std::sync::Arc;
use trapless_debuginfo::Kernel;
use trapless_syntax::ast::Component;
use trapless_syntax::diag::Diagnostics;

/// Those of the places that are of such. `None`: reported.
pub fn among(
    mut places: Vec<Place>,
    of: &[Arc<Kernel>],
    c: &Component,
    world: &mut World,
    diags: &mut Diagnostics,
) -> Option<Vec<Place>> {
    for kernel in of {
        let image = world.kernel_image(kernel);
        let names = kernel.exported();
        let names = names.map_err(|e| report(&e, c.span, diags)).ok()?;
        places.retain(|p| !is_of(p, image) || names.contains(&*p.func));
    }
    Some(places)
}

fn is_of(place: &Place, of: crate::ir::ImageId) -> bool {
    match &place.kind {
        ProbeKind::Site { image, .. } | ProbeKind::Return { image, .. } => *image == of,
        _ => false,
    }
}
