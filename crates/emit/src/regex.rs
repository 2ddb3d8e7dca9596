// SPDX-License-Identifier: MIT
//! Tables of regular expressions, and which handlers keep what they match.

use crate::text::{c_string, Text};
use std::fmt::Display;
use trapless_sema::ir::{Handler, Program};
use trapless_sema::regex::{Op, Regex};
use trapless_sema::walk::reaches_c;

/// What the tapset's functions call that read the latest match.
const READERS: [&str; 2] = ["tl_matched", "tl_ngroups"];

fn reads_match(text: &str) -> bool {
    READERS.iter().any(|r| text.contains(r))
}

/// Words of room (`TL_KEEP_MATCH`) for a handler that reads its latest match.
pub fn kept(program: &Program, handler: &Handler) -> Option<u32> {
    let rooms = program.regexes.iter().map(|r| r.groups.room() as u32);
    reaches_c(program, &handler.body, &reads_match).then(|| rooms.max().unwrap_or(0).max(1))
}

/// The constants of every pattern.
pub fn declare(program: &Program, out: &mut Text) {
    let kept = program.handlers.iter().any(|h| kept(program, h).is_some());
    for (n, regex) in program.regexes.iter().enumerate() {
        let pattern = c_string(&regex.pattern).replace("*/", "*\\/");
        out.line(format!("/* {pattern} */"));
        table(
            out,
            &format!("uint8_t regex{n}_classes[]"),
            &regex.automaton.classes,
        );
        table(
            out,
            &format!("uint16_t regex{n}_next[]"),
            &regex.automaton.next,
        );
        if kept {
            let ops: Vec<String> = regex.groups.ops.iter().map(op).collect();
            table(out, &format!("struct tl_regex_op regex{n}_ops[]"), &ops);
        }
        out.line(head(n, regex, kept));
    }
}

fn head(n: usize, regex: &Regex, kept: bool) -> String {
    let (a, g) = (&regex.automaton, &regex.groups);
    let ops = match kept {
        true => format!("regex{n}_ops"),
        false => "NULL".to_string(),
    };
    format!(
        "static const struct tl_regex regex{n} __attribute__((unused)) = {{ regex{n}_classes, \
         regex{n}_next, {ops}, {}, {}, {}, {}, {}, {} }};",
        a.width,
        a.start,
        g.ops.len(),
        g.start,
        g.count,
        g.waits()
    )
}

fn table<T: Display>(out: &mut Text, name: &str, values: &[T]) {
    out.line(format!("static const {name} = {{"));
    for row in values.chunks(16) {
        let words: Vec<String> = row.iter().map(T::to_string).collect();
        out.line(format!("\t{},", words.join(", ")));
    }
    // A pattern that fails at once has no rows.
    if values.is_empty() {
        out.line("\t0,");
    }
    out.line("};");
}

/// `struct tl_regex_op`
fn op(op: &Op) -> String {
    let (code, low, high, next, other) = match *op {
        Op::Range {
            low,
            high,
            next,
            other,
        } => ("RANGE", low, high, next, other),
        Op::Split { next, other } => ("SPLIT", 0, 0, next, other),
        Op::Slot { slot, next } => ("SLOT", 0, 0, next, slot),
        Op::Start { next } => ("START", 0, 0, next, 0),
        Op::End { next } => ("END", 0, 0, next, 0),
        Op::Match => ("MATCH", 0, 0, 0, 0),
        Op::Fail => ("FAIL", 0, 0, 0, 0),
    };
    format!("{{ TL_REGEX_{code}, {low}, {high}, {next}, {other} }}")
}
