// SPDX-License-Identifier: MIT
//! Places in source text, and the files they point into.

use std::fmt;

/// One text known to a [`SourceMap`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FileId(pub u32);

/// One macro expansion known to a [`SourceMap`]; 0 means "written in place".
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ExpansionId(pub u32);

/// A half-open byte range of one file.
///
/// Text that came out of a macro points at the macro's body; `expansion` then
/// says where the macro was used.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    pub file: FileId,
    pub lo: u32,
    pub hi: u32,
    pub expansion: ExpansionId,
}

impl Span {
    pub fn new(file: FileId, lo: usize, hi: usize) -> Span {
        Span {
            file,
            lo: lo as u32,
            hi: hi as u32,
            expansion: ExpansionId(0),
        }
    }

    /// From the start of `self` to the end of `end`. When the two come from
    /// different files or expansions, `self` alone.
    pub fn to(self, end: Span) -> Span {
        if self.file == end.file && self.expansion == end.expansion && end.hi >= self.lo {
            Span {
                hi: end.hi.max(self.hi),
                ..self
            }
        } else {
            self
        }
    }

    /// The empty place just behind this span.
    pub fn after(self) -> Span {
        Span {
            lo: self.hi,
            ..self
        }
    }

    pub fn is_empty(self) -> bool {
        self.lo >= self.hi
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{}..{}", self.file.0, self.lo, self.hi)
    }
}

impl fmt::Debug for FileId {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "file{}", self.0)
    }
}

impl fmt::Debug for ExpansionId {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "expansion{}", self.0)
    }
}

/// One source text.
#[derive(Clone, Debug)]
pub struct SourceFile {
    name: String,
    text: String,
    line_starts: Vec<u32>,
}

impl SourceFile {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Line `line` (from 1) without its line end.
    pub fn line(&self, line: usize) -> Option<&str> {
        let start = *self.line_starts.get(line.checked_sub(1)?)? as usize;
        let end = self
            .line_starts
            .get(line)
            .map_or(self.text.len(), |&e| e as usize);
        Some(self.text[start..end].trim_end_matches(['\n', '\r']))
    }
}

/// A place as people write it: line and column from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineCol {
    pub line: usize,
    pub col: usize,
}

/// Where a macro was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expansion {
    pub name: String,
    pub call: Span,
}

/// All texts of one run. A file is never removed, so a `FileId` stays valid.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
    expansions: Vec<Expansion>,
}

impl SourceMap {
    pub fn new() -> SourceMap {
        SourceMap::default()
    }

    /// Add a text. `name` is what diagnostics show: a path, `<-e>`, `<stdin>`.
    /// A text of 4 GiB or more is cut there: spans are 32 bits wide.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        let mut text = text.into();
        if text.len() >= u32::MAX as usize {
            let mut cut = u32::MAX as usize - 1;
            while !text.is_char_boundary(cut) {
                cut -= 1;
            }
            text.truncate(cut);
        }
        let mut line_starts = vec![0];
        line_starts.extend(text.match_indices('\n').map(|(at, _)| at as u32 + 1));
        self.files.push(SourceFile {
            name: name.into(),
            text,
            line_starts,
        });
        FileId(self.files.len() as u32 - 1)
    }

    /// Add bytes that need not be UTF-8; every other byte becomes U+FFFD.
    pub fn add_bytes(&mut self, name: impl Into<String>, bytes: &[u8]) -> FileId {
        self.add(name, String::from_utf8_lossy(bytes))
    }

    pub fn file(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }

    pub fn name(&self, id: FileId) -> &str {
        self.file(id).map_or("<unknown>", |f| f.name())
    }

    pub fn files(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files
            .iter()
            .enumerate()
            .map(|(i, f)| (FileId(i as u32), f))
    }

    /// The text a span covers; "" when it does not fit its file.
    pub fn text(&self, span: Span) -> &str {
        self.file(span.file)
            .and_then(|f| f.text.get(span.lo as usize..span.hi as usize))
            .unwrap_or("")
    }

    /// Line and column of a span's start.
    pub fn line_col(&self, span: Span) -> LineCol {
        let Some(file) = self.file(span.file) else {
            return LineCol { line: 1, col: 1 };
        };
        let at = (span.lo as usize).min(file.text.len());
        let line = file.line_starts.partition_point(|&s| s as usize <= at);
        let start = file.line_starts[line - 1] as usize;
        let col = file.text.get(start..at).map_or(0, |s| s.chars().count()) + 1;
        LineCol { line, col }
    }

    /// `name:line:col` of a span's start.
    pub fn locate(&self, span: Span) -> String {
        let at = self.line_col(span);
        format!("{}:{}:{}", self.name(span.file), at.line, at.col)
    }

    /// Note that macro `name` was used at `call`.
    pub fn add_expansion(&mut self, name: impl Into<String>, call: Span) -> ExpansionId {
        self.expansions.push(Expansion {
            name: name.into(),
            call,
        });
        ExpansionId(self.expansions.len() as u32)
    }

    /// The macro use that `span` came out of, innermost.
    pub fn expansion(&self, span: Span) -> Option<&Expansion> {
        self.expansions
            .get((span.expansion.0 as usize).checked_sub(1)?)
    }

    /// All macro uses that `span` came out of, innermost first.
    pub fn expansions(&self, span: Span) -> impl Iterator<Item = &Expansion> {
        std::iter::successors(self.expansion(span), |e| self.expansion(e.call))
    }

    /// The places of [`SourceMap::expansions`].
    pub fn calls(&self, span: Span) -> impl Iterator<Item = Span> + '_ {
        self.expansions(span).map(|e| e.call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_line_and_column() {
        let mut map = SourceMap::new();
        let id = map.add("a.stp", "one\ntwö x\n");
        let x = map.file(id).unwrap().text().find('x').unwrap();
        assert_eq!(
            map.line_col(Span::new(id, x, x + 1)),
            LineCol { line: 2, col: 5 }
        );
        assert_eq!(map.locate(Span::new(id, 0, 1)), "a.stp:1:1");
        assert_eq!(map.file(id).unwrap().line(2), Some("twö x"));
        assert_eq!(map.file(id).unwrap().line(4), None);
    }

    #[test]
    fn a_span_outside_is_harmless() {
        let mut map = SourceMap::new();
        let id = map.add("a.stp", "x");
        assert_eq!(map.text(Span::new(id, 3, 9)), "");
        assert_eq!(map.line_col(Span::new(id, 3, 9)).line, 1);
        assert_eq!(map.line_col(Span::new(FileId(9), 0, 0)).line, 1);
    }

    #[test]
    fn joining_spans() {
        let a = Span::new(FileId(0), 2, 4);
        assert_eq!(a.to(Span::new(FileId(0), 6, 9)), Span::new(FileId(0), 2, 9));
        assert_eq!(a.to(Span::new(FileId(1), 6, 9)), a);
    }
}
