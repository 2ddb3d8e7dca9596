// SPDX-License-Identifier: MIT
//! Points of the session itself: `begin`, `end`, `error`, `never`, `oneshot`
//! (an alias of the tapset), timers.

use crate::ir::{ProbeKind, Refusal};
use crate::points::Place;
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
        "timer" => return Some(timer(point, diags).into_iter().collect()),
        _ => return None,
    };
    if let Some(extra) = point.components.get(1) {
        unknown(extra, "nothing may follow", diags);
        return Some(Vec::new());
    }
    Some(vec![place(point, kind, first.name.name == "never")])
}

fn place(point: &ProbePoint, kind: ProbeKind, never: bool) -> Place {
    Place {
        point: text(point),
        func: String::new(),
        kind,
        context: None,
        refusal: Refusal::Error,
        never,
    }
}

/// The point's components as `pp()` shows them.
pub fn text(point: &ProbePoint) -> String {
    let words: Vec<String> = point
        .components
        .iter()
        .map(|c| match &c.arg {
            None => c.name.name.clone(),
            Some(Literal::Number(n)) => format!("{}({})", c.name.name, n.value),
            Some(Literal::String(s)) => format!("{}(\"{}\")", c.name.name, s.text()),
        })
        .collect();
    words.join(".")
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

fn unknown(c: &Component, why: &str, diags: &mut Diagnostics) {
    diags
        .error(
            Tag::PointUnknown,
            c.span,
            format!("`{}` is not known here: {why}", c.name.name),
        )
        .help("see stapprobes(3stap) for the points of each family");
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
];

fn timer(point: &ProbePoint, diags: &mut Diagnostics) -> Option<Place> {
    let Some(unit) = point.components.get(1) else {
        diags
            .error(Tag::PointArgument, point.span, "a timer needs its period")
            .help("e.g. timer.s(1), timer.ms(100)");
        return None;
    };
    let name = unit.name.name.as_str();
    if matches!(name, "profile" | "tick" | "jiffies") {
        diags
            .error(
                Tag::NotBuilt,
                unit.span,
                format!("`timer.{name}` is not built yet"),
            )
            .help("use timer.ms(n)");
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
    let period_ns = match UNITS.iter().find(|u| u.0 == name) {
        Some((_, ns)) => number.saturating_mul(*ns),
        None if name == "hz" => (1_000_000_000 / number).max(1),
        None => {
            unknown(unit, "timers count in s, ms, us, ns or hz", diags);
            return None;
        }
    };
    if let Some(extra) = point.components.get(2) {
        match extra.name.name.as_str() {
            "randomize" => diags
                .error(Tag::NotBuilt, extra.span, "`.randomize` is not built yet")
                .help("leave it out"),
            _ => {
                unknown(extra, "nothing may follow", diags);
                return None;
            }
        };
        return None;
    }
    Some(place(point, ProbeKind::Timer { period_ns }, false))
}
