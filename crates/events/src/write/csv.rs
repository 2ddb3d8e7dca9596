// SPDX-License-Identifier: MIT
//! A table (RFC 4180): one row an event, one column a field that some print of the script has.

use crate::event::{Event, Note, NoteKind, Thread, Totals, Value};
use crate::module::{FieldKind, Module, Probe};
use crate::raw::Head;
use crate::time;
use crate::writer::{character, Writer};
use std::collections::HashMap;
use std::io::{self, Write};

/// Of every row. `type` is event, error, warning, command or lost.
const FIRST: [&str; 9] = [
    "type", "time", "host", "event", "pid", "tid", "comm", "cpu", "probe",
];

pub struct Csv {
    out: csv::Writer<Box<dyn Write>>,
    host: String,
    time: time::Text,
    /// The fields that the module's prints have, `text` and `stack`.
    columns: HashMap<String, usize>,
    /// For each class, where its fields go: a column, or at the end as NAME=VALUE.
    places: Vec<Option<Vec<Option<usize>>>>,
    row: Vec<Vec<u8>>,
}

impl Csv {
    pub fn new(out: Box<dyn Write>, head: &Head, module: &Module) -> io::Result<Csv> {
        let args = module.prints.iter().flat_map(|p| &p.args);
        let names = args.filter_map(|a| a.field.as_ref().map(|f| f.name.as_str()));
        let mut header: Vec<String> = FIRST.map(str::to_string).to_vec();
        let mut columns = HashMap::new();
        for name in names.chain(["text", "stack"]) {
            if columns.contains_key(name) {
                continue;
            }
            columns.insert(name.to_string(), header.len());
            // A script that prints pid() has two of them.
            let second = if FIRST.contains(&name) { "_2" } else { "" };
            header.push(format!("{name}{second}"));
        }
        header.push("more".into());
        let mut out = csv::Writer::from_writer(out);
        out.write_record(&header)?;
        Ok(Csv {
            row: vec![Vec::new(); header.len()],
            out,
            host: head.host.clone(),
            time: time::Text::default(),
            columns,
            places: Vec::new(),
        })
    }

    fn begin(&mut self, kind: &str, ns: u64, thread: &Thread, probe: Option<&Probe>) {
        self.row.iter_mut().for_each(Vec::clear);
        self.row[0].extend_from_slice(kind.as_bytes());
        self.time.put(ns, &mut self.row[1]);
        self.row[2].extend_from_slice(self.host.as_bytes());
        match thread.processor {
            Some(n) => put(&mut self.row[7], n),
            None => {
                put(&mut self.row[4], thread.pid);
                put(&mut self.row[5], thread.tid);
                self.row[6].extend_from_slice(thread.comm.as_bytes());
            }
        }
        if let Some(probe) = probe {
            self.row[8].extend_from_slice(probe.point.as_bytes());
        }
    }

    fn learn(&mut self, e: &Event<'_>) {
        let number = e.class.number;
        if number >= self.places.len() {
            self.places.resize(number + 1, None);
        }
        if self.places[number].is_none() {
            let place = |name: &String| self.columns.get(name).copied();
            let all = e.class.fields.iter().map(|f| place(&f.name)).collect();
            self.places[number] = Some(all);
        }
    }
}

fn put(to: &mut Vec<u8>, n: impl std::fmt::Display) {
    let _ = write!(to, "{n}");
}

fn put_value(to: &mut Vec<u8>, kind: FieldKind, value: Value<'_>) {
    match (kind, value) {
        (FieldKind::Char, Value::Number(n)) => to.extend_from_slice(&character(n)),
        (FieldKind::Hex, Value::Number(n)) => put(to, format_args!("{n:#x}")),
        (FieldKind::Octal, Value::Number(n)) => put(to, format_args!("0{n:o}")),
        (FieldKind::Unsigned, Value::Number(n)) => put(to, n as u64),
        (_, Value::Number(n)) => put(to, n),
        (FieldKind::Bytes | FieldKind::HexBytes, Value::Text(t)) => {
            t.iter().for_each(|b| put(to, format_args!("{b:02x}")))
        }
        (_, Value::Text(t)) => to.extend_from_slice(t),
    }
}

impl Writer for Csv {
    fn event(&mut self, e: &Event<'_>) -> io::Result<()> {
        self.begin(e.kind_name(), e.time, e.thread, e.probe);
        self.row[3].extend_from_slice(e.class.name.as_bytes());
        self.learn(e);
        let places = self.places[e.class.number].as_deref().unwrap_or_default();
        let last = self.row.len() - 1;
        for ((field, value), place) in e.fields().zip(places) {
            let to = &mut self.row[place.unwrap_or(last)];
            if place.is_none() {
                if !to.is_empty() {
                    to.push(b' ');
                }
                put(to, format_args!("{}=", field.name));
            }
            put_value(to, field.kind, value);
        }
        Ok(self.out.write_record(&self.row)?)
    }

    fn note(&mut self, n: &Note<'_>) -> io::Result<()> {
        if n.kind == NoteKind::Switch {
            return Ok(());
        }
        self.begin(n.kind.name(), n.time, n.thread, n.probe);
        let at = self.columns["text"];
        self.row[at] = n.kind.said().into_bytes();
        Ok(self.out.write_record(&self.row)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn end(&mut self, _: Option<&Totals>) -> io::Result<()> {
        self.out.flush()
    }
}
