// SPDX-License-Identifier: MIT
//! `.function("f").label("L")`, `.callee("g")` and `.callees`: places inside a function, and
//! functions as far as it calls them.

use super::functions::FunctionKindWanted;
use super::{around, Resolver, Subject};
use crate::components;
use crate::ir::ProbeKind;
use crate::points::{Context, Place};
use crate::world::report;
use trapless_debuginfo::{
    glob, CallKind, Callee, Error, Function, FunctionKind, Inlines, Label, Pattern,
};
use trapless_syntax::ast::{Component, Literal, StrLit};
use trapless_syntax::diag::{nearest, Tag};
use trapless_syntax::Span;

impl Resolver<'_> {
    /// What `word`, behind `.function(name)`, asks for.
    pub(super) fn inside(
        &mut self,
        of: &Subject,
        name: &StrLit,
        word: &Component,
        suffix: &[Component],
    ) -> Option<Vec<Place>> {
        let outer = Pattern::parse(&name.text())
            .and_then(|p| Ok((of.binary.functions(&p, Inlines::Also)?, p.is_glob())));
        let (outer, matched) = match outer {
            Ok(found) => found,
            Err(e) => {
                report(&e, name.span, self.diags);
                return None;
            }
        };
        let outer: Vec<Function> = outer
            .into_iter()
            .filter(|f| f.kind != FunctionKind::Ifunc)
            .collect();
        match word.name.name.as_str() {
            "label" => self.labels(of, &outer, word, suffix, matched),
            _ => self.callees(of, &outer, word, suffix, matched),
        }
    }

    fn labels(
        &mut self,
        of: &Subject,
        outer: &[Function],
        c: &Component,
        suffix: &[Component],
        matched: bool,
    ) -> Option<Vec<Place>> {
        let Some(Literal::String(s)) = &c.arg else {
            self.diags
                .error(Tag::PointArgument, c.span, "a label is given by its name")
                .help("e.g. .function(\"f\").label(\"out\"), .label(\"*\")");
            return None;
        };
        if let Some(extra) = suffix.first() {
            components::unknown(extra, &components::OF_LABEL, self.diags);
            return None;
        }
        let pattern = s.text();
        let (mut places, mut known) = (Vec::new(), Vec::new());
        for f in outer {
            let labels = match of.binary.labels(f) {
                Ok(labels) => labels,
                Err(_) if matched => continue,
                Err(e) => {
                    report(&e, s.span, self.diags);
                    return None;
                }
            };
            let fits = |l: &&Label| glob::matches(&pattern, &l.name);
            let refusal = matched || glob::is_glob(&pattern);
            let found = labels.iter().filter(fits);
            places.extend(found.map(|l| self.label(of, f, l, refusal)));
            known.extend(labels.into_iter().map(|l| l.name));
        }
        if places.is_empty() {
            let near = nearest(&pattern, known.iter().map(String::as_str));
            let near = near.map(|n| format!("did you mean `{n}`?"));
            let message = format!("there is no label `{pattern}` that code was made for");
            self.diags
                .error(Tag::PointNoMatch, s.span, message)
                .help("probe its line: .statement(\"function@file:line\")")
                .help(near);
            return None;
        }
        Some(places)
    }

    fn label(&self, of: &Subject, f: &Function, l: &Label, matched: bool) -> Place {
        let name = match &l.source {
            Some(at) => format!("{}@{}:{}", f.name, at.file, at.line),
            None => f.name.clone(),
        };
        Place {
            point: format!("{}.function(\"{name}\").label(\"{}\")", of.text, l.name),
            func: f.name.clone(),
            kind: of.site(l.addr, None),
            context: Some(Context::at(of.image, l.addr)),
            refusal: self.refusal(matched),
            never: false,
        }
    }

    fn callees(
        &mut self,
        of: &Subject,
        outer: &[Function],
        c: &Component,
        suffix: &[Component],
        matched: bool,
    ) -> Option<Vec<Place>> {
        let (text, span) = self.callee_name(c)?;
        let kind = self.function_kind(suffix)?;
        let pattern = match Pattern::parse(&text) {
            Ok(p) => p,
            Err(e) => {
                report(&e, span, self.diags);
                return None;
            }
        };
        let (mut places, mut problem) = (Vec::new(), None);
        for f in outer {
            match of.binary.callees(f, &pattern) {
                Ok(found) => {
                    let by = Self::function_name(of, f, !matched);
                    let found = found.iter().filter(|c| kind.takes(c));
                    let matched = matched || pattern.is_glob();
                    places.extend(found.map(|c| self.callee(of, &by, c, &kind, matched)));
                }
                Err(e) => drop(problem.get_or_insert(e)),
            }
        }
        if places.is_empty() {
            self.no_callee(&text, span, problem);
            return None;
        }
        Some(places)
    }

    fn callee_name(&mut self, c: &Component) -> Option<(String, Span)> {
        let help = "e.g. .callee(\"g\"), .callee(\"*\"), or .callees";
        match (&*c.name.name, &c.arg) {
            ("callee", Some(Literal::String(s))) => return Some((s.text().into_owned(), s.span)),
            ("callees", None) => return Some(("*".into(), c.span)),
            ("callees", Some(Literal::Number(n))) if n.value == 1 => {
                return Some(("*".into(), c.span))
            }
            ("callees", Some(Literal::Number(n))) if n.value > 1 => self
                .diags
                .error(
                    Tag::NotBuilt,
                    n.span,
                    "callees of callees are not built yet",
                )
                .help("use .callees, and more points for what those call"),
            ("callees", _) => self
                .diags
                .error(Tag::PointArgument, c.span, "`.callees` takes a depth")
                .help(help),
            _ => self
                .diags
                .error(Tag::PointArgument, c.span, "a callee is given by its name")
                .help(help),
        };
        None
    }

    fn no_callee(&mut self, name: &str, span: Span, problem: Option<Error>) {
        if let Some(e) = problem {
            report(&e, span, self.diags);
            return;
        }
        let message = format!("no call of `{name}` from there is known");
        self.diags
            .error(Tag::PointNoMatch, span, message)
            .help("code built without optimisation does not tell its calls: probe the callee")
            .note("calls by pointers, and of other files' functions, are not known either");
    }

    /// The stack's top tells who calls only before the callee has done anything.
    fn callee(
        &mut self,
        of: &Subject,
        by: &str,
        c: &Callee,
        kind: &FunctionKindWanted,
        matched: bool,
    ) -> Place {
        let mut place = self.function(of, &c.function, kind, !matched);
        let name = Self::function_name(of, &c.function, !matched);
        let ending = kind.suffix;
        place.point = format!("{}.function(\"{by}\").callee(\"{name}\"){ending}", of.text);
        let context = place.context.as_mut();
        match (&c.kind, context, &mut place.kind) {
            (CallKind::Call(to), Some(context), kind) => {
                context.callers = to.clone();
                context.pc = c.function.entry;
                if let ProbeKind::Site { addr, .. } = kind {
                    *addr = c.function.entry;
                }
            }
            // Registers and stack are there as at the callee's entry.
            (CallKind::Jump(at), Some(context), ProbeKind::Site { addr, parts, .. }) => {
                context.pc = c.function.entry;
                *addr = *at;
                *parts = around(&of.binary, *at);
            }
            _ => {}
        }
        place
    }
}

impl FunctionKindWanted {
    fn takes(&self, c: &Callee) -> bool {
        match (&c.kind, self.inlines) {
            (CallKind::Inlined, inlines) => inlines != Inlines::No,
            // Behind a jump the callee returns for its caller.
            (CallKind::Jump(_), inlines) => inlines != Inlines::Only && !self.at_return,
            (CallKind::Call(_), inlines) => inlines != Inlines::Only,
        }
    }
}
