// SPDX-License-Identifier: MIT
//! A trace for the Perfetto UI (https://perfetto.dev/docs/reference/trace-packet-proto): each thread is a track. Where
//! both entry and return of a function are events, a call is a slice; all else is an instant.

use crate::calls::{Calls, Limits, Step};
use crate::event::{Event, Note, NoteKind, Thread, Totals, Value};
use crate::module::{Field, FieldKind, Module};
use crate::raw::{Clocks, Head};
use crate::writer::{character, Writer};
use prost::Message;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

/// What of Perfetto's messages is written here.
mod proto {
    use prost::Message;

    #[derive(Clone, PartialEq, Message)]
    pub struct Trace {
        #[prost(message, repeated, tag = "1")]
        pub packet: Vec<Packet>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Packet {
        #[prost(message, optional, tag = "6")]
        pub clock_snapshot: Option<ClockSnapshot>,
        #[prost(uint64, optional, tag = "8")]
        pub timestamp: Option<u64>,
        #[prost(uint32, optional, tag = "10")]
        pub trusted_packet_sequence_id: Option<u32>,
        #[prost(message, optional, tag = "11")]
        pub track_event: Option<TrackEvent>,
        #[prost(uint32, optional, tag = "58")]
        pub timestamp_clock_id: Option<u32>,
        #[prost(message, optional, tag = "60")]
        pub track_descriptor: Option<TrackDescriptor>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct ClockSnapshot {
        #[prost(message, repeated, tag = "1")]
        pub clocks: Vec<Clock>,
        #[prost(uint32, optional, tag = "2")]
        pub primary_trace_clock: Option<u32>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Clock {
        #[prost(uint32, optional, tag = "1")]
        pub clock_id: Option<u32>,
        #[prost(uint64, optional, tag = "2")]
        pub timestamp: Option<u64>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct TrackDescriptor {
        #[prost(uint64, optional, tag = "1")]
        pub uuid: Option<u64>,
        #[prost(string, optional, tag = "2")]
        pub name: Option<String>,
        #[prost(message, optional, tag = "3")]
        pub process: Option<Process>,
        #[prost(message, optional, tag = "4")]
        pub thread: Option<Thread>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Process {
        #[prost(int32, optional, tag = "1")]
        pub pid: Option<i32>,
        #[prost(string, optional, tag = "6")]
        pub process_name: Option<String>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Thread {
        #[prost(int32, optional, tag = "1")]
        pub pid: Option<i32>,
        #[prost(int32, optional, tag = "2")]
        pub tid: Option<i32>,
        #[prost(string, optional, tag = "5")]
        pub thread_name: Option<String>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct TrackEvent {
        #[prost(message, repeated, tag = "4")]
        pub debug_annotations: Vec<Annotation>,
        #[prost(int32, optional, tag = "9")]
        pub r#type: Option<i32>,
        #[prost(uint64, optional, tag = "11")]
        pub track_uuid: Option<u64>,
        #[prost(string, repeated, tag = "22")]
        pub categories: Vec<String>,
        #[prost(string, optional, tag = "23")]
        pub name: Option<String>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Annotation {
        #[prost(uint64, optional, tag = "3")]
        pub uint_value: Option<u64>,
        #[prost(int64, optional, tag = "4")]
        pub int_value: Option<i64>,
        #[prost(string, optional, tag = "6")]
        pub string_value: Option<String>,
        #[prost(uint64, optional, tag = "7")]
        pub pointer_value: Option<u64>,
        #[prost(string, optional, tag = "10")]
        pub name: Option<String>,
    }
}

use proto::{Annotation, Clock, ClockSnapshot, Packet, TrackDescriptor, TrackEvent};

const SLICE_BEGIN: i32 = 1;
const SLICE_END: i32 = 2;
const INSTANT: i32 = 3;
/// Of `BuiltinClock`.
const REALTIME: u32 = 1;
const MONOTONIC: u32 = 3;
const BOOTTIME: u32 = 6;
/// Any number but 0: all is written by one.
const SEQUENCE: u32 = 1;

pub struct Perfetto {
    out: Box<dyn Write>,
    calls: Calls<Vec<Annotation>>,
    /// What the tracks are of, by ring.
    tracks: HashMap<u32, Track>,
    next_track: u64,
    processes: HashSet<u32>,
    bytes: Vec<u8>,
}

struct Track {
    uuid: u64,
    thread: Thread,
}

impl Perfetto {
    pub fn new(
        out: Box<dyn Write>,
        head: &Head,
        module: &Module,
        limits: Limits,
    ) -> io::Result<Perfetto> {
        let mut perfetto = Perfetto {
            out,
            calls: Calls::new(module, limits),
            tracks: HashMap::new(),
            next_track: 1,
            processes: HashSet::new(),
            bytes: Vec::new(),
        };
        perfetto.put(Packet {
            clock_snapshot: Some(snapshot(head.clocks.unwrap_or_default())),
            ..Packet::default()
        })?;
        Ok(perfetto)
    }

    fn put(&mut self, packet: Packet) -> io::Result<()> {
        let packet = Packet {
            trusted_packet_sequence_id: Some(SEQUENCE),
            ..packet
        };
        self.bytes.clear();
        let trace = proto::Trace {
            packet: vec![packet],
        };
        // A trace is the sum of its packets, each behind the tag of the field.
        trace.encode(&mut self.bytes).map_err(io::Error::other)?;
        self.out.write_all(&self.bytes)
    }

    /// The track of a ring, told of when it is new or another thread's.
    fn track(&mut self, ring: u32, thread: &Thread) -> io::Result<u64> {
        if let Some(known) = self.tracks.get(&ring).filter(|t| t.thread == *thread) {
            return Ok(known.uuid);
        }
        let uuid = self.next_track;
        self.next_track += 2;
        if thread.processor.is_none() && self.processes.insert(thread.pid) {
            self.put(Packet {
                track_descriptor: Some(process(uuid + 1, thread)),
                ..Packet::default()
            })?;
        }
        self.put(Packet {
            track_descriptor: Some(descriptor(uuid, thread)),
            ..Packet::default()
        })?;
        let track = Track {
            uuid,
            thread: thread.clone(),
        };
        self.tracks.insert(ring, track);
        Ok(uuid)
    }

    fn put_event(&mut self, time: u64, track: u64, event: TrackEvent) -> io::Result<()> {
        self.put(Packet {
            timestamp: Some(time),
            timestamp_clock_id: Some(REALTIME),
            track_event: Some(TrackEvent {
                track_uuid: Some(track),
                categories: vec!["trapless".into()],
                ..event
            }),
            ..Packet::default()
        })
    }
}

/// A call's begin or end.
fn slice(step: Step<Vec<Annotation>>) -> (u64, TrackEvent) {
    let (time, kind, name, with) = match step {
        Step::Enter { time, call, with } => (time, SLICE_BEGIN, Some(call.name), with),
        Step::Leave { time, with, .. } => (time, SLICE_END, None, with.unwrap_or_default()),
    };
    let event = TrackEvent {
        debug_annotations: with,
        r#type: Some(kind),
        name: name.map(|n| n.to_string()),
        ..TrackEvent::default()
    };
    (time, event)
}

/// Its fields, and its probe.
fn annotations(e: &Event<'_>) -> Vec<Annotation> {
    let mut all: Vec<Annotation> = e.fields().map(|(f, v)| annotation(f, v)).collect();
    all.extend(e.probe.map(|p| plain("probe", &p.point)));
    all
}

fn snapshot(clocks: Clocks) -> ClockSnapshot {
    let clock = |(id, ns)| Clock {
        clock_id: Some(id),
        timestamp: Some(ns),
    };
    let all = [
        (REALTIME, clocks.realtime),
        (MONOTONIC, clocks.monotonic),
        (BOOTTIME, clocks.boottime),
    ];
    ClockSnapshot {
        clocks: all.map(clock).to_vec(),
        primary_trace_clock: Some(REALTIME),
    }
}

fn process(uuid: u64, thread: &Thread) -> TrackDescriptor {
    TrackDescriptor {
        uuid: Some(uuid),
        process: Some(proto::Process {
            pid: Some(thread.pid as i32),
            process_name: Some(thread.comm.clone()),
        }),
        ..TrackDescriptor::default()
    }
}

fn descriptor(uuid: u64, thread: &Thread) -> TrackDescriptor {
    let of_thread = || proto::Thread {
        pid: Some(thread.pid as i32),
        tid: Some(thread.tid as i32),
        thread_name: Some(thread.comm.clone()),
    };
    TrackDescriptor {
        uuid: Some(uuid),
        name: thread.processor.map(|n| format!("processor {n}")),
        thread: thread.processor.is_none().then(of_thread),
        ..TrackDescriptor::default()
    }
}

fn annotation(field: &Field, value: Value<'_>) -> Annotation {
    let mut a = Annotation {
        name: Some(field.name.clone()),
        ..Annotation::default()
    };
    match (field.kind, value) {
        (FieldKind::Signed, Value::Number(n)) => a.int_value = Some(n),
        (FieldKind::Char, Value::Number(n)) => a.string_value = Some(text(&character(n))),
        (FieldKind::Hex, Value::Number(n)) => a.pointer_value = Some(n as u64),
        (_, Value::Number(n)) => a.uint_value = Some(n as u64),
        (FieldKind::Bytes | FieldKind::HexBytes, Value::Text(t)) => {
            a.string_value = Some(t.iter().map(|b| format!("{b:02x}")).collect());
        }
        (_, Value::Text(t)) => a.string_value = Some(text(t)),
    }
    a
}

/// Strings of the format are UTF-8.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn plain(name: &str, value: &str) -> Annotation {
    Annotation {
        name: Some(name.to_string()),
        string_value: Some(value.to_string()),
        ..Annotation::default()
    }
}

impl Writer for Perfetto {
    fn event(&mut self, e: &Event<'_>) -> io::Result<()> {
        let annotations = || annotations(e);
        let mut steps = Vec::new();
        let of_call = self.calls.take(e, annotations, &mut |s| steps.push(s));
        let track_uuid = self.track(e.ring, e.thread)?;
        for step in steps {
            let (time, event) = slice(step);
            self.put_event(time, track_uuid, event)?;
        }
        if of_call {
            return Ok(());
        }
        self.put_event(
            e.time,
            track_uuid,
            TrackEvent {
                debug_annotations: annotations(),
                r#type: Some(INSTANT),
                name: Some(e.class.name.to_string()),
                ..TrackEvent::default()
            },
        )
    }

    fn note(&mut self, n: &Note<'_>) -> io::Result<()> {
        if n.kind == NoteKind::Switch {
            return Ok(());
        }
        let name = format!("trapless:{}", n.kind.name());
        let track_uuid = self.track(n.ring, n.thread)?;
        self.put_event(
            n.time,
            track_uuid,
            TrackEvent {
                debug_annotations: vec![plain("text", &n.kind.said())],
                r#type: Some(INSTANT),
                name: Some(name),
                ..TrackEvent::default()
            },
        )
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn end(&mut self, _: Option<&Totals>) -> io::Result<()> {
        self.out.flush()
    }
}
