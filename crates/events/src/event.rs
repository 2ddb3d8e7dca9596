// SPDX-License-Identifier: MIT
//! What writers get: events with named fields, and notes of what else happened.

use crate::format::{self, Arg};
use crate::module::{Field, Module, Probe, Shows};
use std::ops::Range;
use std::sync::Arc;

/// Whose the events of one ring are, as far as the stream has said.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Thread {
    pub tid: u32,
    pub pid: u32,
    /// The name of its program.
    pub comm: String,
    /// A kernel's events are kept by processor, not by thread.
    pub processor: Option<u32>,
}

/// Events of one name with the same fields.
#[derive(Debug)]
pub struct Class {
    /// From 0 on, in the order in which they came first.
    pub number: usize,
    pub name: Arc<str>,
    /// Each name once: a second `pid` is `pid_2`.
    pub fields: Vec<Arc<Field>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value<'a> {
    Number(i64),
    Text(&'a [u8]),
}

/// A value, kept: its text is in the event's bytes.
#[derive(Clone, Debug)]
pub(crate) enum Kept {
    Number(i64),
    Text(Range<usize>),
}

/// A print, or text without one: the lines of a stack, or others.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Print { number: usize, args: Range<usize> },
    Text(Range<usize>),
    Stack(Range<usize>),
}

/// What one run of a handler has printed up to the end of a line.
#[derive(Debug)]
pub struct Event<'a> {
    /// Nanoseconds since the epoch; that of all events of one run.
    pub time: u64,
    pub ring: u32,
    pub thread: &'a Thread,
    /// `None`: a stream of version 1 does not say.
    pub probe: Option<&'a Probe>,
    pub class: &'a Class,
    pub(crate) module: &'a Module,
    pub(crate) parts: &'a [Part],
    /// Of all prints, widths included.
    pub(crate) args: &'a [Kept],
    pub(crate) bytes: &'a [u8],
    /// Of the class's fields.
    pub(crate) values: &'a [Kept],
}

impl Kept {
    pub(crate) fn value<'a>(&self, bytes: &'a [u8]) -> Value<'a> {
        match self {
            Kept::Number(n) => Value::Number(*n),
            Kept::Text(at) => Value::Text(&bytes[at.clone()]),
        }
    }
}

impl<'a> Event<'a> {
    /// What a record of it is called: one of a handler's prints, or a row of a global.
    pub fn kind_name(&self) -> &'static str {
        match self.probe.map(|p| p.shows) {
            Some(Shows::Rows) => "row",
            _ => "event",
        }
    }

    /// With a value for each field of the class.
    pub fn fields(&self) -> impl Iterator<Item = (&'a Field, Value<'a>)> + '_ {
        let fields = self.class.fields.iter().map(|f| &**f);
        fields.zip(self.values.iter().map(|v| v.value(self.bytes)))
    }

    /// Appends what the script has printed, byte by byte.
    pub fn put_text(&self, out: &mut Vec<u8>) {
        put_parts(self.module, self.parts, self.args, self.bytes, out);
    }
}

pub(crate) fn put_parts(
    module: &Module,
    parts: &[Part],
    args: &[Kept],
    bytes: &[u8],
    out: &mut Vec<u8>,
) {
    for part in parts {
        match part {
            Part::Text(at) | Part::Stack(at) => out.extend_from_slice(&bytes[at.clone()]),
            Part::Print { number, args: at } => {
                let arg = |k: &Kept| match k.value(bytes) {
                    Value::Number(n) => Arg::Number(n),
                    Value::Text(t) => Arg::Text(t),
                };
                let args: Vec<Arg<'_>> = args[at.clone()].iter().map(arg).collect();
                format::format(&module.prints[*number].format, &args, out);
            }
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoteKind {
    /// A run-time error: its handler has ended there.
    Error(String),
    Warning(String),
    /// So many records of this thread did not fit.
    Lost(u64),
    /// What system() has started.
    Command(String),
    /// So many hits its probe has had.
    Hits(u64),
    /// Output goes on in the next file: switch_file().
    Switch,
}

impl NoteKind {
    pub fn name(&self) -> &'static str {
        match self {
            NoteKind::Error(_) => "error",
            NoteKind::Warning(_) => "warning",
            NoteKind::Lost(_) => "lost",
            NoteKind::Command(_) => "command",
            NoteKind::Hits(_) => "hits",
            NoteKind::Switch => "switch",
        }
    }

    pub fn text(&self) -> &str {
        match self {
            NoteKind::Error(text) | NoteKind::Warning(text) | NoteKind::Command(text) => text,
            _ => "",
        }
    }

    pub fn count(&self) -> Option<u64> {
        match self {
            NoteKind::Lost(n) | NoteKind::Hits(n) => Some(*n),
            _ => None,
        }
    }

    /// As one text: what it says, or how many.
    pub fn said(&self) -> String {
        let count = self.count().map(|n| n.to_string());
        count.unwrap_or_else(|| self.text().to_string())
    }
}

#[derive(Debug)]
pub struct Note<'a> {
    pub time: u64,
    pub ring: u32,
    pub thread: &'a Thread,
    pub probe: Option<&'a Probe>,
    pub kind: NoteKind,
}

/// Sums of a session that came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    pub records: u64,
    pub lost: u64,
    pub errors: u64,
    pub skipped: u64,
    pub missed: u64,
    pub no_block: u64,
    pub damaged: u64,
}
