// SPDX-License-Identifier: MIT
//! Where a file's code asks the kernel: its `syscall` instructions.

use crate::binary::Binary;

const SYSCALL: [u8; 2] = [0x0f, 0x05];

/// What ends right before a `syscall` that is left alone.
const LEFT_ALONE: [&[u8]; 4] = [
    // mov $15, %eax and mov $15, %rax: a signal handler returns. Frames are known by these bytes.
    &[0xb8, 15, 0, 0, 0],
    &[0x48, 0xc7, 0xc0, 15, 0, 0, 0],
    // Go's last act in a thread: the stack has been given back (movl $0, (%rax)), exit(0).
    &[0xc7, 0, 0, 0, 0, 0, 0xbf, 0, 0, 0, 0, 0xb8, 60, 0, 0, 0],
    // musl's: munmap of the stack; exit comes behind it.
    &[0xb8, 11, 0, 0, 0],
];

/// musl's exit without a stack: xor %rdi, %rdi (or %edi, %edi); mov $60, %eax.
const WITHOUT_STACK: [&[u8]; 2] = [
    &[0x0f, 0x05, 0x48, 0x31, 0xff, 0xb8, 60, 0, 0, 0],
    &[0x0f, 0x05, 0x31, 0xff, 0xb8, 60, 0, 0, 0],
];

impl Binary {
    /// File addresses of what reads as `syscall` in executable code. Some of it may be parts of other
    /// instructions, or data. Left out are those that return from signal handlers, and those of
    /// threads that have no stack any more.
    pub fn syscalls(&self) -> Vec<u64> {
        let segments = self.segments().iter().filter(|s| s.executable);
        let mut found = Vec::new();
        for s in segments {
            let code = self.elf.at_vaddr(s.vaddr).unwrap_or_default();
            let sites = (0..code.len()).filter(|&i| is_wanted(code, i));
            found.extend(sites.map(|i| s.vaddr + i as u64));
        }
        found
    }
}

fn is_wanted(code: &[u8], at: usize) -> bool {
    let (before, here) = code.split_at(at);
    let unmaps_stack = || WITHOUT_STACK.iter().any(|b| here.starts_with(b));
    let left_alone = |b: &&[u8]| match b {
        [0xb8, 11, ..] => before.ends_with(b) && unmaps_stack(),
        _ => before.ends_with(b),
    };
    let exits = || {
        WITHOUT_STACK.iter().any(|b| {
            let unmaps = before.strip_suffix(*b);
            unmaps.is_some_and(|b| b.ends_with(LEFT_ALONE[3]))
        })
    };
    here.starts_with(&SYSCALL) && !LEFT_ALONE.iter().any(left_alone) && !exits()
}
