// SPDX-License-Identifier: MIT
//! A script as its declarations, by tokens alone: also of what cannot be parsed yet.

use std::ops::Range;
use trapless_syntax::lexer::{lex, Token, TokenKind, Words};
use trapless_syntax::SourceMap;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Also an alias.
    Probe,
    Function,
    /// `global`, and whatever else.
    Other,
}

/// One declaration: places of tokens in the list that was looked at.
#[derive(Clone, PartialEq, Debug)]
pub struct Item {
    pub kind: Kind,
    /// Behind the keyword, or an alias's `=`, up to the body.
    pub head: Range<usize>,
    /// Behind the brace that opens the body, up to the one that closes it; `None`: there is none yet.
    pub body: Option<Range<usize>>,
}

impl Item {
    fn end(&self) -> usize {
        self.body.as_ref().map_or(self.head.end, |b| b.end)
    }
}

/// The tokens of a text; arguments are left as they are written.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut map = SourceMap::new();
    let file = map.add("", text);
    let mut tokens = lex(&map, file, &Words::default());
    tokens.pop();
    tokens
}

/// All declarations. The words that begin one stand nowhere else, so a brace that is missing costs
/// only its own declaration.
pub fn items(tokens: &[Token]) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut depth = 0u32;
    for (n, token) in tokens.iter().enumerate() {
        let is_member = || n > 0 && (tokens[n - 1].is_op(".") || in_braces(tokens, n));
        if let Some(kind) = keyword(token).filter(|_| !is_member()) {
            close(&mut items, n);
            depth = 0;
            items.push(Item {
                kind,
                head: n + 1..tokens.len(),
                body: None,
            });
            continue;
        }
        let Some(item) = items.last_mut().filter(|i| i.end() == tokens.len()) else {
            continue;
        };
        let alias = token.is_op("=") || token.is_op("+=");
        match &mut item.body {
            None if token.is_op("{") && !tokens[n - 1].is_op(".") => {
                item.head.end = n;
                item.body = Some(n + 1..tokens.len());
                depth = 1;
            }
            None if alias && item.kind == Kind::Probe => item.head.start = n + 1,
            None => {}
            Some(_) if token.is_op("{") => depth += 1,
            Some(body) if token.is_op("}") => {
                depth -= 1;
                if depth == 0 {
                    body.end = n;
                }
            }
            Some(_) => {}
        }
    }
    items
}

/// What this word begins.
fn keyword(token: &Token) -> Option<Kind> {
    let TokenKind::Word(word) = &token.kind else {
        return None;
    };
    match word.as_str() {
        "probe" => Some(Kind::Probe),
        "function" => Some(Kind::Function),
        "global" | "private" => Some(Kind::Other),
        _ => None,
    }
}

/// Between the braces of `a.{b, c}`?
fn in_braces(tokens: &[Token], n: usize) -> bool {
    let open = tokens[..n]
        .iter()
        .rposition(|t| t.is_op("{") || t.is_op("}"));
    open.is_some_and(|o| o > 0 && tokens[o].is_op("{") && tokens[o - 1].is_op("."))
}

/// The declaration before token `n` has ended, with its body or without.
fn close(items: &mut [Item], n: usize) {
    if let Some(last) = items.last_mut().filter(|i| i.end() > n) {
        match &mut last.body {
            Some(body) => body.end = n,
            None => last.head.end = n,
        }
    }
}

/// The declaration that holds token `n`.
pub fn item_of(items: &[Item], n: usize) -> Option<&Item> {
    items.iter().find(|i| i.head.start <= n && n < i.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(text: &str) -> Vec<(Kind, usize, Option<usize>)> {
        let items = items(&tokens(text));
        let lens = |i: &Item| (i.kind, i.head.len(), i.body.as_ref().map(|b| b.len()));
        items.iter().map(lens).collect()
    }

    #[test]
    fn declarations_with_and_without_ends() {
        let text = "global a probe begin { if (a) { b() } } function f(x) { return x }";
        let want = [
            (Kind::Other, 1, None),
            (Kind::Probe, 1, Some(9)),
            (Kind::Function, 4, Some(2)),
        ];
        assert_eq!(outline(text), want);
        let want = [(Kind::Probe, 1, Some(4)), (Kind::Probe, 3, None)];
        assert_eq!(outline("probe begin { if (a { probe process.fun"), want);
    }

    #[test]
    fn points_may_have_braces_and_conditions() {
        let text = "probe process.{function(\"f\"), mark(\"g\")} { x }";
        assert_eq!(outline(text), [(Kind::Probe, 13, Some(1))]);
        assert_eq!(
            outline("probe a = begin, end { x }"),
            [(Kind::Probe, 3, Some(1))]
        );
        assert!(outline("} { 1 ) \"").is_empty());
    }
}
