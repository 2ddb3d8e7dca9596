// SPDX-License-Identifier: MIT
//! Unwind tables: for each place of a file, how to find the caller's registers, as plain rows
//! that a handler can search. Made from `.eh_frame` and `.debug_frame`.

use crate::cfi::Cfi;
use crate::die::R;
use crate::Binary;
use gimli::{
    BaseAddresses, CfaRule, CieOrFde, Expression, Operation, Register, RegisterRule, UnwindContext,
    UnwindSection, UnwindTableRow,
};
use std::collections::HashMap;
use trapless_machine::{Abi, FRAME_REGISTERS};

/// Where a register of the caller is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Saved {
    /// Still in the register; for the stack pointer: it is the CFA.
    #[default]
    Same,
    /// In memory, this far from the CFA.
    AtCfa(i16),
    /// In memory, this far from what `Frame::base` holds.
    AtBase(i16),
    /// Nowhere. A return address that is nowhere ends the stack.
    Lost,
}

/// How to find the caller's registers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The canonical frame address is this register plus `offset` ...
    pub register: u8,
    pub offset: i32,
    /// ... or the word there.
    pub deref: bool,
    /// A signal's frame: the caller was interrupted, and not called.
    pub signal: bool,
    /// What `Saved::AtBase` counts from.
    pub base: u8,
    pub saved: [Saved; FRAME_REGISTERS],
}

impl Frame {
    /// At a function's first instruction, whoever wrote it.
    fn at_entry(abi: &Abi) -> Frame {
        let (registers, pushed) = (&abi.registers, abi.pushed_by_call());
        let mut saved = [Saved::Same; FRAME_REGISTERS];
        if registers.return_is_pushed {
            saved[usize::from(registers.return_address)] = Saved::AtCfa(-i16::from(pushed));
        }
        Frame {
            register: registers.stack_pointer as u8,
            offset: pushed.into(),
            deref: false,
            signal: false,
            base: 0,
            saved,
        }
    }
}

/// From this address on, up to the next row's. No frame: nothing is known there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    pub addr: u64,
    pub frame: Option<u32>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnwindTable {
    /// Sorted by address.
    pub rows: Vec<Row>,
    pub frames: Vec<Frame>,
}

impl UnwindTable {
    /// The rule at an address.
    pub fn frame(&self, addr: u64) -> Option<&Frame> {
        let after = self.rows.partition_point(|r| r.addr <= addr);
        let row = &self.rows[after.checked_sub(1)?];
        self.frames.get(row.frame? as usize)
    }
}

impl Binary {
    pub fn unwind_table(&self) -> UnwindTable {
        let abi = &self.machine.abi;
        let mut ranges = Ranges::new(abi);
        let Cfi {
            eh_frame,
            debug_frame,
            bases,
            ..
        } = self.cfi();
        ranges.add_section(eh_frame, bases);
        ranges.add_section(debug_frame, bases);
        for s in self.symbols().iter().filter(|s| s.kind.is_code()) {
            ranges.add(s.addr, s.addr + 1, Frame::at_entry(abi));
        }
        ranges.table()
    }
}

/// Places that have a rule.
struct Ranges {
    abi: &'static Abi,
    /// Start, end, frame. Of two for one place the first is meant.
    all: Vec<(u64, u64, u32)>,
    frames: Vec<Frame>,
    numbers: HashMap<Frame, u32>,
}

impl Ranges {
    fn new(abi: &'static Abi) -> Ranges {
        Ranges {
            abi,
            all: Vec::new(),
            frames: Vec::new(),
            numbers: HashMap::new(),
        }
    }

    fn add_section<S: UnwindSection<R>>(&mut self, section: &S, bases: &BaseAddresses) {
        let mut entries = section.entries(bases);
        let mut ctx = UnwindContext::new();
        // What is damaged ends the walk: nothing behind it can be told.
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else {
                continue;
            };
            let Ok(fde) = partial.parse(S::cie_from_offset) else {
                continue;
            };
            if fde.initial_address() == 0 {
                continue; // the linker has dropped its function
            }
            let signal = fde.is_signal_trampoline();
            let encoding = fde.cie().encoding();
            let Ok(mut rows) = fde.rows(section, bases, &mut ctx) else {
                continue;
            };
            while let Ok(Some(row)) = rows.next_row() {
                self.add_row(row, section, encoding, signal);
            }
        }
    }

    fn add_row<S: UnwindSection<R>>(
        &mut self,
        row: &UnwindTableRow<usize>,
        section: &S,
        encoding: gimli::Encoding,
        signal: bool,
    ) {
        let (start, end) = (row.start_address(), row.end_address());
        let Some((base, saved)) = saved_registers(row, section, encoding, self.abi) else {
            return;
        };
        let frame = |(register, offset, deref)| Frame {
            register,
            offset,
            deref,
            signal,
            base,
            saved,
        };
        match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                if let Some(place) = place(*register, *offset, false) {
                    self.add(start, end, frame(place));
                }
            }
            CfaRule::Expression(e) => {
                let Ok(e) = e.get(section) else { return };
                if let Some(place) = simple(&e, encoding) {
                    self.add(start, end, frame(place));
                } else if end.saturating_sub(start) <= LONGEST_BY_ADDRESS {
                    let sp = Register(self.abi.registers.stack_pointer);
                    for pc in start..end {
                        let offset = from_sp(&e, encoding, pc, self.abi);
                        if let Some(place) = offset.and_then(|o| place(sp, o, false)) {
                            self.add(pc, pc + 1, frame(place));
                        }
                    }
                }
            }
        }
    }

    fn add(&mut self, start: u64, end: u64, frame: Frame) {
        let next = self.frames.len() as u32;
        let number = *self.numbers.entry(frame).or_insert_with_key(|f| {
            self.frames.push(f.clone());
            next
        });
        self.all.push((start, end, number));
    }

    fn table(mut self) -> UnwindTable {
        let mut rows: Vec<Row> = Vec::with_capacity(self.all.len());
        let mut known = 0; // up to here
        self.all.sort_by_key(|(start, _, _)| *start); // keeps the order of equal ones
        for (start, end, frame) in self.all {
            let (addr, frame) = (start.max(known), Some(frame));
            if addr >= end {
                continue;
            }
            if addr > known && known > 0 {
                rows.push(Row {
                    addr: known,
                    frame: None,
                });
            }
            if rows.last().is_none_or(|r| r.frame != frame) {
                rows.push(Row { addr, frame });
            }
            known = end;
        }
        if known > 0 {
            rows.push(Row {
                addr: known,
                frame: None,
            });
        }
        UnwindTable {
            rows,
            frames: self.frames,
        }
    }
}

/// A linkage table is described by one expression for all of its addresses: so large one may be.
const LONGEST_BY_ADDRESS: u64 = 1 << 18;

fn place(register: Register, offset: i64, deref: bool) -> Option<(u8, i32, bool)> {
    let known = (register.0 as usize) < FRAME_REGISTERS;
    known.then_some((register.0 as u8, offset.try_into().ok()?, deref))
}

/// An expression that is a register and an offset, or the word there.
fn simple(e: &Expression<R>, encoding: gimli::Encoding) -> Option<(u8, i32, bool)> {
    let mut ops = (*e).operations(encoding);
    let Operation::RegisterOffset {
        register, offset, ..
    } = ops.next().ok()??
    else {
        return None;
    };
    match ops.next().ok()? {
        None => place(register, offset, false),
        Some(Operation::Deref { .. }) if ops.next().ok()?.is_none() => {
            place(register, offset, true)
        }
        Some(_) => None,
    }
}

/// What an expression of stack pointer and program counter adds to the stack pointer there.
fn from_sp(e: &Expression<R>, encoding: gimli::Encoding, pc: u64, abi: &Abi) -> Option<i64> {
    let registers = &abi.registers;
    let mut evaluation = (*e).evaluation(encoding);
    let mut state = evaluation.evaluate().ok()?;
    loop {
        state = match state {
            gimli::EvaluationResult::RequiresRegister { register, .. } => {
                let value = match register.0 {
                    n if n == registers.stack_pointer => 0,
                    n if Some(n) == registers.program_counter => pc,
                    _ => return None,
                };
                let value = gimli::Value::Generic(value);
                evaluation.resume_with_register(value).ok()?
            }
            gimli::EvaluationResult::Complete => break,
            _ => return None,
        };
    }
    match evaluation.value_result()? {
        gimli::Value::Generic(v) => Some(v as i64),
        _ => None,
    }
}

/// What `Saved::AtBase` counts from, and all registers. `None`: in a way that we do not follow.
fn saved_registers<S: UnwindSection<R>>(
    row: &UnwindTableRow<usize>,
    section: &S,
    encoding: gimli::Encoding,
    abi: &Abi,
) -> Option<(u8, [Saved; FRAME_REGISTERS])> {
    let mut saved = [Saved::Same; FRAME_REGISTERS];
    let mut base = None;
    if abi.registers.return_is_pushed {
        saved[usize::from(abi.registers.return_address)] = Saved::Lost;
    }
    for (register, rule) in row.registers() {
        let Some(slot) = saved.get_mut(register.0 as usize) else {
            continue; // vector registers and the like
        };
        *slot = match rule {
            RegisterRule::SameValue => Saved::Same,
            RegisterRule::Offset(n) => near(*n, Saved::AtCfa),
            RegisterRule::Expression(e) => {
                let (register, offset, deref) = simple(&e.get(section).ok()?, encoding)?;
                if deref || *base.get_or_insert(register) != register {
                    return None;
                }
                near(offset.into(), Saved::AtBase)
            }
            // The caller's stack pointer, as it is anyway.
            RegisterRule::ValOffset(0) if register.0 == abi.registers.stack_pointer => Saved::Same,
            _ => Saved::Lost,
        };
    }
    Some((base.unwrap_or(0), saved))
}

/// As far away as no compiler saves registers they count as lost; so does the one number that means that.
fn near(offset: i64, saved: fn(i16) -> Saved) -> Saved {
    let known = i16::try_from(offset).ok().filter(|n| *n != i16::MIN);
    known.map_or(Saved::Lost, saved)
}
