// SPDX-License-Identifier: MIT
//! Which system (sched, net) each tracepoint is of. BTF does not tell; the data of the kernel's file does: there stands a
//! `struct trace_event_call` for each that is an event, which points to the tracepoint, and to the class that has the
//! system. Files have no symbols for them, so they are known by what they point to.

use super::btf::{described, Btf, Kind};
use crate::elf::{Elf, RawSymbol};
use crate::layout;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

/// Before the name of a tracepoint that of the function that calls its listeners.
pub const TRACER: &str = "__traceiter_";
/// Of the kernel that runs here, if root reads it: a folder for each system, in it one for each event.
const LIVE: [&str; 2] = [
    "/sys/kernel/tracing/events",
    "/sys/kernel/debug/tracing/events",
];
/// Where the kernel's data is that it writes to.
const DATA: &str = ".data";
/// Before the name of a tracepoint that of its event.
const EVENT: &[u8] = b"event_";
/// Names are shorter.
const LONGEST: usize = 128;

/// By the tracepoint's name. Those that are no events are of no system.
#[derive(Default, Clone, PartialEq, Eq, Debug)]
pub struct Systems(BTreeMap<String, String>);

impl Systems {
    pub fn of(&self, tracepoint: &str) -> Option<&str> {
        self.0.get(tracepoint).map(String::as_str)
    }

    /// Each once.
    pub fn names(&self) -> Vec<&str> {
        let mut all: Vec<&str> = self.0.values().map(String::as_str).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A line for each, to be kept.
    pub fn text(&self) -> String {
        let line = |(name, system): (&String, &String)| format!("{name} {system}\n");
        self.0.iter().map(line).collect()
    }

    pub fn from_text(text: &str) -> Systems {
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        Systems(pairs.map(|(n, s)| (n.into(), s.into())).collect())
    }

    /// As the kernel that runs here lists them, for root.
    pub fn listed() -> Systems {
        LIVE.iter()
            .map(|l| Systems::in_folder(Path::new(l)))
            .find(|s| !s.is_empty())
            .unwrap_or_default()
    }

    fn in_folder(folder: &Path) -> Systems {
        let mut all = BTreeMap::new();
        for system in names_in(folder) {
            for event in names_in(&folder.join(&system)) {
                all.insert(event, system.clone());
            }
        }
        Systems(all)
    }

    /// `elf`: a module; `btf`: its own, or at least its kernel's behind it.
    pub fn in_module(mut elf: Elf, btf: &Btf) -> Systems {
        elf.lay_out(&layout::DATA);
        of_symbols(&elf, btf).unwrap_or_default()
    }

    /// `elf`: the kernel, unpacked; `btf`: its own.
    pub fn in_data(elf: &Elf, btf: &Btf) -> Systems {
        Reader::new(elf, btf).map(|r| r.all()).unwrap_or_default()
    }
}

/// A tracepoint of a module.
pub struct Traced {
    pub module: String,
    pub name: String,
    /// "": it is of none.
    pub system: String,
}

impl Traced {
    /// To be kept.
    pub fn line(&self) -> String {
        format!("{} {} {}\n", self.module, self.name, self.system)
    }

    pub fn of_line(line: &str) -> Option<Traced> {
        let (module, rest) = line.split_once(' ')?;
        let (name, system) = rest.split_once(' ')?;
        Some(Traced {
            module: module.into(),
            name: name.into(),
            system: system.into(),
        })
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|e| e.file_name().into_string().ok())
        .collect()
}

/// `None`: the kernel's structures are of another kind.
fn of_symbols(elf: &Elf, btf: &Btf) -> Option<Systems> {
    let class = offset_in(btf, "trace_event_call", "class")?;
    let system = offset_in(btf, "trace_event_class", "system")?;
    let symbols = elf.symbols(".symtab").into_iter();
    let event = |s: RawSymbol| {
        let name = std::str::from_utf8(s.name.strip_prefix(EVENT)?).ok()?;
        let class = elf.word_at(s.value + class)?;
        let system = text_at(elf, elf.word_at(class + system)?)?;
        Some((name.to_string(), system.to_string()))
    };
    Some(Systems(symbols.filter_map(event).collect()))
}

struct Reader<'a> {
    elf: &'a Elf,
    tracepoints: HashSet<&'a str>,
    /// Places in `struct trace_event_call`, in its class, in `struct tracepoint`.
    class: u64,
    tracepoint: u64,
    system: u64,
    name: u64,
}

impl<'a> Reader<'a> {
    /// `None`: its structures are of another kind.
    fn new(elf: &'a Elf, btf: &'a Btf) -> Option<Reader<'a>> {
        let tracepoints = described(btf).filter_map(|(_, name)| name.strip_prefix(TRACER));
        Some(Reader {
            elf,
            tracepoints: tracepoints.collect(),
            class: offset_in(btf, "trace_event_call", "class")?,
            tracepoint: offset_in(btf, "trace_event_call", "tp")?,
            system: offset_in(btf, "trace_event_class", "system")?,
            name: offset_in(btf, "tracepoint", "name")?,
        })
    }

    fn all(&self) -> Systems {
        let start = self.elf.section_addr(DATA).unwrap_or(0);
        let size = self.elf.section(DATA).len() as u64;
        let places = (start..start + size).step_by(8);
        Systems(places.filter_map(|at| self.event(at)).collect())
    }

    /// Is there one? Its name, and its system's.
    fn event(&self, at: u64) -> Option<(String, String)> {
        let word = |at| self.elf.word_at(at);
        let name = text_at(self.elf, word(word(at + self.tracepoint)? + self.name)?)?;
        self.tracepoints.get(name)?;
        let system = text_at(self.elf, word(word(at + self.class)? + self.system)?)?;
        let is_name = |c: u8| c.is_ascii_alphanumeric() || c == b'_' || c == b'-';
        let is_system = !system.is_empty() && system.bytes().all(is_name);
        is_system.then(|| (name.into(), system.into()))
    }
}

/// Up to a zero.
fn text_at(elf: &Elf, at: u64) -> Option<&'static str> {
    let bytes = elf.at_vaddr(at)?;
    let bytes = &bytes[..bytes.len().min(LONGEST)];
    std::str::from_utf8(&bytes[..memchr::memchr(0, bytes)?]).ok()
}

/// Of a member, in bytes; those of a union in it are its own.
fn offset_in(btf: &Btf, structure: &str, member: &str) -> Option<u64> {
    let id = btf.named(structure, &[Kind::Struct])?;
    offset_below(btf, id, member, 2)
}

fn offset_below(btf: &Btf, id: u32, member: &str, depth: u32) -> Option<u64> {
    let entry = btf
        .entry(id)
        .filter(|e| matches!(e.kind, Kind::Struct | Kind::Union))?;
    (0..entry.count).find_map(|n| {
        let [name, ty, bits] = [0, 1, 2].map(|i| btf.word_of(&entry, 3 * n + i));
        let inside = match btf.text(name) {
            text if text == member => Some(0),
            "" if depth > 0 => offset_below(btf, ty, member, depth - 1),
            _ => None,
        };
        Some(inside? + u64::from(bits) / 8)
    })
}
