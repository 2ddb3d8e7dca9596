// SPDX-License-Identifier: MIT
//! What options say in the script's stead: `-D`, `-G`, `-T`.

use crate::options::Options;
use trapless_sema::declare::loader::Loader;
use trapless_sema::ir;
use trapless_syntax::ast::{Global, Item, Literal, NumLit, Script, StrLit};
use trapless_syntax::diag::{nearest, Diagnostics, Tag};

/// `-T SECONDS`, in the script's own words: it also holds for a module.
pub fn time_limit(seconds: u32, loader: &mut Loader, diags: &mut Diagnostics) -> Script {
    let text = format!("probe timer.s({seconds}) {{ exit() }}\n");
    loader.parse("<-T>", text, diags)
}

/// `-G VAR=VALUE`: as if the script's declaration said so.
pub fn set_globals(options: &Options, script: &mut Script, diags: &mut Diagnostics) {
    for word in &options.globals {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let mut found = script.items.iter_mut().filter_map(|i| match i {
            Item::Global(g) if g.name.name == name => Some(g),
            _ => None,
        });
        let Some(g) = found.next() else {
            diags
                .error(
                    Tag::Usage,
                    None,
                    format!("-G {word}: the script has no global `{name}`"),
                )
                .help("-G NAME=VALUE sets a global that the script declares");
            continue;
        };
        if g.private {
            diags
                .error(
                    Tag::Usage,
                    None,
                    format!("-G {word}: `{name}` is private: only its script sets it"),
                )
                .help("declare it by `global`");
            continue;
        }
        let Some(value) = first_value(g, value) else {
            diags
                .error(
                    Tag::Usage,
                    None,
                    format!("-G {word}: `{name}` is a number in the script"),
                )
                .help("-G NAME=NUMBER: decimal, or hexadecimal behind 0x");
            continue;
        };
        g.init = Some(value);
    }
}

/// A value of the declared one's type; where none is declared, what looks like a number is one.
fn first_value(g: &Global, value: &str) -> Option<Literal> {
    let span = g.span;
    let text = Literal::String(StrLit {
        bytes: value.as_bytes().to_vec(),
        span,
    });
    let number = parse_number(value).map(|value| Literal::Number(NumLit { value, span }));
    match g.init {
        Some(Literal::Number(_)) => number,
        Some(Literal::String(_)) => Some(text),
        None => Some(number.unwrap_or(text)),
    }
}

fn parse_number(text: &str) -> Option<i64> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |d| (-1, d));
    let n = match digits.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16),
        None => digits.parse::<i64>(),
    };
    n.ok().map(|n: i64| n.wrapping_mul(sign))
}

/// What `-D` sets.
struct Limit {
    name: &'static str,
    range: std::ops::RangeInclusive<i64>,
    example: i64,
    field: fn(&mut ir::Options) -> &mut u32,
}

const fn limit(
    name: &'static str,
    least: i64,
    most: i64,
    example: i64,
    field: fn(&mut ir::Options) -> &mut u32,
) -> Limit {
    Limit {
        name,
        range: least..=most,
        example,
        field,
    }
}

const MOST: i64 = u32::MAX as i64;

const LIMITS: &[Limit] = &[
    limit("MAXSTRINGLEN", 16, 8192, 1024, |o| &mut o.max_string),
    limit("MAXACTION", 0, MOST, 1_000_000, |o| &mut o.max_action),
    limit("MAXACTION_INTERRUPTIBLE", 1, MOST, 1_000_000, |o| {
        &mut o.max_action_interruptible
    }),
    limit("MAXNESTING", 0, MOST, 20, |o| o.max_nesting.insert(0)),
    limit("MAXERRORS", 0, MOST, 100, |o| &mut o.max_errors),
    limit("MAXSKIPPED", 0, MOST, 1000, |o| &mut o.max_skipped),
    limit("MAXMAPENTRIES", 1, MOST, 10_000, |o| {
        o.max_map_entries.insert(0)
    }),
    limit("MAPMEMORY", 1, 960, 512, |o| &mut o.map_memory),
    limit("MAXBACKTRACE", 1, 4096, 100, |o| &mut o.max_backtrace),
    // Of negative ones the largest number is made.
    limit("HIST_ELISION", -1, 254, -1, |o| &mut o.hist_elision),
    limit("RINGSIZE", 4096, 16 << 20, 1 << 20, |o| &mut o.ring_size),
];

/// Limits of SystemTap's that bound what does not exist here: nothing to set, nothing to warn of.
const NEEDLESS: &[&str] = &[
    "INTERRUPTIBLE",
    "MAXTRYCATCH",
    "MAXTRYLOCK",
    "TRYLOCKDELAY",
    "MAXUPROBES",
    "MINSTACKSPACE",
    "KRETACTIVE",
    "STP_NO_OVERLOAD",
    "STP_OVERLOAD_INTERVAL",
    "STP_OVERLOAD_THRESHOLD",
    "STP_NO_VERREL_CHECK",
    "STP_NO_BUILDID_CHECK",
];

/// Whether values are shown as debuggers show them: who reads another format than text wants no SystemTap's text.
pub fn is_pretty(options: &Options) -> bool {
    options.pretty || options.format.as_deref().is_some_and(|f| f != "text")
}

pub fn limits(options: &Options, diags: &mut Diagnostics) -> ir::Options {
    let mut out = ir::Options {
        guru: options.guru,
        no_display: options.no_global_var_display,
        monitor: options.monitor.is_some(),
        rows: crate::convert::wants_events(options),
        timing: options.timing,
        machine: crate::input::machine(options),
        kernel: options.release.is_some(),
        ..ir::Options::default()
    };
    out.skip_badvars = options.skip_badvars;
    if let Some(mib) = options.buffer {
        out.ring_pool = mib;
    }
    if options.suppress_handler_errors {
        out.max_errors = u32::MAX;
    }
    if options.suppress_time_limits {
        out.max_action = u32::MAX;
        out.max_action_interruptible = u32::MAX;
    }
    for word in &options.limits {
        let (name, value) = word.split_once('=').unwrap_or((word, "1"));
        let Some(limit) = LIMITS.iter().find(|l| l.name == name) else {
            if NEEDLESS.contains(&name) {
                continue;
            }
            let what = format!("-D {name}: not a limit of trapless; ignored");
            let names: Vec<&str> = LIMITS.iter().map(|l| l.name).collect();
            diags
                .warn(Tag::Usage, None, what)
                .help("the limits are listed under -D in trapless --help")
                .help(nearest(name, names));
            continue;
        };
        match value.parse::<i64>() {
            Ok(n) if limit.range.contains(&n) => *(limit.field)(&mut out) = n as u32,
            _ => {
                let (least, most) = (limit.range.start(), limit.range.end());
                let what = format!("-D {word}: the value is a number, {least} to {most}");
                diags
                    .error(Tag::Usage, None, what)
                    .help(format!("e.g. -D {name}={}", limit.example));
            }
        }
    }
    out
}
