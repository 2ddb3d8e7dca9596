// SPDX-License-Identifier: MIT
//! Text to tokens.
//!
//! Script arguments are pasted here, because `$1` stands for characters: with
//! the argument `3`, `$1x` is the (bad) number `3x`. Nothing is reported from
//! here: text in a branch that is not taken may be anything, so a bad piece
//! becomes a [`TokenKind::Bad`] and the preprocessor complains if it is used.

use crate::diag::Tag;
use crate::foreign;
use crate::span::{FileId, SourceMap, Span};
use std::cell::RefCell;
use std::collections::HashSet;

#[derive(Clone, PartialEq, Debug)]
pub enum TokenKind {
    /// An identifier, a keyword or a `$name`.
    Word(String),
    /// `@name`, with the `@`; the name may be empty.
    At(String),
    Number(i64),
    Str(Vec<u8>),
    /// The text between `%{` and `%}`.
    Embedded(String),
    Op(&'static str),
    Bad(Box<Bad>),
    Eof,
}

/// Something that is no token, and what to go on with after complaining.
#[derive(Clone, PartialEq, Debug)]
pub struct Bad {
    pub tag: Tag,
    pub message: String,
    pub help: Option<String>,
    pub instead: Option<TokenKind>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Token {
    pub kind: TokenKind,
    pub span: Span,
    /// The first token of its line.
    pub starts_line: bool,
}

impl Token {
    pub fn is_op(&self, op: &str) -> bool {
        matches!(&self.kind, TokenKind::Op(o) if *o == op)
    }

    pub fn is_word(&self, word: &str) -> bool {
        matches!(&self.kind, TokenKind::Word(w) if w == word)
    }
}

/// Words that cannot name a variable or a function.
pub const KEYWORDS: &[&str] = &[
    "break", "catch", "continue", "delete", "else", "for", "foreach", "function", "global", "if",
    "in", "limit", "long", "next", "private", "probe", "return", "string", "try", "while",
];

pub fn is_keyword(word: &str) -> bool {
    KEYWORDS.binary_search(&word).is_ok()
}

/// Operators, longest first, so that the first match is the right one.
const OPERATORS: &[&str] = &[
    "<<<", "<<=", ">>=", ">>>", "%(", "%?", "%:", "%)", "++", "--", "+=", "-=", "*=", "/=", "%=",
    "&=", "^=", "|=", ".=", "<=", ">=", "==", "!=", "&&", "||", "<<", ">>", "->", "=~", "!~", "(",
    ")", "[", "]", "{", "}", ",", ";", ":", "?", ".", "+", "-", "*", "/", "%", "&", "|", "^", "!",
    "~", "<", ">", "=",
];

/// The words that `$1`, `@1`, `$#` and `@#` stand for, and which of them have been named.
#[derive(Clone, Debug, Default)]
pub struct Words {
    words: Vec<String>,
    named: RefCell<HashSet<usize>>,
}

impl Words {
    pub fn new(words: Vec<String>) -> Words {
        Words {
            words,
            ..Words::default()
        }
    }

    /// For who takes them all.
    pub fn words(&self) -> &[String] {
        self.named.borrow_mut().extend(0..self.words.len());
        &self.words
    }

    /// Those that no file has named so far, from 1.
    pub fn unnamed(&self) -> Vec<(usize, &str)> {
        let named = self.named.borrow();
        let all = self.words.iter().enumerate();
        let rest = all.filter(|(n, _)| !named.contains(n));
        rest.map(|(n, word)| (n + 1, word.as_str())).collect()
    }

    fn get(&self, n: usize) -> Option<&String> {
        self.named.borrow_mut().insert(n);
        self.words.get(n)
    }
}

/// Cut one file into tokens; the last one is `Eof`.
pub fn lex(map: &SourceMap, file: FileId, args: &Words) -> Vec<Token> {
    let text = map.file(file).map_or("", |f| f.text());
    let mut lexer = Lexer {
        file,
        src: text.as_bytes(),
        pos: 0,
        pasted: Pasted::default(),
        args,
        line: true,
    };
    let mut tokens = Vec::new();
    loop {
        let token = lexer.token();
        let end = token.kind == TokenKind::Eof;
        tokens.push(token);
        if end {
            return tokens;
        }
    }
}

/// An argument's text that is read before the source goes on.
#[derive(Default)]
struct Pasted {
    bytes: Vec<u8>,
    at: usize,
    span: Span,
}

struct Lexer<'a> {
    file: FileId,
    src: &'a [u8],
    pos: usize,
    pasted: Pasted,
    args: &'a Words,
    line: bool,
}

impl Lexer<'_> {
    fn peek_at(&self, ahead: usize) -> Option<u8> {
        let left = self.pasted.bytes.len() - self.pasted.at;
        if ahead < left {
            return self.pasted.bytes.get(self.pasted.at + ahead).copied();
        }
        self.src.get(self.pos + ahead - left).copied()
    }

    fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

    fn looking_at(&self, text: &str) -> bool {
        text.bytes()
            .enumerate()
            .all(|(i, b)| self.peek_at(i) == Some(b))
    }

    fn bump(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        if self.in_pasted() {
            self.pasted.at += 1;
        } else {
            self.pos += 1;
        }
        Some(byte)
    }

    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.bump();
        }
    }

    fn in_pasted(&self) -> bool {
        self.pasted.at < self.pasted.bytes.len()
    }

    /// The place of the next byte: inside an argument, all of `$1`.
    fn here(&self) -> Span {
        if self.in_pasted() {
            self.pasted.span
        } else {
            Span::new(self.file, self.pos, self.pos)
        }
    }

    fn span_from(&self, start: Span) -> Span {
        let end = self.pos.max(start.hi as usize);
        Span::new(self.file, start.lo as usize, end)
    }

    fn take_while(&mut self, keep: impl Fn(u8) -> bool) -> String {
        let mut text = String::new();
        while let Some(b) = self.peek().filter(|b| keep(*b)) {
            text.push(b as char);
            self.bump();
        }
        text
    }

    fn token(&mut self) -> Token {
        loop {
            if let Some(bad) = self.blank() {
                return bad;
            }
            let start = self.here();
            let Some(byte) = self.peek() else {
                let end = self.src.trim_ascii_end().len();
                let span = Span::new(self.file, end, end);
                return self.make(TokenKind::Eof, span);
            };
            if matches!(byte, b'$' | b'@') && self.argument_follows() {
                match self.argument(start) {
                    Some(token) => return token,
                    None => continue,
                }
            }
            let kind = self.kind(byte);
            let span = self.span_from(start);
            return self.make(kind, span);
        }
    }

    fn make(&mut self, kind: TokenKind, span: Span) -> Token {
        Token {
            kind,
            span,
            starts_line: std::mem::replace(&mut self.line, false),
        }
    }

    /// Skip white space and comments; a comment without end is a bad token.
    fn blank(&mut self) -> Option<Token> {
        loop {
            match self.peek() {
                Some(b'\n') => {
                    self.line = true;
                    self.bump();
                }
                Some(b) if b.is_ascii_whitespace() || b == 0x0b => {
                    self.bump();
                }
                Some(b'#') => self.line_comment(),
                Some(b'/') if self.peek_at(1) == Some(b'/') => self.line_comment(),
                Some(b'/') if self.peek_at(1) == Some(b'*') => {
                    let start = self.here();
                    if !self.block_comment() {
                        let start = Span::new(self.file, start.lo as usize, start.lo as usize + 2);
                        let bad = bad(Tag::LexComment, "this comment has no end", None)
                            .help("write */ where the comment ends");
                        return Some(self.make(bad.kind(), start));
                    }
                }
                _ => return None,
            }
        }
    }

    fn line_comment(&mut self) {
        while self.peek().is_some_and(|b| b != b'\n') {
            self.bump();
        }
    }

    fn block_comment(&mut self) -> bool {
        self.skip(2);
        while let Some(b) = self.bump() {
            if b == b'*' && self.peek() == Some(b'/') {
                self.bump();
                return true;
            }
            self.line |= b == b'\n';
        }
        false
    }

    /// `$1`, `@12`, `$#`
    fn argument_follows(&self) -> bool {
        self.peek_at(1)
            .is_some_and(|b| b.is_ascii_digit() || b == b'#')
    }

    /// Paste a `$` argument (`None`), or give an `@` one as a string.
    fn argument(&mut self, start: Span) -> Option<Token> {
        let nested = self.in_pasted();
        let quoted = self.bump() == Some(b'@');
        let name = if self.peek() == Some(b'#') {
            self.bump();
            "#".to_string()
        } else {
            self.take_while(|b| b.is_ascii_digit())
        };
        let span = self.span_from(start);
        let sigil = if quoted { '@' } else { '$' };
        let instead = if quoted {
            TokenKind::Str(Vec::new())
        } else {
            TokenKind::Number(0)
        };
        if nested {
            let message = format!("an argument contains `{sigil}{name}`");
            let bad = bad(Tag::ArgMissing, message, Some(instead))
                .help("give the word itself: arguments are not replaced inside arguments");
            return Some(self.make(bad.kind(), span));
        }
        let text = if name == "#" {
            Some(self.args.words().len().to_string())
        } else {
            let index = name.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
            index.and_then(|n| self.args.get(n)).cloned()
        };
        let Some(text) = text else {
            let bad = bad(
                Tag::ArgMissing,
                missing(sigil, &name, self.args.words.len()),
                Some(instead),
            )
            .help("add the argument behind the script, or test `$#` with %( ... %)");
            return Some(self.make(bad.kind(), span));
        };
        if quoted {
            return Some(self.make(TokenKind::Str(text.into_bytes()), span));
        }
        self.pasted = Pasted {
            bytes: text.into_bytes(),
            at: 0,
            span,
        };
        None
    }

    fn kind(&mut self, byte: u8) -> TokenKind {
        match byte {
            b'"' => self.string(),
            b'0'..=b'9' => self.number(),
            b'@' => {
                self.bump();
                TokenKind::At(format!("@{}", self.take_while(is_word_byte)))
            }
            b if is_word_byte(b) => TokenKind::Word(self.take_while(is_word_byte)),
            b'%' if self.peek_at(1) == Some(b'{') => self.embedded(),
            _ => self.operator(),
        }
    }

    fn operator(&mut self) -> TokenKind {
        if let Some(op) = OPERATORS.iter().find(|op| self.looking_at(op)) {
            self.skip(op.len());
            return TokenKind::Op(op);
        }
        let mut bytes = vec![self.bump().unwrap_or(0)];
        // The rest of one UTF-8 character.
        while bytes[0] >= 0xc0 && self.peek().is_some_and(|b| b & 0xc0 == 0x80) {
            bytes.extend(self.bump());
        }
        let shown = String::from_utf8_lossy(&bytes).escape_debug().to_string();
        let help = match bytes[0] {
            b'\'' => Some("write strings in double quotes"),
            _ => None,
        };
        let mut bad = bad(
            Tag::LexChar,
            format!("unexpected character `{shown}`"),
            None,
        );
        bad.help = help.map(str::to_string);
        bad.kind()
    }

    fn number(&mut self) -> TokenKind {
        let fraction = self.pos > 0 && self.src[self.pos - 1] == b'.';
        let text = self.take_while(|b| b.is_ascii_alphanumeric());
        match parse_number(&text) {
            Some(n) => TokenKind::Number(n),
            None => {
                let message = format!("`{text}` is not a number of at most 64 bits");
                let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
                let unit = &text[digits.len()..];
                let mut bad = bad(Tag::LexNumber, message, Some(TokenKind::Number(0)));
                bad.help = match unit {
                    "s" | "ms" | "us" | "ns" | "hz" if !digits.is_empty() => {
                        Some(format!("a timer is written timer.{unit}({digits})"))
                    }
                    _ if fraction => Some(foreign::WHOLE.to_string()),
                    _ => None,
                };
                bad.kind()
            }
        }
    }

    fn string(&mut self) -> TokenKind {
        self.bump();
        let mut bytes = Vec::new();
        loop {
            match self.peek() {
                None | Some(b'\n') => {
                    let instead = Some(TokenKind::Str(bytes));
                    return bad(Tag::LexString, "this string has no closing quote", instead)
                        .help("close the string with \" on this line")
                        .kind();
                }
                Some(b'"') => {
                    self.bump();
                    return TokenKind::Str(bytes);
                }
                Some(b'\\') => {
                    self.bump();
                    self.escape(&mut bytes);
                }
                Some(b) => {
                    bytes.push(b);
                    self.bump();
                }
            }
        }
    }

    /// What follows a backslash. Unknown escapes stand for their character.
    fn escape(&mut self, bytes: &mut Vec<u8>) {
        let Some(b) = self.peek() else { return };
        if (b'0'..=b'7').contains(&b) {
            let mut value = 0u32;
            for _ in 0..3 {
                let Some(d) = self.peek().filter(|d| (b'0'..=b'7').contains(d)) else {
                    break;
                };
                value = value * 8 + u32::from(d - b'0');
                self.bump();
            }
            bytes.push(value as u8);
            return;
        }
        self.bump();
        match b {
            b'a' => bytes.push(7),
            b'b' => bytes.push(8),
            b't' => bytes.push(9),
            b'n' => bytes.push(10),
            b'v' => bytes.push(11),
            b'f' => bytes.push(12),
            b'r' => bytes.push(13),
            b'x' => self.hex_escape(bytes),
            other => bytes.push(other),
        }
    }

    /// As in C, any number of digits; the low eight bits count.
    fn hex_escape(&mut self, bytes: &mut Vec<u8>) {
        let mut value = None;
        while let Some(digit) = self.peek().and_then(|b| (b as char).to_digit(16)) {
            value = Some((value.unwrap_or(0u32) << 4 | digit) & 0xff);
            self.bump();
        }
        match value {
            Some(v) => bytes.push(v as u8),
            None => bytes.push(b'x'),
        }
    }

    fn embedded(&mut self) -> TokenKind {
        self.skip(2);
        let mut bytes = Vec::new();
        while let Some(b) = self.bump() {
            if b == b'%' && self.peek() == Some(b'}') {
                self.bump();
                return TokenKind::Embedded(String::from_utf8_lossy(&bytes).into_owned());
            }
            bytes.push(b);
        }
        let code = TokenKind::Embedded(String::new());
        bad(Tag::LexEmbedded, "this embedded C has no end", Some(code))
            .help("write %} where the C code ends")
            .kind()
    }
}

fn missing(sigil: char, name: &str, given: usize) -> String {
    let plural = if given == 1 { "" } else { "s" };
    format!("`{sigil}{name}` is used, but the script got {given} argument{plural}")
}

fn is_word_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'$'
}

/// Decimal, `0x` or `0` octal; up to 2^64-1, which is -1.
fn parse_number(text: &str) -> Option<i64> {
    let lower = text.to_ascii_lowercase();
    let value = if let Some(hex) = lower.strip_prefix("0x") {
        u64::from_str_radix(hex, 16)
    } else if lower.len() > 1 && lower.starts_with('0') {
        u64::from_str_radix(&lower[1..], 8)
    } else {
        lower.parse::<u64>()
    };
    value.ok().map(|v| v as i64)
}

fn bad(tag: Tag, message: impl Into<String>, instead: Option<TokenKind>) -> Bad {
    Bad {
        tag,
        message: message.into(),
        help: None,
        instead,
    }
}

impl Bad {
    fn help(mut self, text: &str) -> Bad {
        self.help = Some(text.to_string());
        self
    }

    fn kind(self) -> TokenKind {
        TokenKind::Bad(Box::new(self))
    }
}
