// SPDX-License-Identifier: MIT
//! What `-c` and `-x` mean: the program that `process` without a name is, and
//! the processes that the runner enters.

use crate::command::{self, Command};
use crate::options::Options;
use crate::running;
use trapless_sema::ir::Program;
use trapless_sema::running_program;
use trapless_sema::world::TargetSpec;
use trapless_syntax::diag::{Diagnostics, Tag};

/// The program that `process` without a name means.
pub fn of(
    options: &Options,
    command: Option<&Command>,
    diags: &mut Diagnostics,
) -> Option<TargetSpec> {
    let mut spec = TargetSpec {
        pid: options.pid,
        program: None,
        stands_in: None,
    };
    if let Some(pid) = options.pid {
        spec.program = Some(running_program(pid, &format!("-x {pid}"), None, diags)?);
    }
    if let Some(command) = command {
        spec.program = Some(program_of(command, diags)?);
        let line = options.command.as_deref().unwrap_or_default();
        spec.stands_in = stands_in(line, command);
    }
    Some(spec)
}

/// What to do where `process` without a name is not what was written: a shell, or another interpreter.
fn stands_in(line: &str, command: &Command) -> Option<String> {
    let why = match &command.program {
        None => "-c starts a shell for this command, and `process` alone is that shell".into(),
        Some(name) if command::is_script(name) => {
            format!("{name} is a script, and `process` alone is its interpreter")
        }
        Some(_) => return None,
    };
    let is_program = |p: &String| command::find(p).is_some() && !command::is_script(p);
    let meant = command::programs(line).into_iter().find(is_program);
    let meant = meant.unwrap_or_else(|| "PATH".into());
    Some(format!(
        "{why}: name the program that is meant, process(\"{meant}\")..."
    ))
}

/// What `-c` says, taken apart.
pub fn command(options: &Options, diags: &mut Diagnostics) -> Option<Option<Command>> {
    match options.command.as_deref() {
        Some(line) if line.trim().is_empty() => {
            diags
                .error(Tag::Usage, None, "-c: there is no command")
                .help("give the program that is to be traced: -c 'ls -l'");
            None
        }
        line => Some(line.map(command::parse)),
    }
}

/// The file that the process we start will run.
fn program_of(command: &Command, diags: &mut Diagnostics) -> Option<String> {
    let name = match &command.program {
        Some(name) => name,
        None => "/bin/sh",
    };
    let Some(path) = command::find(name) else {
        let (what, next) = match name.contains('/') {
            true => (
                format!("-c: {name} is no program"),
                "check the path and its permissions",
            ),
            false => (
                format!("-c: no program `{name}` in PATH"),
                "check the spelling, or give its path",
            ),
        };
        let near = trapless_debuginfo::SearchPath::host().nearest_programs(name);
        let next = match near.first() {
            Some(near) => format!("did you mean {near}?"),
            None => next.to_owned(),
        };
        diags.error(Tag::ProgramUnknown, None, what).help(next);
        return None;
    };
    Some(path.to_string_lossy().into_owned())
}

/// What the runner attaches to: `named` by -x or in the script; and whether also
/// processes that start later. `None`: reported.
pub fn processes(
    named: Option<u32>,
    command: Option<&Command>,
    follow: bool,
    program: &Program,
    diags: &mut Diagnostics,
) -> Option<(Vec<u32>, bool)> {
    if program.options.kernel {
        return Some((Vec::new(), false));
    }
    if let Some(pid) = named {
        return Some((vec![pid], false));
    }
    let Some(command) = command else {
        let pids = running::find(program, follow, diags);
        let later = follow && pids.is_some();
        return (!diags.has_errors()).then_some((pids.unwrap_or_default(), later));
    };
    let probes_process = program.probes.iter().any(|p| p.kind.is_of_target());
    if command.several && probes_process && !follow {
        diags
            .warn(
                Tag::ProcessLater,
                None,
                "-c: this is work for a shell; the first program of the script that it starts is traced, others are not",
            )
            .help("without --no-follow all of them are");
    }
    Some((Vec::new(), false))
}
