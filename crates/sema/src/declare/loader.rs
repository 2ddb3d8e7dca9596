// SPDX-License-Identifier: MIT
//! Pass 1 for texts that pass 2 asks for.

use trapless_syntax::ast::{NodeIds, Script};
use trapless_syntax::diag::Diagnostics;
use trapless_syntax::{parse_file, Environment, MacroLibrary, SourceMap};

/// What parsing a text needs.
pub struct Loader<'a> {
    pub map: &'a mut SourceMap,
    pub env: &'a Environment,
    pub macros: &'a MacroLibrary,
    pub ids: &'a NodeIds,
}

impl Loader<'_> {
    pub fn parse(
        &mut self,
        name: impl Into<String>,
        text: String,
        diags: &mut Diagnostics,
    ) -> Script {
        let file = self.map.add(name, text);
        parse_file(self.map, file, self.env, self.macros, self.ids, diags)
    }
}
