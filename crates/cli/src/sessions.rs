// SPDX-License-Identifier: MIT
//! `--sessions`, `--enable`, `--disable`, `--optimize`: `trapless-run` asks
//! the sessions that run.

use crate::exit::EXIT_FAILURE;
use crate::options::Options;
use crate::paths::Paths;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Whether something is asked of them.
pub fn asked(options: &Options) -> bool {
    !request(options).is_empty()
}

/// Becomes the runner. Returns only when that fails, with the exit status.
pub fn start(options: &Options) -> u8 {
    let runner = Paths::find().runner;
    let mut command = Command::new(&runner);
    command.args(request(options));
    if let Some(which) = &options.session {
        command.args(["--session", which]);
    }
    let e = command.exec();
    eprintln!("error: {}: {e}", runner.display());
    eprintln!("next step: build or install trapless-run beside trapless (make)");
    EXIT_FAILURE
}

fn request(options: &Options) -> Vec<String> {
    let with_value = [
        ("--enable", &options.enable),
        ("--disable", &options.disable),
        ("--optimize", &options.optimize),
    ];
    let mut words: Vec<String> = options
        .sessions
        .then(|| "--sessions".to_owned())
        .into_iter()
        .collect();
    for (name, value) in with_value {
        if let Some(value) = value {
            words.push(format!("{name}={value}"));
        }
    }
    words
}
