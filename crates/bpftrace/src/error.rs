// SPDX-License-Identifier: MIT
//! What is wrong with a bpftrace program, and where.

use std::fmt;

/// Bytes of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct At {
    pub lo: usize,
    pub hi: usize,
}

impl At {
    pub fn to(self, end: At) -> At {
        At {
            lo: self.lo,
            hi: end.hi.max(self.hi),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// bpftrace would not take it either.
    Wrong,
    /// bpftrace has it; it has no counterpart here.
    Refused,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub at: At,
    pub kind: Kind,
    pub what: String,
    /// What to do instead.
    pub next: String,
}

pub type Result<T> = std::result::Result<T, Error>;

pub fn wrong<T>(at: At, what: impl Into<String>, next: impl Into<String>) -> Result<T> {
    error(Kind::Wrong, at, what, next)
}

pub fn refused<T>(at: At, what: impl Into<String>, next: impl Into<String>) -> Result<T> {
    error(Kind::Refused, at, what, next)
}

fn error<T>(kind: Kind, at: At, what: impl Into<String>, next: impl Into<String>) -> Result<T> {
    Err(Error {
        at,
        kind,
        what: what.into(),
        next: next.into(),
    })
}

impl Error {
    /// Line and column, from 1, in characters.
    pub fn place(&self, text: &str) -> (usize, usize) {
        let before = text.get(..self.at.lo).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or("");
        (before.matches('\n').count() + 1, line.chars().count() + 1)
    }

    pub fn shown(&self, text: &str) -> String {
        let (line, column) = self.place(text);
        format!("{line}:{column}: {self}")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.next)
    }
}

impl std::error::Error for Error {}
