// SPDX-License-Identifier: MIT
//! `--coverage FILE`: the functions that symbols name, handed to
//! `trapless-run`, whose engine finds the others and does the counting.

use crate::exit::EXIT_FAILURE;
use crate::options::Options;
use crate::paths::Paths;
use std::collections::BTreeSet;
use std::io::Write;
use std::os::fd::IntoRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use trapless_debuginfo::{Binary, DebugInfo, SearchPath};

/// Becomes the runner. Returns only when that fails, with the exit status.
pub fn start(file: &Path, options: &Options) -> u8 {
    if is_of_kernel(file) {
        return become_runner(file, None, options);
    }
    let file = &in_path(file);
    let info = DebugInfo::new(SearchPath::host());
    let list = match info.open(file) {
        Ok(binary) => functions(&binary),
        Err(e) => return failed(&e, "give a program or shared library of this machine"),
    };
    let list = match hand_over(&list) {
        Ok(list) => list,
        Err(e) => return failed(&e, "is there memory left?"),
    };
    become_runner(file, Some(list), options)
}

/// `kernel` and `module("NAME")` are of the kernel that runs here, and name no file.
fn is_of_kernel(file: &Path) -> bool {
    let name = file.to_str().unwrap_or_default();
    name == "kernel" || name.starts_with("module(")
}

fn become_runner(file: &Path, list: Option<String>, options: &Options) -> u8 {
    let runner = Paths::find().runner;
    let mut command = Command::new(&runner);
    command.arg("--coverage").arg(file);
    if let Some(list) = list {
        command.arg("--functions").arg(list);
    }
    for _ in 0..options.verbose {
        command.arg("-v");
    }
    let e = command.exec();
    failed(
        &format!("{}: {e}", runner.display()),
        "build or install trapless-run beside trapless (make)",
    )
}

/// A name that is no file's here is a program's, as in process("NAME").
fn in_path(file: &Path) -> PathBuf {
    let name = file.to_str().filter(|n| !n.contains('/') && !file.exists());
    let found = name.and_then(|n| SearchPath::host().program(n).ok());
    found.unwrap_or_else(|| file.to_path_buf())
}

fn failed(why: &dyn std::fmt::Display, next: &str) -> u8 {
    eprintln!("error: {why}");
    eprintln!("next step: {next}");
    EXIT_FAILURE
}

/// `.symtab`, `.dynsym` and `.gnu_debugdata`: address and size, each once.
fn functions(binary: &Binary) -> BTreeSet<(u64, u64)> {
    let symbols = binary.symbols().iter().filter(|s| s.kind.is_code());
    symbols.map(|s| (s.addr, s.size)).collect()
}

/// The list as a file without a name that survives the exec.
fn hand_over(list: &BTreeSet<(u64, u64)>) -> std::io::Result<String> {
    let memory = rustix::fs::memfd_create("functions", rustix::fs::MemfdFlags::empty())?;
    let mut file = std::fs::File::from(memory);
    let text: String = list.iter().map(|(a, n)| format!("{a:x} {n:x}\n")).collect();
    file.write_all(text.as_bytes())?;
    Ok(format!("/proc/self/fd/{}", file.into_raw_fd()))
}
