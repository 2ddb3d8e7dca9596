// SPDX-License-Identifier: MIT
//! Formats of which each is the sum of a session's stacks: written at its end.

use crate::event::{Event, Note, Totals};
use crate::stacks::Stacks;
use crate::writer::Writer;
use std::io::{self, Write};

pub type Put = fn(&Stacks, &mut dyn Write) -> io::Result<()>;

pub struct Sampled {
    out: Box<dyn Write>,
    stacks: Stacks,
    put: Put,
}

impl Sampled {
    pub fn new(out: Box<dyn Write>, put: Put) -> Sampled {
        Sampled {
            out,
            stacks: Stacks::default(),
            put,
        }
    }
}

const NOTHING: &str = "the session has no stack in its events or globals";

impl Writer for Sampled {
    fn event(&mut self, e: &Event<'_>) -> io::Result<()> {
        self.stacks.add(e);
        Ok(())
    }

    /// The standard error output has it.
    fn note(&mut self, _: &Note<'_>) -> io::Result<()> {
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, _: Option<&Totals>) -> io::Result<()> {
        if self.stacks.series().is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, NOTHING));
        }
        (self.put)(&self.stacks, &mut self.out)?;
        self.out.flush()
    }
}
