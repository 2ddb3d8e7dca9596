// SPDX-License-Identifier: MIT
//! What the passes said, in the protocol's words.

use crate::analysis::Checked;
use crate::settings::Settings;
use crate::text::{location, Columns};
use lsp_types::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString, Range,
    Uri,
};
use std::path::Path;
use trapless_syntax::diag::{self, Severity, Tag};
use trapless_syntax::{FileId, SourceMap, Span};

/// No editor shows more.
const MOST: usize = 200;

pub fn of(checked: &Checked, uri: &Uri, columns: Columns, settings: &Settings) -> Vec<Diagnostic> {
    let shower = Shower {
        map: &checked.map,
        file: checked.file,
        uri,
        columns,
        settings,
    };
    let mut all = Vec::new();
    // A file without probes may be a library, or not be done yet.
    for d in checked.diags.iter().filter(|d| d.tag != Tag::ProbesNone) {
        let shown = shower.diagnostic(d);
        if !all.contains(&shown) {
            all.push(shown);
        }
    }
    all.truncate(MOST);
    all
}

struct Shower<'a> {
    map: &'a SourceMap,
    file: FileId,
    uri: &'a Uri,
    columns: Columns,
    settings: &'a Settings,
}

impl Shower<'_> {
    fn diagnostic(&self, d: &diag::Diagnostic) -> Diagnostic {
        let own = d.span.and_then(|s| self.in_document(s));
        let mut message = d.message.clone();
        // Of another file, or of no place at all.
        if let (None, Some(span)) = (own, d.span) {
            message = format!("{}: {message}", self.map.locate(span));
        }
        message.extend(d.notes.iter().map(|n| format!("\nnote: {n}")));
        if let Some(help) = &d.help {
            message += &format!("\nnext step: {help}");
        }
        let related: Vec<_> = d.labels.iter().filter_map(|l| self.related(l)).collect();
        Diagnostic {
            range: own.map_or(Range::default(), |s| self.range(s)),
            severity: Some(self.severity(d)),
            code: Some(NumberOrString::String(d.tag.name().to_string())),
            source: Some("trapless".to_string()),
            message,
            related_information: Some(related).filter(|r| !r.is_empty()),
            ..Diagnostic::default()
        }
    }

    /// The place in the document, of what a macro made the macro's use.
    fn in_document(&self, span: Span) -> Option<Span> {
        let places = std::iter::once(span).chain(self.map.calls(span));
        places.filter(|s| s.file == self.file).last()
    }

    fn range(&self, span: Span) -> Range {
        let text = self.map.file(span.file).map_or("", |f| f.text());
        self.columns.range(text, span.lo as usize, span.hi as usize)
    }

    fn related(&self, label: &diag::Label) -> Option<DiagnosticRelatedInformation> {
        let range = self.range(label.span);
        let place = match label.span.file == self.file {
            true => Location::new(self.uri.clone(), range),
            false => {
                let path = Path::new(self.map.name(label.span.file));
                location(path, range).filter(|_| path.is_file())?
            }
        };
        Some(DiagnosticRelatedInformation {
            location: place,
            message: label.text.clone(),
        })
    }

    /// What only the command line can tell is no mistake of the script's.
    fn severity(&self, d: &diag::Diagnostic) -> DiagnosticSeverity {
        let target = &self.settings.target;
        match (d.severity, d.tag) {
            (_, Tag::ArgMissing) => DiagnosticSeverity::INFORMATION,
            (_, Tag::ProcessTarget) if target.program.is_none() => DiagnosticSeverity::INFORMATION,
            (Severity::Error, _) => DiagnosticSeverity::ERROR,
            (Severity::Warning, _) => DiagnosticSeverity::WARNING,
        }
    }
}
