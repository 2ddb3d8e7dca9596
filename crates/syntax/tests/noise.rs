// SPDX-License-Identifier: MIT
//! No input makes pass 1 panic, overflow the stack, or take long; and what
//! happens to parse survives printing.
//!
//! Every run draws the same inputs; `SEED=n` draws others, `FUZZ_SECONDS=n` more.

mod common;
#[path = "../../../tests/fuzz/random.rs"]
mod random;

use common::{check_round_trip, parse, root};
use random::{deadline, Random};
use std::time::Instant;
use trapless_syntax::visit::{walk_expr, walk_script, Visit};
use trapless_syntax::{Environment, Words};

/// Parse, render what was said, look at every node; true when it parsed.
fn try_it(text: &str) -> bool {
    struct Count(usize);
    impl Visit for Count {
        fn visit_expr(&mut self, expr: &trapless_syntax::ast::Expr) {
            self.0 += 1;
            walk_expr(self, expr);
        }
    }
    let args = Words::new(["3", "a b", "x = 1 ("].map(String::from).to_vec());
    let env = Environment {
        args,
        ..Environment::default()
    };
    let parsed = parse(text, &env);
    walk_script(&mut Count(0), &parsed.script);
    for span in parsed.diags.iter().filter_map(|d| d.span) {
        let text = parsed.map.file(span.file).map_or(0, |f| f.text().len());
        assert!(
            span.lo <= span.hi && span.hi as usize <= text,
            "{span:?} of {text}"
        );
    }
    // A few are enough: long lines take the renderer long.
    let shown = if text.len() > 10_000 { 1 } else { 5 };
    for diagnostic in parsed.diags.iter().take(shown) {
        assert!(!diagnostic.render(&parsed.map, false).is_empty());
    }
    let ok = !parsed.diags.has_errors();
    if ok {
        if let Err(message) = round_trip(text, &parsed) {
            panic!("{message}\nfrom\n{text}");
        }
    }
    ok
}

/// The whole comparison for small texts; for large ones, that what is printed
/// prints the same again.
fn round_trip(text: &str, parsed: &common::Parsed) -> Result<(), String> {
    if text.len() < 10_000 {
        return check_round_trip(&parsed.script);
    }
    let printed = parsed.script.to_string();
    match parse(&printed, &Environment::default()).script.to_string() == printed {
        true => Ok(()),
        false => Err("printing twice gives another text".to_string()),
    }
}

#[test]
fn random_bytes() {
    let mut random = Random::new(1);
    let end = deadline(2);
    while Instant::now() < end {
        let bytes: Vec<u8> = (0..random.below(200))
            .map(|_| random.below(256) as u8)
            .collect();
        try_it(&String::from_utf8_lossy(&bytes));
    }
}

const WORDS: &[&str] = &[
    "probe",
    "begin",
    "end",
    "function",
    "global",
    "private",
    "if",
    "else",
    "for",
    "foreach",
    "while",
    "in",
    "limit",
    "return",
    "delete",
    "next",
    "break",
    "continue",
    "try",
    "catch",
    "long",
    "string",
    "x",
    "y",
    "a",
    "f",
    "$x",
    "$$vars",
    "$x$",
    "$1",
    "@1",
    "$#",
    "@count",
    "@hist_log",
    "@sum",
    "@cast",
    "@var",
    "@defined",
    "@entry",
    "@define",
    "@m",
    "print",
    "printf",
    "1",
    "0x10",
    "-1",
    "\"s\"",
    "\"%d\"",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    ":",
    "?",
    ".",
    "+",
    "-",
    "*",
    "/",
    "%",
    "&",
    "|",
    "^",
    "!",
    "~",
    "<",
    ">",
    "=",
    "++",
    "--",
    "+=",
    "<<<",
    "<<",
    ">>",
    ">>>",
    "==",
    "!=",
    "&&",
    "||",
    "->",
    "=~",
    "!~",
    "%(",
    "%?",
    "%:",
    "%)",
    "%{ c %}",
    "\n",
    "#",
    "//",
    "/*",
    "*/",
    "\"",
    "1 == 1",
    "kernel_v",
];

#[test]
fn token_soup() {
    let mut random = Random::new(2);
    let end = deadline(2);
    while Instant::now() < end {
        let mut text = String::from(random.pick(&["", "probe begin {", "function f() {"]));
        for _ in 0..random.below(40) {
            text += random.pick(WORDS);
            text += random.pick(&["", " ", " ", "\n"]);
        }
        text += random.pick(&["", "}"]);
        try_it(&text);
    }
}

/// Good scripts with a few words exchanged: the likeliest to parse half-way.
#[test]
fn damaged_scripts() {
    let folder = root().join("tests/scripts/parse");
    let mut scripts = Vec::new();
    for entry in std::fs::read_dir(folder)
        .expect("the folder of scripts")
        .flatten()
    {
        if entry.file_name().to_string_lossy().starts_with("ok.") {
            scripts.push(std::fs::read_to_string(entry.path()).expect("a script"));
        }
    }
    scripts.sort();
    let mut random = Random::new(3);
    let end = deadline(2);
    let (mut all, mut good) = (0, 0);
    while Instant::now() < end || all <= 20 {
        let script = &scripts[random.below(scripts.len())];
        let mut pieces: Vec<&str> = script
            .split_inclusive([' ', '\t', '\n', '(', ')', ','])
            .collect();
        for _ in 0..1 + random.below(3) {
            let at = random.below(pieces.len());
            match random.below(4) {
                0 => drop(pieces.remove(at)),
                1 => pieces.insert(at, random.pick(WORDS)),
                2 => pieces[at] = random.pick(WORDS),
                _ => {
                    let from = random.below(pieces.len());
                    pieces.swap(at, from);
                }
            }
        }
        all += 1;
        good += usize::from(try_it(&pieces.concat()));
    }
    assert!(all > 20 && good > 0 && good < all, "{good} of {all} parsed");
}

/// Anything that nests, 33 KB of it, on a test thread's 2 MB stack.
#[test]
fn deep_nesting() {
    let openers = [
        "(",
        "[",
        "{",
        "!",
        "- ",
        "~",
        "&",
        "++",
        "if (1) ",
        "if (1) x else ",
        "while (1) ",
        "x = ",
        "x ? y : ",
        "x ? ",
        "$x[",
        "a[",
        "f(",
        "1 + ",
        "x . ",
        "x || y && ",
        "1||1&&1|1^1&1==1<<1 .1+1*(",
        "@defined(",
        "@entry(",
        "@cast(",
        "foreach (x in a) ",
        "try { ",
        "for (;;) ",
        "print(",
        "x->a",
        "x[1]",
        "%( 1 == 1 %? ",
        "%( ",
        "@count(",
        "[x] in a && ",
        "s =~ \"x\" && ",
        "x in ",
        "return ",
        "a <<< ",
        "{ if (x) { ",
        "@hist_log(",
        "x++ ",
        "\"a\" ",
        "@choose_defined(",
        "x = x ? [ (",
    ];
    for opener in openers {
        let body = opener.repeat(33_000 / opener.len());
        for text in [
            body.clone(),
            format!("probe begin {{ {body}"),
            format!("probe begin {{ x = {body} 1 }}\nprobe end {{ }}"),
            format!("function f() {{ {body} }}"),
        ] {
            try_it(&text);
        }
    }
    for opener in ["a.{", "a.", "{", "a,", "a(", "a = ", "a.b, ", "a if (", "*"] {
        try_it(&format!("probe {}", opener.repeat(33_000 / opener.len())));
    }
}

/// Depth that scripts may really have is accepted.
#[test]
fn reasonable_depth() {
    let chain = |link: &str, count: usize| format!("probe begin {{ x = 0{} }}", link.repeat(count));
    let wrapped = |open: &str, close: &str, count: usize| {
        format!(
            "probe begin {{ {}x{} }}",
            open.repeat(count),
            close.repeat(count)
        )
    };
    for text in [
        chain(" + 1", 900),
        chain(" . \"s\"", 900),
        wrapped("(", ")", 60),
        wrapped("{ ", " }", 50),
        wrapped("if (x) { ", " }", 50),
        wrapped("f(", ")", 60),
        format!("probe begin {{ {} y }}", "if (x) y; else ".repeat(900)),
        format!("probe begin {{ {} }}", "x = 1;\n".repeat(20_000)),
    ] {
        assert!(try_it(&text), "{text:.100}");
    }
}

#[test]
fn macros_cannot_explode() {
    let mut text = String::from("@define m0 %( x x %)\n");
    for i in 1..60 {
        text += &format!("@define m{i} %( @m{} @m{} %)\n", i - 1, i - 1);
    }
    assert!(!try_it(&(text + "probe begin { @m59 }")));
    let empty: String = (1..60)
        .map(|i| format!("@define m{i} %( @m{} @m{} %)\n", i - 1, i - 1))
        .collect();
    assert!(!try_it(&format!(
        "@define m0 %( %)\n{empty} probe begin {{ @m59 }}"
    )));
    let mut text = String::from("@define m0(a) %( @a @a %)\n");
    for i in 1..60 {
        text += &format!("@define m{i}(a) %( @m{}(@a @a) %)\n", i - 1);
    }
    assert!(!try_it(&(text + "probe begin { @m59(x) }")));
}
