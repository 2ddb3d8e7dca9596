// SPDX-License-Identifier: MIT
//! A recording, read to its end and written in another format.

use crate::assemble::Assembler;
use crate::calls::Limits;
use crate::event::{Event, Note, NoteKind, Totals};
use crate::module::{Module, Shows};
use crate::raw::{Fault, Source, Stream};
use crate::write::{writer, Format, Output};
use crate::writer::Writer;
use std::fmt;
use std::io;

/// What has gone wrong; what came before is written.
#[derive(Debug)]
pub enum Failure {
    Reading(Fault),
    Writing(io::Error),
}

impl Failure {
    /// Whoever reads the output has seen enough, as `head` does.
    pub fn is_enough(&self) -> bool {
        matches!(self, Failure::Writing(e) if e.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl From<Fault> for Failure {
    fn from(e: Fault) -> Failure {
        Failure::Reading(e)
    }
}

impl From<io::Error> for Failure {
    fn from(e: io::Error) -> Failure {
        Failure::Writing(e)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Reading(e) => e.fmt(f),
            Failure::Writing(e) => e.fmt(f),
        }
    }
}

/// What came of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    pub events: u64,
    /// Run-time errors of handlers.
    pub errors: u64,
    pub lost: u64,
    /// Records that make no sense.
    pub damaged: u64,
    /// `None`: of version 1, which has no end.
    pub totals: Option<Totals>,
}

/// Counts, and hands on to the format's writer.
struct Counting<'a> {
    writer: Box<dyn Writer>,
    /// What is there in another way in this format.
    leaves_out: Option<Shows>,
    tell: &'a mut dyn FnMut(&NoteKind),
    summary: Summary,
}

impl Writer for Counting<'_> {
    fn event(&mut self, e: &Event<'_>) -> io::Result<()> {
        if self.leaves_out.is_some() && e.probe.map(|p| p.shows) == self.leaves_out {
            return Ok(());
        }
        self.summary.events += 1;
        self.writer.event(e)
    }

    fn note(&mut self, n: &Note<'_>) -> io::Result<()> {
        match n.kind {
            NoteKind::Error(_) => self.summary.errors += 1,
            NoteKind::Lost(n) => self.summary.lost += n,
            _ => {}
        }
        self.writer.note(n)?;
        (self.tell)(&n.kind);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }

    fn end(&mut self, totals: Option<&Totals>) -> io::Result<()> {
        self.writer.end(totals)
    }
}

/// `tell` hears of what is no event as it comes. Nothing is kept back while more input is waited for.
pub fn convert(
    input: impl Source,
    format: Format,
    limits: Limits,
    output: Output,
    tell: &mut dyn FnMut(&NoteKind),
) -> (Summary, Result<(), Failure>) {
    let mut summary = Summary::default();
    let result = all(input, format, limits, output, tell, &mut summary);
    (summary, result)
}

fn all(
    input: impl Source,
    format: Format,
    limits: Limits,
    output: Output,
    tell: &mut dyn FnMut(&NoteKind),
    summary: &mut Summary,
) -> Result<(), Failure> {
    let mut stream = Stream::open(input)?;
    let mut to = Counting {
        leaves_out: leaves_out(format, &stream.module),
        writer: writer(format, limits, output, &stream.head, &stream.module)?,
        tell,
        summary: Summary::default(),
    };
    let mut assembler = Assembler::default();
    let read = records(&mut stream, &mut assembler, &mut to);
    // Also what came before a fault is to be whole.
    let written = match &read {
        Err(Failure::Writing(_)) => Ok(()),
        _ => assembler
            .finish(&stream.module, &mut to)
            .and_then(|()| to.end(assembler.totals.as_ref())),
    };
    *summary = to.summary;
    summary.damaged = assembler.damaged;
    summary.totals = assembler.totals;
    read?;
    Ok(written?)
}

/// Globals are either text or rows.
fn leaves_out(format: Format, module: &Module) -> Option<Shows> {
    match format {
        Format::Text => Some(Shows::Rows),
        _ if module.probes.iter().any(|p| p.shows == Shows::Rows) => Some(Shows::Unread),
        _ => None,
    }
}

fn records<R: Source>(
    stream: &mut Stream<R>,
    assembler: &mut Assembler,
    to: &mut Counting<'_>,
) -> Result<(), Failure> {
    while let Some((module, record)) = stream.record()? {
        assembler.take(module, record, to)?;
        if stream.waits() {
            to.flush()?;
        }
    }
    Ok(())
}
