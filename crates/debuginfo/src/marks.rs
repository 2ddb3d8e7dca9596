// SPDX-License-Identifier: MIT
//! Static marks (`<sys/sdt.h>`): the notes that an assembler has put into `.note.stapsdt`, each
//! with the mark's name, the address of its `nop`, and its arguments as assembler operands.

use crate::binary::Binary;
use crate::notes::Notes;
use crate::symbol::SymbolKind;
use trapless_machine::Operand as Written;

/// One site of a mark; a mark that stands in inlined code has several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    pub provider: String,
    pub name: String,
    pub addr: u64,
    /// File address of the 16-bit counter of those who listen.
    pub semaphore: Option<u64>,
    pub args: Vec<MarkArg>,
}

/// An argument of a mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkArg {
    /// As the note has it: `-4@%eax`.
    pub text: String,
    /// In bytes: 1, 2, 4 or 8.
    pub size: u8,
    pub signed: bool,
    pub operand: Operand,
}

/// Where an argument is. Registers have their DWARF numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand {
    Const(i64),
    /// The address of something in the file: `$name+4`.
    Address(u64),
    /// Its low bytes, from bit `shift` on.
    Register {
        reg: u16,
        shift: u8,
    },
    Memory {
        base: Option<u16>,
        index: Option<(u16, u8)>,
        disp: i64,
        /// `disp` is a file address.
        relocated: bool,
    },
    /// Why it cannot be read.
    Unreadable(&'static str),
}

const NOTE_TYPE: u64 = 3;
const OWNER: &[u8] = b"stapsdt\0";

impl Binary {
    /// All marks, in the order of the file's notes. Of a hook's those in functions that nobody calls are left out.
    pub fn marks(&self) -> Vec<Mark> {
        let mut found = self.all_marks();
        let dead = self.hook_table().dead;
        found.retain(|m| !dead.contains(&m.addr));
        found
    }

    pub(crate) fn all_marks(&self) -> Vec<Mark> {
        let notes = Notes::new(self.elf.section(".note.stapsdt"), self.elf.order());
        let ours = notes.filter(|n| n.kind == NOTE_TYPE && n.owner == OWNER);
        ours.filter_map(|n| self.mark(n.body)).collect()
    }

    /// Addresses are as they were linked; the base tells whether a prelinker has moved them since.
    fn mark(&self, desc: &[u8]) -> Option<Mark> {
        let size = self.machine.abi.word;
        let word = |n: u8| self.elf.order().read_at(desc, (n * size).into(), size);
        let (addr, base, semaphore) = (word(0)?, word(1)?, word(2)?);
        let moved = match self.elf.section_addr(".stapsdt.base") {
            Some(now) if base != 0 => now.wrapping_sub(base),
            _ => 0,
        };
        let mut texts = desc[3 * usize::from(size)..]
            .split(|b| *b == 0)
            .map(String::from_utf8_lossy);
        let mark = Mark {
            provider: texts.next()?.into_owned(),
            name: texts.next()?.into_owned(),
            addr: addr.wrapping_add(moved),
            semaphore: (semaphore != 0).then(|| semaphore.wrapping_add(moved)),
            args: self.arguments(&texts.next().unwrap_or_default()),
        };
        self.is_code(mark.addr).then_some(mark)
    }

    fn arguments(&self, text: &str) -> Vec<MarkArg> {
        text.split_whitespace().map(|a| self.argument(a)).collect()
    }

    /// `SIZE@OPERAND`: a negative size is signed, `f` behind it is a floating-point number.
    fn argument(&self, text: &str) -> MarkArg {
        let (kind, operand) = match text.split_once('@') {
            Some((kind, operand)) => (kind, operand),
            None => ("-8", text),
        };
        let (digits, float) = match kind.strip_suffix('f') {
            Some(digits) => (digits, true),
            None => (kind, false),
        };
        let size = digits.trim_start_matches('-').parse().unwrap_or(0);
        let operand = match size {
            _ if float => Operand::Unreadable("it is a floating-point number"),
            1 | 2 | 4 | 8 => self.operand(operand),
            _ => Operand::Unreadable("its size is none of 1, 2, 4 and 8"),
        };
        MarkArg {
            text: text.into(),
            size,
            signed: digits.starts_with('-'),
            operand,
        }
    }

    pub(crate) fn operand(&self, text: &str) -> Operand {
        let no_symbol = Operand::Unreadable("it names a symbol that the file does not have");
        match (self.machine.operand)(text) {
            Written::Constant(value) => match self.displacement(value) {
                Some((n, false)) => Operand::Const(n),
                Some((n, true)) => Operand::Address(n as u64),
                None => no_symbol,
            },
            Written::Register { register, shift } => Operand::Register {
                reg: register,
                shift,
            },
            Written::Memory {
                base,
                index,
                displacement,
                by_instruction,
            } => match self.displacement(displacement) {
                None => no_symbol,
                Some((_, false)) if by_instruction => {
                    Operand::Unreadable("it is relative to an instruction")
                }
                Some((disp, relocated)) => Operand::Memory {
                    base,
                    index,
                    disp,
                    relocated,
                },
            },
            Written::Unreadable(why) => Operand::Unreadable(why),
        }
    }

    /// A sum of numbers and at most one symbol, whether there was one.
    fn displacement(&self, text: &str) -> Option<(i64, bool)> {
        let (mut sum, mut relocated) = (0i64, false);
        for (negative, term) in terms(text) {
            let value = match number(term) {
                Some(n) => n,
                None if relocated || negative => return None,
                None => {
                    relocated = true;
                    self.symbol(term)? as i64
                }
            };
            sum = match negative {
                true => sum.wrapping_sub(value),
                false => sum.wrapping_add(value),
            };
        }
        Some((sum, relocated))
    }

    fn symbol(&self, name: &str) -> Option<u64> {
        let name = name.split('@').next()?;
        let mut named = self.symbols().named(name);
        let found = named.next().filter(|s| s.kind != SymbolKind::Tls)?;
        // A local name may be there twice.
        let others = named.any(|s| s.addr != found.addr);
        (!others).then_some(found.addr)
    }
}

/// `a+b-4`, whether each is taken off.
fn terms(text: &str) -> Vec<(bool, &str)> {
    let mut out = Vec::new();
    let (mut from, mut negative) = (0, false);
    for (i, c) in text.char_indices().chain([(text.len(), '+')]) {
        if c != '+' && c != '-' {
            continue;
        }
        if i > from {
            out.push((negative, &text[from..i]));
            negative = false;
        }
        negative ^= c == '-';
        from = i + 1;
    }
    out
}

fn number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok().map(|n| n as i64),
        None => text.parse::<u64>().ok().map(|n| n as i64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_terms() {
        assert_eq!(terms("-8"), [(true, "8")]);
        assert_eq!(
            terms("x+4-0x10"),
            [(false, "x"), (false, "4"), (true, "0x10")]
        );
        assert_eq!(terms(""), []);
        assert_eq!(number("0xffffffffffffffff"), Some(-1));
    }
}
