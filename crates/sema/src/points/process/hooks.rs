// SPDX-License-Identifier: MIT
//! `.hook("provider:name")` and `.provider("p").hook("n")`: static hooks (`<trapless/hook.h>`), by the file's own table.

use super::{provider_of, Resolver, Subject};
use crate::points::components;
use crate::points::{Context, Named, Place};
use std::sync::Arc;
use trapless_debuginfo::{glob, DamagedHook, Hook, HookParameter, HookTable, MarkArg};
use trapless_syntax::ast::Component;
use trapless_syntax::diag::{nearest, Tag};

/// Of a table that is damaged all over so many are named, besides the first.
const MOST_SHOWN: usize = 5;

/// What is asked for. A provider may be named by itself, and with the hook.
struct Wanted {
    providers: Vec<String>,
    name: String,
}

impl Wanted {
    fn fits(&self, provider: &str, name: &str) -> bool {
        let mut of = self.providers.iter();
        of.all(|p| glob::matches(p, provider)) && glob::matches(&self.name, name)
    }

    fn fits_damaged(&self, hook: &DamagedHook) -> bool {
        match hook.name.split_once(':') {
            Some((provider, name)) => self.fits(provider, name),
            // Who knows what it was.
            None => true,
        }
    }

    fn is_glob(&self) -> bool {
        let mut of = self.providers.iter();
        glob::is_glob(&self.name) || of.any(|p| glob::is_glob(p))
    }

    fn text(&self) -> String {
        let mut parts = self.providers.clone();
        parts.push(self.name.clone());
        parts.join(":")
    }
}

impl Resolver<'_> {
    /// `words`: from `.hook` on, or from the provider on.
    pub(super) fn hooks(&mut self, of: &Subject, words: &[Component]) -> Option<Vec<Place>> {
        let (provider, rest) = provider_of(words);
        let (hook, suffix) = rest.split_first()?;
        if let Some(extra) = suffix.first() {
            components::unknown(extra, &components::OF_HOOK, self.diags);
            return None;
        }
        let wanted = self.wanted_hook(provider, hook)?;
        let table = of.binary.hooks();
        let fits = |h: &&Hook| wanted.fits(&h.provider, &h.name);
        let found: Vec<&Hook> = table.hooks.iter().filter(fits).collect();
        self.damaged_hooks(of, hook, &wanted, &table, found.is_empty())?;
        if found.is_empty() {
            self.no_hook(of, hook, &wanted, &table);
            return None;
        }
        Some(found.iter().map(|h| self.hook(of, h, &wanted)).collect())
    }

    fn wanted_hook(&mut self, provider: Option<&Component>, hook: &Component) -> Option<Wanted> {
        let mut providers = Vec::new();
        if let Some(provider) = provider {
            providers.push(self.hook_name(provider)?);
        }
        let text = self.hook_name(hook)?;
        let name = match text.split_once(':') {
            Some((provider, name)) => {
                providers.push(provider.to_string());
                name.to_string()
            }
            None => text,
        };
        Some(Wanted { providers, name })
    }

    fn hook_name(&mut self, c: &Component) -> Option<String> {
        self.name_of(c, "e.g. .hook(\"net:packet_in\"), .hook(\"net:*\")")
    }

    fn hook(&self, of: &Subject, h: &Hook, wanted: &Wanted) -> Place {
        let function = of.binary.symbols().at(h.mark);
        let args: Vec<MarkArg> = h
            .parameters
            .iter()
            .map(HookParameter::as_argument)
            .collect();
        Place {
            point: format!("{}.hook(\"{}\")", of.text, h.full_name()).into(),
            func: function.map_or("", |s| s.name).into(),
            kind: of.site(h.mark, Some(h.word)),
            context: Some(Context {
                named: Some(Arc::new(Named {
                    name: h.name.clone(),
                    provider: Some(h.provider.clone()),
                    args: Some(args),
                    values: Vec::new(),
                    syscall: None,
                    hook: Some(h.clone()),
                })),
                ..Context::at(of.image, h.mark)
            }),
            refusal: self.refusal(wanted.is_glob()),
            never: false,
        }
    }

    /// Those that are meant, too, are told; an error (`None`) where no other is.
    fn damaged_hooks(
        &mut self,
        of: &Subject,
        at: &Component,
        wanted: &Wanted,
        table: &HookTable,
        alone: bool,
    ) -> Option<()> {
        let mut meant = table.damaged.iter().filter(|d| wanted.fits_damaged(d));
        let Some(first) = meant.next() else {
            return Some(());
        };
        let path = of.binary.path().display();
        let message = format!("hook `{}` of {path} is refused: {}", first.name, first.why);
        let diagnostic = match alone {
            true => self.diags.error(Tag::HookDamaged, at.span, message),
            false => self.diags.warn(Tag::HookDamaged, at.span, message),
        };
        let others: Vec<&DamagedHook> = meant.collect();
        let shown = others.iter().take(MOST_SHOWN);
        let mut also: String = shown
            .map(|d| format!("; `{}` is refused, too: {}", d.name, d.why))
            .collect();
        if others.len() > MOST_SHOWN {
            also += &format!("; and {} more", others.len() - MOST_SHOWN);
        }
        diagnostic.help(format!(
            "build the file anew, or probe its other hooks{also}"
        ));
        (!alone).then_some(())
    }

    fn no_hook(&mut self, of: &Subject, at: &Component, wanted: &Wanted, table: &HookTable) {
        let path = of.binary.path().display();
        if table.is_empty() {
            let help = match of.binary.marks().is_empty() {
                true => "hooks are compiled in by <trapless/hook.h>; probe a .function instead",
                false => "hooks are compiled in by <trapless/hook.h>; this file has other static marks: .mark(\"*\")",
            };
            let message = format!("{path} has no static hooks");
            self.diags
                .error(Tag::PointNoMatch, at.span, message)
                .help(help);
            return;
        }
        let message = format!("{path} has no hook `{}`", wanted.text());
        let near = self.near_hook(wanted, table);
        self.diags
            .error(Tag::PointNoMatch, at.span, message)
            .help(self.world.listed_by("-L", "process(\"...\").hook(\"*\")"))
            .help(near.map(|n| format!("did you mean `{n}`?")));
    }

    /// By the whole name, or by the hook's alone.
    fn near_hook(&self, wanted: &Wanted, table: &HookTable) -> Option<String> {
        let whole = wanted.text();
        let names: Vec<String> = table.hooks.iter().map(Hook::full_name).collect();
        if let Some(near) = nearest(&whole, names.iter().map(String::as_str)) {
            return Some(near.to_string());
        }
        let near = nearest(&wanted.name, table.hooks.iter().map(|h| h.name.as_str()));
        let is_it = |h: &&Hook| h.name == wanted.name || Some(h.name.as_str()) == near;
        table.hooks.iter().find(is_it).map(Hook::full_name)
    }
}
