// SPDX-License-Identifier: MIT
//! Pass 5: hands the module to `trapless-run`.

use crate::convert::{self, Live};
use crate::exit::EXIT_FAILURE;
use crate::inherited;
use crate::memory;
use crate::options::{self, Options};
use std::fs::File;
use std::os::fd::IntoRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
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
        let format = convert::wanted(options);
        let live = match format.map(|f| Live::prepare(f, options, &mut command)) {
            Some(Err(status)) => return status,
            Some(Ok(live)) => Some(live),
            None => None,
        };
        if let (None, Some(out)) = (format, &options.output) {
            command.arg("-o").arg(out);
        }
        if options.format.as_deref() == Some(options::RAW) {
            command.arg("--raw");
        }
        if let Some(seconds) = options.rows_every {
            command.arg("--every").arg(seconds.to_string());
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
        inherited::hand_on(&mut command);
        if let Some(live) = live {
            return match live.run(&mut command) {
                Ok(status) => status,
                Err(e) => not_started(&self.runner, &e),
            };
        }
        let e = match options.background {
            true => match aside(&mut command) {
                Ok(pid) => {
                    println!("{pid}");
                    return 0;
                }
                Err(e) => e,
            },
            false => command.exec(),
        };
        not_started(&self.runner, &e)
    }
}

fn not_started(runner: &Path, e: &std::io::Error) -> u8 {
    eprintln!("error: {}: {e}", runner.display());
    eprintln!("next step: build or install trapless-run beside trapless (make)");
    EXIT_FAILURE
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
