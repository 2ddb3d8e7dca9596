// SPDX-License-Identifier: MIT
//! The module file.

use crate::encode::Encoder;
use std::collections::HashMap;
use std::ops::Range;
use trapless_machine::{Abi, ByteOrder};

pub const VERSION: u16 = 2;
pub const MAGIC: u32 = 0x5041_5481;
/// "No such index or offset".
pub const NONE: u32 = 0xffff_ffff;

pub const HEADER_SIZE: usize = 48;
pub const SECTION_SIZE: usize = 24;
pub const PROBE_SIZE: usize = 80;

pub mod section {
    pub const STRINGS: u32 = 1;
    pub const IMAGES: u32 = 2;
    pub const PROBES: u32 = 3;
    pub const PARTS: u32 = 4;
    pub const CODE: u32 = 5;
    pub const DATA: u32 = 6;
    pub const RELOCS: u32 = 7;
    pub const IMPORTS: u32 = 8;
    pub const PRINTS: u32 = 9;
    pub const GLOBALS: u32 = 10;
    pub const OPTIONS: u32 = 11;
    pub const SYMBOLS: u32 = 12;
    pub const WARNINGS: u32 = 13;
    pub const UNWIND: u32 = 14;
    pub const ROWS: u32 = 15;
    pub const FRAMES: u32 = 16;
    pub const COMMANDS: u32 = 17;
    pub const LINES: u32 = 18;
    pub const FIELDS: u32 = 19;
}

/// Offset of a string in the STRINGS section.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Str(pub u32);

/// The STRINGS section: every text once.
#[derive(Debug)]
pub struct Strings {
    bytes: Vec<u8>,
    known: HashMap<Vec<u8>, u32>,
}

impl Default for Strings {
    fn default() -> Strings {
        Strings {
            bytes: vec![0],
            known: HashMap::from([(Vec::new(), 0)]),
        }
    }
}

impl Strings {
    /// Text behind a NUL byte is cut: the section holds C strings.
    pub fn add(&mut self, text: impl AsRef<[u8]>) -> Str {
        let text = text.as_ref().split(|b| *b == 0).next().unwrap_or(&[]);
        if let Some(at) = self.known.get(text) {
            return Str(*at);
        }
        let at = self.bytes.len() as u32;
        self.bytes.extend_from_slice(text);
        self.bytes.push(0);
        self.known.insert(text.to_vec(), at);
        Str(at)
    }
}

pub mod image_flag {
    pub const PROGRAM: u32 = 1;
    pub const KERNEL: u32 = 2;
}

#[derive(Clone, Debug, Default)]
pub struct Image {
    pub path: Str,
    pub flags: u32,
    pub build_id: Vec<u8>,
    pub file_size: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum ProbeKind {
    Begin = 1,
    End,
    Error,
    Timer,
    Site,
    Return,
    ProcessBegin,
    ProcessEnd,
    ThreadBegin,
    ThreadEnd,
    Profile,
    Watch,
    FileRead,
    FileWrite,
    Show,
    Reset,
    Trace,
}

pub mod probe_flag {
    pub const REGS: u32 = 1;
    pub const BIG_STACK: u32 = 2;
    pub const OPTIONAL: u32 = 4;
    pub const NEVER: u32 = 8;
    pub const RESULT: u32 = 16;
    pub const MATCHED: u32 = 32;
    pub const READS: u32 = 64;
    pub const BYTES: u32 = 128;
    pub const SYSCALL: u32 = 256;
    pub const ENTRY: u32 = 512;
    pub const MADE: u32 = 1024;
}

#[derive(Clone, Debug)]
pub struct Probe {
    pub kind: ProbeKind,
    pub flags: u32,
    pub process: u32,
    pub image: u32,
    pub addr: u64,
    pub arg: i64,
    pub first_part: u32,
    pub nparts: u32,
    pub handler: u32,
    pub on_entry: u32,
    pub call_data: u32,
    pub point: Str,
    pub func: Str,
    pub script: Str,
    pub condition: u32,
    pub name: Str,
    pub event: Str,
}

#[derive(Clone, Copy, Debug)]
pub struct Print {
    pub format: Str,
    pub script: Str,
    pub first_field: u32,
    pub nfields: u32,
}

#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub name: Str,
    pub unit: Str,
}

#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub addr: u64,
    pub size: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Import {
    pub name: Str,
    pub slot: u32,
}

#[derive(Clone, Copy, Debug)]
pub struct Symbol {
    pub addr: u64,
    pub size: u64,
    pub image: u32,
    pub name: Str,
}

/// From `addr` on; `file` may be [`NONE`](crate::NONE).
#[derive(Clone, Copy, Debug)]
pub struct Line {
    pub addr: u64,
    pub image: u32,
    pub file: u32,
    pub line: u32,
}

/// The rows of one image.
#[derive(Clone, Copy, Debug)]
pub struct Unwind {
    pub base: u64,
    pub first_row: u32,
    pub nrows: u32,
}

#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub at: u32,
    pub frame: u32,
}

pub const FRAME_REGS: usize = trapless_machine::FRAME_REGISTERS;
pub const FRAME_LOST: i16 = i16::MIN;

pub mod frame_flag {
    pub const DEREF: u8 = 1;
    pub const SIGNAL: u8 = 2;
}

#[derive(Clone, Debug)]
pub struct Frame {
    pub cfa: u8,
    pub flags: u8,
    pub base: u8,
    pub offset: i32,
    pub moved: u32,
    pub by_base: u32,
    pub saved: [i16; FRAME_REGS],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Value {
    #[default]
    Long = 1,
    String,
    Stats,
}

#[derive(Clone, Debug, Default)]
pub struct Global {
    pub name: Str,
    pub ty: Value,
    pub sharded: bool,
    pub wrap: bool,
    pub keys: Vec<Value>,
    pub offset: u32,
    pub size: u32,
    pub capacity: u32,
    pub lock: u32,
    pub init: i64,
    pub init_string: Str,
    /// 0 none, 1 log, 2 linear.
    pub hist: u8,
    pub hist_low: i64,
    pub hist_high: i64,
    pub hist_step: i64,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    pub globals_size: u32,
    pub shard_size: u32,
    pub nlocks: u32,
    pub max_string: u32,
    pub max_action: u32,
    pub max_nesting: u32,
    pub max_errors: u32,
    pub max_skipped: u32,
    pub ring_size: u32,
    pub stack: u32,
    pub uses: u32,
    pub ring_pool: u32,
}

pub mod uses {
    pub const SYMBOLS: u32 = 1;
    pub const STACK: u32 = 2;
    pub const HITS: u32 = 4;
    pub const TIMES: u32 = 8;
}

pub mod tap_flag {
    pub const ANY_PROCESS: u32 = 1;
    pub const GURU: u32 = 2;
    pub const HIERARCHY: u32 = 4;
    pub const KERNEL: u32 = 8;
}

/// A module under construction.
#[derive(Debug, Default)]
pub struct Tap {
    pub name: Str,
    pub flags: u32,
    pub build_hash: [u64; 2],
    pub strings: Strings,
    pub images: Vec<Image>,
    pub probes: Vec<Probe>,
    pub parts: Vec<Part>,
    pub code: Vec<u8>,
    pub data: Vec<u8>,
    pub relocs: Vec<u32>,
    pub imports: Vec<Import>,
    pub prints: Vec<Print>,
    pub fields: Vec<Field>,
    pub globals: Vec<Global>,
    pub options: Options,
    pub symbols: Vec<Symbol>,
    pub warnings: Vec<Str>,
    pub unwind: Vec<Unwind>,
    pub rows: Vec<Row>,
    pub frames: Vec<Frame>,
    pub commands: Vec<Str>,
    pub lines: Vec<Line>,
}

impl Tap {
    /// The whole file. What has been written is let go of: there may be hundred thousands of probes.
    pub fn encode(self, abi: &Abi) -> Vec<u8> {
        let number = |o: &mut Encoder, s: &Str| o.u32(s.0);
        let mut all = Sections {
            bodies: Encoder::new(abi.order),
            table: Vec::new(),
        };
        all.bytes(section::STRINGS, self.strings.bytes);
        all.list(section::IMAGES, self.images, image);
        all.list(section::PROBES, self.probes, probe);
        all.list(section::PARTS, self.parts, part);
        all.bytes(section::CODE, self.code);
        all.bytes(section::DATA, self.data);
        all.list(section::RELOCS, self.relocs, |o, r| o.u32(*r));
        all.list(section::IMPORTS, self.imports, import);
        all.list(section::PRINTS, self.prints, print);
        all.list(section::GLOBALS, self.globals, global);
        all.list(section::OPTIONS, vec![self.options], options);
        all.list(section::SYMBOLS, self.symbols, symbol);
        all.list(section::WARNINGS, self.warnings, number);
        all.list(section::UNWIND, self.unwind, unwind);
        all.list(section::ROWS, self.rows, row);
        all.list(section::FRAMES, self.frames, frame);
        all.list(section::COMMANDS, self.commands, number);
        all.list(section::LINES, self.lines, line);
        all.list(section::FIELDS, self.fields, field);
        let Sections { mut bodies, table } = all;
        let mut head = Encoder::new(abi.order);
        let first = (HEADER_SIZE + SECTION_SIZE * table.len()).next_multiple_of(16);
        for (kind, count, body) in &table {
            head.u32(*kind);
            head.u32(*count as u32);
            head.u64((first + body.start) as u64);
            head.u64(body.len() as u64);
        }
        // HEADER_SIZE is a multiple of 16, so the table may be aligned alone.
        head.align(16);
        bodies.align(16);
        let mut crc = crc32fast::Hasher::new();
        crc.update(&head.bytes);
        crc.update(&bodies.bytes);
        let mut out = Encoder::new(abi.order);
        out.u32(MAGIC);
        out.u16(VERSION);
        out.u16(abi.elf_machine);
        out.u8(8 * abi.word);
        out.u8((abi.order == ByteOrder::Big) as u8);
        out.u16(table.len() as u16);
        out.u32(crc.finalize());
        out.u64((first + bodies.bytes.len()) as u64);
        out.u32(self.name.0);
        out.u32(self.flags);
        out.u64(self.build_hash[0]);
        out.u64(self.build_hash[1]);
        out.bytes.append(&mut head.bytes);
        // In place: it may be most of what there is in memory.
        bodies.bytes.splice(0..0, out.bytes);
        bodies.bytes
    }
}

/// What follows header and table, and for the table: kind, number of entries, place.
struct Sections {
    bodies: Encoder,
    table: Vec<(u32, usize, Range<usize>)>,
}

impl Sections {
    fn list<T>(&mut self, kind: u32, items: Vec<T>, write: impl Fn(&mut Encoder, &T)) {
        self.section(kind, items.len(), |o| {
            items.iter().for_each(|i| write(o, i))
        });
    }

    fn bytes(&mut self, kind: u32, bytes: Vec<u8>) {
        self.section(kind, bytes.len(), |o| o.bytes.extend_from_slice(&bytes));
    }

    fn section(&mut self, kind: u32, count: usize, write: impl FnOnce(&mut Encoder)) {
        if count == 0 {
            return;
        }
        self.bodies.align(16);
        let start = self.bodies.bytes.len();
        write(&mut self.bodies);
        self.table
            .push((kind, count, start..self.bodies.bytes.len()));
    }
}

fn image(o: &mut Encoder, i: &Image) {
    let len = i.build_id.len().min(32);
    o.u32(i.path.0);
    o.u32(i.flags);
    o.bytes.extend_from_slice(&i.build_id[..len]);
    o.bytes.resize(o.bytes.len() + 32 - len, 0);
    o.u32(len as u32);
    o.u32(0);
    o.u64(i.file_size);
}

fn probe(o: &mut Encoder, p: &Probe) {
    o.u32(p.kind as u32);
    o.u32(p.flags);
    o.u32(p.process);
    o.u32(p.image);
    o.u64(p.addr);
    o.i64(p.arg);
    for v in [p.first_part, p.nparts, p.handler, p.on_entry, p.call_data] {
        o.u32(v);
    }
    for s in [p.point, p.func, p.script] {
        o.u32(s.0);
    }
    o.u32(p.condition);
    for v in [p.name.0, p.event.0, 0] {
        o.u32(v);
    }
}

fn print(o: &mut Encoder, p: &Print) {
    for v in [p.format.0, p.script.0, p.first_field, p.nfields] {
        o.u32(v);
    }
}

fn field(o: &mut Encoder, f: &Field) {
    o.u32(f.name.0);
    o.u32(f.unit.0);
}

fn part(o: &mut Encoder, p: &Part) {
    o.u64(p.addr);
    o.u64(p.size);
}

fn import(o: &mut Encoder, i: &Import) {
    o.u32(i.name.0);
    o.u32(i.slot);
}

fn symbol(o: &mut Encoder, s: &Symbol) {
    o.u64(s.addr);
    o.u64(s.size);
    o.u32(s.image);
    o.u32(s.name.0);
}

fn line(o: &mut Encoder, l: &Line) {
    o.u64(l.addr);
    o.u32(l.image);
    o.u32(l.file);
    o.u32(l.line);
    o.u32(0);
}

fn unwind(o: &mut Encoder, u: &Unwind) {
    o.u64(u.base);
    o.u32(u.first_row);
    o.u32(u.nrows);
}

fn row(o: &mut Encoder, r: &Row) {
    o.u32(r.at);
    o.u32(r.frame);
}

fn frame(o: &mut Encoder, f: &Frame) {
    for v in [f.cfa, f.flags, f.base, 0] {
        o.u8(v);
    }
    for v in [f.offset as u32, f.moved, f.by_base] {
        o.u32(v);
    }
    for v in f.saved {
        o.u16(v as u16);
    }
    o.u16(0);
}

fn global(o: &mut Encoder, g: &Global) {
    o.u32(g.name.0);
    o.u8(g.ty as u8);
    o.u8(g.sharded as u8);
    o.u8(g.keys.len().min(16) as u8);
    o.u8(g.wrap as u8);
    for i in 0..16 {
        o.u8(g.keys.get(i).map_or(0, |k| *k as u8));
    }
    for v in [g.offset, g.size, g.capacity, g.lock] {
        o.u32(v);
    }
    o.align(8);
    o.i64(g.init);
    o.u32(g.init_string.0);
    o.u8(g.hist);
    o.bytes.extend_from_slice(&[0; 3]);
    for v in [g.hist_low, g.hist_high, g.hist_step] {
        o.i64(v);
    }
}

fn options(o: &mut Encoder, p: &Options) {
    for v in [
        p.globals_size,
        p.shard_size,
        p.nlocks,
        p.max_string,
        p.max_action,
        p.max_nesting,
        p.max_errors,
        p.max_skipped,
        p.ring_size,
        p.stack,
        p.uses,
        p.ring_pool,
    ] {
        o.u32(v);
    }
}
