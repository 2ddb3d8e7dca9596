// SPDX-License-Identifier: MIT
//! Pass 5: hands the module to `trapless-run`.

use crate::options::Options;
use crate::EXIT_FAILURE;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;

/// A module that is ready to run; its file is ours to remove.
pub struct Run {
    pub runner: PathBuf,
    pub module: PathBuf,
    pub command: Option<String>,
    pub pids: Vec<u32>,
}

impl Run {
    /// Run the session; gives the exit status.
    pub fn start(self, options: &Options) -> u8 {
        let mut command = Command::new(&self.runner);
        command.arg(&self.module);
        if let Some(cmd) = &self.command {
            command.arg("-c").arg(cmd);
        }
        for pid in &self.pids {
            command.arg("-x").arg(pid.to_string());
        }
        if let Some(out) = &options.output {
            command.arg("-o").arg(out);
        }
        for (on, flag) in [
            (options.explain, "--explain"),
            (options.preload, "--preload"),
        ] {
            if on {
                command.arg(flag);
            }
        }
        for _ in 0..options.verbose {
            command.arg("-v");
        }
        let status = command.status();
        let _ = std::fs::remove_file(&self.module);
        match status {
            Ok(s) => match (s.code(), s.signal()) {
                (Some(code), _) => code as u8,
                (None, signal) => 128 + signal.unwrap_or(0) as u8,
            },
            Err(e) => {
                eprintln!("error: {}: {e}", self.runner.display());
                eprintln!("next step: build or install trapless-run beside trapless (make)");
                EXIT_FAILURE
            }
        }
    }
}
