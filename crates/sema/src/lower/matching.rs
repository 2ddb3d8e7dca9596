// SPDX-License-Identifier: MIT
//! `=~` and `!~`.

use super::Lowerer;
use crate::ir::ExprKind;
use crate::regex::compile;
use trapless_syntax::ast::{Expr, StrLit};
use trapless_syntax::diag::Tag;
use trapless_syntax::Span;

impl Lowerer<'_, '_> {
    pub fn matching(
        &mut self,
        subject: &Expr,
        negated: bool,
        pattern: &StrLit,
    ) -> Option<ExprKind> {
        let subject = self.string(subject);
        let regex = self.regex(pattern)?;
        Some(ExprKind::Match {
            subject: Box::new(subject?),
            negated,
            regex,
        })
    }

    /// The number of a pattern.
    fn regex(&mut self, pattern: &StrLit) -> Option<usize> {
        let same = |r: &crate::regex::Regex| r.pattern == pattern.bytes;
        if let Some(known) = self.shared.regexes.iter().position(same) {
            return Some(known);
        }
        match compile(&pattern.bytes) {
            Ok(regex) => {
                for (at, c) in &regex.escaped {
                    self.warn_escaped(pattern, *at, *c);
                }
                self.shared.regexes.push(regex);
                Some(self.shared.regexes.len() - 1)
            }
            Err(bad) => {
                let at = self.place_in(pattern, bad.at);
                self.error(Tag::RegexBad, at, bad.message)
                    .help("a character loses its meaning behind two backslashes: \"a\\\\*\"");
                None
            }
        }
    }

    /// `\d` and the like, which other notations have.
    fn warn_escaped(&mut self, pattern: &StrLit, at: usize, c: u8) {
        let c = c as char;
        let help = match c {
            'd' => "write [[:digit:]], or [:digit:] inside of [ ]".to_string(),
            'D' => "write [^[:digit:]]".to_string(),
            'w' => "write [[:alnum:]_], or [:alnum:]_ inside of [ ]".to_string(),
            'W' => "write [^[:alnum:]_]".to_string(),
            's' => "write [[:space:]], or [:space:] inside of [ ]".to_string(),
            'S' => "write [^[:space:]]".to_string(),
            'b' | 'B' => "write what may stand there: (^|[^[:alnum:]_]) before a word, ([^[:alnum:]_]|$) behind it".to_string(),
            'n' | 't' | 'r' => format!("write it with one backslash: \"\\{c}\""),
            '1'..='9' => "there are no back references: compare matched(n) with the other text".to_string(),
            _ => format!("write {c} alone"),
        };
        let span = self.place_in(pattern, at);
        self.shared
            .diags
            .warn(
                Tag::RegexLetter,
                span,
                format!("`\\{c}` is the character {c} here"),
            )
            .help(help);
    }

    /// The byte that is meant, where the literal shows which one that is.
    fn place_in(&self, pattern: &StrLit, at: usize) -> Span {
        let written = self.shared.map.text(pattern.span).as_bytes();
        let Some(starts) = starts(written).filter(|s| s.len() == pattern.bytes.len()) else {
            return pattern.span;
        };
        let lo = pattern.span.lo + starts.get(at).copied().unwrap_or(written.len() - 1) as u32;
        Span {
            lo,
            hi: lo + 1,
            ..pattern.span
        }
    }
}

/// Where each byte of a literal's text begins; `None` for escapes of several characters, and more than one literal.
fn starts(written: &[u8]) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    let mut at = 1;
    while at + 1 < written.len() {
        found.push(at);
        at += match (written[at], written[at + 1]) {
            (b'\\', b'0'..=b'9' | b'x') | (b'"', _) => return None,
            (b'\\', _) => 2,
            _ => 1,
        };
    }
    Some(found)
}
