// SPDX-License-Identifier: MIT
//! What files declare: the script library's once, and the document's each time.

use crate::comments;
use crate::outline;
use std::path::PathBuf;
use trapless_syntax::ast::{Item, Script};
use trapless_syntax::lexer::TokenKind;
use trapless_syntax::Span;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Function,
    Global,
    Alias,
    Macro,
    Probe,
}

/// A declaration; places are bytes of its file.
#[derive(Clone, Debug)]
pub struct Declared {
    pub kind: Kind,
    pub name: String,
    /// As it is declared, in one line.
    pub detail: String,
    pub words: Option<String>,
    pub at: (usize, usize),
    pub whole: (usize, usize),
    pub private: bool,
}

/// A file of the library.
#[derive(Debug)]
pub struct File {
    pub path: PathBuf,
    pub text: String,
    pub declared: Vec<Declared>,
}

/// All that a script declares.
pub fn declared(script: &Script, text: &str) -> Vec<Declared> {
    let named = comments::named(text);
    let mut all = macros(text);
    for item in &script.items {
        let (kind, name, detail, at, whole, private) = match item {
            Item::Function(f) => {
                let at = f.name.span;
                let name = f.name.name.clone();
                (Kind::Function, name, f.signature(), at, f.span, f.private)
            }
            Item::Global(g) => {
                let name = g.name.name.clone();
                let detail = format!("global {name}");
                (Kind::Global, name, detail, g.name.span, g.span, g.private)
            }
            Item::Alias(a) => {
                let Some(first) = a.names.first() else {
                    continue;
                };
                let points: Vec<String> = a.points.iter().map(|p| p.to_string()).collect();
                let detail = format!("probe {first} = {}", points.join(", "));
                let name = first.to_string();
                (Kind::Alias, name, detail, first.span, a.span, false)
            }
            Item::Probe(p) => {
                let points: Vec<String> = p.points.iter().map(|p| p.to_string()).collect();
                let at = p.points.first().map_or(p.span, |p| p.span);
                let name = points.join(", ");
                (Kind::Probe, name.clone(), name, at, p.span, false)
            }
            Item::EmbeddedC(_) => continue,
        };
        if whole.file != script.file || at.file != script.file {
            continue;
        }
        let words = named.get(name.as_str()).cloned();
        all.push(Declared {
            kind,
            words: words.or_else(|| comments::before(text, whole.lo as usize)),
            name,
            detail,
            at: bytes(at),
            whole: bytes(whole),
            private,
        });
    }
    all
}

fn bytes(span: Span) -> (usize, usize) {
    (span.lo as usize, span.hi as usize)
}

/// `@define name(parameters)`
pub fn macros(text: &str) -> Vec<Declared> {
    let tokens = outline::tokens(text);
    let is_define = |k: &TokenKind| matches!(k, TokenKind::At(w) if w == "@define");
    let pairs = tokens.windows(2).filter(|p| is_define(&p[0].kind));
    let declared = |pair: &[trapless_syntax::lexer::Token]| {
        let TokenKind::Word(name) = &pair[1].kind else {
            return None;
        };
        let (lo, hi) = bytes(pair[1].span);
        let line = text[pair[0].span.lo as usize..].lines().next()?;
        Some(Declared {
            kind: Kind::Macro,
            name: format!("@{name}"),
            detail: line.split("%(").next().unwrap_or(line).trim().to_string(),
            words: comments::before(text, pair[0].span.lo as usize),
            at: (lo, hi),
            whole: (pair[0].span.lo as usize, hi),
            private: false,
        })
    };
    pairs.filter_map(declared).collect()
}
