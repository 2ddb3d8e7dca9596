// SPDX-License-Identifier: MIT
//! The module at the head of a raw stream: what its records refer to by number.

use crate::raw::Fault;
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::Arc;
use trapless_machine::ByteOrder;
use trapless_syntax::format::{parse_format, Kind, Piece, Size};
use trapless_wire as wire;

#[derive(Debug)]
pub struct Module {
    /// Of the session, as `--sessions` shows it.
    pub name: String,
    pub order: ByteOrder,
    pub elf_machine: u16,
    pub probes: Vec<Probe>,
    pub prints: Vec<Print>,
    /// What system() starts.
    pub commands: Vec<String>,
    /// Run-time errors are neither counted nor told.
    pub errors_ignored: bool,
}

#[derive(Debug)]
pub struct Probe {
    pub point: Arc<str>,
    /// What its events are called.
    pub event: Arc<str>,
    /// The same for probes whose events are called the same.
    pub event_number: u32,
    /// file:line:column in the script.
    pub script: Arc<str>,
    pub shows: Shows,
}

/// Probes that the compiler has made print globals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shows {
    /// It is the script's.
    Nothing,
    /// A global that the script never reads, as text.
    Unread,
    /// Each global, as rows.
    Rows,
}

impl Shows {
    fn of(kind: u32, flags: u32) -> Shows {
        match flags & wire::probe_flag::MADE {
            0 => Shows::Nothing,
            _ if kind == wire::ProbeKind::Show as u32 => Shows::Rows,
            _ => Shows::Unread,
        }
    }
}

/// One printf, print or println of the script.
#[derive(Debug)]
pub struct Print {
    pub format: CString,
    pub script: Arc<str>,
    /// In the order of its arguments.
    pub args: Vec<Arg>,
    pub ends_line: EndsLine,
}

/// Is what it prints a whole line, or the end of one?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndsLine {
    Always,
    Never,
    /// The last thing printed is an argument.
    ByArgument,
}

#[derive(Debug)]
pub struct Arg {
    pub is_text: bool,
    /// `None`: a width, a precision, or the same every time.
    pub field: Option<Arc<Field>>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    pub name: String,
    pub kind: FieldKind,
    /// "ns", "us", "ms", "s", "B" or "".
    pub unit: String,
}

/// How its values are to be shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldKind {
    Signed,
    Unsigned,
    Octal,
    Hex,
    /// A number, printed as the character that it is.
    Char,
    /// A number, printed as bytes.
    Binary,
    Text,
    /// Text: a line for each frame of a stack, the innermost first.
    Stack,
    /// Memory, printed as it is.
    Bytes,
    /// Memory, printed as hexadecimal digits.
    HexBytes,
}

impl FieldKind {
    pub fn is_number(self) -> bool {
        !matches!(
            self,
            Self::Text | Self::Stack | Self::Bytes | Self::HexBytes
        )
    }

    fn of(kind: Kind) -> FieldKind {
        match kind {
            Kind::Signed => Self::Signed,
            Kind::Unsigned => Self::Unsigned,
            Kind::Octal => Self::Octal,
            Kind::Hex | Kind::UpperHex | Kind::Pointer => Self::Hex,
            Kind::Char => Self::Char,
            Kind::Binary => Self::Binary,
            Kind::String => Self::Text,
            Kind::Memory => Self::Bytes,
            Kind::MemoryHex => Self::HexBytes,
        }
    }
}

const PROBE_V1_SIZE: usize = 72;

/// One section of the file.
struct Section<'a> {
    order: ByteOrder,
    bytes: &'a [u8],
    count: usize,
}

impl<'a> Section<'a> {
    fn rows(&self, size: usize) -> impl Iterator<Item = Row<'a>> {
        let order = self.order;
        let rows = self.bytes.chunks_exact(size).take(self.count);
        rows.map(move |bytes| Row { order, bytes })
    }
}

#[derive(Clone, Copy)]
struct Row<'a> {
    order: ByteOrder,
    bytes: &'a [u8],
}

impl Row<'_> {
    /// The 32-bit number at a place; rows are long enough.
    fn u32(&self, at: usize) -> u32 {
        self.order.read_at(self.bytes, at, 4).unwrap_or(0) as u32
    }
}

struct File<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
    strings: &'a [u8],
}

impl<'a> File<'a> {
    fn section(&self, kind: u32) -> Result<Section<'a>, Fault> {
        let order = self.order;
        let read = |at, size| order.read_at(self.bytes, at, size).ok_or(Fault::Module);
        let n = read(10, 2)? as usize;
        for at in (0..n).map(|i| wire::HEADER_SIZE + i * wire::SECTION_SIZE) {
            if read(at, 4)? as u32 != kind {
                continue;
            }
            let (from, size) = (read(at + 8, 8)? as usize, read(at + 16, 8)? as usize);
            let end = from.checked_add(size).ok_or(Fault::Module)?;
            return Ok(Section {
                order,
                bytes: self.bytes.get(from..end).ok_or(Fault::Module)?,
                count: read(at + 4, 4)? as usize,
            });
        }
        Ok(Section {
            order,
            bytes: &[],
            count: 0,
        })
    }

    fn c_str(&self, at: u32) -> Result<&'a CStr, Fault> {
        let text = self.strings.get(at as usize..).ok_or(Fault::Module)?;
        CStr::from_bytes_until_nul(text).map_err(|_| Fault::Module)
    }

    fn text(&self, at: u32) -> Result<String, Fault> {
        Ok(self.c_str(at)?.to_string_lossy().into_owned())
    }
}

impl Module {
    /// `version`: of the stream, 1 or 2.
    pub fn read(bytes: &[u8], order: ByteOrder, version: u32) -> Result<Module, Fault> {
        let mut file = File {
            bytes,
            order,
            strings: &[],
        };
        file.strings = file.section(wire::section::STRINGS)?.bytes;
        let number = |at, size| order.read_at(bytes, at, size).ok_or(Fault::Module);
        if number(0, 4)? as u32 != wire::MAGIC || number(4, 2)? as u32 != version {
            return Err(Fault::Module);
        }
        let options = file.section(wire::section::OPTIONS)?;
        let commands = file.section(wire::section::COMMANDS)?;
        Ok(Module {
            name: file.text(number(24, 4)? as u32)?,
            order,
            elf_machine: number(6, 2)? as u16,
            probes: probes(&file, version)?,
            prints: match version {
                1 => formats(&file)?,
                _ => prints(&file)?,
            },
            commands: commands
                .rows(4)
                .map(|r| file.text(r.u32(0)))
                .collect::<Result<_, _>>()?,
            errors_ignored: options.rows(48).any(|o| o.u32(24) == wire::NONE),
        })
    }
}

fn probes(file: &File<'_>, version: u32) -> Result<Vec<Probe>, Fault> {
    let size = if version == 1 {
        PROBE_V1_SIZE
    } else {
        wire::PROBE_SIZE
    };
    let mut events: HashMap<Arc<str>, u32> = HashMap::new();
    let probe = |r: Row<'_>| {
        let point: Arc<str> = file.text(r.u32(52))?.into();
        let event = match version {
            1 => point.clone(),
            _ => file.text(r.u32(72))?.into(),
        };
        let new = events.len() as u32;
        Ok(Probe {
            event_number: *events.entry(Arc::clone(&event)).or_insert(new),
            event,
            script: file.text(r.u32(60))?.into(),
            shows: Shows::of(r.u32(0), r.u32(4)),
            point,
        })
    };
    file.section(wire::section::PROBES)?
        .rows(size)
        .map(probe)
        .collect()
}

fn prints(file: &File<'_>) -> Result<Vec<Print>, Fault> {
    let fields: Vec<Row<'_>> = file.section(wire::section::FIELDS)?.rows(8).collect();
    let print = |r: Row<'_>| {
        let first = r.u32(8) as usize;
        let end = first.checked_add(r.u32(12) as usize).ok_or(Fault::Module)?;
        let named =
            |f: &Row<'_>| -> Result<_, Fault> { Ok((file.text(f.u32(0))?, file.text(f.u32(4))?)) };
        let names = fields
            .get(first..end)
            .ok_or(Fault::Module)?
            .iter()
            .map(named);
        let names: Vec<(String, String)> = names.collect::<Result<_, _>>()?;
        Ok(Print::new(
            file.c_str(r.u32(0))?,
            file.text(r.u32(4))?,
            names,
        ))
    };
    file.section(wire::section::PRINTS)?
        .rows(16)
        .map(print)
        .collect()
}

/// Version 1 knew formats only.
fn formats(file: &File<'_>) -> Result<Vec<Print>, Fault> {
    let print = |r: Row<'_>| Ok(Print::new(file.c_str(r.u32(0))?, String::new(), Vec::new()));
    file.section(wire::section::PRINTS)?
        .rows(4)
        .map(print)
        .collect()
}

impl Print {
    fn new(format: &CStr, script: String, names: Vec<(String, String)>) -> Print {
        let pieces = parse_format(format.to_bytes()).unwrap_or_default();
        let mut names = names.into_iter();
        let mut args = Vec::new();
        for piece in &pieces {
            let Piece::Conversion(c) = piece else {
                continue;
            };
            for star in [c.width, c.precision] {
                if star == Size::Arg {
                    names.next();
                    args.push(Arg {
                        is_text: false,
                        field: None,
                    });
                }
            }
            let kind = FieldKind::of(c.kind);
            let (name, unit) = names
                .next()
                .unwrap_or_else(|| (format!("arg{}", args.len() + 1), String::new()));
            let is_constant = name.is_empty();
            args.push(Arg {
                is_text: !kind.is_number(),
                field: (!is_constant).then(|| Arc::new(Field { name, kind, unit })),
            });
        }
        Print {
            format: format.to_owned(),
            script: script.into(),
            args,
            ends_line: match pieces.last() {
                Some(Piece::Text(text)) if text.ends_with(b"\n") => EndsLine::Always,
                Some(Piece::Conversion(_)) => EndsLine::ByArgument,
                _ => EndsLine::Never,
            },
        }
    }
}
