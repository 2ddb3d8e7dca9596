// SPDX-License-Identifier: MIT
//! A recording as trapless wrote it before records had threads, probes and an end.

use std::path::PathBuf;
use trapless_events::calls::Limits;
use trapless_events::convert::{convert, Failure};
use trapless_events::raw::Fault;
use trapless_events::write::{Format, Output};

/// A module of version 1 with these sections: kind, number of entries, bytes.
fn module(sections: &[(u32, u32, Vec<u8>)]) -> Vec<u8> {
    let mut table: Vec<u8> = Vec::new();
    let mut bodies: Vec<u8> = Vec::new();
    let first = 48 + 24 * sections.len();
    for (kind, count, bytes) in sections {
        table.extend(kind.to_le_bytes());
        table.extend(count.to_le_bytes());
        table.extend(((first + bodies.len()) as u64).to_le_bytes());
        table.extend((bytes.len() as u64).to_le_bytes());
        bodies.extend(bytes);
    }
    let mut file: Vec<u8> = Vec::new();
    file.extend(trapless_wire::MAGIC.to_le_bytes());
    file.extend([1, 0, 62, 0, 64, 0]);
    file.extend((sections.len() as u16).to_le_bytes());
    file.resize(48, 0);
    file.extend(table);
    file.extend(bodies);
    file
}

const STRINGS: &[u8] = b"\0%d %s\n\0begin\0";
const FORMAT: u32 = 1;
const BEGIN: u32 = 8;

fn probe() -> Vec<u8> {
    let mut probe = vec![0; 72];
    probe[..4].copy_from_slice(&1u32.to_le_bytes());
    probe[52..56].copy_from_slice(&BEGIN.to_le_bytes());
    probe
}

fn record(kind: u16, id: u16, time: u64, payload: &[u8]) -> Vec<u8> {
    let mut record = vec![0; 8]; // the number of its ring
    record.extend((16 + payload.len() as u32).to_le_bytes());
    record.extend(kind.to_le_bytes());
    record.extend(id.to_le_bytes());
    record.extend(time.to_le_bytes());
    record.extend(payload);
    record
}

fn recording() -> Vec<u8> {
    let module = module(&[
        (1, STRINGS.len() as u32, STRINGS.to_vec()),
        (3, 1, probe()),
        (9, 1, FORMAT.to_le_bytes().to_vec()),
        (11, 1, vec![0; 48]),
    ]);
    let mut file: Vec<u8> = Vec::new();
    file.extend(trapless_wire::RAW_MAGIC.to_le_bytes());
    file.extend(1u32.to_le_bytes());
    file.extend((module.len() as u64).to_le_bytes());
    file.extend(module);
    let mut payload = (-5i64).to_le_bytes().to_vec();
    payload.extend(3u32.to_le_bytes());
    payload.extend(b"abc\0");
    file.extend(record(2, 0, 1_000_000_001, &payload));
    file.extend(record(4, 0, 1_000_000_002, b"an error"));
    file
}

/// The output of converting, and whether all of it was there.
fn converted(bytes: &[u8], format: Format, name: &str) -> (String, Result<(), Failure>) {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let output = Output::open(format, Some(&path)).unwrap();
    let (_, result) = convert(bytes, format, Limits::default(), output, &mut |_| {});
    (std::fs::read_to_string(path).unwrap(), result)
}

#[test]
fn it_is_read() {
    let (text, result) = converted(&recording(), Format::Text, "v1.text");
    assert!(result.is_ok(), "{result:?}");
    assert_eq!(text, "-5 abc\n");
    let (json, result) = converted(&recording(), Format::Json, "v1.json");
    assert!(result.is_ok(), "{result:?}");
    let lines: Vec<&str> = json.lines().collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0], r#"{"type":"session","version":1,"script":""}"#);
    assert!(lines[1].contains(r#""time":"1970-01-01T00:00:01.000000001Z""#));
    assert!(lines[1].contains(r#""fields":{"arg1":-5,"arg2":"abc"}"#));
    assert!(lines[2].contains(r#""probe":"begin","text":"an error""#));
}

#[test]
fn one_that_is_cut_is_told() {
    let whole = recording();
    let (text, result) = converted(&whole[..whole.len() - 1], Format::Text, "cut.text");
    assert!(matches!(result, Err(Failure::Reading(Fault::Cut))));
    assert_eq!(text, "-5 abc\n");
}

#[test]
fn no_cut_and_no_byte_stops_the_reader() {
    let whole = recording();
    for n in 0..whole.len() {
        let _ = converted(&whole[..n], Format::Json, "cuts.json");
        let mut other = whole.clone();
        other[n] ^= 0xff;
        let _ = converted(&other, Format::Json, "bytes.json");
    }
}
