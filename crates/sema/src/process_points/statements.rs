// SPDX-License-Identifier: MIT
//! `.statement(...)`: source lines and addresses.

use super::functions::COPIED;
use super::{Resolver, Subject};
use crate::components;
use crate::points::{Context, Place};
use crate::world::report;
use std::sync::Arc;
use trapless_debuginfo::{Pattern, SourcePos, Statement};
use trapless_syntax::ast::{Component, Literal};
use trapless_syntax::diag::Tag;
use trapless_syntax::Span;

impl Resolver<'_> {
    pub(super) fn statements(
        &mut self,
        of: &Subject,
        c: &Component,
        suffix: &[Component],
    ) -> Option<Vec<Place>> {
        let mut nearest = false;
        for s in suffix {
            match s.name.name.as_str() {
                "nearest" => nearest = true,
                "absolute" => {}
                _ => {
                    components::unknown(s, &components::OF_STATEMENT, self.diags);
                    return None;
                }
            }
        }
        let (found, matched) = match &c.arg {
            Some(Literal::Number(n)) => (vec![self.address(of, n.value as u64, n.span)?], false),
            Some(Literal::String(s)) => {
                let found = Pattern::parse(&s.text())
                    .and_then(|p| Ok((of.binary.statements(&p, nearest)?, p.is_glob())));
                match found {
                    Ok(found) => found,
                    Err(e) => {
                        report(&e, s.span, self.diags);
                        return None;
                    }
                }
            }
            None => {
                self.diags
                    .error(Tag::PointArgument, c.span, "a statement needs its place")
                    .help("e.g. .statement(\"main@main.c:12\"), .statement(0x1234)");
                return None;
            }
        };
        let place = |s| self.statement(of, s, matched);
        Some(found.iter().map(place).collect())
    }

    /// A file address (ELF vaddr), as `nm` and `objdump` show it.
    pub(super) fn address(&mut self, of: &Subject, addr: u64, span: Span) -> Option<Statement> {
        if !of.binary.is_code(addr) {
            self.diags
                .error(
                    Tag::PointNoMatch,
                    span,
                    format!("{addr:#x} lies in no code of the file"),
                )
                .help("give the address as nm or objdump -d show it");
            return None;
        }
        if of.binary.is_copied(addr) {
            let message = format!("{addr:#x} cannot be probed: {COPIED}");
            self.diags.error(Tag::PointNoMatch, span, message);
            return None;
        }
        let function = of
            .binary
            .symbols()
            .at(addr)
            .map_or(String::new(), |s| s.name.to_string());
        let source = of.binary.source_at(addr).unwrap_or(SourcePos {
            file: String::new(),
            line: 0,
            column: 0,
        });
        Some(Statement {
            addr,
            source,
            function,
            caller: None,
        })
    }

    pub(super) fn statement(&mut self, of: &Subject, s: &Statement, matched: bool) -> Place {
        let name = match s.source.line {
            0 => format!("{:#x}", s.addr),
            line => format!("\"{}@{}:{line}\"", s.function, s.source.file),
        };
        Place {
            point: format!("{}.statement({name})", of.text).into(),
            func: s.function.as_str().into(),
            kind: of.site(s.addr, None),
            context: Some(Context {
                function: s.caller.as_deref().cloned().map(Arc::new),
                ..Context::at(of.image, s.addr)
            }),
            refusal: self.refusal(matched),
            never: false,
        }
    }
}
