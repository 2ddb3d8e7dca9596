// SPDX-License-Identifier: MIT
//! `--trace-events`: the trace facility from the command line, in a process or in a kernel.

pub mod caller;
mod choice;
mod help;
mod script;
mod table;

use crate::command::Command;
use crate::exit::EXIT_FAILURE;
use crate::input::plain;
use crate::options::Options;
use crate::{output, target};
use choice::{Chosen, Home};
use trapless_sema::ir::Program;
use trapless_syntax::diag::{Diagnostics, Tag};

/// The exit status, where only the list of events was asked for.
pub fn help(options: &Options) -> Option<u8> {
    let list = options.trace_events.as_deref()?;
    if !help::is_asked(list) {
        return None;
    }
    match output::put(help::text().as_bytes()) {
        Ok(()) => Some(0),
        Err(e) => {
            eprintln!("error: cannot write the output: {}", plain(&e));
            Some(EXIT_FAILURE)
        }
    }
}

/// The script's text, its name for messages, and its arguments, as input::script_text() has them.
pub fn script(
    list: &str,
    options: &Options,
    command: Option<&Command>,
    diags: &mut Diagnostics,
) -> Option<(String, String, Vec<String>)> {
    let home = home(options, diags)?;
    let chosen = choice::choose(list, home, diags)?;
    let caller = options.trace_caller.as_ref();
    if caller.is_some() {
        check_caller(&chosen, home, diags)?;
    }
    let within = match (caller, home) {
        (Some(caller), Home::Process) => {
            let spec = target::of(options, command, diags)?;
            Some(caller::resolve(caller, &spec, diags)?)
        }
        _ => None,
    };
    let text = script::text(list, &chosen, home, within.as_ref());
    Some((text, "<--trace-events>".to_string(), Vec::new()))
}

/// What was asked for by name is there.
pub fn check_found(
    list: &str,
    options: &Options,
    program: &Program,
    diags: &mut Diagnostics,
) -> Option<()> {
    let home = home(options, diags)?;
    for event in choice::choose(list, home, diags)? {
        let Chosen::Named { provider, name } = &event else {
            continue;
        };
        let mut points = program.probes.iter().map(|p| &p.point);
        if home == Home::Process && !points.any(|p| event.is_at(p)) {
            let what = format!("--trace-events: neither the program nor a library of it has a hook or static mark {provider}:{name}");
            diags
                .error(Tag::PointNoMatch, None, what)
                .help("trapless -L 'process(\"PATH\").hook(\"*\")' lists a program's hooks, .mark(\"*\") marks of <sys/sdt.h>; of a library: process(\"PATH\").library(\"NAME\").hook(\"*\")");
        }
    }
    (!diags.has_errors()).then_some(())
}

fn home(options: &Options, diags: &mut Diagnostics) -> Option<Home> {
    if options.release.is_some() {
        return Some(Home::Kernel);
    }
    if options.command.is_some() || options.pid.is_some() {
        return Some(Home::Process);
    }
    diags
        .error(Tag::Usage, None, "--trace-events: events of what?")
        .help("-c CMD or -x PID for a process and its children, -r RELEASE for a kernel: -r $(uname -r) is the one that runs here");
    None
}

fn check_caller(chosen: &[Chosen], home: Home, diags: &mut Diagnostics) -> Option<()> {
    let asks = |c: &Chosen| matches!(c, Chosen::Standard(e) if e.name == "sys_enter");
    let (what, next) = match home {
        Home::Kernel => (
            "--trace-caller: a kernel does not know the callers on a program's stack",
            "leave it out: `ip` of sys_enter is the place of the call; with -c or -x, without -r, its callers are found",
        ),
        Home::Process if !chosen.iter().any(asks) => (
            "--trace-caller: it is about sys_enter, which the list does not have",
            "add it: --trace-events sys_enter,...",
        ),
        Home::Process => return Some(()),
    };
    diags.error(Tag::Usage, None, what).help(next);
    None
}
