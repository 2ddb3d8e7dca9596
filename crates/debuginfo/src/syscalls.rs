// SPDX-License-Identifier: MIT
//! Where a file's code asks the kernel.

use crate::binary::Binary;

impl Binary {
    /// File addresses of what reads as a system call in executable code. Some of it may be parts of other
    /// instructions, or data. Left out are those that return from signal handlers, and those of
    /// threads that have no stack any more.
    pub fn syscalls(&self) -> Vec<u64> {
        let segments = self.segments().iter().filter(|s| s.executable);
        let mut found = Vec::new();
        for s in segments {
            let code = self.elf.at_vaddr(s.vaddr).unwrap_or_default();
            let sites = (self.machine.syscalls.sites)(code).into_iter();
            found.extend(sites.map(|i| s.vaddr + i as u64));
        }
        found
    }
}
