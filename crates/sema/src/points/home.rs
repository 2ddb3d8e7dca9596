// SPDX-License-Identifier: MIT
//! Where handlers run: in a kernel, or in processes.

use crate::declare::unit::Unit;
use crate::ir::{Image, ProbeKind};
use crate::points::Place;
use trapless_syntax::diag::{Diagnostics, Tag};

/// Does it run in a kernel? It does where a probe is of one, and with `-r` (`asked`) unless all that is probed is of
/// processes. Complains of scripts that want both.
pub fn is_kernel(
    asked: bool,
    units: &[Unit],
    places: &[Vec<Place>],
    images: &[Image],
    diags: &mut Diagnostics,
) -> bool {
    let of_kernel = |p: &Place| is_of_kernel(&p.kind, images);
    let of_process = |p: &Place| p.kind.is_of_target() && !of_kernel(p) && !p.kind.is_profile();
    let probes_kernel = places.iter().flatten().any(of_kernel);
    let processes = places
        .iter()
        .position(|of_unit| of_unit.iter().any(of_process));
    if let (true, Some(unit)) = (probes_kernel, processes) {
        diags
            .error(
                Tag::PointKernel,
                units[unit].span,
                "this is of processes, and another probe of the kernel: one script cannot have both yet",
            )
            .help("make two scripts of it, and run them side by side");
    }
    probes_kernel || asked && processes.is_none()
}

/// Of a kernel's own code?
fn is_of_kernel(kind: &ProbeKind, images: &[Image]) -> bool {
    match kind {
        ProbeKind::Trace { .. } => true,
        ProbeKind::Site { image, .. } | ProbeKind::Return { image, .. } => {
            images[image.0 as usize].kernel
        }
        ProbeKind::Watch { image, .. } => image.is_some_and(|i| images[i.0 as usize].kernel),
        _ => false,
    }
}
