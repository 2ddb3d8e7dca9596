// SPDX-License-Identifier: MIT
//! Points of the session itself: `begin`, `end`, `error`, `never`, `oneshot`
//! (an alias of the tapset), timers.

use crate::components;
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
        components::unknown(extra, &components::OF_SESSION, diags);
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
    if let Some(extra) = point.components.get(2) {
        components::unknown(extra, &components::OF_TIMER_UNIT, diags);
        return None;
    }
    Some(place(point, ProbeKind::Timer { period_ns }, false))
}
