// SPDX-License-Identifier: MIT
//! Newline-delimited JSON: one object a line, each with a `type`.

use crate::event::{Event, Note, NoteKind, Thread, Totals, Value};
use crate::module::{FieldKind, Module, Probe};
use crate::raw::Head;
use crate::time;
use crate::writer::{character, Writer};
use std::io::{self, Write};

pub struct Json {
    out: Box<dyn Write>,
    line: Line,
}

/// One object under construction.
#[derive(Default)]
struct Line {
    bytes: Vec<u8>,
    time: time::Text,
}

impl Json {
    pub fn new(out: Box<dyn Write>, head: &Head, module: &Module) -> io::Result<Json> {
        let mut json = Json {
            out,
            line: Line::default(),
        };
        let line = &mut json.line;
        line.begin("session");
        line.number("version", head.version);
        line.text("script", module.name.as_bytes());
        if let Some(clocks) = head.clocks {
            line.text("host", head.host.as_bytes());
            line.number("realtime_ns", clocks.realtime);
            line.number("monotonic_ns", clocks.monotonic);
            line.number("boottime_ns", clocks.boottime);
        }
        json.put()?;
        Ok(json)
    }

    fn put(&mut self) -> io::Result<()> {
        self.line.bytes.extend_from_slice(b"}\n");
        self.out.write_all(&self.line.bytes)
    }
}

impl Line {
    fn begin(&mut self, kind: &str) {
        self.bytes.clear();
        let _ = write!(self.bytes, "{{\"type\":\"{kind}\"");
    }

    fn key(&mut self, key: &str) {
        self.bytes.push(b',');
        quoted(key, &mut self.bytes);
        self.bytes.push(b':');
    }

    fn number(&mut self, key: &str, n: impl std::fmt::Display) {
        self.key(key);
        let _ = write!(self.bytes, "{n}");
    }

    /// What is no UTF-8 is replaced; then the bytes follow as KEY_hex.
    fn text(&mut self, key: &str, text: &[u8]) {
        self.key(key);
        let shown = String::from_utf8_lossy(text);
        quoted(&shown, &mut self.bytes);
        if matches!(shown, std::borrow::Cow::Owned(_)) {
            self.hex(&format!("{key}_hex"), text);
        }
    }

    fn hex(&mut self, key: &str, bytes: &[u8]) {
        self.key(key);
        self.bytes.push(b'"');
        for b in bytes {
            let _ = write!(self.bytes, "{b:02x}");
        }
        self.bytes.push(b'"');
    }

    fn moment(&mut self, ns: u64) {
        self.bytes.extend_from_slice(b",\"time\":\"");
        self.time.put(ns, &mut self.bytes);
        self.bytes.push(b'"');
        self.number("time_ns", ns);
    }

    fn origin(&mut self, thread: &Thread, probe: Option<&Probe>) {
        match thread.processor {
            Some(n) => self.number("cpu", n),
            None => {
                self.number("pid", thread.pid);
                self.number("tid", thread.tid);
                self.text("comm", thread.comm.as_bytes());
            }
        }
        if let Some(probe) = probe {
            self.text("probe", probe.point.as_bytes());
        }
    }
}

fn quoted(text: &str, out: &mut Vec<u8>) {
    // Writing to memory does not fail, nor does any text.
    let _ = serde_json::to_writer(out, text);
}

impl Writer for Json {
    fn event(&mut self, e: &Event<'_>) -> io::Result<()> {
        let line = &mut self.line;
        line.begin(e.kind_name());
        line.moment(e.time);
        line.text("event", e.class.name.as_bytes());
        line.origin(e.thread, e.probe);
        line.bytes.extend_from_slice(b",\"fields\":{");
        let from = line.bytes.len();
        for (field, value) in e.fields() {
            let name = &field.name;
            match (field.kind, value) {
                (FieldKind::Char, Value::Number(n)) => line.text(name, &character(n)),
                (FieldKind::Unsigned | FieldKind::Octal | FieldKind::Hex, Value::Number(n)) => {
                    line.number(name, n as u64)
                }
                (_, Value::Number(n)) => line.number(name, n),
                (FieldKind::Bytes | FieldKind::HexBytes, Value::Text(t)) => line.hex(name, t),
                (_, Value::Text(t)) => line.text(name, t),
            }
        }
        if line.bytes.get(from) == Some(&b',') {
            line.bytes.remove(from);
        }
        line.bytes.push(b'}');
        self.put()
    }

    fn note(&mut self, n: &Note<'_>) -> io::Result<()> {
        let line = &mut self.line;
        line.begin(n.kind.name());
        line.moment(n.time);
        line.origin(n.thread, n.probe);
        match (n.kind.count(), &n.kind) {
            (Some(count), _) => line.number("count", count),
            (None, NoteKind::Switch) => {}
            _ => line.text("text", n.kind.text().as_bytes()),
        }
        self.put()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn end(&mut self, totals: Option<&Totals>) -> io::Result<()> {
        if let Some(t) = totals {
            let line = &mut self.line;
            line.begin("end");
            for (key, n) in [
                ("records", t.records),
                ("lost", t.lost),
                ("errors", t.errors),
                ("skipped", t.skipped),
                ("missed", t.missed),
                ("no_room_for_thread", t.no_block),
                ("damaged", t.damaged),
            ] {
                line.number(key, n);
            }
            self.put()?;
        }
        self.out.flush()
    }
}
