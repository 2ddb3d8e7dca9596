// SPDX-License-Identifier: MIT
//! Signals that are meant for a session which another process runs for us: it ends, and then we do.
#![allow(unsafe_code)]

use crate::inherited;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

static CHILD: AtomicI32 = AtomicI32::new(0);
const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// While it is there, they are handed on.
pub struct Forward {}

impl Forward {
    pub fn to(child: u32) -> Forward {
        CHILD.store(child as i32, Relaxed);
        let handler: extern "C" fn(libc::c_int) = hand_on;
        for signal in SIGNALS {
            if !inherited::is_ignored(signal) {
                // SAFETY: the handler makes one system call.
                unsafe { libc::signal(signal, handler as libc::sighandler_t) };
            }
        }
        Forward {}
    }
}

impl Drop for Forward {
    fn drop(&mut self) {
        CHILD.store(0, Relaxed);
    }
}

/// A terminal has sent it to both: the second one is of the same moment, and counts as one there.
extern "C" fn hand_on(signal: libc::c_int) {
    let child = CHILD.load(Relaxed);
    if child > 0 {
        // SAFETY: it has not been waited for: the number is still its own.
        unsafe { libc::kill(child, signal) };
    }
}
