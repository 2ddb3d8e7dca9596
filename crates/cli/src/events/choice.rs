// SPDX-License-Identifier: MIT
//! What `--trace-events LIST` names: standard events, and hooks or tracepoints by `provider:name`.

use super::table::{Event, Source, EVENTS};
use trapless_debuginfo::glob;
use trapless_syntax::diag::{nearest, Diagnostics, Tag};

/// Where the events are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Home {
    Process,
    Kernel,
}

impl Event {
    pub fn source(&self, home: Home) -> Option<&Source> {
        match home {
            Home::Process => self.process.as_ref(),
            Home::Kernel => self.kernel.as_ref(),
        }
    }
}

pub enum Chosen {
    Standard(&'static Event),
    /// Of the program's own hooks and marks, or the kernel's tracepoints.
    Named {
        provider: String,
        name: String,
    },
}

/// In the list's order, each once. `None`: reported.
pub fn choose(list: &str, home: Home, diags: &mut Diagnostics) -> Option<Vec<Chosen>> {
    let mut chosen = Vec::new();
    for item in list.split(',').map(str::trim) {
        match item.split_once(':') {
            Some((provider, name)) => chosen.extend(named(item, provider, name, diags)),
            None => standard(item, home, &mut chosen, diags),
        }
    }
    (!diags.has_errors()).then_some(chosen)
}

fn named(item: &str, provider: &str, name: &str, diags: &mut Diagnostics) -> Option<Chosen> {
    let part = |text: &str| {
        !text.is_empty() && text.chars().all(|c| is_of_name(c) || c == '*' || c == '?')
    };
    if part(provider) && part(name) {
        return Some(Chosen::Named {
            provider: provider.to_string(),
            name: name.to_string(),
        });
    }
    let what = format!("--trace-events: `{item}` is neither an event nor PROVIDER:NAME");
    diags.error(Tag::Usage, None, what).help(
        "PROVIDER and NAME are of letters, digits, _ and -; * and ? stand for others, e.g. net:*",
    );
    None
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.".contains(c)
}

fn standard(item: &str, home: Home, chosen: &mut Vec<Chosen>, diags: &mut Diagnostics) {
    let matching: Vec<&Event> = EVENTS
        .iter()
        .filter(|e| glob::matches(item, e.name))
        .collect();
    let there = matching.iter().filter(|e| e.source(home).is_some());
    let mut any = false;
    for event in there {
        any = true;
        let same = |c: &Chosen| matches!(c, Chosen::Standard(e) if e.name == event.name);
        if !chosen.iter().any(same) {
            chosen.push(Chosen::Standard(event));
        }
    }
    match matching.first() {
        _ if any => {}
        Some(event) => refuse_home(item, event, home, diags),
        None => refuse_unknown(item, home, diags),
    }
}

fn refuse_home(item: &str, event: &Event, home: Home, diags: &mut Diagnostics) {
    let (has, next) = match home {
        Home::Process => (
            "a kernel has that event, a process has not",
            format!("ask the kernel, as root: trapless -r $(uname -r) --trace-events {item}"),
        ),
        Home::Kernel => (
            "a process has that event, a kernel has not",
            format!(
                "leave -r out and give -c CMD or -x PID; in a kernel {}",
                instead(event)
            ),
        ),
    };
    diags
        .error(Tag::Usage, None, format!("--trace-events: `{item}`: {has}"))
        .help(next);
}

/// What a kernel has in place of a process's event.
fn instead(event: &Event) -> &'static str {
    match event.name {
        "thread_end" => "`exit` tells of threads, too",
        _ => "`fork` tells of threads, too",
    }
}

fn refuse_unknown(item: &str, home: Home, diags: &mut Diagnostics) {
    let what = match item {
        "" => "--trace-events: a name is missing in the list".to_string(),
        _ => format!("--trace-events: there is no event `{item}`"),
    };
    const ALL: &str = "trapless --trace-events help lists them all";
    diags
        .error(Tag::Usage, None, what)
        .help(match near(item, home) {
            Some(near) => format!("{near}; {ALL}"),
            None => format!("{ALL}; what has a provider is named with it, e.g. net:*"),
        });
}

/// The one that was meant most likely, or those with a part of that name.
fn near(item: &str, home: Home) -> Option<String> {
    let names = || {
        EVENTS
            .iter()
            .filter(|e| e.source(home).is_some())
            .map(|e| e.name)
    };
    if let Some(name) = nearest(item, names()) {
        return Some(format!("did you mean {name}"));
    }
    let words: Vec<&str> = item
        .split(['_', '*', '?'])
        .filter(|w| w.len() > 2)
        .collect();
    let alike: Vec<&str> = names()
        .filter(|name| words.iter().any(|w| name.contains(w)))
        .collect();
    (!alike.is_empty()).then(|| format!("there are {}", alike.join(", ")))
}

impl Chosen {
    /// Is this a probe of it? `point`: as pp() gives it. Of what the compiler itself says is not there it is not asked.
    pub fn is_at(&self, point: &str) -> bool {
        let Chosen::Named { provider, name } = self else {
            return true;
        };
        let quoted = |word: &str| {
            let (_, behind) = point.split_once(&format!(".{word}(\""))?;
            behind.split('"').next()
        };
        let is = |of: Option<&str>, pattern: &str| of.is_some_and(|of| glob::matches(pattern, of));
        match quoted("hook").and_then(|h| h.split_once(':')) {
            Some((p, n)) => is(Some(p), provider) && is(Some(n), name),
            None => is(quoted("provider"), provider) && is(quoted("mark"), name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &str, home: Home) -> Vec<String> {
        let mut diags = Diagnostics::new();
        let chosen = choose(list, home, &mut diags).unwrap_or_default();
        let name = |c: &Chosen| match c {
            Chosen::Standard(e) => e.name.to_string(),
            Chosen::Named { provider, name } => format!("{provider}:{name}"),
        };
        match diags.has_errors() {
            true => diags.iter().map(|d| d.message.clone()).collect(),
            false => chosen.iter().map(name).collect(),
        }
    }

    #[test]
    fn each_once_in_order() {
        let list = "exit, sys_*,net:packet_*,sys_enter";
        let want = ["exit", "sys_enter", "sys_exit", "net:packet_*"];
        assert_eq!(names(list, Home::Process), want);
        assert_eq!(names("irq_*", Home::Kernel), ["irq_enter", "irq_exit"]);
    }

    #[test]
    fn probes_of_a_pattern() {
        let named = |provider: &str, name: &str| Chosen::Named {
            provider: provider.to_string(),
            name: name.to_string(),
        };
        let point = "process(\"/p\").provider(\"net\").mark(\"packet_in\")";
        assert!(named("net", "packet_*").is_at(point) && named("*", "packet_in").is_at(point));
        assert!(!named("net", "in").is_at(point) && !named("n", "*").is_at(point));
        assert!(!named("*", "*").is_at("process(\"/p\").syscall"));
        let hook = "process(\"/p\").library(\"/l\").hook(\"net:packet_in\")";
        assert!(named("n*", "packet_in").is_at(hook) && !named("net", "*out").is_at(hook));
    }

    #[test]
    fn a_pattern_is_of_what_is_there() {
        let all = names("*", Home::Process);
        assert!(all.contains(&"thread_end".into()) && !all.contains(&"irq_exit".into()));
        let all = names("*", Home::Kernel);
        assert!(all.contains(&"irq_exit".into()) && !all.contains(&"thread_end".into()));
    }

    #[test]
    fn others_are_refused_by_name() {
        for (list, home, part) in [
            ("irq_enter", Home::Process, "`irq_enter`: a kernel has"),
            ("sched_*", Home::Process, "`sched_*`: a kernel has"),
            (
                "thread_begin",
                Home::Kernel,
                "`thread_begin`: a process has",
            ),
            ("sys_entr", Home::Process, "no event `sys_entr`"),
            ("exit,,fork", Home::Process, "a name is missing"),
            ("net:", Home::Process, "`net:` is neither"),
            ("net:a\"b", Home::Kernel, "`net:a\"b` is neither"),
        ] {
            let said = names(list, home);
            assert!(
                said.len() == 1 && said[0].contains(part),
                "{list}: {said:?}"
            );
        }
    }
}
