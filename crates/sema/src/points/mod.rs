// SPDX-License-Identifier: MIT
//! From a probe point to places: files, addresses, session events.
//!
//! A point arrives with aliases already expanded. It resolves to any number
//! of places; each carries what its `$variables` need.

mod access;
pub mod components;
pub(crate) mod conditions;
pub(crate) mod files;
pub(crate) mod home;
mod kernel;
pub mod listing;
mod place;
pub mod process;
pub(crate) mod running;
pub mod session;
pub(crate) mod wildcards;

pub use place::{append, Caller, Callers, Context, Named, Place, SyscallPart};

use crate::world::World;
use trapless_syntax::ast::ProbePoint;
use trapless_syntax::diag::Diagnostics;

/// Resolve one point. Whatever fails is reported, unless the point is
/// optional (`?`, `!`); warnings are given all the same. An empty result
/// without a report only comes from an optional point.
pub fn resolve(point: &ProbePoint, world: &mut World, diags: &mut Diagnostics) -> Vec<Place> {
    wildcards::each(point, diags, |p, diags| resolve_one(p, world, diags))
}

/// A point without wildcards in its words.
pub fn resolve_one(point: &ProbePoint, world: &mut World, diags: &mut Diagnostics) -> Vec<Place> {
    let (told, errors) = (diags.len(), diags.error_count());
    let first = point.components.first().map(|c| c.name.name.as_str());
    let own = match first {
        Some(kernel::FAMILY) => Some(kernel::resolve(point, world, diags)),
        Some(kernel::kprobe::KPROBE) => Some(kernel::kprobe::resolve(point, world, diags)),
        Some(kernel::MODULE) => Some(kernel::modules::resolve(point, world, diags)),
        _ => session::resolve(point, diags),
    };
    let Some(found) = own else {
        return process::resolve(point, world, diags);
    };
    if (point.optional || point.sufficient) && diags.error_count() > errors {
        diags.truncate(told);
        return Vec::new();
    }
    found
}
