// SPDX-License-Identifier: MIT
//! `trapless`: from a script to a live process.

mod bpftrace;
mod build;
mod cache;
mod command;
mod convert;
mod coverage;
mod dump;
mod editor;
mod events;
mod examples;
mod exit;
mod forward;
mod inherited;
mod input;
mod interactive;
mod interrupted;
mod limits;
mod list;
mod memory;
mod options;
mod output;
mod passes;
mod paths;
mod progress;
mod ready;
mod run;
mod running;
mod sessions;
mod settings;
mod target;
mod theirs;

use clap::{CommandFactory, Parser};
use exit::{EXIT_FAILURE, EXIT_USAGE};
use options::Options;
use std::io::IsTerminal;
use std::process::ExitCode;
use trapless_syntax::diag::{Diagnostics, Tag};
use trapless_syntax::SourceMap;

fn main() -> ExitCode {
    if std::env::args_os().len() < 2 {
        eprint!("{}", options::brief());
        return ExitCode::from(EXIT_USAGE);
    }
    if let Some(text) = theirs::refuse(std::env::args().skip(1)) {
        eprint!("{text}");
        return ExitCode::from(EXIT_USAGE);
    }
    let mut options = ready::asked().unwrap_or_else(Options::parse);
    if options.brief {
        print!("{}", options::brief());
        return ExitCode::SUCCESS;
    }
    options.verbose = options.verbose.saturating_add(options.vp.unwrap_or(0));
    if let Some(folder) = &options.tmpdir {
        // Nobody else runs yet.
        std::env::set_var("TMPDIR", folder);
    }
    if options.clean_cache {
        return match cache::Cache::clean() {
            Ok(()) => ExitCode::SUCCESS,
            Err(e) => {
                eprintln!("error: the cache cannot be emptied: {e}\n  = next step: remove the folder ~/.cache/trapless");
                ExitCode::from(EXIT_FAILURE)
            }
        };
    }
    if let Some(shell) = options.completions {
        let mut command = Options::command().subcommands(ready::commands());
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut command, "trapless", &mut text);
        return match output::put(&text) {
            Ok(()) => ExitCode::SUCCESS,
            Err(e) => {
                eprintln!("error: cannot write the output: {}", input::plain(&e));
                ExitCode::from(EXIT_FAILURE)
            }
        };
    }
    if let Some(status) = events::help(&options) {
        return ExitCode::from(status);
    }
    if let Some(file) = &options.coverage {
        return ExitCode::from(coverage::start(file, &options));
    }
    if let Some(text) = convert::refuse(&options) {
        eprintln!("{text}");
        return ExitCode::from(EXIT_USAGE);
    }
    if let Some(file) = &options.convert {
        return ExitCode::from(convert::start(file, &options));
    }
    if options.language_server {
        return ExitCode::from(editor::start(&options));
    }
    if options.interactive {
        return ExitCode::from(interactive::start());
    }
    if sessions::asked(&options) {
        return ExitCode::from(sessions::start(&options));
    }
    let hearing = interrupted::Hearing::start();
    let limits = match limits::Limits::set(&options) {
        Ok(limits) => limits,
        Err(text) => {
            eprintln!("{text}");
            return ExitCode::from(EXIT_USAGE);
        }
    };
    let mut map = SourceMap::new();
    let mut diags = Diagnostics::new();
    let done = passes::run(&options, &mut map, &mut diags);
    hearing.end();
    limits.put_back();
    if options.no_warnings {
        diags.drop_warnings();
    }
    if options.warnings_are_errors {
        diags.raise_warnings();
    }
    let colour = match options.color.as_str() {
        "auto" => std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
        when => when == "always",
    };
    eprint!("{}", diags.render(&map, colour));
    if diags.has_errors() {
        diags.drop_warnings();
        let usage = diags.iter().any(|d| d.tag == Tag::Usage);
        return ExitCode::from(if usage { EXIT_USAGE } else { EXIT_FAILURE });
    }
    match done {
        Some(run) => ExitCode::from(run.start(&options)),
        None => ExitCode::SUCCESS,
    }
}
