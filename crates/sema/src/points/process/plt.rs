// SPDX-License-Identifier: MIT
//! `.plt("f")`: calls through the program linkage table, of the program or of one library.

use super::{Resolver, Subject};
use crate::ir::{Part, ProbeKind};
use crate::points::components;
use crate::points::{Context, Named, Place};
use std::sync::Arc;
use trapless_debuginfo::{glob, PltEntry};
use trapless_syntax::ast::{Component, Literal};
use trapless_syntax::diag::{nearest, Tag};

impl Resolver<'_> {
    pub(super) fn plt(
        &mut self,
        of: &Subject,
        c: &Component,
        suffix: &[Component],
    ) -> Option<Vec<Place>> {
        let pattern = match &c.arg {
            None => "*".into(),
            Some(Literal::String(s)) => s.text().into_owned(),
            Some(Literal::Number(n)) => {
                self.diags
                    .error(Tag::PointArgument, n.span, "`.plt` takes a function's name")
                    .help("e.g. .plt(\"malloc\"), .plt(\"str*\"), or .plt for all");
                return None;
            }
        };
        let mut at_return = false;
        for s in suffix {
            match s.name.name.as_str() {
                "return" => at_return = true,
                "maxactive" if at_return => self.maxactive(s),
                _ => {
                    components::unknown(s, &components::OF_PLT, self.diags);
                    return None;
                }
            }
        }
        let all = of.binary.plt();
        let found: Vec<&PltEntry> = all
            .iter()
            .filter(|e| glob::matches(&pattern, &e.name))
            .collect();
        if found.is_empty() {
            self.no_entry(of, c, &pattern, &all);
            return None;
        }
        let matched = glob::is_glob(&pattern);
        let place = |e: &&PltEntry| self.entry(of, e, at_return, matched);
        Some(found.iter().map(place).collect())
    }

    fn entry(&self, of: &Subject, e: &PltEntry, at_return: bool, matched: bool) -> Place {
        let (process, image, addr) = (of.process, of.image, e.addr);
        let parts = [Part { addr, size: e.size }].into();
        let (kind, ending) = match at_return {
            true => (
                ProbeKind::Return {
                    process,
                    image,
                    addr,
                    parts,
                    nth: 0,
                    linkage: true,
                    on_entry: None,
                    call_data: Vec::new(),
                },
                ".return",
            ),
            false => (
                ProbeKind::Site {
                    process,
                    image,
                    addr,
                    parts,
                    semaphore: None,
                    nth: 0,
                },
                "",
            ),
        };
        Place {
            point: format!("{}.plt(\"{}\"){ending}", of.text, e.name).into(),
            func: e.name.as_str().into(),
            kind,
            context: Some(Context {
                at_return,
                named: Some(Arc::new(Named {
                    name: e.name.clone(),
                    provider: None,
                    args: None,
                    values: Vec::new(),
                    syscall: None,
                    hook: None,
                })),
                ..Context::at(image, addr)
            }),
            refusal: self.refusal(matched),
            never: false,
        }
    }

    fn no_entry(&mut self, of: &Subject, at: &Component, pattern: &str, all: &[PltEntry]) {
        let path = of.binary.path().display();
        let message = match all.is_empty() {
            true => format!("{path} has no linkage table"),
            false => format!("{path} has no entry for `{pattern}` in its linkage table"),
        };
        let near = nearest(pattern, all.iter().map(|e| e.name.as_str()));
        let near = near.map(|n| format!("did you mean `{n}`?"));
        self.diags
            .error(Tag::PointNoMatch, at.span, message)
            .help("it may be called without one (-fno-plt, static): probe the .function")
            .help(near);
    }
}
