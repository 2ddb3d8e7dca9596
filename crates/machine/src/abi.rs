// SPDX-License-Identifier: MIT
//! What the documents of an architecture say. Registers have their DWARF numbers, as compilers for Linux use them.

use crate::ByteOrder;

#[derive(Debug)]
pub struct Abi {
    /// What `-a` takes, and `%( arch` of scripts.
    pub name: &'static str,
    /// As people write it.
    pub title: &'static str,
    /// ELF's `e_machine`.
    pub elf_machine: u16,
    /// Bytes of an address and of a general register; ELF's class.
    pub word: u8,
    pub order: ByteOrder,
    pub pages: Pages,
    pub compiler: Compiler,
    pub registers: Registers,
    pub passing: Passing,
    pub syscall: SyscallRegisters,
    pub tls: Tls,
}

/// Sizes of pages, in bytes.
#[derive(Debug)]
pub struct Pages {
    pub least: u64,
    /// Linkers align segments to it, so that any kernel can map them.
    pub most: u64,
}

#[derive(Debug)]
pub struct Compiler {
    /// The usual program.
    pub command: &'static str,
    /// So that handlers leave the program's floating-point registers alone, and code is plain.
    pub flags: &'static [&'static str],
    /// Besides, where handlers run in a kernel.
    pub kernel: &'static [&'static str],
    /// Wanted, but not known to every compiler: left out where it is refused by its name.
    pub optional: &'static [&'static str],
}

/// Registers with consecutive numbers, whose names are a prefix and a number from 0 on.
#[derive(Debug)]
pub struct Bank {
    pub first: u16,
    pub count: u16,
    pub prefix: &'static str,
}

impl Bank {
    pub fn has(&self, register: u16) -> bool {
        register >= self.first && register - self.first < self.count
    }
}

#[derive(Debug)]
pub struct Registers {
    /// From number 0 on: the general ones, then what follows them.
    pub names: &'static [&'static str],
    /// So many of them hold words that a script may read and write.
    pub general: u16,
    /// Of floating-point numbers or vectors.
    pub floats: Bank,
    /// Further ones that DWARF speaks of.
    pub others: &'static [(u16, &'static str)],
    pub stack_pointer: u16,
    /// What compilers keep a frame's address in where they need one.
    pub frame_pointer: u16,
    pub program_counter: Option<u16>,
    /// The column of unwind rules for the return address.
    pub return_address: u16,
    /// A call pushes the return address; else it leaves it in that register.
    pub return_is_pushed: bool,
    /// General ones that a function gives back as they were, without the stack pointer.
    pub preserved: &'static [u16],
}

impl Registers {
    pub fn is_general(&self, register: u16) -> bool {
        register < self.general
    }

    pub fn is_preserved(&self, register: u16) -> bool {
        self.preserved.contains(&register)
    }

    /// As assemblers call it.
    pub fn name(&self, register: u16) -> String {
        let floats = &self.floats;
        let other = || self.others.iter().find(|o| o.0 == register);
        match self.names.get(usize::from(register)) {
            Some(name) => name.to_string(),
            None if floats.has(register) => format!("{}{}", floats.prefix, register - floats.first),
            None => other().map_or(format!("register {register}"), |o| o.1.to_string()),
        }
    }
}

/// How arguments and results are passed. Which of them a value of several words gets is the language's business.
#[derive(Debug)]
pub struct Passing {
    pub arguments: &'static [u16],
    pub float_arguments: &'static [u16],
    pub results: &'static [u16],
    pub float_results: &'static [u16],
    /// Where a `long double` is returned, if in a register of its own kind.
    pub extended_result: Option<u16>,
    /// What has the address for a result in memory: at the entry, and on return if that is promised.
    pub result_area: u16,
    pub result_area_returned: Option<u16>,
    /// At the entry the arguments in memory begin this far above the stack pointer.
    pub stack_arguments: u64,
}

/// Registers at the instruction that asks the kernel.
#[derive(Debug)]
pub struct SyscallRegisters {
    pub number: u16,
    /// Those in registers; o32 of MIPS has the others on the stack.
    pub arguments: &'static [u16],
    pub result: u16,
}

/// Where a program's thread-local storage lies, seen from the thread pointer (the ELF document's variants).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tls {
    /// II: its end is there.
    Below,
    /// I: behind `head` bytes, from where the thread pointer is `bias` bytes further.
    Above { head: u64, bias: u64 },
}

impl Tls {
    /// Of a variable at `offset` in storage of that address, size and alignment.
    pub fn distance(self, offset: u64, (addr, size, align): (u64, u64, u64)) -> i64 {
        let align = align.max(1);
        let distance = match self {
            Tls::Below => {
                let end = addr.wrapping_add(size);
                let fill = end.wrapping_neg() & align.wrapping_sub(1);
                offset.wrapping_sub(size).wrapping_sub(fill)
            }
            Tls::Above { head, bias } => {
                let start = head.next_multiple_of(align).wrapping_sub(bias);
                offset.wrapping_add(start)
            }
        };
        distance as i64
    }
}

impl Abi {
    /// Bytes that a call itself puts on the stack.
    pub fn pushed_by_call(&self) -> u8 {
        match self.registers.return_is_pushed {
            true => self.word,
            false => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_lies_at_the_thread_pointer() {
        let storage = (0x1000, 20, 16);
        assert_eq!(Tls::Below.distance(4, storage), -28);
        let above = |head, bias| Tls::Above { head, bias }.distance(4, storage);
        assert_eq!(above(16, 0), 20);
        assert_eq!(above(8, 0), 20);
        assert_eq!(above(0, 0x7000), 4 - 0x7000);
    }
}
