// SPDX-License-Identifier: MIT
//! Points of the session itself: `begin`, `end`, `error`, `never`, `oneshot`
//! (an alias of the tapset), timers.

use crate::declare::unit::Unit;
use crate::ir::{ProbeKind, Refusal};
use crate::points::components::{self, text};
use crate::points::Place;
use crate::world::TargetSpec;
use trapless_syntax::ast::{Component, Literal, ProbePoint};
use trapless_syntax::diag::{Diagnostics, Tag};

/// `None`: the point belongs to another family.
pub fn resolve(point: &ProbePoint, diags: &mut Diagnostics) -> Option<Vec<Place>> {
    let first = point.components.first()?;
    let kind = match first.name.name.as_str() {
        "begin" => ProbeKind::Begin {
            order: order(first, diags)?,
        },
        "end" => ProbeKind::End {
            order: order(first, diags)?,
        },
        "error" => ProbeKind::Error {
            order: order(first, diags)?,
        },
        "never" => ProbeKind::Begin { order: 0 },
        crate::declare::file_value::FAMILY => {
            return Some(file(point, diags).into_iter().collect())
        }
        "timer" => return Some(timer(point, diags).into_iter().collect()),
        _ => return None,
    };
    if let Some(extra) = point.components.get(1) {
        components::unknown(extra, &components::OF_SESSION, diags);
        return Some(Vec::new());
    }
    Some(vec![place(point, kind, first.name.name == "never")])
}

fn place(point: &ProbePoint, kind: ProbeKind, never: bool) -> Place {
    Place {
        point: text(&point.components).into(),
        func: "".into(),
        kind,
        context: None,
        refusal: Refusal::Error,
        never,
    }
}

fn order(c: &Component, diags: &mut Diagnostics) -> Option<i64> {
    match &c.arg {
        None => Some(0),
        Some(Literal::Number(n)) => Some(n.value),
        Some(Literal::String(s)) => {
            diags
                .error(
                    Tag::PointArgument,
                    s.span,
                    format!("`{}` takes a number", c.name.name),
                )
                .help("the number orders several probes, smallest first");
            // Reported; the place is made all the same.
            Some(0)
        }
    }
}

/// Most that a pipe holds without rights of its own.
const FILE_MAX: i64 = 1 << 20;

/// `procfs("name").read`, `.write`, with `.maxsize(n)` and `.umask(n)`
fn file(point: &ProbePoint, diags: &mut Diagnostics) -> Option<Place> {
    let wrong = |span, what: &str, diags: &mut Diagnostics| -> Option<Place> {
        diags.error(Tag::PointArgument, span, what).help(
            "e.g. procfs(\"name\").read, procfs(\"name\").write, procfs(\"name\").read.maxsize(4096)",
        );
        None
    };
    let (first, rest) = point.components.split_first()?;
    let name = match &first.arg {
        None => "command".to_string(),
        Some(Literal::String(s)) => s.text().into_owned(),
        Some(Literal::Number(_)) => {
            return wrong(first.span, "the name of a file is a text", diags)
        }
    };
    if name.is_empty() || name.starts_with('.') || name.contains('/') || name.len() > 100 {
        let what =
            "the name of a file is 1 to 100 bytes without `/`, and does not begin with a point";
        return wrong(first.span, what, diags);
    }
    let (mut write, mut max, mut umask) = (None, None, 0);
    for c in rest {
        match (c.name.name.as_str(), &c.arg) {
            ("read", None) if write.is_none() => write = Some(false),
            ("write", None) if write.is_none() => write = Some(true),
            ("maxsize", Some(Literal::Number(n))) if (1..=FILE_MAX).contains(&n.value) => {
                max = Some(n.value as u32);
            }
            ("umask", Some(Literal::Number(n))) if (0..=0o777).contains(&n.value) => {
                umask = n.value as u32;
            }
            _ => return wrong(c.span, "this says nothing of a file", diags),
        }
    }
    let Some(write) = write else {
        return wrong(point.span, "a file is read or written to", diags);
    };
    let max = max.unwrap_or(0);
    let kind = ProbeKind::File { write, max, umask };
    let mut place = place(point, kind, false);
    place.func = name.into();
    Some(place)
}

/// Units of `timer.UNIT(n)`, in nanoseconds.
const UNITS: &[(&str, u64)] = &[
    ("s", 1_000_000_000),
    ("sec", 1_000_000_000),
    ("ms", 1_000_000),
    ("msec", 1_000_000),
    ("us", 1_000),
    ("usec", 1_000),
    ("ns", 1),
    ("nsec", 1),
    // A hundredth of a second, as HZ() and jiffies() of the tapset have it.
    ("jiffies", 10_000_000),
];

fn timer(point: &ProbePoint, diags: &mut Diagnostics) -> Option<Place> {
    let Some(unit) = point.components.get(1) else {
        diags
            .error(Tag::PointArgument, point.span, "a timer needs its period")
            .help("e.g. timer.s(1), timer.ms(100)");
        return None;
    };
    let name = unit.name.name.as_str();
    if name == "profile" {
        return profile(point, diags);
    }
    let scale = UNITS.iter().find(|u| u.0 == name).map(|u| u.1);
    if scale.is_none() && name != "hz" {
        components::unknown(unit, &components::OF_TIMER, diags);
        return None;
    }
    let number = match &unit.arg {
        Some(Literal::Number(n)) if n.value > 0 => n.value as u64,
        _ => {
            diags
                .error(
                    Tag::PointArgument,
                    unit.span,
                    "a timer needs a positive number",
                )
                .help("e.g. timer.s(1), timer.ms(100)");
            return None;
        }
    };
    let period_ns = match scale {
        Some(ns) => number.saturating_mul(ns),
        None => (1_000_000_000 / number).max(1),
    };
    let jitter_ns = jitter(point, scale, period_ns, diags)?;
    let kind = ProbeKind::Timer {
        period_ns,
        jitter_ns,
    };
    Some(place(point, kind, false))
}

/// `timer.profile`, `.tick` and `.freq.hz(n)`
fn profile(point: &ProbePoint, diags: &mut Diagnostics) -> Option<Place> {
    let all = &point.components;
    let words: Vec<&str> = all.iter().skip(2).map(|c| c.name.name.as_str()).collect();
    let mut unknown = |at: usize, known| {
        components::unknown(&all[at], known, diags);
        None
    };
    let (plain, hz) = match words[..] {
        [] | ["tick"] => (&all[1..], None),
        ["freq", "hz"] => (&all[1..3], all.last()),
        ["freq"] => return no_rate(&all[2], diags),
        ["tick", ..] => return unknown(3, &components::OF_RATE),
        ["freq", "hz", ..] => return unknown(4, &components::OF_RATE),
        ["freq", ..] => return unknown(3, &components::OF_FREQ),
        _ => return unknown(2, &components::OF_PROFILE),
    };
    if let Some(c) = plain.iter().find(|c| c.arg.is_some()) {
        let what = format!("`{}` takes no argument", c.name.name);
        diags
            .error(Tag::PointArgument, c.span, what)
            .help("e.g. timer.profile.freq.hz(100)");
        return None;
    }
    let period_ns = match hz {
        Some(c) => Some(1_000_000_000 / rate(c, diags)?),
        None => None,
    };
    Some(place(point, ProbeKind::Profile { period_ns }, false))
}

fn rate(hz: &Component, diags: &mut Diagnostics) -> Option<u64> {
    match &hz.arg {
        Some(Literal::Number(n)) if (1..=MOST).contains(&n.value) => Some(n.value as u64),
        _ => no_rate(hz, diags),
    }
}

fn no_rate<T>(c: &Component, diags: &mut Diagnostics) -> Option<T> {
    let what = format!("a thread, or processor, is sampled 1 to {MOST} times in a second");
    diags
        .error(Tag::PointArgument, c.span, what)
        .help("e.g. timer.profile.freq.hz(100)");
    None
}

/// What is sampled is a kernel's processors, or else the target: of `-c`, of `-x`, or the process that another point
/// names. Where there is none, the point is an error, or nothing behind `?`.
pub fn check_samples(
    units: &[Unit],
    places: &mut [Vec<Place>],
    target: &TargetSpec,
    kernel: bool,
    diags: &mut Diagnostics,
) {
    let is_of_process = |p: &Place| p.kind.process().is_some();
    if kernel || target.program.is_some() || places.iter().flatten().any(is_of_process) {
        return;
    }
    for (unit, places) in units.iter().zip(places) {
        let of_unit = unit
            .points
            .iter()
            .filter(|p| is_profile(p) && !may_be_missing(p));
        for point in of_unit {
            diags
                .error(
                    Tag::ProcessTarget,
                    point.span,
                    "which process is to be sampled?",
                )
                .help(
                    "give it with -c CMD or -x PID, or by another point: process(\"/path\").begin; -r RELEASE samples \
                     a kernel's processors",
                );
        }
        places.retain(|p| !p.kind.is_profile());
    }
}

fn is_profile(point: &ProbePoint) -> bool {
    let mut words = point.components.iter().map(|c| c.name.name.as_str());
    words.next() == Some("timer") && words.next() == Some("profile")
}

fn may_be_missing(point: &ProbePoint) -> bool {
    point.optional || point.sufficient
}

/// Samples of a thread, or processor, in a second.
const MOST: i64 = 1000;

/// `.randomize(n)`: at most so much more or less, in the timer's unit.
fn jitter(
    point: &ProbePoint,
    scale: Option<u64>,
    period_ns: u64,
    diags: &mut Diagnostics,
) -> Option<u64> {
    let Some(c) = point.components.get(2) else {
        return Some(0);
    };
    let Some(scale) = scale.filter(|_| c.name.name == "randomize") else {
        components::unknown(c, &components::OF_TIMER_UNIT, diags);
        return None;
    };
    if let Some(extra) = point.components.get(3) {
        components::unknown(extra, &components::OF_RANDOMIZED, diags);
        return None;
    }
    let most = period_ns / scale;
    match &c.arg {
        Some(Literal::Number(n)) if n.value > 0 && n.value as u64 <= most => {
            Some(n.value as u64 * scale)
        }
        _ => {
            let what = format!("`randomize` takes a number from 1 to the period, {most}");
            diags
                .error(Tag::PointArgument, c.span, what)
                .help("e.g. timer.ms(100).randomize(10): 90 to 110 ms");
            None
        }
    }
}
