// SPDX-License-Identifier: MIT
//! Tokens to a program.

mod expr;

pub use expr::NUMBERS;

use crate::ast::*;
use crate::error::{refused, wrong, At, Result};
use crate::lex::{Lexer, Tok, Token};
use crate::points;

/// Nesting is bounded, so that no input exhausts the stack.
const DEPTH: usize = 40;

pub fn parse(text: &str) -> Result<Program> {
    let mut lexer = Lexer::new(text);
    let mut program = Program {
        includes: includes(&mut lexer)?,
        probes: Vec::new(),
    };
    loop {
        lexer.skip()?;
        if lexer.rest().is_empty() {
            break;
        }
        program.probes.push(probe(&mut lexer)?);
    }
    match program.probes.is_empty() {
        true => wrong(
            lexer.here(0),
            "there is no probe in this program",
            "write one, e.g. BEGIN { printf(\"hello\\n\"); exit(); }",
        ),
        false => Ok(program),
    }
}

fn includes(lexer: &mut Lexer) -> Result<Vec<String>> {
    let mut all = Vec::new();
    loop {
        lexer.skip()?;
        let line = lexer.rest().lines().next().unwrap_or("");
        let Some(word) = line.strip_prefix('#') else {
            return Ok(all);
        };
        let header = word.trim_start().strip_prefix("include").map(str::trim);
        let header = header.and_then(|h| h.strip_prefix('<')?.strip_suffix('>'));
        match header {
            Some(header) => all.push(header.to_string()),
            None if line.starts_with("#!") => {}
            None => {
                return refused(
                    lexer.here(line.len()),
                    "of lines that begin with # only #include <HEADER> is taken",
                    "write constants as numbers",
                )
            }
        }
        lexer.pos += line.len();
    }
}

fn probe(lexer: &mut Lexer) -> Result<Probe> {
    check_word(lexer)?;
    let mut points = Vec::new();
    loop {
        points.push(point(lexer)?);
        lexer.skip()?;
        if !lexer.rest().starts_with(',') {
            break;
        }
        lexer.pos += 1;
        lexer.skip()?;
    }
    let listed = lexer.rest().is_empty();
    let mut parser = Parser::new(lexer)?;
    let predicate = parser.predicate()?;
    let body = match listed {
        true => None,
        false => Some(parser.block()?),
    };
    let next = parser.token.at.lo;
    lexer.pos = next;
    Ok(Probe {
        points,
        predicate,
        body,
    })
}

/// Declarations that are no probes.
fn check_word(lexer: &Lexer) -> Result<()> {
    let rest = lexer.rest();
    let word = rest
        .split(|c: char| !c.is_ascii_alphabetic())
        .next()
        .unwrap_or("");
    let next = match word {
        "struct" | "union" | "enum" => {
            "types come from debug information, a kernel's from its own: name them in a cast"
        }
        "fn" | "macro" => {
            "write its text where it is used, or write a script: its language has functions"
        }
        "config" | "let" | "import" => "leave it out: -D sets limits",
        _ => return Ok(()),
    };
    match rest[word.len()..].starts_with([' ', '\t', '\n', '=']) {
        true => refused(
            lexer.here(word.len()),
            format!("`{word}` declarations are not translated"),
            next,
        ),
        false => Ok(()),
    }
}

/// Up to a blank, a comma or a brace; quotes protect these.
fn point(lexer: &mut Lexer) -> Result<Point> {
    let rest = lexer.rest();
    let mut quoted = false;
    let ends = |c: char| {
        quoted ^= c == '"';
        !quoted && (c.is_whitespace() || matches!(c, ',' | '{'))
    };
    let end = rest.find(ends).unwrap_or(rest.len());
    let end = end - predicate_at_end(&rest[..end]);
    let at = lexer.here(end.max(1));
    if end == 0 {
        return wrong(
            at,
            "a probe point is wanted here",
            "e.g. uprobe:libc:malloc, tracepoint:syscalls:sys_enter_read, interval:s:1",
        );
    }
    lexer.pos += end;
    Ok(Point {
        text: rest[..end].to_string(),
        at,
    })
}

/// How many of the bytes belong to a predicate that begins without a blank: `kprobe:f/pid`.
fn predicate_at_end(word: &str) -> usize {
    let last = word.rfind(':').map_or(0, |n| n + 1);
    let wants = points::parts_wanted(word.split(':').next().unwrap_or(""));
    match word[last..].find('/') {
        Some(n) if word.matches(':').count() + 1 >= wants => word.len() - last - n,
        _ => 0,
    }
}

pub struct Parser<'a, 'b> {
    lexer: &'b mut Lexer<'a>,
    token: Token,
    /// tokens that were looked at
    ahead: Vec<Token>,
    depth: usize,
    /// `/` ends a predicate where `{` follows
    in_predicate: bool,
}

impl<'a, 'b> Parser<'a, 'b> {
    fn new(lexer: &'b mut Lexer<'a>) -> Result<Parser<'a, 'b>> {
        let token = lexer.next()?;
        Ok(Parser {
            lexer,
            token,
            ahead: Vec::new(),
            depth: 0,
            in_predicate: false,
        })
    }

    fn predicate(&mut self) -> Result<Option<Expr>> {
        if !self.is("/") {
            return Ok(None);
        }
        self.step()?;
        self.in_predicate = true;
        let condition = self.expr()?;
        self.in_predicate = false;
        self.want("/", "a predicate stands between two /: /pid == 1/")?;
        Ok(Some(condition))
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.token.tok, Tok::Sign(s) if s == sign)
    }

    fn is_name(&self, name: &str) -> bool {
        matches!(&self.token.tok, Tok::Name(n) if n == name)
    }

    fn step(&mut self) -> Result<Token> {
        let next = match self.ahead.is_empty() {
            true => self.lexer.next()?,
            false => self.ahead.remove(0),
        };
        Ok(std::mem::replace(&mut self.token, next))
    }

    /// The n-th token behind this one.
    fn peek(&mut self, n: usize) -> Result<&Tok> {
        while self.ahead.len() < n {
            let next = self.lexer.next()?;
            self.ahead.push(next);
        }
        Ok(&self.ahead[n - 1].tok)
    }

    fn eat(&mut self, sign: &str) -> Result<bool> {
        let is = self.is(sign);
        if is {
            self.step()?;
        }
        Ok(is)
    }

    fn want(&mut self, sign: &str, next: &str) -> Result<At> {
        match self.is(sign) {
            true => Ok(self.step()?.at),
            false => self.unexpected(&format!("`{sign}`"), next),
        }
    }

    fn unexpected<T>(&self, wanted: &str, next: &str) -> Result<T> {
        let found = &self.lexer.text[self.token.at.lo..self.token.at.hi];
        let what = match self.token.tok {
            Tok::End => format!("{wanted} is wanted, and the program ends here"),
            _ => format!("{wanted} is wanted here, not `{found}`"),
        };
        wrong(self.token.at, what, next)
    }

    fn deeper<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEPTH {
            return refused(
                self.token.at,
                "this is nested too deeply",
                "use variables for its parts",
            );
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    fn block(&mut self) -> Result<Vec<Stmt>> {
        self.want("{", "the statements of a probe, or of a loop, stand in { }")?;
        let mut all = Vec::new();
        while !self.is("}") {
            if self.eat(";")? {
                continue;
            }
            if self.is("{") {
                all.extend(self.deeper(Self::block)?);
                continue;
            }
            let (statement, complete) = self.deeper(Self::statement)?;
            all.push(statement);
            if !complete && !self.is("}") {
                self.want(";", "statements end with ;")?;
            }
        }
        self.step()?;
        Ok(all)
    }

    /// Whether no `;` need stand behind it.
    fn statement(&mut self) -> Result<(Stmt, bool)> {
        let Tok::Name(word) = &self.token.tok else {
            return Ok((self.simple()?, false));
        };
        let parsed = match word.as_str() {
            "if" => self.conditional()?,
            "while" => self.repeated(Stmt::While)?,
            "unroll" => self.repeated(Stmt::Unroll)?,
            "for" => self.walk()?,
            "break" => return self.word(Stmt::Break(self.token.at)),
            "continue" => return self.word(Stmt::Continue(self.token.at)),
            "return" => return self.word(Stmt::Return),
            "let" => {
                self.step()?;
                return Ok((self.simple()?, false));
            }
            _ => return Ok((self.simple()?, false)),
        };
        Ok((parsed, true))
    }

    fn word(&mut self, statement: Stmt) -> Result<(Stmt, bool)> {
        self.step()?;
        Ok((statement, false))
    }

    fn conditional(&mut self) -> Result<Stmt> {
        self.step()?;
        let condition = self.expr()?;
        let then = self.block()?;
        if !self.is_name("else") {
            return Ok(Stmt::If(condition, then, Vec::new()));
        }
        self.step()?;
        let otherwise = match self.is_name("if") {
            true => vec![self.deeper(Self::conditional)?],
            false => self.block()?,
        };
        Ok(Stmt::If(condition, then, otherwise))
    }

    fn repeated(&mut self, made: fn(Expr, Vec<Stmt>) -> Stmt) -> Result<Stmt> {
        self.step()?;
        let condition = self.expr()?;
        Ok(made(condition, self.block()?))
    }

    /// `for ($i : 0..10) { }` and `for ($kv : @map) { }`
    fn walk(&mut self) -> Result<Stmt> {
        const FORM: &str = "for ($i : 0..10) { }, or for ($kv : @map) { }";
        self.step()?;
        let bracket = self.eat("(")?;
        let name = self.primary()?;
        self.want(":", FORM)?;
        let first = self.expr()?;
        let last = match self.eat("..")? {
            true => Some(self.expr()?),
            false => None,
        };
        if bracket {
            self.want(")", FORM)?;
        }
        let body = self.block()?;
        Ok(match last {
            Some(last) => Stmt::Range(name, first, last, body),
            None => Stmt::Each(name, first, body),
        })
    }

    /// An assignment, or an expression.
    fn simple(&mut self) -> Result<Stmt> {
        let left = self.expr()?;
        let op = match self.token.tok {
            Tok::Sign(op) if is_assignment(op) => op,
            _ => return Ok(Stmt::Expr(left)),
        };
        let is_target = matches!(left.kind, Kind::Var(_) | Kind::Map(..));
        if !is_target {
            return wrong(
                left.at,
                "this cannot be set",
                "maps (@x) and variables ($x) can",
            );
        }
        self.step()?;
        Ok(Stmt::Assign(left, op, self.expr()?))
    }
}

fn is_assignment(op: &str) -> bool {
    op.ends_with('=') && !matches!(op, "==" | "!=" | "<=" | ">=")
}
