// SPDX-License-Identifier: MIT
//! The terminal that a table is drawn on again and again.

use crate::convert;
use crate::options::{Options, RAW};
use std::io::{stdout, IsTerminal};

/// Lines and columns where a terminal does not tell.
const USUAL: (u16, u16) = (24, 80);

/// How many lines and columns it has; none where the output goes elsewhere.
pub fn size(options: &Options) -> (u16, u16) {
    let elsewhere = options.output.is_some() || convert::wanted(options).is_some();
    let raw = options.format.as_deref() == Some(RAW);
    if elsewhere || raw || options.background || !stdout().is_terminal() {
        return (0, 0);
    }
    match rustix::termios::tcgetwinsize(stdout()) {
        Ok(size) if size.ws_row > 0 && size.ws_col > 0 => (size.ws_row, size.ws_col),
        _ => USUAL,
    }
}
