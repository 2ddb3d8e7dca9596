// SPDX-License-Identifier: MIT
//! `=~` and `!~`.

use super::Lowerer;
use crate::ir::ExprKind;
use crate::regex::{compile, Bad};
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
                self.shared.regexes.push(regex);
                Some(self.shared.regexes.len() - 1)
            }
            Err(bad) => {
                let at = self.place_in(pattern, &bad);
                self.error(Tag::RegexBad, at, bad.message)
                    .help("a character loses its meaning behind two backslashes: \"a\\\\*\"");
                None
            }
        }
    }

    /// The byte that is meant, where the literal holds the pattern as it is.
    fn place_in(&self, pattern: &StrLit, bad: &Bad) -> Span {
        let written = self.shared.map.text(pattern.span).as_bytes();
        let plain = written.len() == pattern.bytes.len() + 2;
        if !plain || written.get(1..written.len() - 1) != Some(&pattern.bytes[..]) {
            return pattern.span;
        }
        let lo = pattern.span.lo + 1 + bad.at as u32;
        Span {
            lo,
            hi: lo + 1,
            ..pattern.span
        }
    }
}
