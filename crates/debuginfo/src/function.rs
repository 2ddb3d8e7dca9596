// SPDX-License-Identifier: MIT
//! Functions and statements as data, and the patterns that name them.

use crate::die::DieRef;
use crate::error::{Error, Result};
use crate::parameters::{self, Parameters};
use crate::source::SourcePos;
use std::ops::Range;
use std::sync::Arc;

/// How a function exists in the binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// Code of its own.
    OutOfLine,
    /// Copied into a caller; `entry` is where the copy begins.
    Inlined,
    /// A resolver (STT_GNU_IFUNC): runs once, at binding, and returns the function really called.
    Ifunc,
}

/// A function, or one inlined instance of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// As in the source, without parameters; qualified where the language does: `ns::C::f`.
    pub name: Arc<str>,
    /// The symbol (`_ZN2ns1C1fEi`, `f.isra.0`), where it has one.
    pub linkage_name: Option<Arc<str>>,
    pub kind: FunctionKind,
    pub entry: u64,
    /// Of the part that holds the entry; 0 when the symbol table does not say.
    pub size: u64,
    /// Every part, the one with the entry first, then `.cold` ones.
    pub ranges: Vec<Range<u64>>,
    /// Not static: other files may refer to it.
    pub exported: bool,
    /// Where the debug information describes it, if that was looked up.
    pub(crate) die: Option<DieRef>,
}

/// The source language of a compilation unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Language {
    C,
    Cxx,
    Rust,
    Go,
    Assembler,
    Other,
}

/// Whether inlined instances are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inlines {
    /// Only code of its own (`.call`, `.return`, `.exported`).
    No,
    /// Both (`.function`).
    Also,
    /// Only inlined instances (`.inline`).
    Only,
}

/// Where `.function("f")` puts its probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeSite {
    /// The address to probe: the entry, or behind the prologue where parameters need that.
    pub pc: u64,
    /// The first instruction.
    pub entry: u64,
    /// The first statement behind the prologue, as the line table tells, where parameters need that.
    pub prologue_end: Option<u64>,
    /// Parameters cannot be read at the entry (code built without optimisation).
    pub parameters_need_prologue: bool,
}

/// One statement of the source: an address where its code begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub addr: u64,
    pub source: SourcePos,
    /// The function that holds the address (its own name, also inside inlined code).
    pub function: String,
    /// The function whose statement this is, where code inlined into it begins at the address.
    pub caller: Option<Box<Function>>,
}

/// The line part of `f@file:line`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineSpec {
    /// None given.
    None,
    /// `:12`, `:12-20`, `:7,12-20`: from one to another, one or several of them.
    Lines(Vec<(u64, u64)>),
    /// `+3`: relative to the function's first line.
    Relative(u64),
    /// `:*`
    All,
}

/// A parsed `FUNCTION[(PARAMETERS)][@FILE[:LINE]]`, each name with wildcards `*`, `?`, `[...]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// `f`, `f*`, `ns::C::f`, a linkage name; without `::` it also matches the last part of a
    /// qualified name.
    pub function: String,
    /// Without them all overloads match.
    pub parameters: Option<Parameters>,
    /// `file.c`, `dir/file.c`: matches whole trailing parts of the recorded path.
    pub file: Option<String>,
    pub line: LineSpec,
}

impl Pattern {
    /// Parse the text of `.function("...")` or `.statement("...")`.
    pub fn parse(text: &str) -> Result<Pattern> {
        let bad = |why: &str| Error::BadPattern {
            pattern: text.into(),
            why: why.into(),
        };
        let (function, rest) = match text.split_once('@') {
            None => (text, None),
            Some((f, rest)) => (f, Some(rest)),
        };
        let (function, parameters) = parameters::split(function);
        if function.is_empty() {
            return Err(bad("the function name is missing"));
        }
        let mut p = Pattern {
            function: function.into(),
            parameters,
            file: None,
            line: LineSpec::None,
        };
        let Some(rest) = rest else { return Ok(p) };
        let at = rest.find([':', '+']);
        let (file, line) = match at {
            Some(i) => (&rest[..i], Some((rest.as_bytes()[i], &rest[i + 1..]))),
            None => (rest, None),
        };
        if file.is_empty() {
            return Err(bad("the file name behind `@` is missing"));
        }
        p.file = Some(file.into());
        let number = |s: &str| s.parse::<u64>().map_err(|_| bad("a line is a number"));
        p.line = match line {
            None => LineSpec::None,
            Some((b'+', n)) => LineSpec::Relative(number(n)?),
            Some((_, "*")) => LineSpec::All,
            Some((_, list)) => {
                let lines = |part: &str| match part.split_once('-') {
                    None => number(part).map(|n| (n, n)),
                    Some((a, b)) => match (number(a)?, number(b)?) {
                        (a, b) if a > b => Err(bad("the first line comes after the last")),
                        both => Ok(both),
                    },
                };
                LineSpec::Lines(list.split(',').map(lines).collect::<Result<_>>()?)
            }
        };
        Ok(p)
    }

    /// Whether the function name holds wildcards.
    pub fn is_glob(&self) -> bool {
        crate::glob::is_glob(&self.function)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_parse() {
        let p = Pattern::parse("ns::f@dir/a.c:12-20").unwrap();
        assert_eq!(
            (p.function.as_str(), p.file.as_deref()),
            ("ns::f", Some("dir/a.c"))
        );
        assert_eq!(p.line, LineSpec::Lines(vec![(12, 20)]));
        assert_eq!(
            Pattern::parse("*@a.c:7,9-11").unwrap().line,
            LineSpec::Lines(vec![(7, 7), (9, 11)])
        );
        assert_eq!(
            Pattern::parse("f@a.c+2").unwrap().line,
            LineSpec::Relative(2)
        );
        assert_eq!(Pattern::parse("f@a.c:*").unwrap().line, LineSpec::All);
        assert_eq!(Pattern::parse("f").unwrap().file, None);
        for bad in ["", "@a.c", "f@", "f@:3", "f@a.c:x", "f@a.c:9-3", "f@a.c:1,"] {
            assert_eq!(
                Pattern::parse(bad).unwrap_err().tag(),
                "PATTERN_BAD",
                "{bad}"
            );
        }
    }
}
