// SPDX-License-Identifier: MIT
//! From records to events.
//!
//! All records of one run of a handler have one time and stand together, so an
//! event is what comes of one ring with one time and one probe, up to the end of
//! a line.

use crate::event::{put_parts, Class, Event, Kept, Note, NoteKind, Part, Thread, Totals};
use crate::module::{EndsLine, Field, FieldKind, Module};
use crate::raw::Record;
use crate::writer::Writer;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use trapless_machine::ByteOrder;
use trapless_wire::{self as wire, RecordKind};

#[derive(Debug, Default)]
pub struct Assembler {
    threads: Vec<Thread>,
    classes: Classes,
    open: Option<Open>,
    parts: Vec<Part>,
    args: Vec<Kept>,
    bytes: Vec<u8>,
    values: Vec<Kept>,
    text: Vec<u8>,
    pub totals: Option<Totals>,
    /// Records that make no sense.
    pub damaged: u64,
}

/// The event that is being put together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Open {
    ring: u32,
    time: u64,
    probe: Option<u32>,
}

/// Stand for text without a print.
const TEXT: u32 = u32::MAX;
const STACK: u32 = u32::MAX - 1;

#[derive(Debug, Default)]
struct Classes {
    /// By the numbers of their name and of their prints.
    known: HashMap<Vec<u32>, usize>,
    list: Vec<Class>,
    key: Vec<u32>,
}

impl Assembler {
    pub fn take(&mut self, module: &Module, r: &Record, to: &mut dyn Writer) -> io::Result<()> {
        match r.kind {
            RecordKind::Printf | RecordKind::Text => return self.printed(module, r, to),
            RecordKind::Thread => {
                self.finish(module, to)?;
                self.name_thread(module.order, r);
                return Ok(());
            }
            RecordKind::End => {
                self.finish(module, to)?;
                self.totals = Some(totals(module.order, &r.payload));
                return Ok(());
            }
            RecordKind::Link => {
                self.damaged += 1;
                return Ok(());
            }
            _ => self.finish(module, to)?,
        }
        let text = || String::from_utf8_lossy(without_padding(&r.payload)).into_owned();
        let count = || module.order.read(&r.payload[..r.payload.len().min(8)]);
        let kind = match r.kind {
            RecordKind::Error if module.errors_ignored => return Ok(()),
            RecordKind::Error => NoteKind::Error(text()),
            RecordKind::Warning => NoteKind::Warning(text()),
            RecordKind::Lost => NoteKind::Lost(count()),
            RecordKind::Hits => NoteKind::Hits(count()),
            RecordKind::CommandText => NoteKind::Command(text()),
            RecordKind::Command => {
                let command = module.commands.get(usize::from(r.id));
                NoteKind::Command(command.cloned().unwrap_or_default())
            }
            _ => NoteKind::Switch,
        };
        to.note(&Note {
            time: r.time,
            ring: r.ring,
            thread: self.thread(r.ring),
            probe: r.probe.and_then(|p| module.probes.get(p as usize)),
            kind,
        })
    }

    /// Nothing more comes of the event that is open.
    pub fn finish(&mut self, module: &Module, to: &mut dyn Writer) -> io::Result<()> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let class = self.classes.of(module, open.probe, &self.parts);
        self.values.clear();
        for part in &self.parts {
            let Part::Print { number, args } = part else {
                continue;
            };
            let is_field = module.prints[*number]
                .args
                .iter()
                .map(|a| a.field.is_some());
            let args = self.args[args.clone()].iter().zip(is_field);
            let values = args.filter(|(_, is_field)| *is_field);
            self.values.extend(values.map(|(a, _)| a.clone()));
        }
        let fields = &self.classes.list[class].fields;
        let missing: Vec<FieldKind> = fields[self.values.len()..].iter().map(|f| f.kind).collect();
        for kind in missing {
            self.keep_text(module, kind == FieldKind::Stack);
        }
        let none = Thread::default();
        let event = Event {
            time: open.time,
            ring: open.ring,
            thread: self.threads.get(open.ring as usize).unwrap_or(&none),
            probe: open.probe.and_then(|p| module.probes.get(p as usize)),
            class: &self.classes.list[class],
            module,
            parts: &self.parts,
            args: &self.args,
            bytes: &self.bytes,
            values: &self.values,
        };
        to.event(&event)?;
        self.parts.clear();
        self.args.clear();
        self.bytes.clear();
        Ok(())
    }

    /// What no argument of a print has is the field `text` or `stack`, without the line's end.
    fn keep_text(&mut self, module: &Module, stack: bool) {
        let wanted = |p: &&Part| match p {
            Part::Text(_) => !stack,
            Part::Stack(_) => stack,
            Part::Print { .. } => !stack && self.values.is_empty(),
        };
        let only: Vec<Part> = self.parts.iter().filter(wanted).cloned().collect();
        self.text.clear();
        put_parts(module, &only, &self.args, &self.bytes, &mut self.text);
        let from = self.bytes.len();
        let line = self.text.strip_suffix(b"\n").unwrap_or(&self.text);
        self.bytes.extend_from_slice(line);
        self.values.push(Kept::Text(from..self.bytes.len()));
    }

    fn thread(&self, ring: u32) -> &Thread {
        static NOBODY: Thread = Thread {
            tid: 0,
            pid: 0,
            comm: String::new(),
            processor: None,
        };
        self.threads.get(ring as usize).unwrap_or(&NOBODY)
    }

    fn printed(&mut self, module: &Module, r: &Record, to: &mut dyn Writer) -> io::Result<()> {
        let of = Open {
            ring: r.ring,
            time: r.time,
            probe: r.probe,
        };
        if self.open != Some(of) {
            self.finish(module, to)?;
        }
        let ended = match r.kind {
            RecordKind::Text => {
                let text = self.keep(without_padding(&r.payload));
                self.parts.push(match r.id & wire::text::STACK {
                    0 => Part::Text(text),
                    _ => Part::Stack(text),
                });
                r.id & wire::text::MORE == 0 && self.bytes.ends_with(b"\n")
            }
            _ => match self.print(module, r) {
                Some(ended) => ended,
                None => {
                    self.damaged += 1;
                    return Ok(());
                }
            },
        };
        self.open = Some(of);
        if ended {
            self.finish(module, to)?;
        }
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8]) -> std::ops::Range<usize> {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        from..self.bytes.len()
    }

    /// Does it end a line? `None`: it is damaged, and nothing of it is kept.
    fn print(&mut self, module: &Module, r: &Record) -> Option<bool> {
        let print = module.prints.get(usize::from(r.id))?;
        let (first, bytes) = (self.args.len(), self.bytes.len());
        let mut at = 0;
        for arg in &print.args {
            let kept = self.argument(module.order, &r.payload, &mut at, arg.is_text);
            let Some(kept) = kept else {
                self.args.truncate(first);
                self.bytes.truncate(bytes);
                return None;
            };
            self.args.push(kept);
        }
        self.parts.push(Part::Print {
            number: r.id.into(),
            args: first..self.args.len(),
        });
        let by_argument = match self.args.last() {
            Some(Kept::Text(t)) => self.bytes[t.clone()].ends_with(b"\n"),
            Some(Kept::Number(n)) => *n == i64::from(b'\n'),
            None => false,
        };
        Some(match print.ends_line {
            EndsLine::Always => true,
            EndsLine::Never => false,
            EndsLine::ByArgument => by_argument,
        })
    }

    fn argument(
        &mut self,
        order: ByteOrder,
        payload: &[u8],
        at: &mut usize,
        is_text: bool,
    ) -> Option<Kept> {
        if !is_text {
            let n = order.read_at(payload, *at, 8)?;
            *at += 8;
            return Some(Kept::Number(n as i64));
        }
        let len = order.read_at(payload, *at, 4)? as usize;
        let text = payload.get(*at + 4..)?.get(..len)?;
        *at += (4 + len).next_multiple_of(8);
        Some(Kept::Text(self.keep(text)))
    }

    fn name_thread(&mut self, order: ByteOrder, r: &Record) {
        let number = |at| order.read_at(&r.payload, at, 4).unwrap_or(0) as u32;
        let ring = r.ring as usize;
        if ring >= RINGS_MAX || r.payload.len() < 32 {
            self.damaged += 1;
            return;
        }
        if ring >= self.threads.len() {
            self.threads.resize(ring + 1, Thread::default());
        }
        self.threads[ring] = Thread {
            tid: number(0),
            pid: number(4),
            processor: number(8).checked_sub(1),
            comm: String::from_utf8_lossy(without_padding(&r.payload[16..32])).into_owned(),
        };
    }
}

/// As many as a session has at most.
const RINGS_MAX: usize = 1 << 20;

impl Classes {
    fn of(&mut self, module: &Module, probe: Option<u32>, parts: &[Part]) -> usize {
        let probe = probe.and_then(|p| module.probes.get(p as usize));
        self.key.clear();
        self.key.push(probe.map_or(TEXT, |p| p.event_number));
        self.key.extend(parts.iter().map(|p| match p {
            Part::Print { number, .. } => *number as u32,
            Part::Text(_) => TEXT,
            Part::Stack(_) => STACK,
        }));
        // Pieces of one text, or many of them, are one field.
        self.key.dedup_by(|b, a| *a == *b && *b >= STACK);
        if let Some(known) = self.known.get(&self.key) {
            return *known;
        }
        let number = self.list.len();
        self.list.push(Class {
            number,
            name: probe.map_or_else(|| "print".into(), |p| p.event.clone()),
            fields: fields(module, parts),
        });
        self.known.insert(self.key.clone(), number);
        number
    }
}

fn fields(module: &Module, parts: &[Part]) -> Vec<Arc<Field>> {
    let prints = parts.iter().filter_map(|p| match p {
        Part::Print { number, .. } => Some(&module.prints[*number]),
        Part::Text(_) | Part::Stack(_) => None,
    });
    let args = prints.flat_map(|p| &p.args);
    let mut all: Vec<Arc<Field>> = args.filter_map(|a| a.field.clone()).collect();
    let has_text = parts.iter().any(|p| matches!(p, Part::Text(_)));
    let has_stack = parts.iter().any(|p| matches!(p, Part::Stack(_)));
    if has_text || (all.is_empty() && !has_stack) {
        all.push(text_field("text", FieldKind::Text));
    }
    if has_stack {
        all.push(text_field("stack", FieldKind::Stack));
    }
    for i in 1..all.len() {
        if all[..i].iter().any(|f| f.name == all[i].name) {
            all[i] = Arc::new(Field {
                name: free_name(&all, &all[i].name),
                ..(*all[i]).clone()
            });
        }
    }
    all
}

fn text_field(name: &str, kind: FieldKind) -> Arc<Field> {
    Arc::new(Field {
        name: name.into(),
        kind,
        unit: String::new(),
    })
}

fn free_name(all: &[Arc<Field>], name: &str) -> String {
    let taken = |n: &String| all.iter().any(|f| f.name == *n);
    let mut names = (2..).map(|n| format!("{name}_{n}"));
    names.find(|n| !taken(n)).unwrap_or_default()
}

fn without_padding(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|b| *b != 0).map_or(0, |at| at + 1);
    &text[..end]
}

fn totals(order: ByteOrder, payload: &[u8]) -> Totals {
    let at = |n: usize| order.read_at(payload, 8 * n, 8).unwrap_or(0);
    Totals {
        records: at(0),
        lost: at(1),
        errors: at(2),
        skipped: at(3),
        missed: at(4),
        no_block: at(5),
        damaged: at(6),
    }
}
