// SPDX-License-Identifier: MIT
//! `.function("f").label("L")`, `.callee("g")` and `.callees`: places inside a function, and
//! functions as far as it calls them.

use super::functions::FunctionKindWanted;
use super::{around, Resolver, Subject};
use crate::ir::ProbeKind;
use crate::points::components;
use crate::points::{Caller, Context, Place};
use crate::world::report;
use std::sync::Arc;
use trapless_debuginfo::{
    glob, CallKind, Callee, Error, Function, FunctionKind, Inlines, Label, LineSpec, Pattern,
    UnwindTable,
};
use trapless_syntax::ast::{Component, Literal, StrLit};
use trapless_syntax::diag::{nearest, Tag};
use trapless_syntax::Span;

/// Each level has as many points as there are ways to it.
const DEEPEST: i64 = 8;

impl Resolver<'_> {
    /// What `word`, behind `.function(name)`, asks for.
    pub(super) fn inside(
        &mut self,
        of: &Subject,
        name: &StrLit,
        word: &Component,
        suffix: &[Component],
    ) -> Option<Vec<Place>> {
        let label = &*word.name.name == "label";
        let outer = Pattern::parse(&name.text()).and_then(|p| {
            let mut functions = p.clone();
            if label {
                functions.line = LineSpec::None; // the line is the label's
            }
            Ok((of.binary.functions(&functions, Inlines::Also)?, p))
        });
        let (outer, pattern) = match outer {
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
        match label {
            true => self.labels(of, &outer, word, suffix, &pattern),
            false => self.callees(of, &outer, word, suffix, pattern.is_glob()),
        }
    }

    fn labels(
        &mut self,
        of: &Subject,
        outer: &[Function],
        c: &Component,
        suffix: &[Component],
        of_functions: &Pattern,
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
        let matched = of_functions.is_glob();
        let (mut places, mut known, mut lines) = (Vec::new(), Vec::new(), Vec::new());
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
            let (here, elsewhere): (Vec<_>, _) = labels
                .iter()
                .filter(fits)
                .partition(|l| of.binary.names_line(of_functions, f, l));
            places.extend(here.into_iter().map(|l| self.label(of, f, l, refusal)));
            lines.extend(
                elsewhere
                    .iter()
                    .filter_map(|l| Some(l.source.as_ref()?.line)),
            );
            known.extend(labels.into_iter().map(|l| l.name));
        }
        if let (true, Some(line)) = (places.is_empty(), lines.first()) {
            let message = format!("label `{pattern}` is not in that line, but in {line}");
            self.diags
                .error(Tag::PointNoMatch, s.span, message)
                .help("behind `@` stands the label's line, or the file alone");
            return None;
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
            None => f.name.to_string(),
        };
        Place {
            point: format!("{}.function(\"{name}\").label(\"{}\")", of.text, l.name).into(),
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
        let (text, span, levels) = self.callee_name(c)?;
        let kind = self.function_kind(suffix)?;
        let pattern = match Pattern::parse(&text) {
            Ok(p) => p,
            Err(e) => {
                report(&e, span, self.diags);
                return None;
            }
        };
        let plain = !matched && !pattern.is_glob();
        let frames = (levels > 1).then(|| of.binary.unwind_table());
        let (mut places, mut problem, mut looked) = (Vec::new(), None, false);
        let named = |f: &Function| Reached {
            function: f.clone(),
            path: Self::function_name(of, f),
            callers: [].into(),
        };
        let mut level: Vec<Reached> = outer.iter().map(named).collect();
        for deeper in (0..levels).rev() {
            let mut next = Vec::new();
            for by in &level {
                let found = match of.binary.callees(&by.function, &pattern) {
                    Ok(found) => found,
                    Err(e) => {
                        problem.get_or_insert(e);
                        continue;
                    }
                };
                looked = true;
                let taken = found.iter().filter(|c| kind.takes(c));
                places.extend(taken.map(|c| self.callee(of, by, c, &kind, plain, frames.as_ref())));
                if deeper > 0 {
                    next.extend(found.iter().filter_map(|c| by.reaches(c, frames.as_ref())));
                }
            }
            level = next;
        }
        if places.is_empty() {
            // Start-up code has no debug information: nobody means that.
            self.no_callee(&text, span, problem.filter(|_| !looked));
            return None;
        }
        Some(places)
    }

    /// The pattern, and of how many levels.
    fn callee_name(&mut self, c: &Component) -> Option<(String, Span, i64)> {
        let help = "e.g. .callee(\"g\"), .callee(\"*\"), .callees, or .callees(2) for what those call, too";
        match (&*c.name.name, &c.arg) {
            ("callee", Some(Literal::String(s))) => {
                return Some((s.text().into_owned(), s.span, 1))
            }
            ("callees", None) => return Some(("*".into(), c.span, 1)),
            ("callees", Some(Literal::Number(n))) if (1..=DEEPEST).contains(&n.value) => {
                return Some(("*".into(), n.span, n.value))
            }
            ("callees", _) => self
                .diags
                .error(
                    Tag::PointArgument,
                    c.span,
                    format!("`.callees` takes a depth, 1 to {DEEPEST}"),
                )
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
        by: &Reached,
        c: &Callee,
        kind: &FunctionKindWanted,
        named: bool,
        frames: Option<&UnwindTable>,
    ) -> Place {
        let name = Self::function_name(of, &c.function);
        let (text, path, ending) = (&of.text, &by.path, kind.suffix);
        let point = format!("{text}.function(\"{path}\").callee(\"{name}\"){ending}");
        let function = Arc::new(c.function.clone());
        let mut place = self.function(of, function, point.into(), kind, named);
        let Some(context) = place.context.as_mut() else {
            return place;
        };
        context.callers.any_of = by.calls(c, frames);
        match (&c.kind, &mut place.kind) {
            (CallKind::Inlined, _) => {
                context.callers.frame = frames
                    .and_then(|f| f.frame(context.pc))
                    .cloned()
                    .map(Box::new);
            }
            (CallKind::Call(_), ProbeKind::Site { addr, .. }) => {
                context.pc = c.function.entry;
                *addr = c.function.entry;
            }
            // Registers and stack are there as at the callee's entry.
            (CallKind::Jump(at), ProbeKind::Site { addr, parts, .. }) => {
                context.pc = c.function.entry;
                *addr = *at;
                *parts = around(&of.binary, *at);
            }
            _ => context.pc = c.function.entry,
        }
        place
    }
}

/// A function whose calls are meant, if it was called by one of these itself.
struct Reached {
    function: Function,
    /// As points name it.
    path: String,
    /// None: whoever it was.
    callers: Arc<[Caller]>,
}

impl Reached {
    /// How the callee knows that it was called from here.
    fn calls(&self, c: &Callee, frames: Option<&UnwindTable>) -> Arc<[Caller]> {
        let CallKind::Call(to) = &c.kind else {
            return self.callers.clone(); // it has our frame, or our caller's
        };
        let call = |to: &u64| {
            let frame = frames.and_then(|f| f.frame(to - 1)).cloned();
            let above = (!self.callers.is_empty()).then(|| (frame, self.callers.clone()));
            Caller { to: *to, above }
        };
        to.iter().map(call).collect()
    }

    /// What it calls counts on the next level. Behind a jump nothing tells who had called, where anybody may.
    fn reaches(&self, c: &Callee, frames: Option<&UnwindTable>) -> Option<Reached> {
        if matches!(c.kind, CallKind::Jump(_)) && self.callers.is_empty() {
            return None;
        }
        Some(Reached {
            function: c.function.clone(),
            path: format!("{}\").callee(\"{}", self.path, c.function.name),
            callers: self.calls(c, frames),
        })
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
