// SPDX-License-Identifier: MIT
//! Globals, with the types that inference found.

use super::{up_to_nul, value_type};
use crate::declare::declarations::{Declarations, Origin};
use crate::ir::{Global, GlobalKind, MapValue, StatsKind, KEPT_ENTRIES};
use crate::types::infer::{GlobalTy, Types, VTy};
use trapless_syntax::ast::{self, HistKind, Literal};
use trapless_syntax::diag::{Diagnostics, Tag};

pub fn lower_globals(
    all: &Declarations,
    types: &Types,
    max_entries: Option<u32>,
    diags: &mut Diagnostics,
) -> Vec<Global> {
    let pairs = all.globals.iter().zip(&types.globals);
    pairs
        .map(|(d, ty)| Global {
            name: d.item.name.name.clone(),
            kind: kind(&d.item, ty, max_entries, diags),
            variance: variance(&d.item, ty, diags),
            sharded: false,
            shown: d.origin == Origin::User,
            pointer: false,
            span: d.item.span,
        })
        .collect()
}

fn kind(
    g: &ast::Global,
    ty: &GlobalTy,
    max_entries: Option<u32>,
    diags: &mut Diagnostics,
) -> GlobalKind {
    let stats = stats_kind(g, ty, diags);
    let is_array = g.size.is_some() || g.wrap || ty.keys.as_ref().is_some_and(|k| !k.is_empty());
    if is_array {
        if let Some(init) = &g.init {
            diags
                .error(
                    Tag::GlobalInit,
                    init.span(),
                    "an array cannot be initialised",
                )
                .help("fill it in a `probe begin`");
        }
        let keys = ty.keys.clone().unwrap_or_default();
        let capacity = match &g.size {
            Some(n) if n.value >= 1 && n.value <= 16 << 20 => Some(n.value as u32),
            Some(n) => {
                diags
                    .error(
                        Tag::ArrayScalar,
                        n.span,
                        "an array holds 1 to 16777216 elements",
                    )
                    .help("leave the size out: it then grows as -D MAPMEMORY allows");
                max_entries
            }
            None if g.wrap => Some(max_entries.unwrap_or(KEPT_ENTRIES)),
            None => max_entries,
        };
        return GlobalKind::Map {
            keys: match keys.is_empty() {
                // Declared as an array and never used as one.
                true => vec![crate::ir::Ty::Long],
                false => keys.into_iter().map(value_type).collect(),
            },
            value: match ty.value {
                VTy::Str => MapValue::Str,
                VTy::Stats => MapValue::Stats(stats),
                _ => MapValue::Long,
            },
            capacity,
            sized: g.size.is_some(),
            wrap: g.wrap,
        };
    }
    match (ty.value, &g.init) {
        (VTy::Stats, _) => GlobalKind::Stats(stats),
        (_, Some(Literal::String(s))) => GlobalKind::Str {
            init: up_to_nul(&s.bytes).to_vec(),
        },
        (VTy::Str, _) => GlobalKind::Str { init: Vec::new() },
        (_, Some(Literal::Number(n))) => GlobalKind::Long { init: n.value },
        _ => GlobalKind::Long { init: 0 },
    }
}

/// The one shift with which its @variance is read.
fn variance(g: &ast::Global, ty: &GlobalTy, diags: &mut Diagnostics) -> Option<u8> {
    let Some(first) = ty.shifts.first() else {
        return ty.variance.then_some(0);
    };
    if let Some(other) = ty.shifts.iter().find(|s| s.value != first.value) {
        let message = format!("`{}` is read with two shifts", g.name.name);
        diags
            .error(Tag::HistConflict, other.span, message)
            .label(first.span, "the first one")
            .help("write the same shift in every @variance of it");
    }
    if let Some(bad) = ty.shifts.iter().find(|s| !(0..=62).contains(&s.value)) {
        diags
            .error(Tag::StatArgs, bad.span, "the shift is 0 to 62 bits")
            .help("e.g. @variance(x, 10)");
        return None;
    }
    Some(first.value as u8)
}

fn stats_kind(g: &ast::Global, ty: &GlobalTy, diags: &mut Diagnostics) -> StatsKind {
    let Some((first, at)) = ty.hists.first() else {
        return StatsKind::Plain;
    };
    if let Some((_, second)) = ty.hists.get(1) {
        diags
            .error(
                Tag::HistConflict,
                *second,
                format!(
                    "`{}` is drawn as another kind of histogram elsewhere",
                    g.name.name
                ),
            )
            .label(*at, "the first one")
            .help("fill a second statistic for the second histogram");
    }
    match first {
        HistKind::Log => StatsKind::Log,
        HistKind::Linear { low, high, step } => {
            let (l, h, s) = (low.value, high.value, step.value);
            if s < 1 || h < l || h.saturating_sub(l) / s.max(1) > 4000 {
                diags
                    .error(
                        Tag::StatArgs,
                        low.span,
                        "a linear histogram needs low <= high, a positive step, and at most 4000 buckets",
                    )
                    .help("e.g. @hist_linear(x, 0, 100, 10)");
                return StatsKind::Plain;
            }
            StatsKind::Linear {
                low: l,
                high: h,
                step: s,
            }
        }
    }
}
