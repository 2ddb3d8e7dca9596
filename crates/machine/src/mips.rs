// SPDX-License-Identifier: MIT
//! MIPS, the o32 ABI, in both byte orders.

use crate::abi::{Abi, Bank, Compiler, Pages, Passing, Registers, SyscallRegisters, Tls};
use crate::ByteOrder;
use object::elf;

pub const BIG: Abi = o32("mips", ByteOrder::Big, "mips-linux-gnu-gcc");
pub const LITTLE: Abi = o32("mipsel", ByteOrder::Little, "mipsel-linux-gnu-gcc");

const fn o32(name: &'static str, order: ByteOrder, compiler: &'static str) -> Abi {
    Abi {
        name,
        title: "MIPS",
        elf_machine: elf::EM_MIPS.0,
        word: 4,
        order,
        pages: Pages {
            least: 4 << 10,
            most: 64 << 10,
        },
        compiler: Compiler {
            command: compiler,
            flags: &["-msoft-float"],
            kernel: &[],
            optional: &[],
        },
        registers: Registers {
            names: &[
                "zero", "at", "v0", "v1", "a0", "a1", "a2", "a3", "t0", "t1", "t2", "t3", "t4",
                "t5", "t6", "t7", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "t8", "t9", "k0",
                "k1", "gp", "sp", "fp", "ra",
            ],
            general: 32,
            floats: Bank {
                first: 32,
                count: 32,
                prefix: "f",
            },
            others: &[(64, "hi"), (65, "lo")],
            stack_pointer: 29,
            frame_pointer: 30,
            program_counter: None,
            return_address: 31,
            return_is_pushed: false,
            preserved: &[16, 17, 18, 19, 20, 21, 22, 23, 30],
        },
        passing: Passing {
            arguments: &[4, 5, 6, 7],
            float_arguments: &[44, 46],
            results: &[2, 3],
            float_results: &[32, 34],
            extended_result: None,
            result_area: 4,
            result_area_returned: Some(2),
            // The callee may keep its first four there.
            stack_arguments: 16,
        },
        syscall: SyscallRegisters {
            number: 2,
            arguments: &[4, 5, 6, 7],
            result: 2,
        },
        tls: Tls::Above {
            head: 0,
            bias: 0x7000,
        },
    }
}
