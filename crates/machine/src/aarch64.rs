// SPDX-License-Identifier: MIT
//! AArch64 (AAPCS64, AADWARF64, AAELF64).

use crate::abi::{Abi, Bank, Compiler, Pages, Passing, Registers, SyscallRegisters, Tls};
use crate::ByteOrder;
use object::elf;

pub const ABI: Abi = Abi {
    name: "aarch64",
    title: "AArch64",
    elf_machine: elf::EM_AARCH64.0,
    word: 8,
    order: ByteOrder::Little,
    pages: Pages {
        least: 4 << 10,
        most: 64 << 10,
    },
    compiler: Compiler {
        command: "aarch64-linux-gnu-gcc",
        flags: &["-mgeneral-regs-only", "-mbranch-protection=none"],
        kernel: &[],
        optional: &[],
    },
    registers: Registers {
        names: &[
            "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
            "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25",
            "x26", "x27", "x28", "x29", "x30", "sp", "pc",
        ],
        general: 32,
        floats: Bank {
            first: 64,
            count: 32,
            prefix: "v",
        },
        others: &[],
        stack_pointer: 31,
        frame_pointer: 29,
        program_counter: Some(32),
        return_address: 30,
        return_is_pushed: false,
        preserved: &[19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29],
    },
    passing: Passing {
        arguments: &[0, 1, 2, 3, 4, 5, 6, 7],
        float_arguments: &[64, 65, 66, 67, 68, 69, 70, 71],
        results: &[0, 1],
        // Four members of one kind.
        float_results: &[64, 65, 66, 67],
        extended_result: None,
        result_area: 8,
        result_area_returned: None,
        stack_arguments: 0,
    },
    syscall: SyscallRegisters {
        number: 8,
        arguments: &[0, 1, 2, 3, 4, 5],
        result: 0,
    },
    tls: Tls::Above { head: 16, bias: 0 },
};
