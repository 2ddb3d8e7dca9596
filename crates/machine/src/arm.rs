// SPDX-License-Identifier: MIT
//! ARM with hardware floating point (AAPCS with VFP, AADWARF, EABI system calls).

use crate::abi::{Abi, Bank, Compiler, Pages, Passing, Registers, SyscallRegisters, Tls};
use crate::ByteOrder;
use object::elf;

pub const ABI: Abi = Abi {
    name: "arm",
    title: "ARM",
    elf_machine: elf::EM_ARM.0,
    word: 4,
    order: ByteOrder::Little,
    pages: Pages {
        least: 4 << 10,
        most: 64 << 10,
    },
    compiler: Compiler {
        command: "arm-linux-gnueabihf-gcc",
        flags: &["-mgeneral-regs-only"],
        kernel: &[],
        optional: &[],
    },
    registers: Registers {
        names: &[
            "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "sp",
            "lr", "pc",
        ],
        general: 15,
        floats: Bank {
            first: 256,
            count: 32,
            prefix: "d",
        },
        others: &[],
        stack_pointer: 13,
        // In code of the A32 set; that of T32 takes r7.
        frame_pointer: 11,
        program_counter: Some(15),
        return_address: 14,
        return_is_pushed: false,
        preserved: &[4, 5, 6, 7, 8, 9, 10, 11],
    },
    passing: Passing {
        arguments: &[0, 1, 2, 3],
        float_arguments: &[256, 257, 258, 259, 260, 261, 262, 263],
        results: &[0, 1],
        float_results: &[256, 257, 258, 259],
        extended_result: None,
        result_area: 0,
        result_area_returned: None,
        stack_arguments: 0,
    },
    syscall: SyscallRegisters {
        number: 7,
        arguments: &[0, 1, 2, 3, 4, 5],
        result: 0,
    },
    tls: Tls::Above { head: 8, bias: 0 },
};
