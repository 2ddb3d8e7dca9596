// SPDX-License-Identifier: MIT
//! The raw stream, record by record.

use crate::module::Module;
use std::fmt;
use std::io::{self, Read};
use trapless_machine::ByteOrder;
use trapless_wire::{self as wire, RecordKind};

/// Why no more can be read.
#[derive(Debug)]
pub enum Fault {
    Io(io::Error),
    /// It does not begin as one.
    NoRecording,
    /// Of a trapless that is newer than this one.
    Newer(u32),
    /// The module in it makes no sense.
    Module,
    /// It ends within a record, or before the session's end was recorded.
    Cut,
    /// At this byte there is no record.
    Damaged(u64),
}

impl From<io::Error> for Fault {
    fn from(e: io::Error) -> Fault {
        match e.kind() {
            io::ErrorKind::UnexpectedEof => Fault::Cut,
            _ => Fault::Io(e),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Io(e) => write!(f, "cannot be read: {e}"),
            Fault::NoRecording => write!(f, "not a recording: trapless-run --raw writes them"),
            Fault::Newer(v) => write!(
                f,
                "a recording of version {v}; this trapless reads versions up to {}",
                wire::VERSION
            ),
            Fault::Module => write!(f, "the module in the recording is damaged"),
            Fault::Cut => write!(
                f,
                "the recording is cut: its session was killed, or its file was full"
            ),
            Fault::Damaged(at) => write!(f, "the recording is damaged at byte {at}"),
        }
    }
}

impl std::error::Error for Fault {}

/// One moment by three clocks, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Clocks {
    /// That of the records' times.
    pub realtime: u64,
    pub monotonic: u64,
    pub boottime: u64,
}

#[derive(Clone, Debug)]
pub struct Head {
    pub version: u32,
    /// `None` in a stream of version 1.
    pub clocks: Option<Clocks>,
    pub host: String,
}

#[derive(Debug)]
pub struct Record {
    pub ring: u32,
    pub kind: RecordKind,
    pub id: u16,
    /// `None`: a stream of version 1 does not say.
    pub probe: Option<u32>,
    /// Nanoseconds since the epoch.
    pub time: u64,
    pub payload: Vec<u8>,
}

/// Where a stream comes from.
pub trait Source: Read {
    /// Would reading more wait for whoever writes it?
    fn waits(&mut self) -> bool;
}

impl Source for &[u8] {
    fn waits(&mut self) -> bool {
        false
    }
}

#[derive(Debug)]
pub struct Stream<R> {
    input: R,
    pub head: Head,
    pub module: Module,
    record: Record,
    at: u64,
    ended: bool,
}

/// No module is larger.
const MODULE_MAX: u64 = 1 << 32;
/// Of version 1's records.
const V1_SIZE_MAX: u32 = 1 << 26;
const HEAD_V1: usize = 16;
/// Of ring and record.
const RECORD_HEAD: usize = 24;

impl<R: Source> Stream<R> {
    pub fn open(mut input: R) -> Result<Stream<R>, Fault> {
        let mut start = [0; HEAD_V1];
        input.read_exact(&mut start).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => Fault::NoRecording,
            _ => Fault::Io(e),
        })?;
        let order = [ByteOrder::Little, ByteOrder::Big]
            .into_iter()
            .find(|o| o.read(&start[..4]) as u32 == wire::RAW_MAGIC)
            .ok_or(Fault::NoRecording)?;
        let version = order.read(&start[4..8]) as u32;
        let size = order.read(&start[8..]);
        let (clocks, host) = match version {
            1 => (None, String::new()),
            2 => rest_of_head(&mut input, order)?,
            v => return Err(Fault::Newer(v)),
        };
        if size > MODULE_MAX {
            return Err(Fault::Module);
        }
        let mut module = Vec::new();
        (&mut input).take(size).read_to_end(&mut module)?;
        if (module.len() as u64) < size {
            return Err(Fault::Cut);
        }
        let head_size = HEAD_V1 + if version == 1 { 0 } else { HEAD_REST };
        Ok(Stream {
            module: Module::read(&module, order, version)?,
            at: head_size as u64 + size,
            head: Head {
                version,
                clocks,
                host,
            },
            record: Record {
                ring: 0,
                kind: RecordKind::Link,
                id: 0,
                probe: None,
                time: 0,
                payload: Vec::new(),
            },
            input,
            ended: version == 1, // it says nothing of an end
        })
    }

    /// Would the next record have to be waited for?
    pub fn waits(&mut self) -> bool {
        self.input.waits()
    }

    /// The next record, with the module that it is of; `None`: that was all.
    pub fn record(&mut self) -> Result<Option<(&Module, &Record)>, Fault> {
        let mut head = [0; RECORD_HEAD];
        if !read_or_end(&mut self.input, &mut head)? {
            return if self.ended {
                Ok(None)
            } else {
                Err(Fault::Cut)
            };
        }
        let order = self.module.order;
        let ring = order.read(&head[..4]) as u32;
        let time = order.read(&head[16..]);
        let (size, kind, id, probe) = match self.head.version {
            1 => self.what_v1(&head[8..16]),
            _ => {
                let what = wire::What(order.read(&head[8..16]));
                (what.size(), what.kind(), what.id(), Some(what.probe()))
            }
        };
        let bad = Fault::Damaged(self.at);
        let Some(payload) = size.checked_sub(wire::RECORD_SIZE as u32) else {
            return Err(bad);
        };
        let Some(kind) = RecordKind::of(kind) else {
            return Err(bad);
        };
        if size % 8 != 0 || size > V1_SIZE_MAX {
            return Err(bad);
        }
        let r = &mut self.record;
        (r.ring, r.kind, r.id, r.probe, r.time) = (ring, kind, id, probe, time);
        r.payload.resize(payload as usize, 0);
        self.input.read_exact(&mut r.payload)?;
        self.at += u64::from(size) + 8;
        self.ended |= kind == RecordKind::End;
        Ok(Some((&self.module, &self.record)))
    }

    fn what_v1(&self, what: &[u8]) -> (u32, u8, u16, Option<u32>) {
        let order = self.module.order;
        let kind = order.read(&what[4..6]);
        let id = order.read(&what[6..8]) as u16;
        (
            order.read(&what[..4]) as u32,
            kind.min(255) as u8,
            id,
            (kind == RecordKind::Error as u64).then_some(id.into()),
        )
    }
}

const HEAD_REST: usize = 3 * 8 + 64;

fn rest_of_head(
    input: &mut impl Read,
    order: ByteOrder,
) -> Result<(Option<Clocks>, String), Fault> {
    let mut rest = [0; HEAD_REST];
    input.read_exact(&mut rest)?;
    let name = &rest[24..];
    let end = name.iter().position(|b| *b == 0).unwrap_or(name.len());
    let clocks = Clocks {
        realtime: order.read(&rest[..8]),
        monotonic: order.read(&rest[8..16]),
        boottime: order.read(&rest[16..24]),
    };
    Ok((
        Some(clocks),
        String::from_utf8_lossy(&name[..end]).into_owned(),
    ))
}

/// false: the input has ended, and nothing was read.
fn read_or_end(input: &mut impl Read, to: &mut [u8]) -> Result<bool, Fault> {
    let mut n = 0;
    while n < to.len() {
        match input.read(&mut to[n..]) {
            Ok(0) if n == 0 => return Ok(false),
            Ok(0) => return Err(Fault::Cut),
            Ok(more) => n += more,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Fault::Io(e)),
        }
    }
    Ok(true)
}
