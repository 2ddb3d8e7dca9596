// SPDX-License-Identifier: MIT
//! Pass 5: hands the module to `trapless-run`.

use crate::exit::EXIT_FAILURE;
use crate::inherited;
use crate::memory;
use crate::options::Options;
use std::fs::File;
use std::os::fd::IntoRawFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A module that is ready to run.
pub struct Run {
    pub runner: PathBuf,
    /// Open, and without a name.
    pub module: File,
    /// The words of what to start.
    pub command: Option<Vec<String>>,
    pub pids: Vec<u32>,
    /// Also processes that start later.
    pub later: bool,
}

impl Run {
    /// Become the runner, so that signals and the exit status are its own.
    /// Returns only when that fails, with the exit status.
    pub fn start(self, options: &Options) -> u8 {
        if !memory::is_enough() {
            eprintln!(
                "error: {}: the limit of memory is too small",
                self.runner.display()
            );
            eprintln!("next step: raise it (ulimit -d)");
            return EXIT_FAILURE;
        }
        let mut command = Command::new(&self.runner);
        match hand_over(self.module) {
            Ok(path) => command.arg(path),
            Err(e) => {
                eprintln!("error: the module cannot be handed over: {e}");
                return EXIT_FAILURE;
            }
        };
        for pid in &self.pids {
            command.arg("-x").arg(pid.to_string());
        }
        if let Some(out) = &options.output {
            command.arg("-o").arg(out);
        }
        if let Some(words) = &options.rotate {
            command.arg("--rotate").arg(words);
        }
        if let Some(seconds) = options.monitor {
            command.arg("--monitor").arg(seconds.to_string());
        }
        for (on, flag) in [
            (options.explain, "--explain"),
            (options.no_follow, "--no-follow"),
            (self.later, "--later"),
            (options.preload, "--preload"),
            (options.no_warnings, "--no-warnings"),
        ] {
            if on {
                command.arg(flag);
            }
        }
        for _ in 0..options.verbose {
            command.arg("-v");
        }
        if let Some(words) = &self.command {
            command.arg("--").args(words);
        }
        let command = inherited::hand_on(&mut command);
        let e = match options.background {
            true => match aside(command) {
                Ok(pid) => {
                    println!("{pid}");
                    return 0;
                }
                Err(e) => e,
            },
            false => command.exec(),
        };
        eprintln!("error: {}: {e}", self.runner.display());
        eprintln!("next step: build or install trapless-run beside trapless (make)");
        EXIT_FAILURE
    }
}

/// In the background, where no terminal's signal reaches it.
fn aside(command: &mut Command) -> std::io::Result<u32> {
    let (input, output) = (Stdio::null(), Stdio::null());
    let child = command.stdin(input).stdout(output).process_group(0);
    Ok(child.spawn()?.id())
}

/// The runner opens the module through its descriptor, and closes that before
/// it starts a command.
fn hand_over(module: File) -> std::io::Result<String> {
    // It must survive the exec.
    rustix::io::fcntl_setfd(&module, rustix::io::FdFlags::empty())?;
    let fd = module.into_raw_fd();
    Ok(format!("/proc/self/fd/{fd}"))
}
