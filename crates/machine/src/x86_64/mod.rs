// SPDX-License-Identifier: MIT
//! x86-64 (System V ABI, AMD64 supplement).

mod boot;
mod branch;
mod linkage;
mod operand;
mod syscall;

use crate::abi::{Abi, Bank, Compiler, Pages, Passing, Registers, SyscallRegisters, Tls};
use crate::relocation::{DynamicRelocations, Fixup, Meant, Value};
use crate::{ByteOrder, Libraries, Machine};
use object::elf;

pub const MACHINE: Machine = Machine {
    abi: ABI,
    members: &[
        "ax", "dx", "cx", "bx", "si", "di", "bp", "sp", "r8", "r9", "r10", "r11", "r12", "r13",
        "r14", "r15", "ip",
    ],
    read_thread_pointer: "mov %%fs:0, %0",
    read_float: "movq %%{}, %0",
    libraries: Libraries {
        folders: &[
            "/lib/x86_64-linux-gnu",
            "/usr/lib/x86_64-linux-gnu",
            "/lib64",
            "/usr/lib64",
            "/lib",
            "/usr/local/lib",
            "/usr/lib",
            "/lib/x86_64-linux-musl",
        ],
        lib: "lib/x86_64-linux-gnu",
        cache: 0x0300,
    },
    program_addresses: 1 << 47,
    debug_registers: 4,
    dynamic: DynamicRelocations {
        glob_dat: Some(elf::R_X86_64_GLOB_DAT.0),
        jump_slot: elf::R_X86_64_JUMP_SLOT.0,
        irelative: elf::R_X86_64_IRELATIVE.0,
        tls_module: elf::R_X86_64_DTPMOD64.0,
        tls_offset: elf::R_X86_64_TPOFF64.0,
        tls_descriptor: Some(elf::R_X86_64_TLSDESC.0),
    },
    fixups: &[
        (elf::R_X86_64_PC32.0, RELATIVE),
        (elf::R_X86_64_PLT32.0, RELATIVE),
        (elf::R_X86_64_GOTPCREL.0, BY_SLOT),
        (elf::R_X86_64_GOTPCRELX.0, BY_SLOT),
        (elf::R_X86_64_REX_GOTPCRELX.0, BY_SLOT),
        (elf::R_X86_64_PC64.0, DISTANCE),
        (elf::R_X86_64_64.0, ABSOLUTE),
    ],
    calls: branch::CALLS,
    jumps: branch::JUMPS,
    linkage: linkage::LINKAGE,
    syscalls: syscall::SYSCALLS,
    boot_image: boot::payload,
    hook_nop: &[0x0f, 0x1f, 0x44, 0, 0],
    operand: operand::parse,
};

const RELATIVE: Fixup = Fixup {
    meant: Meant::Code,
    value: Value::Relative(4),
};
const BY_SLOT: Fixup = Fixup {
    meant: Meant::Slot,
    value: Value::Relative(4),
};
const DISTANCE: Fixup = Fixup {
    meant: Meant::Defined,
    value: Value::Relative(8),
};
const ABSOLUTE: Fixup = Fixup {
    meant: Meant::Defined,
    value: Value::Absolute,
};

const RAX: u16 = 0;
const RDX: u16 = 1;
const RCX: u16 = 2;
const RBX: u16 = 3;
const RSI: u16 = 4;
const RDI: u16 = 5;
const RBP: u16 = 6;
const RSP: u16 = 7;
const R11: u16 = 11;
const RIP: u16 = 16;
const XMM0: u16 = 17;
const ST0: u16 = 33;

const ABI: Abi = Abi {
    name: "x86_64",
    title: "x86-64",
    elf_machine: elf::EM_X86_64.0,
    word: 8,
    order: ByteOrder::Little,
    pages: Pages {
        least: 4 << 10,
        most: 4 << 10,
    },
    compiler: Compiler {
        command: "gcc",
        flags: &["-fcf-protection=none", "-mgeneral-regs-only"],
        // What is below the stack pointer is an interrupt's. Where IBT is on, handlers are called by their address, and a
        // table of jumps would be another way in. How to return is the running kernel's choice, by an import.
        kernel: &[
            "-mno-red-zone",
            "-fcf-protection=branch",
            "-fno-jump-tables",
            "-mfunction-return=thunk-extern",
        ],
        // gcc's: a string instruction goes backwards where the program has set the direction flag, which detours leave
        // as it is.
        optional: &["-mstringop-strategy=unrolled_loop"],
    },
    registers: Registers {
        names: &[
            "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11",
            "r12", "r13", "r14", "r15", "rip",
        ],
        general: 16,
        floats: Bank {
            first: XMM0,
            count: 16,
            prefix: "xmm",
        },
        others: &[],
        stack_pointer: RSP,
        frame_pointer: RBP,
        program_counter: Some(RIP),
        return_address: RIP,
        return_is_pushed: true,
        preserved: &[RBX, RBP, 12, 13, 14, 15],
    },
    passing: Passing {
        arguments: &[RDI, RSI, RDX, RCX, 8, 9],
        float_arguments: &[
            XMM0,
            XMM0 + 1,
            XMM0 + 2,
            XMM0 + 3,
            XMM0 + 4,
            XMM0 + 5,
            XMM0 + 6,
            XMM0 + 7,
        ],
        results: &[RAX, RDX],
        float_results: &[XMM0, XMM0 + 1],
        extended_result: Some(ST0),
        result_area: RDI,
        result_area_returned: Some(RAX),
        stack_arguments: 8,
    },
    // The kernel leaves the arguments as they are.
    syscall: SyscallRegisters {
        number: RAX,
        arguments: &[RDI, RSI, RDX, 10, 8, 9],
        result: RAX,
    },
    tls: Tls::Below,
};
