// SPDX-License-Identifier: MIT
//! Does a text match? A table of states: a step a byte, nothing else.

use regex_automata::dfa::{dense, Automaton as _, StartKind};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;
use regex_automata::{Anchored, MatchKind};
use regex_syntax::hir::Hir;
use std::collections::HashMap;

/// `next[state * width + classes[byte]]`; the last class is the text's end.
/// Two states have no row: those of [`FAILED`] and [`MATCHED`].
#[derive(Clone, PartialEq, Debug)]
pub struct Automaton {
    pub classes: Vec<u8>,
    pub width: usize,
    pub start: u16,
    pub next: Vec<u16>,
}

pub const FAILED: u16 = 0xffff;
pub const MATCHED: u16 = 0xfffe;

/// Entries of the table at most: 64 KiB.
const MAX_ENTRIES: usize = 32 << 10;
/// Bytes that are spent at most on making it.
const MAX_WORK: usize = 8 << 20;

/// The table of a pattern; `None`: it would be too large.
pub fn build(hir: &Hir) -> Option<Automaton> {
    let config = thompson::Config::new()
        .utf8(false)
        .which_captures(WhichCaptures::None)
        .nfa_size_limit(Some(MAX_WORK));
    let nfa = thompson::Compiler::new()
        .configure(config)
        .build_from_hir(hir)
        .ok()?;
    let config = dense::Config::new()
        .match_kind(MatchKind::All)
        .start_kind(StartKind::Unanchored)
        .accelerate(false)
        .dfa_size_limit(Some(MAX_WORK))
        .determinize_size_limit(Some(MAX_WORK));
    let dfa = dense::Builder::new()
        .configure(config)
        .build_from_nfa(&nfa)
        .ok()?;
    rows(&dfa)
}

/// The rows that can be reached before a match is found.
fn rows(dfa: &dense::DFA<Vec<u32>>) -> Option<Automaton> {
    let classes: Vec<u8> = (0..=255).map(|b| dfa.byte_classes().get(b)).collect();
    // One byte for each class, then the end.
    let bytes: Vec<u8> = dfa
        .byte_classes()
        .representatives(..)
        .filter_map(|unit| unit.as_u8())
        .collect();
    let begin = start::Config::new().anchored(Anchored::No);
    let mut found = Numbers {
        dfa,
        known: HashMap::new(),
        todo: Vec::new(),
    };
    let width = bytes.len() + 1;
    let start = found.number(dfa.start_state(&begin).ok()?);
    let mut next = Vec::new();
    let mut at = 0;
    while let Some(&state) = found.todo.get(at) {
        at += 1;
        for &b in &bytes {
            next.push(found.number(dfa.next_state(state, b)));
        }
        next.push(match dfa.is_match_state(dfa.next_eoi_state(state)) {
            true => MATCHED,
            false => FAILED,
        });
        if next.len() > MAX_ENTRIES {
            return None;
        }
    }
    Some(Automaton {
        classes,
        width,
        start,
        next,
    })
}

/// Numbers for states, in the order in which they are found.
struct Numbers<'a> {
    dfa: &'a dense::DFA<Vec<u32>>,
    known: HashMap<StateID, u16>,
    todo: Vec<StateID>,
}

impl Numbers<'_> {
    fn number(&mut self, state: StateID) -> u16 {
        if self.dfa.is_match_state(state) {
            return MATCHED;
        }
        if self.dfa.is_dead_state(state) || self.dfa.is_quit_state(state) {
            return FAILED;
        }
        let todo = &mut self.todo;
        *self.known.entry(state).or_insert_with(|| {
            todo.push(state);
            // The table's limit comes long before this one's.
            (todo.len() - 1) as u16
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::compile;
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        let a = compile(pattern.as_bytes()).expect(pattern).automaton;
        let mut state = a.start;
        let ends = a.width as u8 - 1;
        let classes = text.bytes().map(|b| a.classes[b as usize]);
        for class in classes.chain([ends]) {
            if state >= MATCHED {
                break;
            }
            state = a.next[state as usize * a.width + class as usize];
        }
        state == MATCHED
    }

    /// What SystemTap 4.8's own tables say.
    #[test]
    fn patterns_match_as_in_systemtap() {
        for (pattern, text, is) in [
            ("a(b|bc)|[^x]", "xxab", true),
            ("\\d", "d", true),
            ("\\d", "5", false),
            ("\\.", "x", false),
            ("[\\n]", "n", true),
            ("[a\\]]", "]", true),
            ("a{0}b", "ab", true),
            ("a^b", "a^b", false),
            ("a\\^b", "a^b", true),
            ("x$y", "x$y", false),
            ("x$|y", "y", true),
            ("(^a|b)c", "xbc", true),
            ("(^a|b)c", "xac", false),
            ("a+?", "aa", true),
            ("a{3}", "aa", false),
            ("[[=a=]]", "=]", true),
            ("[[.a.]]", ".]", true),
            ("[]-a]", "^", true),
            ("[]a]", "]", true),
            ("[^]a]", "a]", false),
            ("[a-]", "-", true),
            ("[a-c-e]", "-", true),
            ("[[:digit:][:upper:]]", "xxY", true),
            ("[[:punct:]]", "aB7", false),
            ("}", "}", true),
            ("", "", true),
            ("^$", "", true),
            ("^$", "a", false),
            (".", "", false),
            ("\\<", "<", true),
            ("^(a|b)*c$", "ababc", true),
            ("^(a|b)*c$", "abxbc", false),
        ] {
            assert_eq!(matches(pattern, text), is, "{pattern} on {text}");
        }
    }

    #[test]
    fn large_tables_are_refused() {
        let bad = compile(b"(a|b)*a(a|b){14}").err();
        assert!(bad.is_some_and(|b| b.message.contains("too many states")));
    }
}
