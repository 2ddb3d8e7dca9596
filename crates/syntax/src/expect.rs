// SPDX-License-Identifier: MIT
//! Test scripts that carry what is expected of them (tests/scripts/README.md).
//!
//! `ok.NAME.stp` must pass; `err.TAG.NAME.stp` must fail with TAG at each `^`.

use crate::diag::{Diagnostics, Severity, Tag};
use crate::span::{FileId, SourceMap};

/// A test script taken apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// What is run: the `^` marks of an `err` script are gone.
    pub text: String,
    /// Expected errors: tag, line and column, in the order of their places.
    pub errors: Vec<(Tag, usize, usize)>,
    /// Words of the line `// args: A B`.
    pub args: Vec<String>,
    /// Lines `// says: TEXT`: the rendered errors contain TEXT.
    pub says: Vec<String>,
}

/// Read a script whose file is called `name`.
pub fn read_case(name: &str, source: &str) -> Result<Case, String> {
    let mut parts = name.split('.');
    let expected = match parts.next() {
        Some("ok") => None,
        Some("err") => {
            let tag = parts.next().unwrap_or("");
            Some(Tag::from_name(tag).ok_or_else(|| format!("`{tag}` is no tag"))?)
        }
        _ => return Err("a script is called ok.NAME.stp or err.TAG.NAME.stp".to_string()),
    };
    let header = |key: &str| -> Vec<String> {
        let lines = source.lines().filter_map(|l| l.strip_prefix("// "));
        lines
            .filter_map(|l| l.strip_prefix(key))
            .map(|l| l.trim().to_string())
            .collect()
    };
    let mut case = Case {
        text: source.to_string(),
        errors: Vec::new(),
        args: header("args:")
            .iter()
            .flat_map(|l| l.split_whitespace())
            .map(String::from)
            .collect(),
        says: header("says:"),
    };
    let Some(tag) = expected else { return Ok(case) };
    let mut tags = vec![tag];
    for name in header("also:").iter().flat_map(|l| l.split_whitespace()) {
        tags.push(Tag::from_name(name).ok_or_else(|| format!("`{name}` is no tag"))?);
    }
    let places = take_marks(&mut case.text);
    if places.is_empty() {
        return Err("no `^` marks the place of the error".to_string());
    }
    // With fewer tags than marks, the last one counts for the rest.
    let tag_of = |i: usize| tags.get(i).copied().unwrap_or(tags[tags.len() - 1]);
    let marked = places.into_iter().enumerate();
    case.errors = marked
        .map(|(i, (line, col))| (tag_of(i), line, col))
        .collect();
    Ok(case)
}

/// Remove every `^`; the places of the characters behind them.
fn take_marks(text: &mut String) -> Vec<(usize, usize)> {
    let mut places = Vec::new();
    let mut out = String::with_capacity(text.len());
    let (mut line, mut col) = (1, 1);
    for c in text.chars() {
        match c {
            '^' => {
                places.push((line, col));
                continue;
            }
            '\n' => (line, col) = (line + 1, 1),
            _ => col += 1,
        }
        out.push(c);
    }
    *text = out;
    places
}

impl Case {
    /// Compare with what was said about `file`; the text says what differs.
    pub fn check(&self, map: &SourceMap, file: FileId, diags: &Diagnostics) -> Result<(), String> {
        let place = |d: &crate::Diagnostic| match d.span.filter(|s| s.file == file) {
            Some(span) => {
                let at = map.line_col(span);
                (d.tag, at.line, at.col)
            }
            None => (d.tag, 0, 0),
        };
        let errors = diags.iter().filter(|d| d.severity == Severity::Error);
        let mut found: Vec<(Tag, usize, usize)> = errors.map(place).collect();
        found.sort_by_key(|f| (f.1, f.2));
        let said = diags.render(map, false);
        if found != self.errors {
            return Err(format!(
                "expected {:?}, found {found:?}\n{said}",
                self.errors
            ));
        }
        match self.says.iter().find(|text| !said.contains(text.as_str())) {
            Some(text) => Err(format!("nothing says `{text}`:\n{said}")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_places() {
        let case = read_case("err.LEX_CHAR.x.stp", "// also: LEX_STRING\na ^b\n^c").unwrap();
        assert_eq!(case.text, "// also: LEX_STRING\na b\nc");
        assert_eq!(case.errors, [(Tag::LexChar, 2, 3), (Tag::LexString, 3, 1)]);
    }

    #[test]
    fn a_case_needs_a_known_tag_and_a_mark() {
        assert!(read_case("err.NOPE.x.stp", "^").is_err());
        assert!(read_case("err.LEX_CHAR.x.stp", "a").is_err());
        assert!(read_case("x.stp", "a").is_err());
        assert_eq!(read_case("ok.x.stp", "a ^ b").unwrap().text, "a ^ b");
    }
}
