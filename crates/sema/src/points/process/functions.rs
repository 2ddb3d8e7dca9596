// SPDX-License-Identifier: MIT
//! `.function(...)` and what may follow it.

use super::{around, Resolver, Subject};
use crate::hand_over::hand_over;
use crate::ir::{Part, ProbeKind, Refusal};
use crate::points::components;
use crate::points::{Context, Place};
use crate::world::{is_program, report};
use std::collections::HashMap;
use std::sync::Arc;
use trapless_debuginfo::{Binary, Error, Function, FunctionKind, Inlines, Pattern};
use trapless_syntax::ast::{Component, Literal, NumLit};
use trapless_syntax::diag::Tag;

pub(super) const COPIED: &str =
    "the program copies V8's builtins and runs the copy, where a probe's jump would lead astray";

pub(super) struct FunctionKindWanted {
    pub inlines: Inlines,
    exported: bool,
    pub at_return: bool,
    pub suffix: &'static str,
}
impl Resolver<'_> {
    pub(super) fn functions(
        &mut self,
        of: &Subject,
        c: &Component,
        suffix: &[Component],
    ) -> Option<Vec<Place>> {
        let s = match &c.arg {
            Some(Literal::String(s)) => s,
            Some(Literal::Number(n)) => return self.function_at(of, n, suffix),
            None => {
                self.diags
                    .error(Tag::PointArgument, c.span, "which function is meant?")
                    .help("e.g. .function(\"main\"), .function(0x1234)");
                return None;
            }
        };
        let inner = |c: &Component| matches!(&*c.name.name, "label" | "callee" | "callees");
        if let Some(word) = suffix.first().filter(|c| inner(c)) {
            return self.inside(of, s, word, &suffix[1..]);
        }
        let kind = self.function_kind(suffix)?;
        let found = Pattern::parse(&s.text()).and_then(|pattern| {
            let found = of.binary.functions(&pattern, kind.inlines)?;
            Ok((pattern, found))
        });
        let (pattern, mut found) = match found {
            Ok(f) => f,
            Err(e) => {
                let elsewhere = self.library_instead(of, &s.text(), &e);
                report(&e, s.span, self.diags).help(elsewhere);
                return None;
            }
        };
        let resolvers = found
            .iter()
            .filter(|f| f.kind == FunctionKind::Ifunc)
            .count();
        let is_copied = |f: &Function| f.size > 0 && of.binary.is_copied(f.entry);
        let copied: Vec<_> = found.iter().filter(|f| is_copied(f)).cloned().collect();
        found.retain(|f| {
            let wanted = f.kind != FunctionKind::Ifunc && (!kind.exported || f.exported);
            wanted && !is_copied(f)
        });
        let named = !pattern.is_glob();
        // Beside a resolver there may be a version for old programs (memcpy@GLIBC_2.2.5): nobody means that.
        if !copied.is_empty() {
            self.left_out(&copied, s.span, found.is_empty());
        }
        if found.is_empty() && !copied.is_empty() {
            return None;
        }
        if found.is_empty() || (named && resolvers > 0) {
            self.no_function(&s.text(), s.span, resolvers, kind.exported);
            return None;
        }
        // Thousands of instances may be of one function: then they share its name.
        let mut instances: HashMap<*const u8, Arc<str>> = HashMap::new();
        let place = |f: Function| {
            let name = || Self::function_name(of, &f);
            let text = || format!("{}.function(\"{}\"){}", of.text, name(), kind.suffix).into();
            let point = match f.kind {
                FunctionKind::Inlined => instances.entry(f.name.as_ptr()).or_insert_with(text),
                _ => &mut text(),
            };
            let point = point.clone();
            self.function(of, Arc::new(f), point, &kind, named)
        };
        Some(hand_over(found).map(place).collect())
    }

    /// Whose entry the address is, as `nm` shows it; without a name there is the place alone.
    fn function_at(
        &mut self,
        of: &Subject,
        addr: &NumLit,
        suffix: &[Component],
    ) -> Option<Vec<Place>> {
        let kind = self.function_kind(suffix)?;
        let statement = self.address(of, addr.value as u64, addr.span)?;
        let point = format!("{}.function({:#x}){}", of.text, statement.addr, kind.suffix);
        let all = Pattern::parse("*").and_then(|all| of.binary.functions(&all, Inlines::No));
        let starts = |f: &Function| f.entry == statement.addr && f.kind != FunctionKind::Ifunc;
        let found = all.ok().and_then(|all| all.into_iter().find(starts));
        match found.filter(|f| kind.inlines != Inlines::Only && (!kind.exported || f.exported)) {
            Some(f) => Some(vec![self.function(
                of,
                Arc::new(f),
                point.into(),
                &kind,
                true,
            )]),
            None if kind.suffix.is_empty() => Some(vec![Place {
                point: point.into(),
                ..self.statement(of, &statement, false)
            }]),
            None => {
                let (suffix, at) = (kind.suffix, statement.addr);
                let message = format!("`{suffix}`: no such function starts at {at:#x}");
                self.diags
                    .error(Tag::PointNoMatch, addr.span, message)
                    .help("give the address of its first instruction, as nm shows it; without a suffix it is any instruction's");
                None
            }
        }
    }

    /// The program lacks the function; one of its libraries may have it.
    fn library_instead(&self, of: &Subject, name: &str, e: &Error) -> Option<String> {
        let lacks = matches!(
            e,
            Error::NoFunction { .. } | Error::NotExported { .. } | Error::Stripped { .. }
        );
        if !lacks || self.point.optional || self.point.sufficient || !is_program(&of.binary) {
            return None;
        }
        // Every library has something for `*`.
        let pattern = Pattern::parse(name).ok()?;
        if pattern.function.chars().all(|c| "*?".contains(c)) {
            return None;
        }
        let library = self.world.library_with(&of.binary, &pattern)?;
        Some(format!(
            "a library of the program has it: .library(\"{library}\").function(\"{name}\")"
        ))
    }

    /// Code that runs elsewhere than it stands.
    fn left_out(&mut self, copied: &[Function], span: trapless_syntax::Span, all: bool) {
        let what = match copied {
            [one] => format!("`{}` is", one.name),
            [first, ..] => format!("{} functions (`{}`, ...) are", copied.len(), first.name),
            [] => return,
        };
        let message = format!("{what} not probed: {COPIED}");
        match all {
            true => self.diags.error(Tag::PointNoMatch, span, message),
            false => self.diags.warn(Tag::PointNoMatch, span, message),
        }
        .help("probe functions of C++ instead, e.g. .function(\"v8::Function::Call\")");
    }

    fn no_function(
        &mut self,
        name: &str,
        span: trapless_syntax::Span,
        resolvers: usize,
        exported: bool,
    ) {
        if resolvers > 0 {
            self.diags
                .error(
                    Tag::PointNoMatch,
                    span,
                    format!("`{name}` is chosen among variants when the program starts (IFUNC)"),
                )
                .help(format!("probe the variants: .function(\"__{name}_*\")"));
            return;
        }
        let what = if exported {
            "no exported function"
        } else {
            "no function"
        };
        self.diags
            .error(Tag::PointNoMatch, span, format!("{what} matches `{name}`"))
            .help(
                self.world
                    .listed_by("-l", "process(\"...\").function(\"*\")"),
            );
    }

    pub(super) fn function_kind(&mut self, suffix: &[Component]) -> Option<FunctionKindWanted> {
        let mut kind = FunctionKindWanted {
            inlines: Inlines::Also,
            exported: false,
            at_return: false,
            suffix: "",
        };
        for c in suffix {
            match c.name.name.as_str() {
                "call" => (kind.inlines, kind.suffix) = (Inlines::No, ".call"),
                "inline" => (kind.inlines, kind.suffix) = (Inlines::Only, ".inline"),
                "return" => {
                    (kind.inlines, kind.at_return, kind.suffix) = (Inlines::No, true, ".return")
                }
                "exported" => {
                    (kind.inlines, kind.exported, kind.suffix) = (Inlines::No, true, ".exported")
                }
                "maxactive" if kind.at_return => self.maxactive(c),
                _ => {
                    components::unknown(c, &components::OF_FUNCTION, self.diags);
                    return None;
                }
            }
        }
        Some(kind)
    }

    pub(super) fn maxactive(&mut self, c: &Component) {
        // As many calls as there are can be followed: the number bounds nothing.
        if matches!(&c.arg, Some(Literal::Number(n)) if n.value > 0) {
            return;
        }
        self.diags
            .error(
                Tag::PointArgument,
                c.span,
                "`.maxactive` takes a number above 0",
            )
            .help("e.g. .return.maxactive(100)");
    }

    /// Its name in a probe point.
    pub(super) fn function_name(of: &Subject, f: &Function) -> String {
        match of.binary.declared_at(f) {
            Some(at) => format!("{}@{}:{}", f.name, at.file, at.line),
            None => f.name.to_string(),
        }
    }

    pub(super) fn function(
        &mut self,
        of: &Subject,
        f: Arc<Function>,
        point: Arc<str>,
        kind: &FunctionKindWanted,
        named: bool,
    ) -> Place {
        let parts = parts(&of.binary, &f);
        if self.parts != parts {
            self.parts = parts;
        }
        let parts = self.parts.clone();
        let pc = match kind.at_return {
            true => f.entry,
            false => of.binary.probe_site(&f).map_or(f.entry, |site| site.pc),
        };
        let place = match kind.at_return {
            true => ProbeKind::Return {
                linkage: false,
                process: of.process,
                image: of.image,
                addr: f.entry,
                parts,
                nth: 0,
                on_entry: None,
                call_data: Vec::new(),
            },
            false => ProbeKind::Site {
                process: of.process,
                image: of.image,
                addr: pc,
                parts,
                semaphore: None,
                nth: 0,
            },
        };
        Place {
            point,
            func: f.name.clone(),
            kind: place,
            // Start-up code has no bounds; who writes a wildcard does not mean it.
            refusal: match !named && f.size == 0 {
                true => Refusal::Nothing,
                false => self.refusal(!named),
            },
            context: Some(Context {
                function: Some(f),
                at_return: kind.at_return,
                ..Context::at(of.image, pc)
            }),
            never: false,
        }
    }
}

/// The function's code, where its extent is known.
fn parts(binary: &Binary, f: &Function) -> Arc<[Part]> {
    if f.kind == FunctionKind::Inlined {
        return around(binary, f.entry);
    }
    let known = f.ranges.iter().filter(|r| r.end > r.start && f.size > 0);
    let part = |r: &std::ops::Range<u64>| Part {
        addr: r.start,
        size: r.end - r.start,
    };
    known.map(part).collect()
}
