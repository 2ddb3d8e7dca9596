// SPDX-License-Identifier: MIT
//! Unwind tables into a module: rules that several files share stand there once.

use std::collections::HashMap;
use trapless_sema::ir::{Frame, ImageId, Row, Saved, UnwindTable};
use trapless_wire as wire;

pub fn write(tables: &[(ImageId, UnwindTable)], tap: &mut wire::Tap) {
    let nowhere = wire::Unwind {
        base: 0,
        first_row: 0,
        nrows: 0,
    };
    let mut known = HashMap::new();
    tap.unwind = match tables.is_empty() {
        true => Vec::new(),
        false => vec![nowhere; tap.images.len()],
    };
    for (image, table) in tables {
        let number = |f: &Frame| {
            let next = tap.frames.len() as u32;
            *known.entry(f.clone()).or_insert_with(|| {
                tap.frames.push(frame(f));
                next
            })
        };
        let numbers: Vec<u32> = table.frames.iter().map(number).collect();
        let base = table.rows.first().map_or(0, |r| r.addr);
        let row = |r: &Row| {
            let frame = r.frame.map_or(wire::NONE, |f| numbers[f as usize]);
            let at = u32::try_from(r.addr - base).ok()?;
            Some(wire::Row { at, frame })
        };
        let first = tap.rows.len();
        tap.rows.extend(table.rows.iter().map_while(row));
        tap.unwind[image.0 as usize] = wire::Unwind {
            base,
            first_row: first as u32,
            nrows: (tap.rows.len() - first) as u32,
        };
    }
}

fn frame(f: &Frame) -> wire::Frame {
    let mut flags = 0;
    if f.deref {
        flags |= wire::frame_flag::DEREF;
    }
    if f.signal {
        flags |= wire::frame_flag::SIGNAL;
    }
    let mut out = wire::Frame {
        cfa: f.register,
        flags,
        base: f.base,
        offset: f.offset,
        moved: 0,
        by_base: 0,
        saved: [0; wire::FRAME_REGS],
    };
    for (n, saved) in f.saved.iter().enumerate() {
        let (moved, by_base, at) = match saved {
            Saved::Same => (false, false, 0),
            Saved::Lost => (true, false, wire::FRAME_LOST),
            Saved::AtCfa(at) => (true, false, *at),
            Saved::AtBase(at) => (true, true, *at),
        };
        out.moved |= u32::from(moved) << n;
        out.by_base |= u32::from(by_base) << n;
        out.saved[n] = at;
    }
    out
}
