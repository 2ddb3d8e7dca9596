// SPDX-License-Identifier: MIT
//! Characters to tokens. Probe points are no tokens: the parser reads them as they stand.

use crate::error::{wrong, At, Result};

#[derive(Clone, Debug, PartialEq)]
pub enum Tok {
    Name(String),
    Number(i64),
    /// What stands between the quotes, escapes as they are.
    Text(String),
    /// `@name`; `@` alone is "".
    Map(String),
    /// `$name`
    Var(String),
    /// `$1`
    Word(usize),
    /// `$#`
    Words,
    Sign(&'static str),
    End,
}

#[derive(Clone, Debug)]
pub struct Token {
    pub tok: Tok,
    pub at: At,
}

/// The longest first.
const SIGNS: [&str; 45] = [
    "<<=", ">>=", "...", "&&", "||", "==", "!=", "<=", ">=", "<<", ">>", "++", "--", "+=", "-=",
    "*=", "/=", "%=", "&=", "|=", "^=", "->", "..", "{", "}", "(", ")", "[", "]", ";", ",", "?",
    ":", "=", "<", ">", "+", "-", "*", "/", "%", "&", "|", "^", "!",
];

pub struct Lexer<'a> {
    pub text: &'a str,
    pub pos: usize,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, pos: 0 }
    }

    pub fn rest(&self) -> &'a str {
        &self.text[self.pos..]
    }

    /// Blanks and comments.
    pub fn skip(&mut self) -> Result<()> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            self.pos += blank;
            let rest = self.rest();
            if rest.starts_with("//") {
                self.pos += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                let Some(end) = rest.find("*/") else {
                    return wrong(self.here(2), "this comment does not end", "close it by */");
                };
                self.pos += end + 2;
            } else if blank == 0 {
                return Ok(());
            }
        }
    }

    pub fn here(&self, len: usize) -> At {
        At {
            lo: self.pos,
            hi: (self.pos + len).min(self.text.len()),
        }
    }

    pub fn next(&mut self) -> Result<Token> {
        self.skip()?;
        let lo = self.pos;
        let tok = self.token()?;
        let at = At { lo, hi: self.pos };
        Ok(Token { tok, at })
    }

    fn token(&mut self) -> Result<Tok> {
        let Some(c) = self.rest().chars().next() else {
            return Ok(Tok::End);
        };
        match c {
            '"' => self.quoted(),
            '0'..='9' => self.number(),
            '@' => {
                self.pos += 1;
                Ok(Tok::Map(self.word()))
            }
            '$' => self.dollar(),
            _ if begins_word(c) => Ok(Tok::Name(self.word())),
            _ => self.sign(c),
        }
    }

    fn word(&mut self) -> String {
        let rest = self.rest();
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        self.pos += end;
        rest[..end].to_string()
    }

    fn dollar(&mut self) -> Result<Tok> {
        let at = self.here(1);
        self.pos += 1;
        if self.rest().starts_with('#') {
            self.pos += 1;
            return Ok(Tok::Words);
        }
        let word = self.word();
        match word.parse() {
            Ok(n) if n > 0 => Ok(Tok::Word(n)),
            _ if word.starts_with(begins_word) => Ok(Tok::Var(word)),
            _ => wrong(
                at,
                "a name or a number is wanted behind $",
                "write $x, or $1 for the first word of the command line",
            ),
        }
    }

    fn quoted(&mut self) -> Result<Tok> {
        let at = self.here(1);
        let mut escaped = false;
        for (n, c) in self.rest().char_indices().skip(1) {
            match c {
                '"' if !escaped => {
                    let text = self.rest()[1..n].replace('\n', "\\n");
                    self.pos += n + 1;
                    return Ok(Tok::Text(text));
                }
                _ => escaped = c == '\\' && !escaped,
            }
        }
        wrong(at, "this text does not end", "close it by \"")
    }

    /// Decimal, hexadecimal or octal; `1_000` and `1e6`.
    fn number(&mut self) -> Result<Tok> {
        let lo = self.pos;
        let word = self.word();
        let at = At { lo, hi: self.pos };
        match value(&word.replace('_', "")) {
            Some(n) => Ok(Tok::Number(n)),
            None => wrong(
                at,
                format!("`{word}` is no number"),
                "numbers are decimal, 0x hexadecimal or 0 octal, of 64 bits; 1e6 is a million",
            ),
        }
    }

    fn sign(&mut self, c: char) -> Result<Tok> {
        let sign = SIGNS
            .iter()
            .chain(&["~", "."])
            .find(|s| self.rest().starts_with(**s));
        let Some(sign) = sign else {
            let what = format!("`{c}` means nothing here");
            return wrong(
                self.here(c.len_utf8()),
                what,
                "take it out, or put it into quotes",
            );
        };
        self.pos += sign.len();
        Ok(Tok::Sign(sign))
    }
}

pub fn begins_word(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn value(word: &str) -> Option<i64> {
    let wide = |digits: &str, base| u64::from_str_radix(digits, base).ok().map(|n| n as i64);
    let lower = word.to_ascii_lowercase();
    if let Some(digits) = lower.strip_prefix("0x") {
        return wide(digits, 16);
    }
    if let Some((digits, zeros)) = lower.split_once('e') {
        let factor = 10i64.checked_pow(zeros.parse().ok()?)?;
        return digits.parse::<i64>().ok()?.checked_mul(factor);
    }
    match word.strip_prefix('0') {
        Some(digits) if !digits.is_empty() => wide(digits, 8),
        _ => wide(word, 10),
    }
}
