// SPDX-License-Identifier: MIT
//! `--dump-functions`, `--dump-probe-types`, `--dump-probe-aliases`: what a script can use.

use crate::options::Options;
use crate::paths::Paths;
use crate::{input, output, passes};
use std::collections::BTreeSet;
use trapless_sema::declare::loader::Loader;
use trapless_sema::points::components;
use trapless_syntax::ast::{Alias, Function, FunctionBody, Item, NodeIds, ProbePoint};
use trapless_syntax::diag::Diagnostics;
use trapless_syntax::SourceMap;

pub fn asked(options: &Options) -> bool {
    options.dump_functions || options.dump_probe_types || options.dump_probe_aliases
}

pub fn dump(options: &Options, paths: &Paths, map: &mut SourceMap, diags: &mut Diagnostics) {
    let mut lines = BTreeSet::new();
    if options.dump_probe_types {
        lines.extend(components::types());
    }
    for item in library(options, paths, map, diags) {
        match item {
            Item::Function(f) if options.dump_functions && is_public(&f) => {
                lines.insert(signature(&f));
            }
            Item::Alias(a) if options.dump_probe_aliases => {
                lines.insert(meaning(&a));
            }
            _ => {}
        }
    }
    let text: String = lines.into_iter().map(|l| l + "\n").collect();
    output::print(&text, diags);
}

fn library(
    options: &Options,
    paths: &Paths,
    map: &mut SourceMap,
    diags: &mut Diagnostics,
) -> Vec<Item> {
    let tapset = passes::open_tapset(options, paths, diags);
    let env = input::environment(options, Vec::new());
    let macros = tapset.macros(map, &env, diags);
    let ids = NodeIds::new();
    let mut loader = Loader {
        map,
        env: &env,
        macros: &macros,
        ids: &ids,
    };
    let files = tapset.files();
    let scripts = files
        .iter()
        .filter_map(|f| tapset.parse(f, &mut loader, diags));
    scripts.flat_map(|s| s.items).collect()
}

fn is_public(f: &Function) -> bool {
    !f.private && !f.name.name.starts_with('_')
}

/// The signature, and what it needs.
fn signature(f: &Function) -> String {
    let needs = match &f.body {
        FunctionBody::EmbeddedC(c) if c.code.contains("/* guru */") => " /* guru */",
        _ => "",
    };
    f.signature() + needs
}

fn meaning(a: &Alias) -> String {
    let text = |points: &[ProbePoint]| {
        let points: Vec<String> = points.iter().map(|p| p.to_string()).collect();
        points.join(", ")
    };
    format!("{} = {}", text(&a.names), text(&a.points))
}
