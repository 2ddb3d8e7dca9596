// SPDX-License-Identifier: MIT
//! Where no memory is left, that is said with the limits that may be in the way: Rust's own words name none, and its end is
//! a signal's.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::mem::MaybeUninit;

const NONE_LEFT: &str = "error: trapless has no memory left\n  \
    = next step: raise its limits (ulimit -d, ulimit -v), or give the machine more\n";

/// Less than the program's own variables, and it ends before it begins.
const RUNNER_DATA: u64 = 4 << 20;

/// May trapless-run be started?
pub fn is_enough() -> bool {
    let mut data = MaybeUninit::<libc::rlimit>::uninit();
    // SAFETY: it is filled in where the call succeeds.
    unsafe {
        libc::getrlimit(libc::RLIMIT_DATA, data.as_mut_ptr()) != 0
            || data.assume_init().rlim_cur >= RUNNER_DATA
    }
}

/// The same error whether its stack or the thread itself was one too many.
pub fn no_thread(e: std::io::Error) -> ! {
    eprintln!(
        "error: trapless cannot start a thread of its own: {e}\n  = next step: raise its limits (of processes: ulimit -u, \
         of memory: ulimit -d, ulimit -v), or end others"
    );
    std::process::exit(crate::EXIT_FAILURE.into());
}

struct OrEnd;

#[global_allocator]
static ALLOCATOR: OrEnd = OrEnd;

/// Allocates nothing itself.
fn none_left() -> ! {
    // SAFETY: the text is there as long as we are; nothing is run down that could want memory.
    unsafe {
        libc::write(
            libc::STDERR_FILENO,
            NONE_LEFT.as_ptr().cast(),
            NONE_LEFT.len(),
        );
        libc::_exit(crate::EXIT_FAILURE.into());
    }
}

fn or_end(at: *mut u8) -> *mut u8 {
    if at.is_null() {
        none_left();
    }
    at
}

// SAFETY: all is the system's allocator, whose failures are not returned.
unsafe impl GlobalAlloc for OrEnd {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        or_end(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        or_end(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        or_end(unsafe { System.realloc(at, layout, size) })
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
}
