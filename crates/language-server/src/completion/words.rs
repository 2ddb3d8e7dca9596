// SPDX-License-Identifier: MIT
//! Words of handlers: names, variables and members of the program, operators.

use super::Choice;
use crate::analysis::Analysis;
use crate::cursor::Cursor;
use crate::library::{self, Declared, Kind};
use crate::outline;
use crate::points;
use lsp_types::CompletionItemKind;
use trapless_sema::points::listing::Set;
use trapless_syntax::lexer::{TokenKind, KEYWORDS};
use trapless_syntax::parser::{BUILTINS, PRINTS};

/// What a declaration begins with.
pub fn declarations() -> Vec<Choice> {
    let words = ["probe", "function", "global", "private", "@define"];
    words.map(keyword).into()
}

fn keyword(word: &str) -> Choice {
    Choice::new(word, CompletionItemKind::KEYWORD)
}

/// Names that a handler can use: those of the document, of its own, of the library, of the language.
pub fn words(analysis: &mut Analysis, text: &str, cursor: &Cursor) -> Vec<Choice> {
    let script = analysis.parse(text).script;
    let document = library::declared(&script, text).into_iter();
    let mut all: Vec<Choice> = document.filter_map(|d| named(&d)).collect();
    let library = analysis.library().iter().flat_map(|f| &f.declared);
    all.extend(library.filter_map(named));
    all.extend(given(analysis, text, cursor));
    all.extend(own(cursor));
    all.extend(KEYWORDS.iter().map(|w| keyword(w)));
    let prints = PRINTS.iter();
    all.extend(prints.map(|w| Choice::new(*w, CompletionItemKind::FUNCTION)));
    all
}

fn named(d: &Declared) -> Option<Choice> {
    let kind = match d.kind {
        Kind::Function => CompletionItemKind::FUNCTION,
        Kind::Global => CompletionItemKind::VARIABLE,
        Kind::Alias | Kind::Macro | Kind::Probe => return None,
    };
    let mut choice = Choice::new(&d.name, kind).detail(&d.detail);
    choice.words = d.words.clone();
    Some(choice)
}

/// By the aliases of its points.
fn given(analysis: &mut Analysis, text: &str, cursor: &Cursor) -> Vec<Choice> {
    let set = points::set_by_aliases(analysis, text, &cursor.tokens, cursor.item.as_ref());
    let choice = |s: Set| {
        let ty = s.type_name();
        Choice::new(s.name, CompletionItemKind::VARIABLE).detail(ty)
    };
    set.into_iter().map(choice).collect()
}

/// The other words of the handler: most are its variables.
fn own(cursor: &Cursor) -> Vec<Choice> {
    let Some(item) = &cursor.item else {
        return Vec::new();
    };
    // A function's parameters stand in its head; a probe's head names other things.
    let first = match item.kind {
        outline::Kind::Function => item.head.start + 1,
        _ => item.body.as_ref().map_or(item.head.end, |b| b.start),
    };
    let tokens = cursor.tokens.get(first..).unwrap_or(&[]);
    let words = tokens.iter().filter_map(|t| match &t.kind {
        // What is being typed is none yet.
        TokenKind::Word(w) if !w.contains('$') && t.span.lo as usize != cursor.start => Some(w),
        _ => None,
    });
    words
        .map(|w| Choice::new(w, CompletionItemKind::TEXT))
        .collect()
}

/// What stands for several at once.
const TOGETHER: [(&str, &str); 6] = [
    ("$$vars", "parameters and locals, as text"),
    ("$$parms", "parameters, as text"),
    ("$$locals", "locals, as text"),
    ("$$return", "the result, as text"),
    (
        "$$name",
        "of a mark, a hook or an entry of the linkage table",
    ),
    ("$$provider", "of a mark or hook"),
];

pub fn variables(analysis: &mut Analysis, text: &str, cursor: &Cursor) -> Vec<Choice> {
    let together = TOGETHER.map(|(w, d)| Choice::new(w, CompletionItemKind::VARIABLE).detail(d));
    let mut all: Vec<Choice> = together.into();
    let found = points::readable(analysis, text, &cursor.tokens, cursor.item.as_ref());
    let Some((world, readable)) = found else {
        return all;
    };
    let types = world.info().types();
    all.extend(readable.into_iter().map(|r| Choice {
        detail: Some(r.ty.map_or("long".to_string(), |ty| types.name(ty))),
        words: r.location,
        ..Choice::new(r.name, CompletionItemKind::VARIABLE)
    }));
    all
}

/// Members of what `names` leads to.
pub fn members(
    analysis: &mut Analysis,
    text: &str,
    cursor: &Cursor,
    names: &[String],
) -> Vec<Choice> {
    let mut find = || {
        let item = cursor.item.as_ref();
        let (world, readable) = points::readable(analysis, text, &cursor.tokens, item)?;
        let types = world.info().types();
        let first = readable.iter().find(|r| r.name == names[0])?;
        let ty = points::member_type(types, first.ty?, &names[1..])?;
        let ty = points::aggregate(types, ty)?;
        let member = |name: String| {
            let of = types.member(ty, &name).ok();
            let choice = Choice::new(name, CompletionItemKind::FIELD);
            match of {
                Some(m) => choice.detail(types.name(m.ty)),
                None => choice,
            }
        };
        Some(types.member_names(ty).into_iter().map(member).collect())
    };
    find().unwrap_or_default()
}

/// `@name`: the language's, and macros.
pub fn operators(analysis: &Analysis, text: &str) -> Vec<Choice> {
    let own = BUILTINS.iter();
    let mut all: Vec<Choice> = own
        .map(|w| Choice::new(*w, CompletionItemKind::OPERATOR))
        .collect();
    let library = analysis.library().iter().flat_map(|f| f.declared.clone());
    let macros = library::macros(text).into_iter().chain(library);
    let macros = macros.filter(|d| d.kind == Kind::Macro);
    all.extend(macros.map(|d| Choice {
        detail: Some(d.detail),
        words: d.words,
        ..Choice::new(d.name, CompletionItemKind::FUNCTION)
    }));
    all
}
