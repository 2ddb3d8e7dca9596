// SPDX-License-Identifier: MIT
//! Tokens to tree: recursive descent, with SystemTap's precedences.
//!
//! Statements need no separators: an expression ends where it cannot go on.
//! After an error the parser goes on at the next statement or declaration, so
//! that one run reports several errors.

mod decl;
mod expr;
mod stmt;

pub use expr::{BUILTINS, PRINTS};

use crate::ast::*;
use crate::diag::{Diagnostic, Diagnostics, Tag};
use crate::foreign;
use crate::lexer::{is_keyword, Token, TokenKind};
use crate::preprocess::{preprocess, Environment, MacroLibrary};
use crate::span::{FileId, SourceMap, Span};

/// Preprocess and parse one file. The tree holds what could be understood; it
/// is only meant for further passes when `diags` has no errors.
pub fn parse_file(
    map: &mut SourceMap,
    file: FileId,
    env: &Environment,
    library: &MacroLibrary,
    ids: &NodeIds,
    diags: &mut Diagnostics,
) -> Script {
    let before = diags.len();
    let tokens = preprocess(map, file, env, library, diags);
    let script = Parser::new(tokens, ids, diags).script(file);
    diags.settle(before, file, map);
    script
}

/// An error has been reported; go on at the next safe place.
struct Reported;

type Parse<T> = Result<T, Reported>;

/// Bound of nesting, in units of about one kilobyte of stack of an
/// unoptimised build: [`NEST`] for what goes through a whole expression,
/// [`STMT`] for a statement, [`OPERAND`] for one operand, one for a link of a chain of operators.
const MAX_DEPTH: u32 = 1000;
const NEST: u32 = 12;
const STMT: u32 = 8;
const OPERAND: u32 = 3;
/// Errors after which the rest of a file is not looked at.
const MAX_ERRORS: usize = 100;
/// Points that one probe's braces may expand to.
const MAX_POINTS: usize = 10_000;

struct Parser<'a> {
    tokens: Vec<Token>,
    pos: usize,
    ids: &'a NodeIds,
    diags: &'a mut Diagnostics,
    depth: u32,
    in_function: bool,
    /// Where the latest error was, so that one place is reported once.
    error_at: Option<usize>,
    errors: usize,
}

impl<'a> Parser<'a> {
    fn new(tokens: Vec<Token>, ids: &'a NodeIds, diags: &'a mut Diagnostics) -> Parser<'a> {
        Parser {
            tokens,
            pos: 0,
            ids,
            diags,
            depth: 0,
            in_function: false,
            error_at: None,
            errors: 0,
        }
    }

    // ---- tokens ----

    fn token(&self) -> &Token {
        // The last token is `Eof` and is never passed.
        &self.tokens[self.pos.min(self.tokens.len() - 1)]
    }

    fn token_at(&self, ahead: usize) -> &Token {
        &self.tokens[(self.pos + ahead).min(self.tokens.len() - 1)]
    }

    fn span(&self) -> Span {
        self.token().span
    }

    /// The place of the token before this one.
    fn previous(&self) -> Span {
        self.tokens[self.pos.saturating_sub(1)].span
    }

    fn bump(&mut self) {
        if self.pos + 1 < self.tokens.len() {
            self.pos += 1;
        }
    }

    fn at_end(&self) -> bool {
        self.token().kind == TokenKind::Eof
    }

    fn at_op(&self, op: &str) -> bool {
        self.token().is_op(op)
    }

    fn at_word(&self, word: &str) -> bool {
        self.token().is_word(word)
    }

    fn at_keyword(&self) -> bool {
        matches!(&self.token().kind, TokenKind::Word(w) if is_keyword(w))
    }

    fn eat_op(&mut self, op: &str) -> bool {
        let found = self.at_op(op);
        if found {
            self.bump();
        }
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.bump();
        }
        found
    }

    fn expect_op(&mut self, op: &str) -> Parse<Span> {
        let span = self.span();
        if self.eat_op(op) {
            return Ok(span);
        }
        Err(self.expected(&format!("`{op}`")))
    }

    /// A closing bracket; complains about the opening one too.
    fn expect_close(&mut self, op: &str, open: Span) -> Parse<Span> {
        let span = self.span();
        if self.eat_op(op) {
            return Ok(span);
        }
        let tag = if self.at_end() {
            Tag::ParseUnclosed
        } else {
            Tag::ParseExpected
        };
        let message = format!("expected `{op}`, found {}", self.found());
        self.report(tag, message, |d| {
            d.label(open, "opened here")
                .help(format!("close it with `{op}`"));
        });
        Err(Reported)
    }

    fn expect_word(&mut self, word: &str) -> Parse<()> {
        if self.eat_word(word) {
            return Ok(());
        }
        Err(self.expected(&format!("`{word}`")))
    }

    fn ident(&mut self, what: &str) -> Parse<Ident> {
        match &self.token().kind {
            TokenKind::Word(name) if !is_keyword(name) => {
                let ident = Ident {
                    name: name.clone(),
                    span: self.span(),
                };
                self.bump();
                Ok(ident)
            }
            TokenKind::Word(name) => {
                let message = format!("expected {what}, found the keyword `{name}`");
                self.report(Tag::ParseExpected, message, |d| {
                    d.help("choose another name: keywords cannot be names");
                });
                Err(Reported)
            }
            _ => Err(self.expected(what)),
        }
    }

    /// A number, with a sign where SystemTap allows one.
    fn number(&mut self, what: &str) -> Parse<NumLit> {
        let start = self.span();
        let negative = self.eat_op("-");
        let TokenKind::Number(value) = self.token().kind else {
            return Err(self.expected(what));
        };
        let span = start.to(self.span());
        self.bump();
        Ok(NumLit {
            value: if negative {
                value.wrapping_neg()
            } else {
                value
            },
            span,
        })
    }

    /// A string literal; neighbours are joined.
    fn string(&mut self, what: &str) -> Parse<StrLit> {
        let TokenKind::Str(bytes) = &self.token().kind else {
            return Err(self.expected(what));
        };
        let mut lit = StrLit {
            bytes: bytes.clone(),
            span: self.span(),
        };
        self.bump();
        while let TokenKind::Str(more) = &self.token().kind {
            lit.bytes.extend(more);
            lit.span = lit.span.to(self.span());
            self.bump();
        }
        Ok(lit)
    }

    fn literal(&mut self) -> Parse<Literal> {
        match self.token().kind {
            TokenKind::Str(_) => Ok(Literal::String(self.string("a string")?)),
            TokenKind::Number(_) => Ok(Literal::Number(self.number("a number")?)),
            TokenKind::Op("-") => Ok(Literal::Number(self.number("a number")?)),
            _ => Err(self.expected("a literal number or string")),
        }
    }

    // ---- complaints ----

    /// What stands here, as a message names it.
    fn found(&self) -> String {
        match &self.token().kind {
            TokenKind::Word(w) if is_keyword(w) => format!("the keyword `{w}`"),
            TokenKind::Word(w) | TokenKind::At(w) => format!("`{w}`"),
            TokenKind::Number(n) => format!("the number {n}"),
            TokenKind::Str(_) => "a string".to_string(),
            TokenKind::Embedded(_) => "embedded C".to_string(),
            TokenKind::Op(op) => format!("`{op}`"),
            TokenKind::Bad(_) => "something unreadable".to_string(),
            TokenKind::Eof => "the end of the script".to_string(),
        }
    }

    fn expected(&mut self, what: &str) -> Reported {
        let message = format!("expected {what}, found {}", self.found());
        let before = &self.tokens[self.pos.saturating_sub(1)].kind;
        let tokens = [before, &self.token().kind, &self.token_at(1).kind];
        let help = foreign::where_expected(what, tokens);
        self.report(Tag::ParseExpected, message, |d| {
            d.help(help);
        });
        Reported
    }

    fn error_here(&mut self, tag: Tag, message: impl Into<String>, help: &str) -> Reported {
        self.report(tag, message.into(), |d| {
            d.help(help);
        });
        Reported
    }

    /// An error at this token, unless this token already had one.
    fn report(&mut self, tag: Tag, message: String, more: impl FnOnce(&mut Diagnostic)) {
        if self.error_at == Some(self.pos) {
            return;
        }
        self.error_at = Some(self.pos);
        self.errors += 1;
        let span = self.span();
        more(self.diags.error(tag, span, message));
    }

    // ---- bounds ----

    /// Run `parse` one level deeper.
    fn nested<T>(&mut self, cost: u32, parse: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        let before = self.depth;
        self.deeper(cost)?;
        let result = parse(self);
        self.depth = before;
        result
    }

    /// Count `cost` levels; the caller gives them back.
    fn deeper(&mut self, cost: u32) -> Parse<()> {
        if self.depth + cost > MAX_DEPTH {
            return Err(self.error_here(
                Tag::ParseDepth,
                "this is nested too deep",
                "move a part into a function or a variable of its own",
            ));
        }
        self.depth += cost;
        Ok(())
    }

    fn expr_node(&self, kind: ExprKind, span: Span) -> Expr {
        Expr {
            id: self.ids.fresh(),
            kind,
            span,
        }
    }
}
