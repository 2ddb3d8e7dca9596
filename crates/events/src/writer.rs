// SPDX-License-Identifier: MIT
//! What a format is made of.

use crate::event::{Event, Note, Totals};
use std::io;

/// Every call may fail as writing does.
pub trait Writer {
    fn event(&mut self, e: &Event<'_>) -> io::Result<()>;
    fn note(&mut self, n: &Note<'_>) -> io::Result<()>;
    /// What is there so far can be read from now on.
    fn flush(&mut self) -> io::Result<()>;
    /// `None`: the recording is cut. What has been written is made whole.
    fn end(&mut self, totals: Option<&Totals>) -> io::Result<()>;
}

/// A value of `%c`: the byte that it prints.
pub(crate) fn character(n: i64) -> [u8; 1] {
    [n as u8]
}
