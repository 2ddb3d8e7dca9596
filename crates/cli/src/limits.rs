// SPDX-License-Identifier: MIT
//! `--rlimit-as` and its like: limits of the passes and of the compiler. The session, and what it starts, does not have them.

use crate::options::Options;
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};

/// What the limits were before.
#[derive(Default)]
pub struct Limits(Vec<(Resource, Rlimit)>);

impl Limits {
    /// The error's words where one cannot be set.
    pub fn set(options: &Options) -> Result<Limits, String> {
        let mut limits = Limits::default();
        for (name, resource, wanted) in [
            ("as", Resource::As, options.rlimit_as),
            ("cpu", Resource::Cpu, options.rlimit_cpu),
            ("nproc", Resource::Nproc, options.rlimit_nproc),
            ("stack", Resource::Stack, options.rlimit_stack),
            ("fsize", Resource::Fsize, options.rlimit_fsize),
        ] {
            let Some(wanted) = wanted else { continue };
            let before = getrlimit(resource);
            // The hard limit stays: it could not be raised again for the session.
            let now = Rlimit {
                current: Some(wanted),
                maximum: before.maximum,
            };
            setrlimit(resource, now).map_err(|e| refused(name, wanted, &before, e))?;
            limits.0.push((resource, before));
        }
        Ok(limits)
    }

    pub fn put_back(self) {
        for (resource, before) in self.0 {
            // It was allowed before, and the hard limit has not changed.
            let _ = setrlimit(resource, before);
        }
    }
}

fn refused(name: &str, wanted: u64, before: &Rlimit, e: rustix::io::Errno) -> String {
    let why = match before.maximum {
        Some(most) if wanted > most => format!("the hard limit is {most}"),
        _ => e.to_string(),
    };
    format!("error: --rlimit-{name}={wanted} cannot be set: {why}\n  = next step: take a smaller number, or raise the hard limit (ulimit -H)")
}
