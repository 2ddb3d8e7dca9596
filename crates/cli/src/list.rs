// SPDX-License-Identifier: MIT
//! `-l` and `-L`: the probe points that a pattern matches, and what can be read there.

use std::collections::BTreeMap;
use trapless_debuginfo::{Binary, Types, VariableKind};
use trapless_sema::collect;
use trapless_sema::expand;
use trapless_sema::loader::Loader;
use trapless_sema::points::{self, Context, Place};
use trapless_sema::tapset::Tapset;
use trapless_sema::world::World;
use trapless_syntax::ast::Script;
use trapless_syntax::diag::Diagnostics;

/// The lines to print, in order; each once.
pub fn list(
    script: Script,
    tapset: &Tapset,
    mut loader: Loader,
    world: &mut World,
    variables: bool,
    diags: &mut Diagnostics,
) -> Vec<String> {
    let all = collect::collect(vec![script], tapset, &mut loader, diags);
    let units = expand::expand(&all, loader.ids, diags);
    let mut lines = BTreeMap::new();
    for point in units.iter().flat_map(|u| &u.points) {
        for place in points::resolve(point, world, diags) {
            let name = place.point.clone();
            lines.entry(name).or_insert_with(|| match variables {
                true => describe(&place, world),
                false => String::new(),
            });
        }
    }
    lines.into_iter().map(|(k, v)| k + &v).collect()
}

/// ` $name:type` for everything that a handler at this place can read.
fn describe(place: &Place, world: &World) -> String {
    let mut out = String::new();
    let Some(context) = &place.context else {
        return out;
    };
    let Some(binary) = world.binary(context.image) else {
        return out;
    };
    let types = world.info().types();
    if let Some(ty) = returned(context, &binary) {
        out += &format!(" $return:{}", types.name(ty));
    }
    out += &variables(context, &binary, types);
    out
}

fn returned(context: &Context, binary: &Binary) -> Option<trapless_debuginfo::TypeId> {
    let function = context.function.as_ref().filter(|_| context.at_return)?;
    binary.return_value(function).ok().map(|r| r.ty)
}

fn variables(context: &Context, binary: &Binary, types: &Types) -> String {
    let scope = match &context.function {
        Some(f) => binary.context_of(f, context.pc),
        None => binary.context_at(context.pc),
    };
    let Ok(scope) = scope else {
        return String::new();
    };
    let mut out = String::new();
    for v in binary.variables(&scope).unwrap_or_default() {
        // Globals are many, and the same at every place; @var reads them.
        let shown = match context.at_return {
            true => v.kind == VariableKind::Parameter,
            false => v.kind != VariableKind::Global,
        };
        if shown && binary.locate(&v, &scope).is_ok() {
            out += &format!(" ${}:{}", v.name, types.name(v.ty));
        }
    }
    out
}
