// SPDX-License-Identifier: MIT
//! The source lines of a whole file.

use crate::lines::Lines;
use crate::Binary;
use std::collections::HashMap;
use std::ops::Range;

/// From this address on, up to the next one's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineRow {
    pub addr: u64,
    /// The file's number and the line; `None`: nothing is known there.
    pub at: Option<(u32, u32)>,
}

/// The lines of a whole file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineTable {
    pub files: Vec<String>,
    /// Sorted by address.
    pub rows: Vec<LineRow>,
}

impl Binary {
    /// Empty where there is no debug information.
    pub fn line_table(&self) -> LineTable {
        let mut table = LineTable::default();
        let Ok(dwarf) = self.dwarf() else {
            return table;
        };
        let mut numbers: HashMap<&str, u32> = HashMap::new();
        let mut pieces = Vec::new();
        for n in 0..dwarf.unit_count() as u32 {
            let files = dwarf.files(n);
            let lines = dwarf.lines(n).into_iter().flat_map(Lines::pieces);
            for (place, row) in lines.filter(|(place, row)| !place.is_empty() && row.line != 0) {
                let Some(name) = files.get(row.file as usize) else {
                    continue;
                };
                let file = *numbers.entry(name).or_insert_with(|| {
                    table.files.push(name.clone());
                    table.files.len() as u32 - 1
                });
                pieces.push((place, (file, row.line)));
            }
        }
        pieces.sort_by_key(|(place, _)| place.start);
        table.rows = without_gaps(&pieces);
        table
    }
}

/// Of two pieces for one place the first one counts.
fn without_gaps(pieces: &[(Range<u64>, (u32, u32))]) -> Vec<LineRow> {
    let mut rows: Vec<LineRow> = Vec::new();
    let mut known = 0; // up to here
    let mut add = |addr, at| {
        if rows.last().is_none_or(|r| r.at != at) {
            rows.push(LineRow { addr, at });
        }
    };
    for (place, at) in pieces {
        if place.end <= known {
            continue;
        }
        if place.start > known {
            add(known, None);
        }
        add(place.start.max(known), Some(*at));
        known = place.end;
    }
    add(known, None);
    rows
}
