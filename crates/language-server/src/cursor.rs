// SPDX-License-Identifier: MIT
//! What stands at the cursor, by the tokens before it.

use crate::outline::{self, Item, Kind};
use std::ops::Range;
use trapless_syntax::diag::Tag;
use trapless_syntax::lexer::{Token, TokenKind};

/// `function("f")` of a point.
#[derive(Clone, PartialEq, Debug)]
pub struct Part {
    pub word: String,
    pub arg: Option<Argument>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Argument {
    Text(String),
    Number(i64),
}

/// What can be typed on.
#[derive(Clone, PartialEq, Debug)]
pub enum At {
    /// In a comment, a text, embedded C.
    Nothing,
    /// A declaration.
    Top,
    /// A word of a probe point, behind these.
    Point(Vec<Part>),
    /// The argument of the last of these.
    PointText(Vec<Part>),
    /// A word of a handler or function.
    Word,
    /// `$name`
    Variable,
    /// A member of what this names: `$x`, or `$x`, `next`.
    Member(Vec<String>),
    /// `@name`
    Operator,
}

#[derive(Debug)]
pub struct Cursor {
    pub at: At,
    /// What was typed of it, and where that begins.
    pub word: String,
    pub start: usize,
    /// The declaration around it, whose tokens are these.
    pub item: Option<Item>,
    pub tokens: Vec<Token>,
}

/// What is being typed at `offset`.
pub fn at(text: &str, offset: usize) -> Cursor {
    let text = &text[..offset];
    let tokens = outline::tokens(text);
    let item = outline::items(&tokens).pop();
    let open = |i: &Item| match &i.body {
        Some(body) => body.end == tokens.len(),
        None => i.kind != Kind::Other && i.head.end == tokens.len(),
    };
    let item = item.filter(open);
    let touched = tokens.last().filter(|t| t.span.hi as usize == offset);
    let (typed, start) = match touched.map(|t| (&t.kind, t.span.lo as usize)) {
        Some((TokenKind::Word(_) | TokenKind::At(_), lo)) => (true, lo),
        Some((TokenKind::Bad(b), lo)) if b.tag == Tag::LexString => (true, lo + 1),
        _ => (false, offset),
    };
    let before = &tokens[..tokens.len() - typed as usize];
    Cursor {
        at: match in_comment(text, &tokens) || is_open(tokens.last()) {
            true => At::Nothing,
            false => classify(touched, before, item.as_ref()),
        },
        word: text[start..].to_string(),
        start,
        item,
        tokens,
    }
}

/// A comment or embedded C without an end: nothing follows it.
fn is_open(last: Option<&Token>) -> bool {
    let open = [Tag::LexComment, Tag::LexEmbedded];
    last.is_some_and(|t| matches!(&t.kind, TokenKind::Bad(b) if open.contains(&b.tag)))
}

/// Is the end of the text in a comment to the end of its line?
fn in_comment(text: &str, tokens: &[Token]) -> bool {
    let behind = tokens.last().map_or(0, |t| t.span.hi as usize);
    let line = text.rfind('\n').map_or(0, |n| n + 1).max(behind);
    text[line..].contains('#') || text[line..].contains("//")
}

fn classify(touched: Option<&Token>, before: &[Token], item: Option<&Item>) -> At {
    let head = item.filter(|i| i.kind == Kind::Probe && i.body.is_none());
    let in_point = head.map(|i| &before[i.head.start.min(before.len())..]);
    match touched.map(|t| &t.kind) {
        Some(TokenKind::Bad(b)) if b.tag == Tag::LexString => match in_point {
            Some(point) if point.last().is_some_and(|t| t.is_op("(")) => {
                parts(point).map_or(At::Nothing, At::PointText)
            }
            _ => At::Nothing,
        },
        Some(TokenKind::Bad(_) | TokenKind::Embedded(_) | TokenKind::Number(_)) => At::Nothing,
        Some(TokenKind::Str(_)) => At::Nothing,
        Some(TokenKind::At(_)) => At::Operator,
        Some(TokenKind::Word(w)) if w.starts_with('$') => At::Variable,
        _ => match (in_point, item) {
            (Some(point), _) => word_of_point(point),
            (None, None) => At::Top,
            (None, Some(i)) if i.body.is_none() => At::Nothing,
            (None, Some(_)) => chain(before).map_or(At::Word, At::Member),
        },
    }
}

fn word_of_point(point: &[Token]) -> At {
    let follows = |t: &Token| [".", ",", "{"].iter().any(|op| t.is_op(op));
    match parts(point) {
        None => At::Word,
        Some(parts) if point.last().is_none_or(follows) => At::Point(parts),
        Some(_) => At::Nothing,
    }
}

/// The parts of the last point of a list; `None`: its condition has begun.
pub fn parts(tokens: &[Token]) -> Option<Vec<Part>> {
    let (mut parts, mut around) = (Vec::<Part>::new(), Vec::new());
    let mut conditional = false;
    let mut depth = 0;
    for token in tokens {
        match &token.kind {
            TokenKind::Op("(") => depth += 1,
            TokenKind::Op(")") => depth -= 1,
            TokenKind::Op(",") if depth <= 0 => {
                conditional = false;
                parts = around.last().cloned().unwrap_or_default();
            }
            _ if conditional => {}
            TokenKind::Op("{") => around.push(parts.clone()),
            TokenKind::Op("}") => drop(around.pop()),
            TokenKind::Word(w) if w == "if" => conditional = true,
            TokenKind::Word(w) => parts.push(Part {
                word: w.clone(),
                arg: None,
            }),
            TokenKind::Str(s) => argument(&mut parts, text_of(s)),
            TokenKind::Number(n) => argument(&mut parts, Argument::Number(*n)),
            _ => {}
        }
    }
    (!conditional).then_some(parts)
}

fn argument(parts: &mut [Part], arg: Argument) {
    if let Some(part) = parts.last_mut() {
        part.arg = Some(arg);
    }
}

fn text_of(bytes: &[u8]) -> Argument {
    Argument::Text(String::from_utf8_lossy(bytes).into_owned())
}

/// What `$x->a[1]->` names, where the tokens end so.
pub fn chain(tokens: &[Token]) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = tokens.strip_suffix_op("->")?;
    loop {
        rest = without_indices(rest);
        let (last, before) = rest.split_last()?;
        let TokenKind::Word(w) = &last.kind else {
            return None;
        };
        names.push(w.clone());
        if w.starts_with('$') {
            names.reverse();
            return Some(names);
        }
        rest = before.strip_suffix_op("->")?;
    }
}

trait StripOp {
    fn strip_suffix_op(&self, op: &str) -> Option<&Self>;
}

impl StripOp for [Token] {
    fn strip_suffix_op(&self, op: &str) -> Option<&[Token]> {
        let (last, before) = self.split_last()?;
        last.is_op(op).then_some(before)
    }
}

/// Without the `[...]` at the end.
fn without_indices(mut tokens: &[Token]) -> &[Token] {
    while tokens.last().is_some_and(|t| t.is_op("]")) {
        let mut depth = 0;
        let open = tokens.iter().rposition(|t| {
            depth += i32::from(t.is_op("]")) - i32::from(t.is_op("["));
            depth == 0
        });
        let Some(open) = open else {
            break;
        };
        tokens = &tokens[..open];
    }
    tokens
}

/// Something that is written, and has a meaning.
#[derive(Clone, PartialEq, Debug)]
pub enum Thing {
    /// A point in a probe's list; the word that is meant of it.
    Point { bytes: Range<usize>, word: String },
    /// `$x`, or `$x`, `next`
    Variable(Vec<String>),
    /// A function, a global, a local.
    Name(String),
    /// `@name`
    Operator(String),
}

#[derive(Debug)]
pub struct Under {
    pub thing: Thing,
    /// Its bytes.
    pub bytes: Range<usize>,
    /// The declaration around it, whose tokens are these.
    pub item: Option<Item>,
    pub tokens: Vec<Token>,
}

/// What is written at `offset`.
pub fn under(text: &str, offset: usize) -> Option<Under> {
    let tokens = outline::tokens(text);
    let touches = |t: &Token| t.span.lo as usize <= offset && offset <= t.span.hi as usize;
    let touching = tokens.iter().enumerate().filter(|(_, t)| touches(t));
    // Between two the word is meant.
    let n = touching.max_by_key(|(_, t)| rank(t)).map(|(n, _)| n)?;
    let items = outline::items(&tokens);
    let item = outline::item_of(&items, n).cloned();
    let token = &tokens[n];
    let bytes = token.span.lo as usize..token.span.hi as usize;
    let head = item.as_ref().filter(|i| i.kind == Kind::Probe);
    let head = head.map(|i| i.head.clone()).filter(|h| h.contains(&n));
    let before = &tokens[..n];
    let thing = match (&token.kind, head) {
        (TokenKind::Word(w), _) if w.starts_with('$') => Thing::Variable(vec![w.clone()]),
        (TokenKind::At(w), _) => Thing::Operator(w.clone()),
        (_, Some(head)) => point(&tokens, head, n)?,
        (TokenKind::Word(w), None) => match chain(before) {
            Some(mut names) => {
                names.push(w.clone());
                Thing::Variable(names)
            }
            None => Thing::Name(w.clone()),
        },
        _ => return None,
    };
    Some(Under {
        thing,
        bytes,
        item,
        tokens,
    })
}

fn rank(token: &Token) -> u32 {
    match token.kind {
        TokenKind::Word(_) | TokenKind::At(_) => 2,
        TokenKind::Str(_) | TokenKind::Number(_) => 1,
        _ => 0,
    }
}

/// The point of the list that token `n` is of; `None`: it is of a condition.
fn point(tokens: &[Token], head: Range<usize>, n: usize) -> Option<Thing> {
    let parts = parts(&tokens[head.start..=n])?;
    let (mut depth, mut lo, mut hi) = (0, head.start, head.end);
    for i in head {
        match &tokens[i].kind {
            TokenKind::Op("(" | "{") => depth += 1,
            TokenKind::Op(")" | "}") => depth -= 1,
            TokenKind::Op(",") if depth == 0 && i < n => lo = i + 1,
            TokenKind::Op(",") if depth == 0 => hi = hi.min(i),
            _ => {}
        }
    }
    let (first, last) = (tokens.get(lo)?, tokens.get(hi.checked_sub(1)?)?);
    Some(Thing::Point {
        bytes: first.span.lo as usize..last.span.hi as usize,
        word: parts.last()?.word.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cursor is at the `^`.
    #[track_caller]
    fn check(text: &str, at: At, word: &str) {
        let offset = text.find('^').unwrap();
        let found = super::at(&text.replace('^', ""), offset);
        assert_eq!((found.at, found.word.as_str()), (at, word), "{text}");
    }

    fn part(word: &str, arg: Option<&str>) -> Part {
        let arg = arg.map(|a| Argument::Text(a.to_string()));
        let word = word.to_string();
        Part { word, arg }
    }

    #[test]
    fn points() {
        let sh = || part("process", Some("/bin/sh"));
        check("^", At::Top, "");
        check("probe ^", At::Point(vec![]), "");
        check("probe pro^ { }", At::Point(vec![]), "pro");
        check("probe begin, end.^", At::Point(vec![part("end", None)]), "");
        let text = "probe process(\"/bin/s^";
        check(text, At::PointText(vec![part("process", None)]), "/bin/s");
        let text = "probe process(\"/bin/sh\").fun^(\"x\") {";
        check(text, At::Point(vec![sh()]), "fun");
        let text = "probe a = process(\"/bin/sh\").function(\"m^\").call { }";
        check(text, At::PointText(vec![sh(), part("function", None)]), "m");
        let text = "probe process(\"/bin/sh\").{function(\"a\"), mark(\"b^";
        check(text, At::PointText(vec![sh(), part("mark", None)]), "b");
        check("probe begin if (x^", At::Word, "x");
        check("probe begin ^", At::Nothing, "");
    }

    #[test]
    fn bodies() {
        let path = |names: &[&str]| At::Member(names.iter().map(|n| n.to_string()).collect());
        check("probe begin { pri^ }", At::Word, "pri");
        check("probe begin { if (a { ^", At::Word, "");
        check("probe begin { print($na^) }", At::Variable, "$na");
        check("probe begin { $a->b[c[1]]->d^", path(&["$a", "b"]), "d");
        check("probe begin { $a->^ }", path(&["$a"]), "");
        check("probe begin { @cou^", At::Operator, "@cou");
        check("probe begin { } fun^", At::Top, "fun");
        check("global a^", At::Top, "a");
        for text in ["\"a^\"", "# a^", "// a^\n b", "%{ a^ %}", "/* a^", "1^"] {
            let text = format!("probe begin {{ {text} }}");
            let offset = text.find('^').unwrap();
            let found = super::at(&text.replace('^', ""), offset);
            assert_eq!(found.at, At::Nothing, "{text}");
        }
    }

    #[test]
    fn things() {
        let thing = |text: &str| {
            let offset = text.find('^').unwrap();
            under(&text.replace('^', ""), offset).map(|u| u.thing)
        };
        let names = |names: &[&str]| names.iter().map(|n| n.to_string()).collect::<Vec<_>>();
        let text = "probe begin, process(\"a\").function(\"m^\").call if (x) { }";
        let want = Thing::Point {
            bytes: 13..51,
            word: "function".to_string(),
        };
        assert_eq!(thing(text), Some(want));
        let variable = Some(Thing::Variable(names(&["$a", "b"])));
        assert_eq!(thing("probe begin { $a->^b->c }"), variable);
        assert_eq!(
            thing("probe begin { f^(1) }"),
            Some(Thing::Name("f".into()))
        );
        let operator = Some(Thing::Operator("@m".into()));
        assert_eq!(thing("probe begin { @m^ }"), operator);
        assert_eq!(thing("probe begin { ^ }"), None);
    }
}
