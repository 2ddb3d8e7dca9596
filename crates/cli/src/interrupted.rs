// SPDX-License-Identifier: MIT
//! A signal that ends us while the script is compiled: one line, no file left, and the status that the shell knows it by.
#![allow(unsafe_code)]

use crate::{inherited, memory};
use std::io::IsTerminal;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::thread::Builder;
use trapless_sema::leftover;

/// While it is there, a thread hears the signals.
pub struct Hearing {
    before: libc::sigset_t,
}

impl Hearing {
    /// Before there are other threads: they have these signals blocked as we do.
    pub fn start() -> Hearing {
        let mut wanted = none();
        let mut before = none();
        // SAFETY: sets of our own; the calls change the mask of this thread only.
        unsafe {
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                // By `nohup`, or a shell's `&`: it goes on to be.
                if !inherited::is_ignored(signal) {
                    libc::sigaddset(&mut wanted, signal);
                }
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &wanted, &mut before);
        }
        let hear = move || {
            let mut signal = 0;
            // SAFETY: both live until it returns.
            if unsafe { libc::sigwait(&wanted, &mut signal) } == 0 {
                leave(signal);
            }
        };
        if let Err(e) = Builder::new().spawn(hear) {
            memory::no_thread(e);
        }
        Hearing { before }
    }

    pub fn end(self) {
        // SAFETY: the mask as it was.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, null_mut()) };
    }
}

fn none() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the call fills it in.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}

fn leave(signal: libc::c_int) {
    // SAFETY: they are children of ours that nobody has waited for yet.
    leftover::clear(|pid| unsafe {
        libc::kill(pid as libc::pid_t, libc::SIGTERM);
    });
    // There may be a line of progress.
    let wipe = match std::io::stderr().is_terminal() {
        true => "\r\x1b[K",
        false => "",
    };
    eprintln!("{wipe}interrupted while the script was compiled: nothing was started");
    // SAFETY: the signal's own end, so that whoever started us knows. It comes as soon as it is unblocked.
    unsafe {
        let mut set = none();
        libc::sigaddset(&mut set, signal);
        libc::signal(signal, libc::SIG_DFL);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, null_mut());
        libc::raise(signal);
    }
}
