// SPDX-License-Identifier: MIT
//! Standard output. Whoever reads no more of it, as `head` does, has had enough.

use crate::input::plain;
use crate::options::Options;
use std::io::{ErrorKind, Result, Write};
use trapless_syntax::diag::{Diagnostics, Tag};

pub fn put(text: &[u8]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

pub fn print(text: &str, diags: &mut Diagnostics) {
    if let Err(e) = put(text.as_bytes()) {
        let what = format!("cannot write the output: {}", plain(&e));
        diags
            .error(Tag::FileMissing, None, what)
            .help("send it where there is room");
    }
}

/// -o takes what a session prints; where none is run nothing would be in it.
pub fn check_file(options: &Options, diags: &mut Diagnostics) {
    if options.output.is_none() || options.last_pass == 5 {
        return;
    }
    let what = format!(
        "-o takes the output of a session, and -p{} runs none",
        options.last_pass
    );
    diags
        .warn(Tag::Usage, None, what)
        .help("leave it out; with -p4, -m NAME names the module");
}
