// SPDX-License-Identifier: MIT
//! Ready commands: `trapless NAME ...` runs a script that comes with trapless as any other is run.

mod line;
mod points;
mod screen;
pub mod table;

use crate::options::Options;
use table::{Ready, READY};

/// The options of a run, where the command line begins with a ready command's name. What is wrong with them is said here,
/// and ends the program.
pub fn asked() -> Option<Options> {
    let words: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|w| w.to_string_lossy().into_owned())
        .collect();
    let ready = named(words.first()?)?;
    Some(line::options(ready, &words[1..]).unwrap_or_else(|e| e.exit()))
}

fn named(name: &str) -> Option<&'static Ready> {
    READY.iter().find(|r| r.name == name)
}

/// For completions: a subcommand each.
pub fn commands() -> impl Iterator<Item = clap::Command> {
    READY.iter().map(line::command)
}
