// SPDX-License-Identifier: MIT
//! What the test programs of this crate share.

#![allow(dead_code)] // each program uses a part

use std::path::PathBuf;
use trapless_syntax::ast::{Expr, NodeId, NodeIds, Script};
use trapless_syntax::visit::{walk_expr_mut, walk_script_mut, VisitMut};
use trapless_syntax::{parse_file, Diagnostics, Environment, FileId, MacroLibrary, SourceMap};

pub struct Parsed {
    pub map: SourceMap,
    pub file: FileId,
    pub script: Script,
    pub diags: Diagnostics,
}

impl Parsed {
    pub fn said(&self) -> String {
        self.diags.render(&self.map, false)
    }

    /// The line of the first error in the script, if there is one.
    pub fn first_error_line(&self) -> Option<usize> {
        let spans = self.diags.iter().filter_map(|d| d.span);
        spans
            .filter(|s| s.file == self.file)
            .map(|s| self.map.line_col(s).line)
            .next()
    }
}

pub fn parse(text: &str, env: &Environment) -> Parsed {
    parse_with(text, env, MacroLibrary::with_prelude)
}

pub fn parse_with(
    text: &str,
    env: &Environment,
    library: impl FnOnce(&mut SourceMap) -> MacroLibrary,
) -> Parsed {
    let mut map = SourceMap::new();
    let library = library(&mut map);
    let file = map.add("input", text);
    let mut diags = Diagnostics::new();
    let script = parse_file(&mut map, file, env, &library, &NodeIds::new(), &mut diags);
    Parsed {
        map,
        file,
        script,
        diags,
    }
}

/// The repository's root.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The tree in debug form, without places and node numbers.
pub fn shape(script: &Script) -> String {
    struct NoIds;
    impl VisitMut for NoIds {
        fn visit_expr(&mut self, expr: &mut Expr) {
            expr.id = NodeId(0);
            walk_expr_mut(self, expr);
        }
    }
    let mut script = script.clone();
    walk_script_mut(&mut NoIds, &mut script);
    strip_spans(&format!("{:?}", script.items))
}

/// Leave out every `FILE:LO..HI`, which is how a span prints.
fn strip_spans(text: &str) -> String {
    let digits = |s: &str| s.len() - s.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let span_len = |s: &str| {
        let file = digits(s);
        let rest = s[file..].strip_prefix(':').filter(|_| file > 0)?;
        let lo = digits(rest);
        let rest = rest[lo..].strip_prefix("..").filter(|_| lo > 0)?;
        Some(file + 1 + lo + 2 + digits(rest))
    };
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (i, c) in text.char_indices() {
        if i < at {
            continue;
        }
        match span_len(&text[i..]) {
            Some(len) => at = i + len,
            None => out.push(c),
        }
    }
    out
}

/// What is printed must parse to the same tree.
pub fn check_round_trip(script: &Script) -> Result<(), String> {
    let printed = script.to_string();
    let again = parse(&printed, &Environment::default());
    if again.diags.has_errors() {
        return Err(format!(
            "the printed text does not parse:\n{}",
            again.said()
        ));
    }
    let (first, second) = (shape(script), shape(&again.script));
    if first == second {
        return Ok(());
    }
    let same = first
        .bytes()
        .zip(second.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let near = |text: &str| {
        let from = same.saturating_sub(200);
        String::from_utf8_lossy(&text.as_bytes()[from..text.len().min(same + 200)]).into_owned()
    };
    Err(format!(
        "another tree:\n{}\n{}\nfrom\n{printed}",
        near(&first),
        near(&second)
    ))
}
