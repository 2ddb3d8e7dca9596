// SPDX-License-Identifier: MIT
//! Probes of single system calls: `syscall.open` is `process.syscall.number(2)`. All that one probe of the
//! script names share a probe at each `syscall` instruction, whose handler picks by the number.

use crate::declare::unit::{Choice, Unit};
use crate::ir::{Program, Syscall};
use crate::points::components;
use crate::walk::reaches_c;
use std::collections::HashMap;
use trapless_syntax::ast::{Component, Literal, ProbePoint};
use trapless_syntax::diag::{Diagnostics, Tag};
use trapless_syntax::Span;

/// The component that says which call is meant.
pub const NUMBER: &str = "number";
/// ... and the one that says that its return is.
pub const RETURN: &str = "return";

/// `process.syscall` and what may follow it.
pub fn is_of_calls(point: &ProbePoint) -> bool {
    point.components.iter().any(|c| c.name.name == "syscall")
}

/// The call that a point is about, of all that `process.syscall` sees.
pub fn number(point: &ProbePoint) -> Option<u32> {
    let of_calls = is_of_calls(point);
    point.components.iter().filter(|_| of_calls).find_map(given)
}

fn given(c: &Component) -> Option<u32> {
    match &c.arg {
        Some(Literal::Number(n)) if c.name.name == NUMBER => u32::try_from(n.value).ok(),
        _ => None,
    }
}

/// For each unit the one that stands for it, whose places are those of all: the first of the same probe
/// at the same points but for the number, with the same choices.
pub fn leaders(units: &[Unit]) -> Vec<usize> {
    let mut first: HashMap<(Span, Option<Span>, String, Vec<Choice>), usize> = HashMap::new();
    let leader = |(n, u): (usize, &Unit)| match u.points.as_slice() {
        [point] if number(point).is_some() => {
            let condition = u.condition.as_ref().map(|c| c.span);
            let choices = u.turns.iter().flat_map(|t| t.choices.clone()).collect();
            let key = (u.span, condition, text(point), choices);
            *first.entry(key).or_insert(n)
        }
        _ => n,
    };
    units.iter().enumerate().map(leader).collect()
}

/// The point without the number.
fn text(point: &ProbePoint) -> String {
    let others = point.components.iter().filter(|c| c.name.name != NUMBER);
    let words = components::text(others);
    format!("{words} {} {}", point.optional, point.sufficient)
}

/// At a call's return its arguments are ordinary registers of the program again.
pub fn check_returns(program: &Program, diags: &mut Diagnostics) {
    let returns = program.handlers.iter().filter_map(|h| match &h.syscall {
        Some(Syscall::Return(_, called)) => Some(called),
        _ => None,
    });
    let sets = |code: &str| code.contains("tl_arg_set(");
    for (_, id) in returns.flatten() {
        let handler = &program.handlers[id.0 as usize];
        if reaches_c(program, &handler.body, &sets) {
            let what = "an argument is set at the return of a system call, which has been made";
            diags
                .error(Tag::AssignTarget, handler.span, what)
                .help("set it where the call begins, without .return");
        }
    }
}
