// SPDX-License-Identifier: MIT
//! All declarations of a session: the user's script, and those tapset files
//! that it needs.

use crate::declare::declarations::{Declarations, Origin};
use crate::declare::loader::Loader;
use crate::declare::names::Names;
use crate::declare::tapset::Tapset;
use std::collections::HashSet;
use trapless_syntax::ast::Script;
use trapless_syntax::diag::Diagnostics;
use trapless_syntax::visit;

/// Take the user's scripts, then the tapset files that define what is used,
/// until nothing is missing that a tapset could give.
pub fn collect(
    scripts: Vec<Script>,
    made: Vec<Script>,
    tapset: &Tapset,
    loader: &mut Loader,
    diags: &mut Diagnostics,
) -> Declarations {
    let mut all = Declarations::default();
    let mut wanted = Names::default();
    let scripts = scripts.into_iter().map(|s| (s, Origin::User));
    let made = made.into_iter().map(|s| (s, Origin::Made));
    for (s, origin) in scripts.chain(made) {
        visit::walk_script(&mut wanted, &s);
        all.add(s, origin, diags);
    }
    let mut loaded = HashSet::new();
    loop {
        let is_declared = |name: &String| all.globals.iter().any(|g| g.item.name.name == *name);
        wanted.variables.retain(|name| !is_declared(name));
        let files = tapset.files_for(&wanted);
        let new: Vec<_> = files
            .into_iter()
            .filter(|f| loaded.insert(f.to_path_buf()))
            .collect();
        if new.is_empty() {
            return all;
        }
        for path in new {
            let Some(script) = tapset.parse(&path, loader, diags) else {
                continue;
            };
            // Only what is reached decides what else is needed; a file is a
            // subject, so all of it counts.
            visit::walk_script(&mut wanted, &script);
            all.add(script, tapset.origin(&path), diags);
        }
    }
}
