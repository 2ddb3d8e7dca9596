// SPDX-License-Identifier: MIT
//! Where are the groups of a match? A small program for the runtime, which
//! runs all ways through it side by side, the preferred ones first.

use super::parse::Parsed;
use regex_automata::nfa::thompson::{self, State, Transition, WhichCaptures};
use regex_automata::util::look::Look;
use regex_automata::util::primitives::StateID;

#[derive(Clone, PartialEq, Debug)]
pub struct Groups {
    /// Groups in parentheses, and the whole match.
    pub count: u32,
    pub start: u16,
    pub ops: Vec<Op>,
}

/// `enum tl_regex_op`; the numbers are those of other ops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// A byte in `low ..= high` leads on; else `other` is asked, a range as well.
    Range {
        low: u8,
        high: u8,
        next: u16,
        other: u16,
    },
    /// Both ways, the first one preferred.
    Split {
        next: u16,
        other: u16,
    },
    /// Where a group starts or ends.
    Slot {
        slot: u16,
        next: u16,
    },
    Start {
        next: u16,
    },
    End {
        next: u16,
    },
    Match,
    Fail,
}

impl Groups {
    /// Ops at which ways wait for the next byte.
    pub fn waits(&self) -> usize {
        let waits = |op: &&Op| matches!(op, Op::Range { .. } | Op::Match);
        self.ops.iter().filter(waits).count()
    }

    /// Words that the search works in (`find` in runtime/regex.c): slots of the
    /// match, of the way that is followed, and of two lists of ways; the lists,
    /// marks, a stack of pairs.
    pub fn room(&self) -> usize {
        let (slots, waits) = (2 * self.count as usize, self.waits());
        2 * slots + 2 * waits * slots + 2 * waits + self.ops.len() + 2 * (self.ops.len() + 1)
    }
}

const MAX_OPS: usize = 4096;
const MAX_WORK: usize = 1 << 20;

/// The program of a pattern; `None`: it would be too large.
pub fn build(parsed: &Parsed) -> Option<Groups> {
    let config = thompson::Config::new()
        .utf8(false)
        .which_captures(WhichCaptures::All)
        .nfa_size_limit(Some(MAX_WORK));
    let nfa = thompson::Compiler::new()
        .configure(config)
        .build_from_hir(&parsed.hir)
        .ok()?;
    // Every state keeps its number; what one op cannot say comes behind them.
    let mut ops = vec![Op::Fail; nfa.states().len()];
    for (n, state) in nfa.states().iter().enumerate() {
        ops[n] = op(state, &mut ops);
    }
    (ops.len() <= MAX_OPS).then(|| Groups {
        count: parsed.groups + 1,
        start: number(nfa.start_anchored()),
        ops,
    })
}

fn number(state: StateID) -> u16 {
    // Larger ones are refused in the end.
    state.as_usize().min(u16::MAX as usize) as u16
}

fn op(state: &State, ops: &mut Vec<Op>) -> Op {
    match state {
        State::ByteRange { trans } => ranges(std::slice::from_ref(trans), ops),
        State::Sparse(list) => ranges(&list.transitions, ops),
        State::Dense(list) => {
            let to = |(b, next): (usize, &StateID)| Transition {
                start: b as u8,
                end: b as u8,
                next: *next,
            };
            let all: Vec<Transition> = list.transitions.iter().enumerate().map(to).collect();
            ranges(&all, ops)
        }
        State::Look { look, next } => match look {
            Look::Start => Op::Start {
                next: number(*next),
            },
            _ => Op::End {
                next: number(*next),
            },
        },
        State::Union { alternates } => splits(alternates, ops),
        State::BinaryUnion { alt1, alt2 } => splits(&[*alt1, *alt2], ops),
        State::Capture { next, slot, .. } => Op::Slot {
            slot: slot.as_usize().min(u16::MAX as usize) as u16,
            next: number(*next),
        },
        State::Fail => Op::Fail,
        State::Match { .. } => Op::Match,
    }
}

fn add(ops: &mut Vec<Op>, op: Op) -> u16 {
    ops.push(op);
    (ops.len() - 1).min(u16::MAX as usize) as u16
}

fn ranges(list: &[Transition], ops: &mut Vec<Op>) -> Op {
    let mut op = Op::Fail;
    for t in list.iter().rev() {
        let other = add(ops, op);
        op = Op::Range {
            low: t.start,
            high: t.end,
            next: number(t.next),
            other,
        };
    }
    op
}

fn splits(list: &[StateID], ops: &mut Vec<Op>) -> Op {
    let Some((last, before)) = list.split_last() else {
        return Op::Fail;
    };
    let mut way = number(*last);
    let mut op = Op::Split {
        next: way,
        other: way,
    };
    for (n, first) in before.iter().rev().enumerate() {
        if n > 0 {
            way = add(ops, op);
        }
        op = Op::Split {
            next: number(*first),
            other: way,
        };
    }
    op
}
