// SPDX-License-Identifier: MIT
//! `.statement(...)`: source lines and addresses.

use super::functions::COPIED;
use super::{Resolver, Subject};
use crate::points::components;
use crate::points::{Context, Place};
use crate::world::report;
use std::sync::Arc;
use trapless_debuginfo::{Pattern, Process, SourcePos, Statement};
use trapless_syntax::ast::{Component, Literal, NumLit};
use trapless_syntax::diag::Tag;
use trapless_syntax::Span;

impl Resolver<'_> {
    pub(super) fn statements(
        &mut self,
        of: &Subject,
        c: &Component,
        suffix: &[Component],
    ) -> Option<Vec<Place>> {
        let (mut nearest, mut absolute) = (false, false);
        for s in suffix {
            match s.name.name.as_str() {
                "nearest" => nearest = true,
                "absolute" => absolute = true,
                _ => {
                    components::unknown(s, &components::OF_STATEMENT, self.diags);
                    return None;
                }
            }
        }
        let (found, matched) = match &c.arg {
            Some(Literal::Number(n)) => {
                return Some(vec![self.statement_at(of, n, absolute)?]);
            }
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

    /// What is at the address: the file's, as nm shows it; with `.absolute` it may be the process's.
    fn statement_at(&mut self, of: &Subject, n: &NumLit, absolute: bool) -> Option<Place> {
        let addr = n.value as u64;
        let elsewhere = match absolute && !of.binary.is_code(addr) {
            true => self.mapped_at(of, addr),
            false => None,
        };
        let ending = if absolute { ".absolute" } else { "" };
        let point = format!("{}.statement({addr:#x}){ending}", of.text);
        let (of, addr) = match &elsewhere {
            Some((there, addr)) => (there, *addr),
            None => (of, addr),
        };
        let found = self.address(of, addr, n.span)?;
        let place = self.statement(of, &found, false);
        Some(Place {
            point: point.into(),
            ..place
        })
    }

    /// The file that the session's process has there, and the address in it.
    fn mapped_at(&mut self, of: &Subject, addr: u64) -> Option<(Subject, u64)> {
        let process = Process::read(self.world.target.pid?).ok()?;
        let image = process.image_at(addr)?;
        let binary = match image.path == process.exe {
            true => {
                let program = self.world.target.program.clone()?;
                self.world.info().open_program(&program).ok()?
            }
            false => {
                let path = image.path.to_string_lossy();
                let found = self.world.info().open_libraries(&of.binary, &path);
                found.ok()?.into_iter().next()?
            }
        };
        let subject = Subject {
            image: self.world.image_of(&binary),
            text: of.text.clone(),
            process: of.process,
            binary,
        };
        Some((subject, addr.wrapping_sub(image.bias)))
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
                .help("give the address as nm or objdump -d show it; process(PID).statement(ADDR).absolute also takes one of the process's memory");
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
