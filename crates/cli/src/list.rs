// SPDX-License-Identifier: MIT
//! `-l` and `-L`: the probe points that a pattern matches, and what can be read there.

use std::collections::BTreeMap;
use trapless_sema::declare::loader::Loader;
use trapless_sema::declare::tapset::Tapset;
use trapless_sema::points::listing::{self, Listed};
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
    for listed in &places {
        let name = listed.place.point.clone();
        lines.entry(name).or_insert_with(|| match variables {
            true => describe(listed, world),
            false => String::new(),
        });
    }
    lines.into_iter().map(|(k, v)| k.to_string() + &v).collect()
}

/// ` name:type` for everything that a handler at this place can read: what aliases set, then the program's.
fn describe(listed: &Listed, world: &World) -> String {
    let types = world.info().types();
    let all = listing::readable(&listed.place, world);
    let set = listed.set.iter();
    let set = set.map(|v| format!(" {}:{}", v.name, v.type_name()));
    let type_of = |ty: Option<_>| ty.map_or("long".to_string(), |ty| types.listed(ty));
    let program = all.iter();
    let program = program.map(|r| format!(" {}:{}", r.name, type_of(r.ty)));
    set.chain(program).collect()
}
