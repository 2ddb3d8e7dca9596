// SPDX-License-Identifier: MIT
//! What the program ends with.

/// Our own failure, or a script that is refused.
pub const EXIT_FAILURE: u8 = 1;
/// The command line is wrong; clap's own status, too.
pub const EXIT_USAGE: u8 = 2;
