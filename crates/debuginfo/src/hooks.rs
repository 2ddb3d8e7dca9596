// SPDX-License-Identifier: MIT
//! Static hooks (`<trapless/hook.h>`): the rows of `.note.trapless`, which name hooks and tell the types of their
//! parameters. Where those lie tells the static mark at the same address.

use crate::binary::Binary;
use crate::marks::{Mark, MarkArg, Operand};
use crate::notes::{Note, Notes};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A hook, by its one function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    pub provider: String,
    pub name: String,
    /// File address of the function that all its places call.
    pub function: u64,
    /// Of the instruction in it on which listeners stand.
    pub mark: u64,
    /// Of the 16-bit counter of those who listen.
    pub word: u64,
    pub parameters: Vec<HookParameter>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookParameter {
    pub name: String,
    /// As the program's source has it: `const struct packet *`.
    pub ty: String,
    pub class: HookClass,
    /// In bytes.
    pub size: u16,
    pub signed: bool,
    /// As the mark's note has it.
    pub text: String,
    pub place: Operand,
}

/// What a parameter is to the compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookClass {
    Number,
    Pointer,
    Float,
    /// Structures and unions, and what else is no number.
    Other,
}

/// What a file's table says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HookTable {
    /// In the order of the table.
    pub hooks: Vec<Hook>,
    pub damaged: Vec<DamagedHook>,
    /// Marks in functions that nobody calls: of a hook in several files one file's function is taken.
    pub dead: HashSet<u64>,
}

/// A row that must not be believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedHook {
    /// `net:packet_in`, or the row's number where it has no name.
    pub name: String,
    pub why: &'static str,
}

const SECTION: &str = ".note.trapless";
const OWNER: &[u8] = b"trapless\0";
const NOTE_HOOK: u64 = 0x484b;
/// What counts, and what lies beside it.
const WORD_SIZE: u64 = 8;
/// No prologue is longer.
const MOST_BEFORE_MARK: u64 = 4096;
/// <trapless/hook.h> has at most 8.
const MOST_PARAMETERS: usize = 64;
const LONGEST_TYPE: usize = 4096;
const NO_NOTE: &str = "the static mark's note, which tells its place, is gone from the file";

type Why = &'static str;

impl HookTable {
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty() && self.damaged.is_empty()
    }
}

impl Hook {
    pub fn full_name(&self) -> String {
        format!("{}:{}", self.provider, self.name)
    }
}

impl HookParameter {
    /// As a mark's argument, which is a number.
    pub fn as_argument(&self) -> MarkArg {
        let operand = match (self.class, self.size) {
            (HookClass::Other, _) => Operand::Unreadable("it is a structure"),
            (_, 1 | 2 | 4 | 8) => self.place.clone(),
            _ => Operand::Unreadable("its size is none of 1, 2, 4 and 8"),
        };
        MarkArg {
            text: self.text.clone(),
            size: self.size as u8,
            signed: self.signed,
            operand,
        }
    }
}

impl Binary {
    /// The hooks that the file's own table has.
    pub fn hooks(&self) -> HookTable {
        let mut table = self.hook_table();
        if !table.hooks.is_empty() {
            self.find_parameters(&mut table.hooks);
        }
        table
    }

    /// Without where their parameters lie.
    pub(crate) fn hook_table(&self) -> HookTable {
        let mut table = HookTable::default();
        let rows = self.hook_rows(&mut table.damaged);
        if rows.is_empty() {
            return table;
        }
        let taken = self.taken(rows, &mut table);
        table.hooks = apart(taken, &mut table.damaged);
        table
    }

    /// One row for each file that has the hook, without what contradicts the file.
    fn hook_rows(&self, damaged: &mut Vec<DamagedHook>) -> Vec<Hook> {
        let base = self.elf.section_addr(SECTION).unwrap_or(0);
        let mut notes = Notes::new(self.elf.section(SECTION), self.elf.order());
        let mut rows = Vec::new();
        let of_hooks = |n: &Note| n.kind == NOTE_HOOK && n.owner == OWNER;
        for (i, note) in notes.by_ref().filter(of_hooks).enumerate() {
            let at = base.wrapping_add(note.at as u64);
            let row = self.hook_row(at, note.body);
            match row.and_then(|row| self.believable(row)) {
                Ok(row) => rows.push(row),
                Err((name, why)) => {
                    let name = name.unwrap_or_else(|| format!("row {}", i + 1));
                    damaged.push(DamagedHook { name, why });
                }
            }
        }
        if notes.is_torn() {
            damaged.push(DamagedHook {
                name: format!("row {}", rows.len() + damaged.len() + 1),
                why: "the table ends within a row",
            });
        }
        rows
    }

    /// `at`: the row's own address, from which its words count.
    fn hook_row(&self, at: u64, row: &[u8]) -> Result<Hook, (Option<String>, Why)> {
        let short = || (None, "it is too short");
        let order = self.elf.order();
        let word = |i: u64| {
            let distance = order.read_at(row, 4 * i as usize, 4)? as u32 as i32;
            Some(
                at.wrapping_add(4 * i)
                    .wrapping_add(i64::from(distance) as u64),
            )
        };
        let (counter, function) = (word(0).ok_or_else(short)?, word(1).ok_or_else(short)?);
        let mark = word(2).ok_or_else(short)?;
        let mut rest = row.get(16..).ok_or_else(short)?;
        let full = text(&mut rest).ok_or((None, "its name has no end"))?;
        let (provider, name) = full
            .split_once(':')
            .filter(|(p, n)| is_name(p) && is_name(n))
            .ok_or((None, "its name is not of the form `provider:name`"))?;
        let of_it = |why| (Some(full.to_string()), why);
        let result = text(&mut rest).ok_or_else(|| of_it("the type of its result has no end"))?;
        if !is_type(result) {
            return Err(of_it("its result has no type"));
        }
        let mut parameters: Vec<HookParameter> = Vec::new();
        while !rest.is_empty() {
            if parameters.len() == MOST_PARAMETERS {
                return Err(of_it("it has too many parameters"));
            }
            let parameter = self.hook_parameter(&mut rest).map_err(of_it)?;
            if parameters.iter().any(|p| p.name == parameter.name) {
                return Err(of_it("two of its parameters have the same name"));
            }
            parameters.push(parameter);
        }
        Ok(Hook {
            provider: provider.into(),
            name: name.into(),
            function,
            mark,
            word: counter,
            parameters,
        })
    }

    fn hook_parameter(&self, rest: &mut &[u8]) -> Result<HookParameter, Why> {
        let order = self.elf.order();
        let half = |i| order.read_at(rest, i, 2).map(|n| n as u16);
        let (size, class) = half(0).zip(half(2)).ok_or("a parameter is cut off")?;
        *rest = rest.get(4..).unwrap_or(&[]);
        let ty = text(rest).ok_or("the type of a parameter has no end")?;
        let name = text(rest).ok_or("the name of a parameter has no end")?;
        if !is_name(name) {
            return Err("a parameter has no name");
        }
        if !is_type(ty) {
            return Err("a parameter has no type");
        }
        let class = class_of(class);
        let is_signed = size as i16 <= 0 && class != HookClass::Other;
        let size = if is_signed { size.wrapping_neg() } else { size };
        if size == 0 && class != HookClass::Other {
            return Err("a parameter has no size");
        }
        Ok(HookParameter {
            name: name.into(),
            ty: ty.into(),
            class,
            size,
            signed: is_signed && class == HookClass::Number,
            text: String::new(),
            place: Operand::Unreadable(NO_NOTE),
        })
    }

    /// Is everything where it says?
    fn believable(&self, row: Hook) -> Result<Hook, (Option<String>, Why)> {
        let no = |why| Err((Some(row.full_name()), why));
        if !self.is_code(row.function) {
            return no("its function lies outside of the file's code");
        }
        if !self.is_code(row.mark) {
            return no("its mark lies outside of the file's code");
        }
        let nop = self.machine.hook_nop;
        if self.bytes(row.mark, nop.len()) != Some(nop) {
            return no("the instruction at its mark is not the one that hooks have there");
        }
        if !row.word.is_multiple_of(2) || !self.is_counter(row.word) {
            return no("its counter lies in no memory that can be written");
        }
        Ok(row)
    }

    fn is_counter(&self, word: u64) -> bool {
        let inside = |size: u64| {
            let offset = |start: u64| word.wrapping_sub(start);
            move |start: u64| size >= WORD_SIZE && offset(start) <= size - WORD_SIZE
        };
        let mut data = self.elf.segments.iter();
        data.any(|s| s.writable && !s.executable && inside(s.mem_size)(s.vaddr))
    }

    /// Of the rows with one word and one function the one whose mark is in that function: the first behind its beginning.
    fn taken(&self, rows: Vec<Hook>, table: &mut HookTable) -> Vec<Hook> {
        let mut of_one: HashMap<(u64, u64), Vec<usize>> = HashMap::new();
        for (i, row) in rows.iter().enumerate() {
            of_one.entry((row.word, row.function)).or_default().push(i);
        }
        let mut taken = BTreeMap::new();
        for ((_, function), group) in of_one {
            let behind = |i: &usize| rows[*i].mark.wrapping_sub(function);
            let Some(&nearest) = group.iter().min_by_key(|i| (behind(i), **i)) else {
                continue;
            };
            let (mark, first) = (rows[nearest].mark, group[0]);
            if behind(&nearest) >= MOST_BEFORE_MARK {
                table.damaged.push(DamagedHook {
                    name: rows[first].full_name(),
                    why: "no mark of it is in its function",
                });
                continue;
            }
            let others = group.iter().map(|i| rows[*i].mark);
            table.dead.extend(others.filter(|m| *m != mark));
            taken.insert(first, rows[nearest].clone());
        }
        table.damaged.sort_by(|a, b| a.name.cmp(&b.name));
        taken.into_values().collect()
    }

    /// What the mark at the same place says of them.
    fn find_parameters(&self, hooks: &mut [Hook]) {
        let marks = self.all_marks();
        let by_place: HashMap<u64, &Mark> = marks.iter().map(|m| (m.addr, m)).collect();
        for hook in hooks {
            let same = |m: &&&Mark| {
                m.name == hook.name
                    && m.provider == hook.provider
                    && m.args.len() == hook.parameters.len()
            };
            let Some(mark) = by_place.get(&hook.mark).filter(same) else {
                continue;
            };
            for (p, arg) in hook.parameters.iter_mut().zip(&mark.args) {
                p.text = arg.text.clone();
                // The mark's own reader refuses sizes that no number has.
                let place = arg.text.split_once('@').map_or("", |t| t.1);
                p.place = self.operand(place);
            }
        }
    }
}

/// Without those that cannot be told from each other.
fn apart(hooks: Vec<Hook>, damaged: &mut Vec<DamagedHook>) -> Vec<Hook> {
    let near = |places: &mut dyn Iterator<Item = (u64, usize)>, size: u64| {
        let mut sorted: Vec<(u64, usize)> = places.collect();
        sorted.sort_unstable();
        let pairs = sorted.windows(2).filter(|w| w[1].0 - w[0].0 < size);
        let both = pairs.flat_map(|w| [w[0].1, w[1].1]);
        both.collect::<HashSet<usize>>()
    };
    let all = || hooks.iter().enumerate();
    let one_function = near(&mut all().map(|(i, h)| (h.mark, i)), 1);
    let overlapping = near(&mut all().map(|(i, h)| (h.mark, i)), 5);
    let counters = near(&mut all().map(|(i, h)| (h.word, i)), WORD_SIZE);
    let why = |i: &usize| {
        if one_function.contains(i) {
            Some("it shares its function with another hook: the linker has folded them (link without --icf=all)")
        } else if overlapping.contains(i) {
            Some("its mark overlaps that of another hook")
        } else if counters.contains(i) {
            Some("its counter overlaps that of another hook")
        } else {
            None
        }
    };
    for (i, hook) in all() {
        damaged.extend(why(&i).map(|why| DamagedHook {
            name: hook.full_name(),
            why,
        }));
    }
    let good = all().filter(|(i, _)| why(i).is_none());
    good.map(|(_, hook)| hook.clone()).collect()
}

/// The numbers of `__builtin_classify_type()`.
fn class_of(number: u16) -> HookClass {
    match number {
        1..=4 => HookClass::Number,
        5 => HookClass::Pointer,
        8 => HookClass::Float,
        _ => HookClass::Other,
    }
}

/// The text that ends with the next zero; it is taken off.
fn text<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let end = rest.iter().position(|b| *b == 0)?;
    let (text, tail) = rest.split_at(end);
    *rest = &tail[1..];
    std::str::from_utf8(text).ok()
}

fn is_type(text: &str) -> bool {
    let is_whole = text.len() <= LONGEST_TYPE && !text.contains(char::is_control);
    is_whole && !text.trim().is_empty()
}

/// As C has them, which may be of any letters.
fn is_name(text: &str) -> bool {
    let letter = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(letter)
}
