// SPDX-License-Identifier: MIT
//! What events and their fields are called, for whoever reads them by name:
//! after the probe point, and after the expressions that are printed.

use std::collections::HashMap;
use trapless_sema::ir::{Expr, ExprKind, Print};
use trapless_syntax::format::{parse_format, Piece, Size};
use trapless_syntax::span::SourceMap;

/// One print of the script.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Site {
    pub format: Vec<u8>,
    /// file:line:column
    pub script: String,
    /// One for each argument.
    pub fields: Vec<Field>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Field {
    /// "": a width, a precision, or the same every time.
    pub name: String,
    pub unit: &'static str,
}

/// Each once, in the order of their numbers.
#[derive(Debug, Default)]
pub struct Sites {
    pub list: Vec<Site>,
    known: HashMap<Site, usize>,
}

/// As many as a record can tell apart.
pub const SITES_MAX: usize = 1 << 16;

impl Sites {
    pub fn number(&mut self, site: Site) -> usize {
        let new = self.list.len();
        let number = *self.known.entry(site.clone()).or_insert(new);
        if number == new {
            self.list.push(site);
        }
        number
    }
}

impl Site {
    pub fn of(p: &Print, script: String, map: &SourceMap) -> Site {
        let is_value = values_of(&p.format);
        let named = p.args.len() - p.names.len();
        let field = |(n, arg): (usize, &Expr)| match (is_value.get(n), &arg.kind) {
            _ if n >= named => Field::named(p.names[n - named]),
            (Some(false), _) | (_, ExprKind::Str(_) | ExprKind::Long(_)) => Field::default(),
            _ => Field::of(arg, n, map).beside(p.names),
        };
        Site {
            format: p.format.clone(),
            script,
            fields: p.args.iter().enumerate().map(field).collect(),
        }
    }
}

/// For each argument of a format: it is printed, or the width or precision of one that is.
fn values_of(format: &[u8]) -> Vec<bool> {
    let mut all = Vec::new();
    for piece in parse_format(format).unwrap_or_default() {
        let Piece::Conversion(c) = piece else {
            continue;
        };
        let stars = [c.width, c.precision];
        all.extend(stars.iter().filter(|s| **s == Size::Arg).map(|_| false));
        all.push(true);
    }
    all
}

/// Longer ones are no names.
const NAME_MAX: usize = 40;
/// Functions that only fetch what their first argument points to begin so.
const READERS: [&str; 4] = [
    "user_string",
    "kernel_string",
    "user_buffer",
    "kernel_buffer",
];
const UNITS: [(&str, &str); 5] = [
    ("_ns", "ns"),
    ("_us", "us"),
    ("_ms", "ms"),
    ("_s", "s"),
    ("_bytes", "B"),
];

impl Field {
    fn named(name: &str) -> Field {
        Field {
            name: name.to_string(),
            unit: "",
        }
    }

    /// Told apart from those that have their names.
    fn beside(mut self, names: &[&str]) -> Field {
        if names.contains(&&*self.name) {
            self.name.insert_str(0, "key_");
        }
        self
    }

    fn of(arg: &Expr, number: usize, map: &SourceMap) -> Field {
        let span = match &arg.kind {
            ExprKind::MemoryBytes(at, _) => at.span,
            _ => arg.span,
        };
        let name = name_of(map.text(span));
        let unit = UNITS.iter().find(|(end, _)| name.ends_with(end));
        Field {
            unit: unit.map_or("", |u| u.1),
            name: match name.is_empty() {
                true => format!("arg{}", number + 1),
                false => name,
            },
        }
    }
}

/// `pid()` is pid, `$len` len, `@count(reads[fd])` count_reads_fd; "" where no short name comes of it.
fn name_of(text: &str) -> String {
    let text = text.trim();
    let reads = READERS.iter().any(|r| text.starts_with(r));
    let text = match text.split_once('(') {
        Some((_, args)) if reads => args.split(',').next().unwrap_or(args),
        _ => text,
    };
    if text.starts_with('"') {
        return String::new();
    }
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words: Vec<&str> = text.split(|c| !word(c)).filter(|w| !w.is_empty()).collect();
    let name = words.join("_");
    let good = name.starts_with(|c: char| !c.is_ascii_digit());
    match good && name.len() <= NAME_MAX {
        true => name,
        false => String::new(),
    }
}

/// After the probe's alias, or after its point: `process("a").function("f@a.c:1").return` is f.return.
pub fn event_name(point: &str, alias: &str) -> String {
    if !alias.is_empty() && !alias.contains('(') {
        return alias.to_string();
    }
    let parts: Vec<Part> = parts_of(point);
    let found = parts.iter().rposition(|p| names_something(p.word));
    let from = found.unwrap_or(0);
    let name = |p: &Part| match names_something(p.word) && !p.literal.is_empty() {
        true => p.literal.split('@').next().unwrap_or("").to_string(),
        false => p.word.to_string(),
    };
    let names: Vec<String> = parts[from..].iter().map(name).collect();
    names.join(".")
}

fn names_something(word: &str) -> bool {
    matches!(
        word,
        "function" | "mark" | "trace" | "statement" | "hook" | "syscall" | "label"
    )
}

/// `word("literal")` of a probe point.
struct Part<'a> {
    word: &'a str,
    literal: &'a str,
}

fn parts_of(point: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = point;
    while !rest.is_empty() {
        let end = rest.find(['.', '(']).unwrap_or(rest.len());
        let word = &rest[..end];
        rest = &rest[end..];
        let mut literal = "";
        if rest.starts_with('(') {
            let close = closing(rest);
            literal = rest[1..close].trim_matches('"');
            rest = rest.get(close + 1..).unwrap_or("");
        }
        parts.push(Part { word, literal });
        rest = rest.strip_prefix('.').unwrap_or("");
    }
    parts
}

/// Where the parenthesis that `text` begins with is closed; its end where it is not.
fn closing(text: &str) -> usize {
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            ')' if !quoted => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_named_after_what_is_printed() {
        for (text, name) in [
            ("pid()", "pid"),
            ("$len", "len"),
            ("@count(x)", "count_x"),
            ("user_string($path)", "path"),
            ("user_string_n($buf, 10)", "buf"),
            ("$req->conn->fd", "req_conn_fd"),
            ("\"a text\"", ""),
            ("12", ""),
            ("a + b", "a_b"),
        ] {
            assert_eq!(name_of(text), name, "{text}");
        }
    }

    #[test]
    fn events_are_named_after_their_points() {
        for (point, alias, name) in [
            ("process(\"/bin/a\").function(\"main@a.c:12\")", "", "main"),
            ("process(\"/bin/a\").function(\"f\").return", "", "f.return"),
            ("process(\"/bin/a\").mark(\"x__y\")", "", "x__y"),
            (
                "kernel.trace(\"sched:sched_switch\")",
                "",
                "sched:sched_switch",
            ),
            ("timer.s(1)", "", "timer.s"),
            ("begin", "", "begin"),
            ("process(\"/a).b\").begin", "", "process.begin"),
            ("process(\"/bin/a\").statement(\"f@a.c:3\")", "", "f"),
            (
                "kernel.function(\"do_sys_open\")",
                "syscall.open",
                "syscall.open",
            ),
        ] {
            assert_eq!(event_name(point, alias), name, "{point}");
        }
    }

    #[test]
    fn widths_are_no_values() {
        assert_eq!(
            values_of(b"%d %*s %.*x%%"),
            [true, false, true, false, true]
        );
    }
}
