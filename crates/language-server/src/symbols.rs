// SPDX-License-Identifier: MIT
//! What a document declares, for an editor's outline.

use crate::analysis::Analysis;
use crate::library::{self, Declared, Kind};
use crate::text::Columns;
use lsp_types::{DocumentSymbol, SymbolKind};

pub fn symbols(analysis: &Analysis, text: &str, columns: Columns) -> Vec<DocumentSymbol> {
    let script = analysis.parse(text).script;
    let mut all = library::declared(&script, text);
    all.sort_by_key(|d| d.whole);
    all.iter().map(|d| symbol(d, text, columns)).collect()
}

// `deprecated` has to be given, and is deprecated itself.
#[allow(deprecated)]
fn symbol(d: &Declared, text: &str, columns: Columns) -> DocumentSymbol {
    let (lo, hi) = (d.whole.0.min(d.at.0), d.whole.1.max(d.at.1));
    DocumentSymbol {
        name: d.name.clone(),
        detail: Some(d.detail.clone()),
        kind: match d.kind {
            Kind::Function | Kind::Macro => SymbolKind::FUNCTION,
            Kind::Global => SymbolKind::VARIABLE,
            Kind::Alias | Kind::Probe => SymbolKind::EVENT,
        },
        tags: None,
        deprecated: None,
        range: columns.range(text, lo, hi),
        selection_range: columns.range(text, d.at.0, d.at.1),
        children: None,
    }
}
