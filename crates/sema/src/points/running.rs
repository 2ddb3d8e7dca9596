// SPDX-License-Identifier: MIT
//! What a process runs, and why that cannot be known.

use trapless_debuginfo::Programless;
use trapless_syntax::diag::{Diagnostics, Tag};
use trapless_syntax::Span;

/// The program of a process that was `asked` for: its path there. `None`: reported.
pub fn program(
    pid: u32,
    asked: &str,
    span: Option<Span>,
    diags: &mut Diagnostics,
) -> Option<String> {
    let folder = trapless_debuginfo::proc_folder(pid);
    let path = match std::fs::read_link(folder.join("exe")) {
        Ok(path) => trapless_debuginfo::name_inside(pid, &path),
        Err(e) => {
            no_program(pid, &e, asked, span, diags);
            return None;
        }
    };
    let name = path.to_string_lossy();
    // What the kernel says behind the name of a file that is gone or was replaced.
    Some(name.strip_suffix(" (deleted)").unwrap_or(&name).to_owned())
}

/// Why nothing is known of what a process runs.
fn no_program(
    pid: u32,
    e: &std::io::Error,
    asked: &str,
    span: Option<Span>,
    diags: &mut Diagnostics,
) {
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
        .error(Tag::TargetMissing, span, format!("{asked}: {what}"))
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
