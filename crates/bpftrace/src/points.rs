// SPDX-License-Identifier: MIT
//! Probe points of bpftrace to points of the script language.

use crate::ast::Point;
use crate::error::{refused, wrong, Result};
use crate::setting::Setting;
use crate::syscalls::{self, Call};

/// What is known where a handler runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// `BEGIN`, `END`, `interval`
    Session,
    Sample,
    /// a function's entry or return, of a program or a kernel
    Entry,
    Return,
    /// parameters by their names
    TypedEntry,
    TypedReturn,
    Mark,
    /// `category:name`
    Tracepoint(String),
    /// system calls; `None`: any
    Enter(Option<Call>),
    Exit(Option<Call>),
}

/// What handlers run in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    Process,
    Kernel,
}

#[derive(Clone, Debug)]
pub struct Resolved {
    /// as the script language has it
    pub script: String,
    pub place: Place,
    /// `None`: either
    pub home: Option<Home>,
    /// bpftrace's `probe`, as an expression
    pub named: String,
}

/// Short name, long name, and how many parts it has at least.
const KINDS: [(&str, &str, usize); 19] = [
    ("", "BEGIN", 1),
    ("", "END", 1),
    ("", "begin", 1),
    ("", "end", 1),
    ("u", "uprobe", 3),
    ("ur", "uretprobe", 3),
    ("U", "usdt", 3),
    ("k", "kprobe", 2),
    ("kr", "kretprobe", 2),
    ("f", "fentry", 2),
    ("fr", "fexit", 2),
    ("", "kfunc", 2),
    ("", "kretfunc", 2),
    ("t", "tracepoint", 3),
    ("rt", "rawtracepoint", 2),
    ("p", "profile", 2),
    ("i", "interval", 2),
    ("s", "software", 2),
    ("h", "hardware", 2),
];

fn kind_of(word: &str) -> Option<(&'static str, usize)> {
    let is = |(short, long, _): &&(&str, &str, usize)| {
        *long == word || (!short.is_empty() && *short == word)
    };
    KINDS.iter().find(is).map(|k| (k.1, k.2))
}

/// How many parts with colons a point of this kind has.
pub fn parts_wanted(word: &str) -> usize {
    kind_of(word).map_or(2, |k| k.1)
}

pub fn resolve(point: &Point, setting: &Setting) -> Result<Vec<Resolved>> {
    let text = point.text.replace('"', "");
    let parts: Vec<&str> = split(&text);
    let Some((kind, wanted)) = kind_of(parts[0]) else {
        return unknown(point, parts[0]);
    };
    if parts.len() < wanted || parts.iter().any(|p| p.is_empty()) && !is_own(kind, &parts) {
        return wrong(
            point.at,
            format!("a part of the point `{}` is missing", point.text),
            form(kind),
        );
    }
    let one = |r: Result<Resolved>| r.map(|r| vec![r]);
    match kind {
        "BEGIN" | "begin" => one(Ok(session("begin", kind))),
        "END" | "end" => one(Ok(session("end", kind))),
        "uprobe" | "uretprobe" => one(of_program(point, kind, &parts, setting)),
        "usdt" => one(mark(point, &parts, setting)),
        "kprobe" | "kretprobe" | "fentry" | "fexit" | "kfunc" | "kretfunc" => {
            one(of_kernel(point, kind, &parts))
        }
        "tracepoint" => tracepoint(point, parts[1], &parts[2..].join(":")),
        "rawtracepoint" => one(Ok(raw(parts[parts.len() - 1]))),
        "profile" | "interval" => one(timer(point, kind, &parts)),
        _ => refused(
            point.at,
            format!("{kind} events of the processor or the kernel are not read"),
            "sample by time instead: profile:hz:99",
        ),
    }
}

/// At colons, but not at the two of C++.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    let mut from = 0;
    while let Some(n) = rest[from..].find(':') {
        let at = from + n;
        let scope = parts.len() >= 2 && rest[at..].starts_with("::");
        if scope {
            from = at + 2;
            continue;
        }
        parts.push(&rest[..at]);
        rest = &rest[at + 1..];
        from = 0;
    }
    parts.push(rest);
    parts
}

/// `uprobe::main`: the program of -c or -x.
fn is_own(kind: &str, parts: &[&str]) -> bool {
    kind.starts_with('u') && parts[1].is_empty() && parts[2..].iter().all(|p| !p.is_empty())
}

fn form(kind: &str) -> &'static str {
    match kind {
        "uprobe" | "uretprobe" => "uprobe:/bin/bash:readline, uprobe:libc:malloc",
        "usdt" => "usdt:/path/to/program:provider:name",
        "tracepoint" => "tracepoint:syscalls:sys_enter_openat, tracepoint:sched:sched_switch",
        "profile" => "profile:hz:99",
        "interval" => "interval:s:1",
        _ => "kprobe:vfs_read, kretprobe:vfs_read",
    }
}

fn unknown(point: &Point, word: &str) -> Result<Vec<Resolved>> {
    match word {
        "watchpoint" | "asyncwatchpoint" | "w" | "aw" => refused(
            point.at,
            "watchpoints are not translated",
            "write it as a script: probe process.data(\"NAME\").write { }",
        ),
        "iter" | "it" | "test" | "bench" | "self" => refused(
            point.at,
            format!("{word} probes are made of the kernel's BPF, which is not used here"),
            "use a kprobe, a tracepoint or an interval",
        ),
        _ => wrong(
            point.at,
            format!("there is no kind of probe `{word}`"),
            "there are BEGIN, END, uprobe, uretprobe, usdt, kprobe, kretprobe, fentry, fexit, tracepoint, rawtracepoint, profile, interval",
        ),
    }
}

fn literal(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

pub fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

fn session(script: &str, named: &str) -> Resolved {
    Resolved {
        script: script.to_string(),
        place: Place::Session,
        home: None,
        named: literal(named),
    }
}

fn of_program(point: &Point, kind: &str, parts: &[&str], setting: &Setting) -> Result<Resolved> {
    let function = parts[2..].join(":");
    let function = function.strip_prefix("cpp:").unwrap_or(&function);
    let file = file(point, parts[1], setting)?;
    let by_address = address(point, function)?;
    let calls = if by_address.is_some() { "" } else { ".call" };
    let what = by_address.unwrap_or_else(|| literal(function));
    let (suffix, place) = match kind {
        "uprobe" => (calls, Place::Entry),
        _ => (".return", Place::Return),
    };
    Ok(Resolved {
        script: format!("{file}.function({what}){suffix}"),
        place,
        home: Some(Home::Process),
        named: named_by_function(kind, parts[1], function),
    })
}

/// What was hit, where a pattern stands for several functions.
fn named_by_function(kind: &str, file: &str, function: &str) -> String {
    let before = match file {
        "" => format!("{kind}:"),
        _ => format!("{kind}:{file}:"),
    };
    match is_pattern(function) {
        true => format!("{} . probefunc()", literal(&before)),
        false => literal(&(before + function)),
    }
}

/// A number in place of a name.
fn address(point: &Point, function: &str) -> Result<Option<String>> {
    if function.starts_with("0x") || function.bytes().all(|b| b.is_ascii_digit()) {
        return Ok(Some(function.to_string()));
    }
    match function.split_once('+') {
        Some((name, _)) if !name.ends_with("operator") => refused(
            point.at,
            "places behind a function's begin are not translated",
            format!("write it as a script: a line by process(\"PATH\").statement(\"{name}@file.c:LINE\"), an address by .statement(0xADDRESS).absolute"),
        ),
        _ => Ok(None),
    }
}

/// The program or library.
fn file(point: &Point, path: &str, setting: &Setting) -> Result<String> {
    let last = path.rsplit('/').next().unwrap_or(path);
    let is_library = last.contains(".so") || (last == path && path.starts_with("lib"));
    match (path, is_library) {
        ("", _) if !setting.target => wrong(
            point.at,
            "no program is named",
            "name it, uprobe:/bin/bash:readline, or give it by -c or -x",
        ),
        ("", _) | ("*", _) if setting.target => Ok("process".to_string()),
        (_, true) if !setting.target => refused(
            point.at,
            format!("{path} is a library: of which program?"),
            "name a process by -c CMD or -x PID",
        ),
        (_, true) => Ok(format!("process.library({})", literal(&library(path)))),
        _ => Ok(format!("process({})", literal(path))),
    }
}

/// `libc` is libc.so with whatever version.
fn library(name: &str) -> String {
    match name.contains(".so") {
        true => name.to_string(),
        false => format!("{name}.so*"),
    }
}

fn mark(point: &Point, parts: &[&str], setting: &Setting) -> Result<Resolved> {
    let file = file(point, parts[1], setting)?;
    let name = parts[parts.len() - 1];
    let provider = match parts.len() {
        3 => String::new(),
        _ => format!(".provider({})", literal(parts[2])),
    };
    let named = match is_pattern(name) {
        true => format!(
            "{} . $$name",
            literal(&format!("{}:", parts[..parts.len() - 1].join(":")))
        ),
        false => literal(&parts.join(":")),
    };
    Ok(Resolved {
        script: format!("{file}{provider}.mark({})", literal(name)),
        place: Place::Mark,
        home: Some(Home::Process),
        named,
    })
}

fn of_kernel(point: &Point, kind: &str, parts: &[&str]) -> Result<Resolved> {
    let function = parts[parts.len() - 1];
    if function.contains('+') || address(point, function)?.is_some() {
        return refused(
            point.at,
            "places of a kernel by address are not translated",
            "write it as a script: probe kernel.statement(0xADDRESS) { }",
        );
    }
    let file = match parts.len() {
        2 => "kernel".to_string(),
        _ if parts[1] == "vmlinux" => "kernel".to_string(),
        _ => format!("module({})", literal(parts[1])),
    };
    let place = match kind {
        "kprobe" => Place::Entry,
        "kretprobe" => Place::Return,
        "fentry" | "kfunc" => Place::TypedEntry,
        _ => Place::TypedReturn,
    };
    let suffix = match place {
        Place::Entry | Place::TypedEntry => "",
        _ => ".return",
    };
    let module = if parts.len() == 2 { "" } else { parts[1] };
    Ok(Resolved {
        script: format!("{file}.function({}){suffix}", literal(function)),
        place,
        home: Some(Home::Kernel),
        named: named_by_function(kind, module, function),
    })
}

fn tracepoint(point: &Point, category: &str, name: &str) -> Result<Vec<Resolved>> {
    match (category, name) {
        ("syscalls", _) => system_calls(point, name),
        ("raw_syscalls", "sys_enter") => Ok(vec![any_call(true, literal(&point.text))]),
        ("raw_syscalls", "sys_exit") => Ok(vec![any_call(false, literal(&point.text))]),
        _ => {
            let full = format!("{category}:{name}");
            let named = match is_pattern(&full) {
                // what stands between kernel.trace(" and ")
                true => "\"tracepoint:\" . substr(pn(), 14, strlen(pn()) - 16)".to_string(),
                false => literal(&format!("tracepoint:{full}")),
            };
            Ok(vec![Resolved {
                script: format!("kernel.trace({})", literal(&full)),
                place: Place::Tracepoint(full),
                home: Some(Home::Kernel),
                named,
            }])
        }
    }
}

fn raw(name: &str) -> Resolved {
    Resolved {
        script: format!("kernel.trace({})", literal(name)),
        place: Place::Tracepoint(name.to_string()),
        home: Some(Home::Kernel),
        named: literal(&format!("rawtracepoint:{name}")),
    }
}

fn any_call(enters: bool, named: String) -> Resolved {
    let (script, place) = match enters {
        true => ("process.syscall", Place::Enter(None)),
        false => ("process.syscall.return", Place::Exit(None)),
    };
    Resolved {
        script: script.to_string(),
        place,
        home: None,
        named,
    }
}

fn system_calls(point: &Point, pattern: &str) -> Result<Vec<Resolved>> {
    let mut all = Vec::new();
    for (prefix, enters) in [("sys_enter_", true), ("sys_exit_", false)] {
        if pattern == format!("{prefix}*") {
            let named = format!(
                "{} . syscall_name($syscall)",
                literal(&format!("tracepoint:syscalls:{prefix}"))
            );
            return Ok(vec![any_call(enters, named)]);
        }
        let is = |c: &Call| syscalls::matches(pattern, &format!("{prefix}{}", c.name));
        all.extend(
            syscalls::all()
                .filter(is)
                .map(|c| one_call(c, prefix, enters)),
        );
    }
    match all.is_empty() {
        true => wrong(
            point.at,
            format!("there is no tracepoint syscalls:{pattern}"),
            match nearest(pattern) {
                Some(name) => format!("did you mean {name}?"),
                None => {
                    "sys_enter_NAME or sys_exit_NAME, e.g. sys_enter_openat; stat is newstat there"
                        .to_string()
                }
            },
        ),
        false => Ok(all),
    }
}

fn one_call(call: Call, prefix: &str, enters: bool) -> Resolved {
    let number = call.number;
    let named = literal(&format!("tracepoint:syscalls:{prefix}{}", call.name));
    let (suffix, place) = match enters {
        true => ("", Place::Enter(Some(call))),
        false => (".return", Place::Exit(Some(call))),
    };
    Resolved {
        script: format!("process.syscall.number({number}){suffix}"),
        place,
        home: None,
        named,
    }
}

/// A name that begins like it.
fn nearest(pattern: &str) -> Option<String> {
    let prefix = ["sys_enter_", "sys_exit_"]
        .into_iter()
        .find(|p| pattern.starts_with(p))?;
    let name = &pattern[prefix.len()..];
    let close = |c: &Call| {
        c.name.starts_with(name.get(..4).unwrap_or(name)) || c.name == format!("new{name}")
    };
    syscalls::all()
        .find(close)
        .map(|c| format!("{prefix}{}", c.name))
}

fn timer(point: &Point, kind: &str, parts: &[&str]) -> Result<Resolved> {
    let (unit, count) = match parts {
        [_, unit, count] => (*unit, *count),
        _ => ("hz", parts[1]),
    };
    let count: u64 = match count.parse() {
        Ok(n) if n > 0 => n,
        _ => return wrong(point.at, "the last part is a number above 0", form(kind)),
    };
    let (script, place) = match (kind, unit) {
        ("interval", "hz" | "s" | "ms" | "us") => {
            (format!("timer.{unit}({count})"), Place::Session)
        }
        ("profile", "hz" | "s" | "ms" | "us") => (sampled(point, unit, count)?, Place::Sample),
        _ => {
            return wrong(
                point.at,
                format!("there is no unit `{unit}`"),
                "hz, s, ms, us",
            )
        }
    };
    Ok(Resolved {
        script,
        place,
        home: None,
        named: literal(&point.text),
    })
}

fn sampled(point: &Point, unit: &str, count: u64) -> Result<String> {
    let in_a_second = match unit {
        "ms" => 1_000,
        "us" => 1_000_000,
        "s" => 1,
        _ => return Ok(format!("timer.profile.freq.hz({count})")),
    };
    match in_a_second / count {
        0 => refused(
            point.at,
            "samples are taken once a second at least",
            "use interval for what is rarer, or profile:hz:1",
        ),
        hz => Ok(format!("timer.profile.freq.hz({hz})")),
    }
}
