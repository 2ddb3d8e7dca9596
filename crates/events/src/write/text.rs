// SPDX-License-Identifier: MIT
//! What the script prints, byte by byte.

use crate::event::{Event, Note, Totals};
use crate::writer::Writer;
use std::io::{self, Write};

pub struct Text {
    out: Box<dyn Write>,
    text: Vec<u8>,
}

impl Text {
    pub fn new(out: Box<dyn Write>) -> Text {
        Text {
            out,
            text: Vec::new(),
        }
    }
}

impl Writer for Text {
    fn event(&mut self, e: &Event<'_>) -> io::Result<()> {
        self.text.clear();
        e.put_text(&mut self.text);
        self.out.write_all(&self.text)
    }

    /// They go to the standard error output, as those of a session do.
    fn note(&mut self, _: &Note<'_>) -> io::Result<()> {
        self.out.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn end(&mut self, _: Option<&Totals>) -> io::Result<()> {
        self.out.flush()
    }
}
