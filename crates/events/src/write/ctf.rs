// SPDX-License-Identifier: MIT
//! The Common Trace Format, version 1.8 (https://diamon.org/ctf/v1.8.3/): a folder with
//! `metadata`, in the language TSDL, and one stream of packets. It is what
//! babeltrace2 and Trace Compass read.

use crate::event::{Class, Event, Note, NoteKind, Thread, Totals, Value};
use crate::module::{FieldKind, Module};
use crate::raw::Head;
use crate::writer::{character, Writer};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use trapless_machine::ByteOrder;
use uuid::Uuid;

/// `byte_order` in the metadata.
const ORDER: ByteOrder = ByteOrder::Little;
const PACKET_MAGIC: u32 = 0xc1fc_1fc1;
/// A packet is closed beyond so many bytes.
const PACKET_FULL: usize = 1 << 18;
/// Header and context of a packet: see `head()`.
const PACKET_HEAD: usize = 4 + 16 + 4 + 5 * 8;

/// Events that are none of the script's have the first numbers.
const ERROR: u32 = 0;
const WARNING: u32 = 1;
const COMMAND: u32 = 2;
const LOST: u32 = 3;
const HITS: u32 = 4;
const FIRST_CLASS: u32 = 5;

pub struct Ctf {
    folder: PathBuf,
    stream: File,
    uuid: Uuid,
    metadata: String,
    /// Bytes of `metadata` that the file has.
    written: usize,
    classes: usize,
    packet: Vec<u8>,
    begin: u64,
    last: u64,
    lost: u64,
}

impl Ctf {
    /// In an empty folder.
    pub fn new(folder: &Path, head: &Head, module: &Module) -> io::Result<Ctf> {
        let uuid = Uuid::new_v4();
        let mut ctf = Ctf {
            stream: File::create(folder.join("stream"))?,
            folder: folder.to_path_buf(),
            metadata: preamble(&uuid, head, module),
            uuid,
            written: 0,
            classes: 0,
            packet: vec![0; PACKET_HEAD],
            begin: 0,
            last: 0,
            lost: 0,
        };
        ctf.put_metadata()?;
        Ok(ctf)
    }

    /// It only grows: whoever reads meanwhile finds what he knows.
    fn put_metadata(&mut self) -> io::Result<()> {
        if self.written == self.metadata.len() {
            return Ok(());
        }
        let path = self.folder.join("metadata");
        let mut file = File::options().create(true).append(true).open(path)?;
        file.seek(SeekFrom::End(0))?;
        file.write_all(&self.metadata.as_bytes()[self.written..])?;
        self.written = self.metadata.len();
        Ok(())
    }

    fn close_packet(&mut self) -> io::Result<()> {
        if self.packet.len() == PACKET_HEAD {
            return Ok(());
        }
        self.put_metadata()?;
        let head = self.head();
        self.packet[..PACKET_HEAD].copy_from_slice(&head);
        self.stream.write_all(&self.packet)?;
        self.packet.truncate(PACKET_HEAD);
        Ok(())
    }

    fn head(&self) -> Vec<u8> {
        let bits = self.packet.len() as u64 * 8;
        let mut head = Vec::with_capacity(PACKET_HEAD);
        put_u32(&mut head, PACKET_MAGIC);
        head.extend_from_slice(self.uuid.as_bytes());
        put_u32(&mut head, 0);
        for n in [self.begin, self.last, bits, bits, self.lost] {
            put_u64(&mut head, n);
        }
        head
    }

    fn begin_event(&mut self, id: u32, time: u64, thread: &Thread, probe: &str) -> io::Result<()> {
        if self.packet.len() >= PACKET_FULL {
            self.close_packet()?;
        }
        // No clock of a stream goes back, as a corrected one may by some nanoseconds.
        let time = time.max(self.last);
        if self.packet.len() == PACKET_HEAD {
            self.begin = time;
        }
        self.last = time;
        let p = &mut self.packet;
        put_u32(p, id);
        put_u64(p, time);
        put_u32(p, thread.pid);
        put_u32(p, thread.tid);
        put_u32(p, thread.processor.unwrap_or(NO_PROCESSOR));
        put_string(p, thread.comm.as_bytes());
        put_string(p, probe.as_bytes());
        Ok(())
    }
}

/// -1, in a field that is signed.
const NO_PROCESSOR: u32 = u32::MAX;

fn put_u32(to: &mut Vec<u8>, n: u32) {
    ORDER.append(to, n.into(), 4);
}

fn put_u64(to: &mut Vec<u8>, n: u64) {
    ORDER.append(to, n, 8);
}

/// A text's bytes behind a NUL would be lost: no text of a script has one.
fn put_string(to: &mut Vec<u8>, text: &[u8]) {
    let end = text.iter().position(|b| *b == 0).unwrap_or(text.len());
    to.extend_from_slice(&text[..end]);
    to.push(0);
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

const TYPES: &str = "\
typealias integer { size = 8; align = 8; signed = false; base = 16; } := byte;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 32; align = 8; signed = true; } := i32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
typealias integer { size = 64; align = 8; signed = false; base = 16; } := x64;
typealias integer { size = 64; align = 8; signed = false; base = 8; } := o64;
typealias integer { size = 64; align = 8; signed = true; } := i64;
";

const STREAM: &str = "\
typealias integer { size = 64; align = 8; signed = false; map = clock.realtime.value; } := moment;

stream {
	id = 0;
	packet.context := struct {
		moment timestamp_begin;
		moment timestamp_end;
		u64 content_size;
		u64 packet_size;
		u64 events_discarded;
	};
	event.header := struct {
		u32 id;
		moment timestamp;
	};
	event.context := struct {
		u32 _pid;
		u32 _tid;
		i32 _cpu;
		string _comm;
		string _probe;
	};
};
";

fn preamble(uuid: &Uuid, head: &Head, module: &Module) -> String {
    let clocks = head.clocks.unwrap_or_default();
    let mut out = format!(
        "/* CTF 1.8 */\n\n{TYPES}\n\
         trace {{\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"{uuid}\";\n\tbyte_order = le;\n\
         \tpacket.header := struct {{\n\t\tu32 magic;\n\t\tbyte uuid[16];\n\t\tu32 stream_id;\n\t}};\n}};\n\n\
         env {{\n\thostname = {};\n\ttracer_name = \"trapless\";\n\tscript = {};\n\
         \trealtime_ns = \"{}\";\n\tmonotonic_ns = \"{}\";\n\tboottime_ns = \"{}\";\n}};\n\n\
         clock {{\n\tname = realtime;\n\tdescription = \"CLOCK_REALTIME\";\n\tfreq = 1000000000;\n\
         \toffset = 0;\n\tabsolute = true;\n}};\n\n{STREAM}",
        quoted(&head.host),
        quoted(&module.name),
        clocks.realtime,
        clocks.monotonic,
        clocks.boottime
    );
    for (id, name, field) in [
        (ERROR, "trapless:error", "string _text;"),
        (WARNING, "trapless:warning", "string _text;"),
        (COMMAND, "trapless:command", "string _text;"),
        (LOST, "trapless:lost", "u64 _count;"),
        (HITS, "trapless:hits", "u64 _count;"),
    ] {
        declare(&mut out, id, name, &format!("\t\t{field}\n"));
    }
    out
}

fn declare(out: &mut String, id: u32, name: &str, fields: &str) {
    let _ = write!(
        out,
        "\nevent {{\n\tid = {id};\n\tstream_id = 0;\n\tname = {};\n\tfields := struct {{\n{fields}\t}};\n}};\n",
        quoted(name)
    );
}

/// Readers take the underscore off: no name is a word of the language.
fn fields_of(class: &Class) -> String {
    let mut out = String::new();
    for field in &class.fields {
        let name = &field.name;
        let _ = match field.kind {
            FieldKind::Signed => writeln!(out, "\t\ti64 _{name};"),
            FieldKind::Unsigned => writeln!(out, "\t\tu64 _{name};"),
            FieldKind::Octal => writeln!(out, "\t\to64 _{name};"),
            FieldKind::Hex | FieldKind::Binary => writeln!(out, "\t\tx64 _{name};"),
            FieldKind::Char | FieldKind::Text | FieldKind::Stack => {
                writeln!(out, "\t\tstring _{name};")
            }
            FieldKind::Bytes | FieldKind::HexBytes => writeln!(
                out,
                "\t\tu32 __{name}_length;\n\t\tbyte _{name}[__{name}_length];"
            ),
        };
    }
    out
}

impl Writer for Ctf {
    fn event(&mut self, e: &Event<'_>) -> io::Result<()> {
        if e.class.number >= self.classes {
            self.classes = e.class.number + 1;
            let id = FIRST_CLASS + e.class.number as u32;
            declare(&mut self.metadata, id, &e.class.name, &fields_of(e.class));
        }
        let id = FIRST_CLASS + e.class.number as u32;
        let probe = e.probe.map_or("", |p| &p.point);
        self.begin_event(id, e.time, e.thread, probe)?;
        let p = &mut self.packet;
        for (field, value) in e.fields() {
            match (field.kind, value) {
                (FieldKind::Char, Value::Number(n)) => put_string(p, &character(n)),
                (_, Value::Number(n)) => put_u64(p, n as u64),
                (FieldKind::Bytes | FieldKind::HexBytes, Value::Text(t)) => {
                    put_u32(p, t.len() as u32);
                    p.extend_from_slice(t);
                }
                (_, Value::Text(t)) => put_string(p, t),
            }
        }
        Ok(())
    }

    fn note(&mut self, n: &Note<'_>) -> io::Result<()> {
        let probe = n.probe.map_or("", |p| &p.point);
        let id = match n.kind {
            NoteKind::Error(_) => ERROR,
            NoteKind::Warning(_) => WARNING,
            NoteKind::Command(_) => COMMAND,
            NoteKind::Lost(_) => LOST,
            NoteKind::Hits(_) => HITS,
            NoteKind::Switch => return self.close_packet(),
        };
        self.begin_event(id, n.time, n.thread, probe)?;
        match n.kind.count() {
            Some(count) => put_u64(&mut self.packet, count),
            None => put_string(&mut self.packet, n.kind.text().as_bytes()),
        }
        if let NoteKind::Lost(count) = n.kind {
            self.lost += count;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.close_packet()
    }

    fn end(&mut self, _: Option<&Totals>) -> io::Result<()> {
        self.close_packet()?;
        self.put_metadata()
    }
}
