// SPDX-License-Identifier: MIT
//! What `-c` and `-x` mean: the program that `process` without a name is, and
//! the processes that the runner enters.

use crate::command::{self, Command};
use crate::options::Options;
use crate::running;
use trapless_debuginfo::Programless;
use trapless_sema::ir::{ProbeKind, Program};
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
    };
    if let Some(pid) = options.pid {
        let folder = trapless_debuginfo::proc_folder(pid);
        match std::fs::read_link(folder.join("exe")) {
            Ok(path) => {
                let path = trapless_debuginfo::name_inside(pid, &path);
                let name = path.to_string_lossy();
                // What the kernel says behind the name of a file that is gone or was replaced.
                let name = name.strip_suffix(" (deleted)").unwrap_or(&name);
                spec.program = Some(name.to_owned());
            }
            Err(e) => {
                no_program(pid, &e, diags);
                return None;
            }
        }
    }
    if let Some(command) = command {
        spec.program = Some(program_of(command, diags)?);
    }
    Some(spec)
}

/// Why nothing is known of what a process runs.
fn no_program(pid: u32, e: &std::io::Error, diags: &mut Diagnostics) {
    let gone = e.kind() == std::io::ErrorKind::NotFound;
    let (what, next) = match trapless_debuginfo::programless(pid) {
        Some(Programless::Zombie) => (
            "this process has ended (a zombie)",
            "it goes away when its parent waits for it",
        ),
        Some(Programless::KernelThread) => (
            "this is a thread of the kernel: it runs no program",
            "trace the program whose work it does; ps shows threads of the kernel in brackets",
        ),
        None if gone => (
            "there is no such process",
            "check the number with ps or pgrep",
        ),
        None if is_root() => (
            "not even root may look at this process: a security module or another \
             user namespace protects it",
            "trace it from inside its container, or start the program with -c",
        ),
        None if is_mine(pid) => (
            "this process has made itself non-dumpable (set-user-id program, file capabilities, \
             or prctl PR_SET_DUMPABLE), or a security module protects it",
            "run as root, or start the program with -c",
        ),
        None => (
            "this process belongs to another user",
            "run as its user, or as root",
        ),
    };
    diags
        .error(Tag::TargetMissing, None, format!("-x {pid}: {what}"))
        .help(next);
}

fn is_root() -> bool {
    real_user("self") == Some(0)
}

fn is_mine(pid: u32) -> bool {
    let user = real_user(&pid.to_string());
    user.is_some() && user == real_user("self")
}

/// As its status file tells everybody: the folder belongs to root where the process is not dumpable.
fn real_user(process: &str) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("Uid:"))?;
    line.split_whitespace().next()?.parse().ok()
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

/// What the runner attaches to. `None`: reported.
pub fn processes(
    options: &Options,
    command: Option<&Command>,
    program: &Program,
    diags: &mut Diagnostics,
) -> Option<Vec<u32>> {
    if let Some(pid) = options.pid {
        return Some(vec![pid]);
    }
    let Some(command) = command else {
        let pids = running::find(program, diags).unwrap_or_default();
        return (!diags.has_errors()).then_some(pids);
    };
    let probes_process = program
        .probes
        .iter()
        .any(|p| matches!(p.kind, ProbeKind::Site { .. } | ProbeKind::Return { .. }));
    if command.several && probes_process {
        diags
            .warn(
                Tag::ProcessLater,
                None,
                "-c: this is work for a shell; the shell is traced, the programs that it starts are not yet",
            )
            .help("give one program, or put `exec` before the last one");
    }
    Some(Vec::new())
}
