// SPDX-License-Identifier: MIT
//! A word on the terminal when a pass takes longer than a second.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Shows nothing where standard error is no terminal. Dropped: wiped out.
pub struct Progress {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

const PATIENCE: Duration = Duration::from_secs(1);

impl Progress {
    /// The first of these begins now.
    pub fn start(steps: &'static [&'static str]) -> Progress {
        let (tell, hear) = mpsc::channel();
        let shown = move || {
            for step in steps {
                if !show(step, &hear) {
                    return;
                }
            }
        };
        let thread = match std::io::stderr().is_terminal() {
            // Where no thread can be started it is not shown.
            true => Builder::new().spawn(shown).ok().map(|t| (tell, t)),
            false => None,
        };
        Progress { thread }
    }

    /// The next step begins.
    pub fn next(&self) {
        if let Some((tell, _)) = &self.thread {
            let _ = tell.send(());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((tell, thread)) = self.thread.take() {
            drop(tell);
            let _ = thread.join();
        }
    }
}

/// One step; false when there is no next one.
fn show(step: &str, hear: &mpsc::Receiver<()>) -> bool {
    let start = Instant::now();
    let mut shown = false;
    let more = loop {
        match hear.recv_timeout(PATIENCE) {
            Ok(()) => break true,
            Err(RecvTimeoutError::Disconnected) => break false,
            Err(RecvTimeoutError::Timeout) => {
                shown = true;
                eprint!("\r{step} ... {} s", start.elapsed().as_secs());
            }
        }
    };
    if shown {
        eprint!("\r\x1b[K");
    }
    let _ = std::io::stderr().flush();
    more
}
