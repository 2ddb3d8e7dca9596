// SPDX-License-Identifier: MIT
//! What the other crates must know of a processor: one table for each architecture.
//!
//! An [`Abi`] is what documents say of one (registers, calls, ELF). A [`Machine`] is one that modules are made for: the
//! same, and what its code looks like. Only x86-64 is one yet. No other crate names a register, an instruction's bytes, a
//! relocation or a word size (`mk/machine-words` checks that).

mod abi;
mod code;
mod order;
mod relocation;

mod aarch64;
mod arm;
mod mips;
mod powerpc;
mod x86_64;

pub use abi::{Abi, Bank, Compiler, Pages, Passing, Registers, SyscallRegisters, Tls};
pub use code::{Branch, Linkage, LinkageJump, Operand, SyscallCode};
pub use order::ByteOrder;
pub use relocation::{DynamicRelocations, Fixup, Meant, Value};

/// An architecture that modules are made for.
#[derive(Debug)]
pub struct Machine {
    pub abi: Abi,
    /// Members of `struct tl_regs` (include/trapless/regs.h) by DWARF number.
    pub members: &'static [&'static str],
    /// GNU C's template of an instruction that reads the thread pointer.
    pub read_thread_pointer: &'static str,
    /// The same for the low word of a register of floating-point numbers, whose name is put for `{}`.
    pub read_float: &'static str,
    pub libraries: Libraries,
    /// Programs have the addresses below this one.
    pub program_addresses: u64,
    /// So many words can be watched by debug registers.
    pub debug_registers: u8,
    /// What the dynamic linker of a program applies.
    pub dynamic: DynamicRelocations,
    /// What compilers leave in an object file, by number.
    pub fixups: &'static [(u32, Fixup)],
    /// Instructions that call, and that jump, to an address that they hold.
    pub calls: &'static [Branch],
    pub jumps: &'static [Branch],
    pub linkage: Linkage,
    pub syscalls: SyscallCode,
    /// The packed kernel in the file that a boot loader starts; `None`: it is another kind of file.
    pub boot_image: fn(&[u8]) -> Option<&[u8]>,
    /// The instruction at a static hook's mark, TL__NOP of include/trapless/hook.h.
    pub hook_nop: &'static [u8],
    /// An operand as the assembler writes it.
    pub operand: fn(&str) -> Operand<'_>,
}

/// Where the dynamic linker looks for libraries.
#[derive(Debug)]
pub struct Libraries {
    /// Its own list, glibc's and musl's.
    pub folders: &'static [&'static str],
    /// What `$LIB` stands for.
    pub lib: &'static str,
    /// The machine's bits of the flags in `ld.so.cache`.
    pub cache: u32,
}

/// All whose table stands here.
pub const KNOWN: [&Abi; 6] = [
    &x86_64::MACHINE.abi,
    &aarch64::ABI,
    &arm::ABI,
    &mips::BIG,
    &mips::LITTLE,
    &powerpc::ABI,
];

/// Those that modules are made for, the usual one first.
pub const MACHINES: [&Machine; 1] = [&x86_64::MACHINE];

/// A row of an unwind table tells of so many registers, by DWARF number; `TL_FRAME_REGS` of include/trapless/wire.h.
pub const FRAME_REGISTERS: usize = x86_64::MACHINE.abi.registers.return_address as usize + 1;

impl Default for &'static Machine {
    fn default() -> &'static Machine {
        MACHINES[0]
    }
}

/// Two tables are of one machine where their names are the same.
impl PartialEq for Machine {
    fn eq(&self, other: &Machine) -> bool {
        self.abi.name == other.abi.name
    }
}

impl Eq for Machine {}

impl Machine {
    /// By what `-a` takes.
    pub fn named(name: &str) -> Option<&'static Machine> {
        MACHINES.into_iter().find(|m| m.abi.name == name)
    }

    /// By the head of an ELF file.
    pub fn of_elf(machine: u16, word: u8, order: ByteOrder) -> Option<&'static Machine> {
        let same = |a: &Abi| (a.elf_machine, a.word, a.order) == (machine, word, order);
        MACHINES.into_iter().find(|m| same(&m.abi))
    }

    /// Those that there are, for refusals: `x86-64`.
    pub fn titles() -> String {
        MACHINES.map(|m| m.abi.title).join(", ")
    }

    /// Bytes that all debug registers together can watch.
    pub fn longest_watched(&self) -> u64 {
        u64::from(self.debug_registers) * u64::from(self.abi.word)
    }

    /// `None`: it is in no member.
    pub fn member(&self, register: u16) -> Option<&'static str> {
        self.members.get(usize::from(register)).copied()
    }

    pub fn fixup(&self, kind: u32) -> Option<Fixup> {
        let known = self.fixups.iter().find(|f| f.0 == kind);
        known.map(|f| f.1)
    }
}

/// A name for the number of an ELF head, also of those without a table here.
pub fn elf_machine_title(machine: u16) -> String {
    use object::elf;
    if let Some(abi) = KNOWN.iter().find(|a| a.elf_machine == machine) {
        return abi.title.into();
    }
    match elf::Machine(machine) {
        elf::EM_386 => "i386".into(),
        elf::EM_PPC64 => "PowerPC 64".into(),
        elf::EM_RISCV => "RISC-V".into(),
        _ => format!("machine number {machine}"),
    }
}

/// A processor of 32 bits that runs on one of `MACHINES`: the same family, another ABI.
pub fn is_32_bit_family(machine: u16, word: u8) -> bool {
    use object::elf;
    word == 4 && matches!(elf::Machine(machine), elf::EM_386 | elf::EM_X86_64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_finished_is_accepted() {
        for abi in KNOWN {
            let found = Machine::of_elf(abi.elf_machine, abi.word, abi.order);
            assert_eq!(
                found.map(|m| m.abi.name),
                Machine::named(abi.name).map(|m| m.abi.name)
            );
            assert_eq!(found.is_some(), abi.name == "x86_64");
        }
        assert_eq!(Machine::titles(), "x86-64");
    }

    #[test]
    fn names_are_told_apart() {
        for (i, a) in KNOWN.iter().enumerate() {
            assert!(KNOWN[..i].iter().all(|b| a.name != b.name));
            assert!(matches!(a.word, 4 | 8));
        }
    }

    #[test]
    fn registers_of_calls_have_names() {
        for abi in KNOWN {
            let (r, p) = (&abi.registers, &abi.passing);
            let words = [p.arguments, p.results, r.preserved, abi.syscall.arguments].concat();
            assert!(words.iter().all(|n| r.is_general(*n)), "{}", abi.name);
            let floats = [p.float_arguments, p.float_results].concat();
            assert!(floats.iter().all(|n| r.floats.has(*n)), "{}", abi.name);
            assert!(r.is_general(r.stack_pointer) && r.is_general(r.frame_pointer));
        }
    }

    #[test]
    fn other_processors_are_named() {
        assert_eq!(elf_machine_title(243), "RISC-V");
        assert_eq!(elf_machine_title(8), "MIPS");
        assert_eq!(elf_machine_title(9999), "machine number 9999");
    }
}
