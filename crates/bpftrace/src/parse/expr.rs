// SPDX-License-Identifier: MIT
//! Expressions, by the precedence that C has.

use super::Parser;
use crate::ast::{Expr, Kind, Type};
use crate::error::{refused, At, Result};
use crate::lex::Tok;

/// Operators and members in a row.
const PARTS: usize = 100;

/// Loosest first.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", ">", "<=", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// Types that are numbers: name, bits, whether with a sign.
pub const NUMBERS: [(&str, u32, bool); 22] = [
    ("uint8", 8, false),
    ("uint16", 16, false),
    ("uint32", 32, false),
    ("uint64", 64, false),
    ("int8", 8, true),
    ("int16", 16, true),
    ("int32", 32, true),
    ("int64", 64, true),
    ("uint8_t", 8, false),
    ("uint16_t", 16, false),
    ("uint32_t", 32, false),
    ("uint64_t", 64, false),
    ("int8_t", 8, true),
    ("int16_t", 16, true),
    ("int32_t", 32, true),
    ("int64_t", 64, true),
    ("char", 8, true),
    ("short", 16, true),
    ("int", 32, true),
    ("long", 64, true),
    ("size_t", 64, false),
    ("bool", 8, false),
];

impl Parser<'_, '_> {
    pub fn expr(&mut self) -> Result<Expr> {
        self.deeper(Self::choice)
    }

    fn choice(&mut self) -> Result<Expr> {
        let condition = self.binary(0)?;
        if !self.eat("?")? {
            return Ok(condition);
        }
        let then = self.expr()?;
        self.want(":", "a choice reads CONDITION ? THIS : THAT")?;
        let otherwise = self.expr()?;
        let at = condition.at.to(otherwise.at);
        let kind = Kind::Choice(Box::new(condition), Box::new(then), Box::new(otherwise));
        Ok(Expr { kind, at })
    }

    fn binary(&mut self, level: usize) -> Result<Expr> {
        let Some(signs) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.binary(level + 1)?;
        let mut parts = 0;
        while let Some(sign) = self.one_of(signs)? {
            self.count(&mut parts)?;
            self.step()?;
            let right = self.binary(level + 1)?;
            let at = left.at.to(right.at);
            let kind = Kind::Binary(sign, Box::new(left), Box::new(right));
            left = Expr { kind, at };
        }
        Ok(left)
    }

    /// What stands in a row is nested, too.
    fn count(&self, parts: &mut usize) -> Result<()> {
        *parts += 1;
        match *parts > PARTS {
            true => refused(
                self.token.at,
                "this has too many parts",
                "use variables for some of them",
            ),
            false => Ok(()),
        }
    }

    fn one_of(&mut self, signs: &[&'static str]) -> Result<Option<&'static str>> {
        let Tok::Sign(sign) = self.token.tok else {
            return Ok(None);
        };
        let ends = sign == "/" && self.in_predicate && self.ends_predicate()?;
        Ok((signs.contains(&sign) && !ends).then_some(sign))
    }

    fn ends_predicate(&mut self) -> Result<bool> {
        Ok(matches!(self.peek(1)?, Tok::Sign("{") | Tok::End))
    }

    fn unary(&mut self) -> Result<Expr> {
        let Tok::Sign(sign) = self.token.tok else {
            return self.postfix();
        };
        let at = self.token.at;
        if let "++" | "--" = sign {
            self.step()?;
            let operand = self.deeper(Self::unary)?;
            return Ok(of_one(at, operand, |e| Kind::Step(sign, true, e)));
        }
        if let "!" | "~" | "-" | "*" | "&" = sign {
            self.step()?;
            let operand = self.deeper(Self::unary)?;
            return Ok(of_one(at, operand, |e| Kind::Unary(sign, e)));
        }
        if sign == "(" {
            if let Some(kind) = self.type_in_brackets()? {
                let operand = self.deeper(Self::unary)?;
                return Ok(of_one(at, operand, |e| Kind::Cast(kind, e)));
            }
        }
        self.postfix()
    }

    /// `(struct x *)`, `(uint32)`, `(x *)`; nothing is read where it is none.
    fn type_in_brackets(&mut self) -> Result<Option<Type>> {
        let Tok::Name(first) = self.peek(1)?.clone() else {
            return Ok(None);
        };
        let is_struct = matches!(first.as_str(), "struct" | "union" | "enum");
        let words = self.words_of_type(&first, is_struct)?;
        let mut pointers = 0;
        while *self.peek(words + pointers + 1)? == Tok::Sign("*") {
            pointers += 1;
        }
        let closed = *self.peek(words + pointers + 1)? == Tok::Sign(")");
        let is_number = NUMBERS.iter().any(|(name, ..)| *name == first) || first == "unsigned";
        if !closed || !(is_struct || is_number || pointers > 0) {
            return Ok(None);
        }
        let mut name = Vec::new();
        for n in 0..words + pointers + 2 {
            if let (Tok::Name(word), true) = (self.step()?.tok, n > usize::from(is_struct)) {
                name.push(word);
            }
        }
        Ok(Some(Type {
            name: plain(&name),
            is_struct,
            pointers,
        }))
    }

    fn words_of_type(&mut self, first: &str, is_struct: bool) -> Result<usize> {
        let several = is_struct || matches!(first, "unsigned" | "long" | "short" | "signed");
        let mut words = 1;
        while several && matches!(self.peek(words + 1)?, Tok::Name(_)) {
            words += 1;
        }
        Ok(words)
    }

    fn postfix(&mut self) -> Result<Expr> {
        let mut left = self.primary()?;
        let mut parts = 0;
        loop {
            self.count(&mut parts)?;
            let Tok::Sign(sign) = self.token.tok else {
                return Ok(left);
            };
            let lo = left.at;
            let kind = match sign {
                "++" | "--" => {
                    self.step()?;
                    Kind::Step(sign, false, Box::new(left))
                }
                "." | "->" => {
                    self.step()?;
                    self.member(left)?
                }
                "[" => {
                    self.step()?;
                    let index = self.expr()?;
                    self.want("]", "an index is closed by ]")?;
                    Kind::Index(Box::new(left), Box::new(index))
                }
                _ => return Ok(left),
            };
            let at = lo.to(At {
                lo: lo.lo,
                hi: self.token.at.lo,
            });
            left = Expr { kind, at };
        }
    }

    fn member(&mut self, of: Expr) -> Result<Kind> {
        let kind = match &self.token.tok {
            Tok::Name(name) => Kind::Member(Box::new(of), name.clone()),
            Tok::Number(n) => Kind::Part(Box::new(of), *n),
            _ => return self.unexpected("a member's name", "args.filename, $p->next"),
        };
        self.step()?;
        Ok(kind)
    }

    pub fn primary(&mut self) -> Result<Expr> {
        let at = self.token.at;
        let kind = match self.token.tok.clone() {
            Tok::Number(n) => Kind::Number(n),
            Tok::Text(text) => Kind::Text(text),
            Tok::Var(name) => Kind::Var(name),
            Tok::Word(n) => Kind::Word(n),
            Tok::Words => Kind::Words,
            Tok::Map(name) => return self.map(name, at),
            Tok::Name(name) => return self.name(name, at),
            Tok::Sign("(") => return self.bracket(),
            _ => return self.unexpected(
                "a value",
                "a number, text, $variable, @map, or what bpftrace has by name (pid, comm, arg0)",
            ),
        };
        self.step()?;
        Ok(Expr { kind, at })
    }

    fn bracket(&mut self) -> Result<Expr> {
        self.step()?;
        let outer = std::mem::replace(&mut self.in_predicate, false);
        let inner = self.expr()?;
        self.in_predicate = outer;
        if self.is(",") {
            return refused(
                inner.at,
                "tuples are not translated",
                "as keys of a map write them without the brackets: @x[pid, comm]; else use two maps or variables",
            );
        }
        self.want(")", "close the bracket")?;
        Ok(inner)
    }

    fn map(&mut self, name: String, at: At) -> Result<Expr> {
        self.step()?;
        let mut keys = Vec::new();
        let mut end = at;
        if self.eat("[")? {
            keys = self.list("]")?;
            end = At {
                lo: at.lo,
                hi: self.token.at.lo,
            };
        }
        Ok(Expr {
            kind: Kind::Map(name, keys),
            at: at.to(end),
        })
    }

    /// Values with commas up to what closes them.
    fn list(&mut self, closing: &str) -> Result<Vec<Expr>> {
        let mut all = Vec::new();
        while !self.is(closing) {
            all.push(self.expr()?);
            if !self.eat(",")? {
                break;
            }
        }
        self.want(closing, "values are separated by commas")?;
        Ok(all)
    }

    fn name(&mut self, name: String, at: At) -> Result<Expr> {
        self.step()?;
        if !self.is("(") {
            let kind = Kind::Name(name);
            return Ok(Expr { kind, at });
        }
        if name == "sizeof" {
            if let Some(of) = self.type_in_brackets()? {
                let kind = Kind::Sizeof(of);
                return Ok(Expr { kind, at });
            }
        }
        self.step()?;
        let args = self.list(")")?;
        let end = At {
            lo: at.lo,
            hi: self.token.at.lo,
        };
        Ok(Expr {
            kind: Kind::Call(name, args),
            at: at.to(end),
        })
    }
}

fn of_one(at: At, operand: Expr, made: impl FnOnce(Box<Expr>) -> Kind) -> Expr {
    let at = at.to(operand.at);
    let kind = made(Box::new(operand));
    Expr { kind, at }
}

/// C's names of several words as one: `unsigned int` is uint32.
fn plain(words: &[String]) -> String {
    let unsigned = words.iter().any(|w| w == "unsigned");
    let size = words
        .iter()
        .find(|w| matches!(w.as_str(), "char" | "short" | "long"));
    let name = match (unsigned, size.map(String::as_str)) {
        (true, Some("char")) => "uint8",
        (true, Some("short")) => "uint16",
        (true, Some(_)) => "uint64",
        (true, None) => "uint32",
        (false, Some("short")) => "short",
        (false, Some("long")) => "long",
        _ => return words.join(" "),
    };
    name.to_string()
}
