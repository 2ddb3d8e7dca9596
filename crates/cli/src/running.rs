// SPDX-License-Identifier: MIT
//! `process("PATH")` without `-c` and `-x`: every process of that program that
//! runs now and may be traced by the user. The runner finds those that start later.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use trapless_sema::ir::{ImageId, Probe, Program, Refusal};
use trapless_syntax::diag::{Diagnostics, Tag};

/// As many as `trapless-run` takes.
const MAX: usize = 256;

/// The processes to attach to. `None`: the script probes no process.
/// `later`: those that are not there yet are waited for.
pub fn find(program: &Program, later: bool, diags: &mut Diagnostics) -> Option<Vec<u32>> {
    let mut wanted: Vec<(ImageId, bool)> = program.probes.iter().filter_map(process_of).collect();
    // Of the same image the one that is an error comes first, and stays.
    wanted.sort_unstable_by_key(|(image, optional)| (image.0, *optional));
    wanted.dedup_by_key(|(image, _)| *image);
    if wanted.is_empty() {
        return None;
    }
    let (mut pids, mut missing) = (Vec::new(), Vec::new());
    for (image, optional) in wanted {
        let path = &program.images[image.0 as usize].path;
        let (mine, others) = of_program(path);
        if !mine.is_empty() {
            tell(path, &mine, others.len());
        } else if !optional {
            missing.push((path, others.len()));
        }
        pids.extend(mine);
    }
    if let Some((path, others)) = missing.first() {
        let more = match missing.len() - 1 {
            0 => String::new(),
            n => format!(" and {n} more programs"),
        };
        if !later || *others > 0 {
            none_running(path, &more, *others, pids.is_empty() && !later, diags);
        }
        if later {
            eprintln!("waiting for {path}{more} to start{}", whose());
        }
    }
    if pids.len() > MAX {
        diags
            .error(
                Tag::TargetMissing,
                None,
                format!("{} processes run; at most {MAX} can be traced", pids.len()),
            )
            .help("choose one with -x PID");
    }
    Some(pids)
}

/// The program that it is about, and whether that may be missing.
fn process_of(probe: &Probe) -> Option<(ImageId, bool)> {
    Some((probe.kind.process()?, probe.refusal == Refusal::Nothing))
}

/// Those that may be traced by us, and those that may not.
fn of_program(path: &str) -> (Vec<u32>, Vec<u32>) {
    let all = trapless_debuginfo::processes_running(Path::new(path));
    let own = std::process::id();
    all.into_iter()
        .filter(|p| *p != own)
        .partition(|p| may_trace(*p))
}

/// An ordinary user is not told what others run.
fn whose() -> &'static str {
    match std::fs::metadata("/proc/self") {
        Ok(me) if me.uid() != 0 => {
            " (processes of others are not seen: run as their user, or as root)"
        }
        _ => "",
    }
}

/// The kernel asks the same for this file as for ptrace.
fn may_trace(pid: u32) -> bool {
    std::fs::File::open(trapless_debuginfo::proc_folder(pid).join("mem")).is_ok()
}

fn tell(path: &str, pids: &[u32], others: usize) {
    let list: Vec<String> = pids.iter().map(u32::to_string).collect();
    let noun = if pids.len() == 1 {
        "process"
    } else {
        "processes"
    };
    let more = match others {
        0 => String::new(),
        n => format!(" ({n} more may not be traced by you)"),
    };
    eprintln!("tracing {noun} {} of {path}{more}", list.join(", "));
}

/// An error where nothing is left to trace; the others may be what a wildcard matched.
fn none_running(path: &str, more: &str, others: usize, alone: bool, diags: &mut Diagnostics) {
    let (what, next) = match others {
        0 => (
            format!("no process of {path}{more} is running"),
            "start it with -c CMD, or start it first",
        ),
        n => (
            format!("none of the {n} processes of {path} may be traced by you"),
            "run as their user, or as root; /proc/sys/kernel/yama/ptrace_scope above 0 also forbids it",
        ),
    };
    match alone {
        true => diags.error(Tag::TargetMissing, None, what),
        false => diags.warn(Tag::TargetMissing, None, what),
    }
    .help(next);
}
