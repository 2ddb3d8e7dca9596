// SPDX-License-Identifier: MIT
//! `syscall` in code.

use super::R11;
use crate::SyscallCode;

const SYSCALL: [u8; 2] = [0x0f, 0x05];

pub const SYSCALLS: SyscallCode = SyscallCode {
    size: SYSCALL.len() as u64,
    noted_number: R11,
    sites,
};

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

fn sites(code: &[u8]) -> Vec<usize> {
    (0..code.len()).filter(|&i| is_wanted(code, i)).collect()
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
