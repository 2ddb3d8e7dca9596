// SPDX-License-Identifier: MIT
//! What we were started with. Rust's runtime ignores SIGPIPE and opens closed standard files before `main`, and whoever is
//! started by it finds SIGPIPE at its default and no signal blocked. The runner, and the program that it starts, are to
//! find all of it as we did.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr::null;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static SIGPIPE_IGNORED: AtomicBool = AtomicBool::new(false);
static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// Called by the loader, before the runtime begins.
#[used]
#[link_section = ".init_array"]
static NOTE: extern "C" fn() = note;

extern "C" fn nothing(_: libc::c_int) {}

/// It is not to end us. Who is started by us finds no handler.
pub fn outlive(signal: libc::c_int) {
    let handler: extern "C" fn(libc::c_int) = nothing;
    // SAFETY: the handler does nothing, and what ignores the signal goes on to.
    unsafe {
        if libc::signal(signal, handler as libc::sighandler_t) == libc::SIG_IGN {
            libc::signal(signal, libc::SIG_IGN);
        }
    }
}

pub fn is_ignored(signal: libc::c_int) -> bool {
    let mut now = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: asking changes nothing; it is filled in where the call succeeds.
    unsafe {
        libc::sigaction(signal, null(), now.as_mut_ptr()) == 0
            && now.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

extern "C" fn note() {
    SIGPIPE_IGNORED.store(is_ignored(libc::SIGPIPE), Relaxed);
    outlive(libc::SIGXFSZ); // a write beyond `ulimit -f` fails with its reason
    for (closed, fd) in CLOSED.iter().zip(0..) {
        // SAFETY: asking changes nothing.
        closed.store(unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0, Relaxed);
    }
}

/// What `command` becomes finds it as we did.
pub fn hand_on(command: &mut Command) -> &mut Command {
    let mut blocked = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: our own mask, as nobody has changed it, is filled in: the call cannot fail. The closure makes system calls
    // only, and closes what the runtime has opened, which nobody uses any more.
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, null(), blocked.as_mut_ptr());
        let blocked = blocked.assume_init();
        command.pre_exec(move || {
            if SIGPIPE_IGNORED.load(Relaxed) {
                libc::signal(libc::SIGPIPE, libc::SIG_IGN);
            }
            for (closed, fd) in CLOSED.iter().zip(0..) {
                if closed.load(Relaxed) {
                    libc::close(fd);
                }
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &blocked, std::ptr::null_mut());
            Ok(())
        })
    }
}
