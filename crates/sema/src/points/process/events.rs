// SPDX-License-Identifier: MIT
//! `process.begin`, `.end`, `.thread.begin`, `.thread.end`.

use super::{Resolver, Subject};
use crate::ir::{Event, ProbeKind};
use crate::points::components;
use crate::points::Place;
use crate::world::is_program;
use trapless_syntax::ast::Component;
use trapless_syntax::diag::Tag;

impl Resolver<'_> {
    pub(super) fn events(&mut self, subject: &Subject, rest: &[Component]) -> Option<Vec<Place>> {
        let words: Vec<&str> = rest.iter().map(|c| c.name.name.as_str()).collect();
        let event = match words[..] {
            ["begin"] => Event::ProcessBegin,
            ["end"] => Event::ProcessEnd,
            ["thread", "begin"] => Event::ThreadBegin,
            ["thread", "end"] => Event::ThreadEnd,
            ["thread"] => return self.which_event(&rest[0]),
            ["thread", "begin" | "end", ..] => return self.nothing_follows(&rest[2]),
            ["thread", ..] => return self.no_event(&rest[1]),
            _ => return self.nothing_follows(&rest[1]),
        };
        if let Some(c) = rest.iter().find(|c| c.arg.is_some()) {
            let what = format!("`{}` takes no argument", c.name.name);
            self.diags
                .error(Tag::PointArgument, c.span, what)
                .help("several probes of it run in their order in the script");
            return None;
        }
        if !is_program(&subject.binary) {
            self.diags
                .error(
                    Tag::PointUnknown,
                    rest[0].span,
                    "a library neither begins nor ends",
                )
                .help("name the program that uses it, or nothing: process.begin");
            return None;
        }
        Some(vec![Place {
            point: format!("{}.{}", subject.text, words.join(".")).into(),
            func: "".into(),
            kind: ProbeKind::Event {
                event,
                process: subject.process,
            },
            context: None,
            refusal: self.refusal(false),
            never: false,
        }])
    }

    fn which_event(&mut self, thread: &Component) -> Option<Vec<Place>> {
        self.diags
            .error(
                Tag::PointUnknown,
                thread.span,
                "what is to happen to the thread?",
            )
            .help("use .thread.begin or .thread.end");
        None
    }

    fn no_event(&mut self, c: &Component) -> Option<Vec<Place>> {
        components::unknown(c, &components::OF_THREAD, self.diags);
        None
    }

    fn nothing_follows(&mut self, c: &Component) -> Option<Vec<Place>> {
        components::unknown(c, &components::OF_EVENT, self.diags);
        None
    }
}
