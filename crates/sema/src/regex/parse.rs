// SPDX-License-Identifier: MIT
//! The text of a pattern, to regex-syntax's form of it. That crate's own
//! parser reads another notation: here `\d` is a `d`, and `[\d]` too.

use super::Bad;
use regex_syntax::hir::{Capture, Class, ClassBytes, ClassBytesRange, Hir, Look, Repetition};

/// A pattern, and how many groups in parentheses it has.
pub struct Parsed {
    pub hir: Hir,
    pub groups: u32,
    /// Letters and digits behind a backslash, and where that stands.
    pub escaped: Vec<(usize, u8)>,
}

/// Parentheses nest at most this deep.
const MAX_DEPTH: u32 = 50;
/// The largest number in braces.
const MAX_REPEAT: u32 = 1000;

pub fn parse(pattern: &[u8]) -> Result<Parsed, Bad> {
    let mut p = Parser {
        text: pattern,
        at: 0,
        groups: 0,
        depth: 0,
        escaped: Vec::new(),
    };
    let hir = p.alternatives()?;
    match p.peek() {
        None => Ok(Parsed {
            hir,
            groups: p.groups,
            escaped: p.escaped,
        }),
        Some(_) => Err(p.bad("this `)` closes nothing")),
    }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    groups: u32,
    depth: u32,
    escaped: Vec<(usize, u8)>,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    fn eat(&mut self, c: u8) -> bool {
        let here = self.peek() == Some(c);
        self.at += here as usize;
        here
    }

    fn bad(&self, message: impl Into<String>) -> Bad {
        Bad {
            at: self.at,
            message: message.into(),
        }
    }

    fn alternatives(&mut self) -> Result<Hir, Bad> {
        let mut list = vec![self.sequence()?];
        while self.eat(b'|') {
            list.push(self.sequence()?);
        }
        Ok(Hir::alternation(list))
    }

    fn sequence(&mut self) -> Result<Hir, Bad> {
        let mut list = Vec::new();
        while !matches!(self.peek(), None | Some(b'|' | b')')) {
            list.push(self.piece()?);
        }
        Ok(Hir::concat(list))
    }

    /// One element and how often it stands there.
    fn piece(&mut self) -> Result<Hir, Bad> {
        let anchor = matches!(self.peek(), Some(b'^' | b'$'));
        let mut hir = self.element()?;
        while let Some(c @ (b'*' | b'+' | b'?' | b'{')) = self.peek() {
            if anchor {
                return Err(self.bad(format!("`{}` behind an anchor", c as char)));
            }
            self.at += 1;
            let (min, max) = match c {
                b'*' => (0, None),
                b'+' => (1, None),
                b'?' => (0, Some(1)),
                _ => self.braces()?,
            };
            hir = Hir::repetition(Repetition {
                min,
                max,
                greedy: true,
                sub: Box::new(hir),
            });
        }
        Ok(hir)
    }

    fn element(&mut self) -> Result<Hir, Bad> {
        let at = self.at;
        let Some(c) = self.next() else {
            return Ok(Hir::empty());
        };
        match c {
            b'(' => self.group(at),
            b'[' => self.class(at),
            b'.' => Ok(set(vec![ClassBytesRange::new(0, 255)], false)),
            b'^' => Ok(Hir::look(Look::Start)),
            b'$' => Ok(Hir::look(Look::End)),
            b'\\' => match self.escaped() {
                Some(c) => Ok(Hir::literal([c])),
                None => Err(self.bad("nothing follows the `\\`")),
            },
            b'?' if at > 0 && self.text[at - 1] == b'(' => Err(Bad {
                at,
                message:
                    "`(?` has no meaning but in `(?:`: there are no options and no looking ahead"
                        .to_string(),
            }),
            b'*' | b'+' | b'?' | b'{' => Err(Bad {
                at,
                message: format!("there is nothing that `{}` could repeat", c as char),
            }),
            _ => Ok(Hir::literal([c])),
        }
    }

    /// Behind `(`.
    fn group(&mut self, open: usize) -> Result<Hir, Bad> {
        let plain = self.text[self.at..].starts_with(b"?:");
        let index = match plain {
            true => {
                self.at += 2;
                0
            }
            false => {
                self.groups += 1;
                self.groups
            }
        };
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.bad(format!("groups nest deeper than {MAX_DEPTH}")));
        }
        let inner = self.alternatives()?;
        self.depth -= 1;
        if !self.eat(b')') {
            return Err(Bad {
                at: open,
                message: "this `(` is not closed".to_string(),
            });
        }
        Ok(match plain {
            true => inner,
            false => Hir::capture(Capture {
                index,
                name: None,
                sub: Box::new(inner),
            }),
        })
    }

    /// Behind `{`: `n}`, `n,}` or `n,m}`.
    fn braces(&mut self) -> Result<(u32, Option<u32>), Bad> {
        let min = self.count()?;
        let max = match self.eat(b',') {
            false => Some(min),
            true if self.peek() == Some(b'}') => None,
            true => Some(self.count()?),
        };
        if max.is_some_and(|m| m < min) {
            return Err(self.bad("the second number is less than the first"));
        }
        match self.eat(b'}') {
            true => Ok((min, max)),
            false => Err(self.bad("a `}` is missing")),
        }
    }

    fn count(&mut self) -> Result<u32, Bad> {
        let from = self.at;
        let mut n = 0;
        while let Some(c @ b'0'..=b'9') = self.peek() {
            self.at += 1;
            n = n * 10 + u32::from(c - b'0');
            if n > MAX_REPEAT {
                return Err(self.bad(format!("at most {MAX_REPEAT} repetitions are possible")));
            }
        }
        match self.at > from {
            true => Ok(n),
            false => Err(self.bad("a number is missing")),
        }
    }

    /// Behind `[`. A `]` that comes first belongs to the set.
    fn class(&mut self, open: usize) -> Result<Hir, Bad> {
        let not_closed = Bad {
            at: open,
            message: "this `[` is not closed".to_string(),
        };
        let negated = self.eat(b'^');
        let first = self.at;
        let mut ranges = Vec::new();
        loop {
            match self.peek() {
                None => return Err(not_closed),
                Some(b']') if self.at > first => break,
                Some(b'[') if self.text.get(self.at + 1) == Some(&b':') => {
                    ranges.extend(self.named()?)
                }
                Some(_) => ranges.push(self.range(not_closed.clone())?),
            }
        }
        self.at += 1;
        Ok(set(ranges, negated))
    }

    /// `a` or `a-z`.
    fn range(&mut self, not_closed: Bad) -> Result<ClassBytesRange, Bad> {
        let at = self.at;
        let Some(low) = self.member() else {
            return Err(not_closed);
        };
        let more =
            self.peek() == Some(b'-') && self.text.get(self.at + 1).is_some_and(|c| *c != b']');
        if !more {
            return Ok(ClassBytesRange::new(low, low));
        }
        self.at += 1;
        let Some(high) = self.member() else {
            return Err(not_closed);
        };
        if high < low {
            return Err(Bad {
                at,
                message: "this range ends before it begins".to_string(),
            });
        }
        Ok(ClassBytesRange::new(low, high))
    }

    fn member(&mut self) -> Option<u8> {
        match self.next()? {
            b'\\' => self.escaped(),
            c => Some(c),
        }
    }

    /// Behind a backslash.
    fn escaped(&mut self) -> Option<u8> {
        let c = self.next()?;
        if c.is_ascii_alphanumeric() {
            self.escaped.push((self.at - 2, c));
        }
        Some(c)
    }

    /// `[:alpha:]` inside a set.
    fn named(&mut self) -> Result<Vec<ClassBytesRange>, Bad> {
        let at = self.at;
        let rest = &self.text[at + 2..];
        let Some(length) = rest.windows(2).position(|w| w == b":]") else {
            return Err(self.bad("this `[:` is not closed"));
        };
        let name = &rest[..length];
        let Some((_, ranges)) = NAMED.iter().find(|n| n.0.as_bytes() == name) else {
            let names: Vec<&str> = NAMED.iter().map(|n| n.0).collect();
            let name = String::from_utf8_lossy(name);
            return Err(self.bad(format!(
                "there is no class `{name}`, only {}",
                names.join(", ")
            )));
        };
        self.at += 2 + length + 2;
        let range = |r: &(u8, u8)| ClassBytesRange::new(r.0, r.1);
        Ok(ranges.iter().map(range).collect())
    }
}

type Ranges = &'static [(u8, u8)];

/// Classes of the C locale.
const NAMED: &[(&str, Ranges)] = &[
    ("alnum", &[(b'0', b'9'), (b'A', b'Z'), (b'a', b'z')]),
    ("alpha", &[(b'A', b'Z'), (b'a', b'z')]),
    ("blank", &[(b'\t', b'\t'), (b' ', b' ')]),
    ("cntrl", &[(0, 31), (127, 127)]),
    ("digit", &[(b'0', b'9')]),
    ("graph", &[(b'!', b'~')]),
    ("lower", &[(b'a', b'z')]),
    ("print", &[(b' ', b'~')]),
    (
        "punct",
        &[(b'!', b'/'), (b':', b'@'), (b'[', b'`'), (b'{', b'~')],
    ),
    ("space", &[(b'\t', b'\r'), (b' ', b' ')]),
    ("upper", &[(b'A', b'Z')]),
    ("xdigit", &[(b'0', b'9'), (b'A', b'F'), (b'a', b'f')]),
];

fn set(ranges: Vec<ClassBytesRange>, negated: bool) -> Hir {
    let mut class = ClassBytes::new(ranges);
    if negated {
        class.negate();
    }
    Hir::class(Class::Bytes(class))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn mistakes_have_their_place() {
        for (pattern, at, says) in [
            ("a(b", 1, "not closed"),
            ("a)b", 1, "closes nothing"),
            ("*a", 0, "could repeat"),
            ("a|+b", 2, "could repeat"),
            ("(?i)a", 1, "no options"),
            ("^*a", 1, "anchor"),
            ("a{", 2, "number"),
            ("a{,3}", 2, "number"),
            ("a{2", 3, "missing"),
            ("a{2,1}", 5, "less"),
            ("a{5000}", 6, "at most"),
            ("x[a", 1, "not closed"),
            ("[]", 0, "not closed"),
            ("[z-a]", 1, "ends before"),
            ("[[:foo:]]", 1, "no class"),
            ("[[:alpha", 1, "not closed"),
            ("a\\", 2, "follows"),
        ] {
            let bad = parse(pattern.as_bytes()).err().expect(pattern);
            assert_eq!(bad.at, at, "{pattern}: {bad:?}");
            assert!(bad.message.contains(says), "{pattern}: {bad:?}");
        }
        let deep = "(".repeat(10_000);
        assert!(parse(deep.as_bytes()).is_err());
    }
}
