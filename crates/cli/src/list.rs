// SPDX-License-Identifier: MIT
//! `-l` and `-L`: the probe points that a pattern matches, and what can be read there.

use std::collections::BTreeMap;
use trapless_sema::listing;
use trapless_sema::loader::Loader;
use trapless_sema::points::Place;
use trapless_sema::tapset::Tapset;
use trapless_sema::world::World;
use trapless_syntax::ast::Script;
use trapless_syntax::diag::Diagnostics;

/// The lines to print, in order; each once.
pub fn list(
    script: Script,
    tapset: &Tapset,
    loader: Loader,
    world: &mut World,
    variables: bool,
    diags: &mut Diagnostics,
) -> Vec<String> {
    let places = listing::places(script, tapset, loader, world, diags);
    let mut lines = BTreeMap::new();
    for place in &places {
        let name = place.point.clone();
        lines.entry(name).or_insert_with(|| match variables {
            true => describe(place, world),
            false => String::new(),
        });
    }
    lines.into_iter().map(|(k, v)| k.to_string() + &v).collect()
}

/// ` $name:type` for everything that a handler at this place can read.
fn describe(place: &Place, world: &World) -> String {
    let types = world.info().types();
    let all = listing::readable(place, world);
    let type_of = |ty: Option<_>| ty.map_or("long".to_string(), |ty| types.listed(ty));
    all.iter()
        .map(|r| format!(" {}:{}", r.name, type_of(r.ty)))
        .collect()
}
