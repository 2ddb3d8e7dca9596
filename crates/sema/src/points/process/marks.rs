// SPDX-License-Identifier: MIT
//! `.mark("m")` and `.provider("p").mark("m")`: marks that the program's source has set.

use super::{provider_of, Resolver, Subject};
use crate::points::components;
use crate::points::{Context, Named, Place};
use std::sync::Arc;
use trapless_debuginfo::{glob, Mark};
use trapless_syntax::ast::Component;
use trapless_syntax::diag::{nearest, Tag};

/// What is asked for, as it was written and as notes have it: they write `__` for `-`.
struct Wanted {
    provider: Option<String>,
    name: String,
}

impl Resolver<'_> {
    pub(super) fn marks(&mut self, of: &Subject, words: &[Component]) -> Option<Vec<Place>> {
        let (provider, rest) = provider_of(words);
        let Some((mark, suffix)) = rest.split_first().filter(|(m, _)| m.name.name == "mark") else {
            self.diags
                .error(
                    Tag::PointUnknown,
                    words[0].span,
                    "a provider has marks and hooks",
                )
                .help("add .mark(\"name\"), .hook(\"name\"), or .mark(\"*\")");
            return None;
        };
        if let Some(extra) = suffix.first() {
            components::unknown(extra, &components::OF_MARK, self.diags);
            return None;
        }
        let wanted = Wanted {
            provider: match provider {
                Some(p) => Some(self.mark_name(p)?),
                None => None,
            },
            name: self.mark_name(mark)?,
        };
        let all = of.binary.marks();
        let fits = |m: &&Mark| {
            let provider = wanted.provider.as_deref();
            glob::matches(&wanted.name, &m.name)
                && provider.is_none_or(|p| glob::matches(p, &m.provider))
        };
        let found: Vec<&Mark> = all.iter().filter(fits).collect();
        if found.is_empty() {
            self.no_mark(of, mark, &wanted, &all);
            return None;
        }
        Some(found.iter().map(|m| self.mark(of, m, &wanted)).collect())
    }

    /// As notes have it.
    fn mark_name(&mut self, c: &Component) -> Option<String> {
        const EXAMPLE: &str = "e.g. .mark(\"throw\"), .provider(\"libstdcxx\").mark(\"*\")";
        Some(self.name_of(c, EXAMPLE)?.replace('-', "__"))
    }

    fn mark(&self, of: &Subject, m: &Mark, wanted: &Wanted) -> Place {
        let provider = match wanted.provider {
            Some(_) => format!(".provider(\"{}\")", m.provider),
            None => String::new(),
        };
        let function = of.binary.symbols().at(m.addr);
        let is_glob = |p: &str| glob::is_glob(p);
        Place {
            point: format!("{}{provider}.mark(\"{}\")", of.text, m.name).into(),
            func: function.map_or("", |s| s.name).into(),
            kind: of.site(m.addr, m.semaphore),
            context: Some(Context {
                named: Some(Arc::new(Named {
                    name: m.name.clone(),
                    provider: Some(m.provider.clone()),
                    args: Some(m.args.clone()),
                    values: Vec::new(),
                    syscall: None,
                    hook: None,
                })),
                ..Context::at(of.image, m.addr)
            }),
            refusal: self
                .refusal(is_glob(&wanted.name) || wanted.provider.as_deref().is_some_and(is_glob)),
            never: false,
        }
    }

    fn no_mark(&mut self, of: &Subject, at: &Component, wanted: &Wanted, all: &[Mark]) {
        let path = of.binary.path().display();
        if all.is_empty() {
            self.diags
                .error(
                    Tag::PointNoMatch,
                    at.span,
                    format!("{path} has no static marks"),
                )
                .help("marks are compiled in by <sys/sdt.h>; probe a .function instead");
            return;
        }
        let provided = wanted
            .provider
            .as_deref()
            .filter(|p| !all.iter().any(|m| glob::matches(p, &m.provider)));
        let message = match provided {
            Some(p) => format!("{path} has no marks of provider `{p}`"),
            None => format!("{path} has no mark `{}`", wanted.name),
        };
        let near = match provided {
            Some(p) => nearest(p, all.iter().map(|m| m.provider.as_str())),
            None => nearest(&wanted.name, all.iter().map(|m| m.name.as_str())),
        };
        let near = near.map(|n| format!("did you mean `{n}`?"));
        self.diags
            .error(Tag::PointNoMatch, at.span, message)
            .help(self.world.listed_by("-L", "process(\"...\").mark(\"*\")"))
            .help(near);
    }
}
