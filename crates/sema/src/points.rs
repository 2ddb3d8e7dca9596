// SPDX-License-Identifier: MIT
//! From a probe point to places: files, addresses, session events.
//!
//! A point arrives with aliases already expanded. It resolves to any number
//! of places; each carries what its `$variables` need.

use crate::ir::{ImageId, ProbeKind, Refusal};
use crate::world::World;
use trapless_debuginfo::Function;
use trapless_syntax::ast::ProbePoint;
use trapless_syntax::diag::Diagnostics;

/// One place that a probe point resolved to.
#[derive(Clone, Debug)]
pub struct Place {
    /// As `pp()` gives it.
    pub point: String,
    /// `probefunc()`; "" where there is none.
    pub func: String,
    /// Of a return probe still without what lowering finds to save at entry.
    pub kind: ProbeKind,
    /// Where `$variables` are looked up; `None`: there are none here.
    pub context: Option<Context>,
    pub refusal: Refusal,
    pub never: bool,
}

/// A place in the traced program's source, for its variables.
#[derive(Clone, Debug)]
pub struct Context {
    pub image: ImageId,
    /// File address of the probed instruction (of a return probe: the entry).
    pub pc: u64,
    /// The function (or inlined instance) asked for; `None`: look at `pc`.
    pub function: Option<Function>,
    /// Of a return probe: `$return` is there, other variables are those at entry.
    pub at_return: bool,
}

/// Resolve one point. Whatever fails is reported, unless the point is
/// optional (`?`, `!`); warnings are given all the same. An empty result
/// without a report only comes from an optional point.
pub fn resolve(point: &ProbePoint, world: &mut World, diags: &mut Diagnostics) -> Vec<Place> {
    crate::session_points::resolve(point, diags)
        .unwrap_or_else(|| crate::process_points::resolve(point, world, diags))
}
