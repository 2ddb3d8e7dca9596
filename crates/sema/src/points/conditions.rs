// SPDX-License-Identifier: MIT
//! Complains of variables in the conditions of probes that nothing declares: a condition is asked before its handler and
//! the aliases around it have set anything.

use crate::declare::declarations::{Declarations, Scope};
use crate::declare::unit::Unit;
use trapless_syntax::ast::{Expr, ExprKind};
use trapless_syntax::diag::{Diagnostics, Tag};
use trapless_syntax::visit::{self, Visit};
use trapless_syntax::Span;

pub fn check(all: &Declarations, units: &[Unit], diags: &mut Diagnostics) {
    let mut told: Vec<Span> = Vec::new(); // the places of a wildcard have one condition
    for (n, unit) in units.iter().enumerate() {
        let mut named = Named::default();
        unit.condition.iter().for_each(|c| named.visit_expr(c));
        for (name, span) in named.0 {
            let global = all.global_seen(&name, unit.file, Scope::Unit(n));
            if global.is_some() || told.contains(&span) {
                continue;
            }
            told.push(span);
            let what =
                format!("nothing declares `{name}`: the condition of a probe names globals only");
            let mut help = format!("declare it: global {name}");
            if unit.offered.as_ref().is_some_and(|o| o.has(&name)) {
                help =
                    format!("what the alias sets is known in the handler: {{ if ({name}) ... }}");
            }
            diags.error(Tag::ConditionName, span, what).help(help);
        }
    }
}

#[derive(Default)]
struct Named(Vec<(String, Span)>);

impl Visit for Named {
    fn visit_expr(&mut self, e: &Expr) {
        if let ExprKind::Ident(name) = &e.kind {
            self.0.push((name.clone(), e.span));
        }
        visit::walk_expr(self, e);
    }
}
