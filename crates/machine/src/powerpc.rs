// SPDX-License-Identifier: MIT
//! PowerPC of 32 bits (System V ABI, PowerPC supplement; numbers above 63 as gcc has them).

use crate::abi::{Abi, Bank, Compiler, Pages, Passing, Registers, SyscallRegisters, Tls};
use crate::ByteOrder;
use object::elf;

pub const ABI: Abi = Abi {
    name: "powerpc",
    title: "PowerPC",
    elf_machine: elf::EM_PPC.0,
    word: 4,
    order: ByteOrder::Big,
    pages: Pages {
        least: 4 << 10,
        most: 64 << 10,
    },
    compiler: Compiler {
        command: "powerpc-linux-gnu-gcc",
        flags: &["-msoft-float"],
        kernel: &[],
        optional: &[],
    },
    registers: Registers {
        names: &[
            "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "r13",
            "r14", "r15", "r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23", "r24", "r25",
            "r26", "r27", "r28", "r29", "r30", "r31",
        ],
        general: 32,
        floats: Bank {
            first: 32,
            count: 32,
            prefix: "f",
        },
        others: &[(65, "lr"), (66, "ctr")],
        stack_pointer: 1,
        frame_pointer: 31,
        program_counter: None,
        return_address: 65,
        return_is_pushed: false,
        preserved: &[
            14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
        ],
    },
    passing: Passing {
        arguments: &[3, 4, 5, 6, 7, 8, 9, 10],
        float_arguments: &[33, 34, 35, 36, 37, 38, 39, 40],
        results: &[3, 4],
        float_results: &[33],
        extended_result: None,
        result_area: 3,
        result_area_returned: None,
        // Behind the back chain and the word for the return address.
        stack_arguments: 8,
    },
    syscall: SyscallRegisters {
        number: 0,
        arguments: &[3, 4, 5, 6, 7, 8],
        result: 3,
    },
    tls: Tls::Above {
        head: 0,
        bias: 0x7000,
    },
};
