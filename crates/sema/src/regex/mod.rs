// SPDX-License-Identifier: MIT
//! Regular expressions: POSIX's extended ones, as egrep takes them without
//! back references. [`parse`] reads the text, [`automaton`] makes the table
//! that decides, [`groups`] the program that finds `matched(n)`.
//!
//! Which text is matched is POSIX's: the leftmost, of these the longest. What
//! the groups hold is what the first of several ways gives, as in SystemTap.

mod automaton;
mod groups;
mod parse;

pub use automaton::Automaton;
pub use groups::{Groups, Op};

/// A pattern as tables.
#[derive(Clone, PartialEq, Debug)]
pub struct Regex {
    pub pattern: Vec<u8>,
    pub automaton: Automaton,
    pub groups: Groups,
    /// Where a backslash stands before a letter or digit, and that.
    pub escaped: Vec<(usize, u8)>,
}

/// What is wrong with a pattern, and at which of its bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Bad {
    pub at: usize,
    pub message: String,
}

/// Make the tables of a pattern.
pub fn compile(pattern: &[u8]) -> Result<Regex, Bad> {
    let parsed = parse::parse(pattern)?;
    let large = |message: &str| Bad {
        at: 0,
        message: message.to_string(),
    };
    let too_large = || large("this pattern needs too many states");
    Ok(Regex {
        pattern: pattern.to_vec(),
        escaped: parsed.escaped.clone(),
        automaton: automaton::build(&parsed.hir).ok_or_else(too_large)?,
        groups: groups::build(&parsed).ok_or_else(too_large)?,
    })
}
