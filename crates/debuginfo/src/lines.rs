// SPDX-License-Identifier: MIT
//! The line table of one unit.

use crate::die::{text, Unit, R};
use std::ops::Range;

/// One row: code from `addr` on belongs to that line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub addr: u64,
    pub line: u32,
    pub column: u32,
    pub file: u32,
    pub is_stmt: bool,
    pub prologue_end: bool,
}

struct Sequence {
    range: Range<u64>,
    rows: Range<usize>,
}

pub(crate) struct Lines {
    rows: Vec<Row>,
    sequences: Vec<Sequence>,
}

impl Lines {
    pub fn read(unit: &Unit) -> Option<Lines> {
        let program = unit.line_program.clone()?;
        let mut lines = Lines {
            rows: Vec::new(),
            sequences: Vec::new(),
        };
        let mut rows = program.rows();
        let mut first = 0;
        while let Ok(Some((_, row))) = rows.next_row() {
            if !row.end_sequence() {
                lines.rows.push(Row {
                    addr: row.address(),
                    line: row
                        .line()
                        .map_or(0, |l| l.get().min(u64::from(u32::MAX)) as u32),
                    column: match row.column() {
                        gimli::ColumnType::Column(c) => c.get().min(u64::from(u32::MAX)) as u32,
                        gimli::ColumnType::LeftEdge => 0,
                    },
                    file: row.file_index().min(u64::from(u32::MAX)) as u32,
                    is_stmt: row.is_stmt(),
                    prologue_end: row.prologue_end(),
                });
                continue;
            }
            let end = lines.rows.len();
            let start = lines.rows.get(first).map_or(0, |r| r.addr);
            // Address 0: code that the linker threw away.
            if end > first && start != 0 && start < row.address() {
                lines.sequences.push(Sequence {
                    range: start..row.address(),
                    rows: first..end,
                });
            } else {
                lines.rows.truncate(first);
            }
            first = lines.rows.len();
        }
        lines.rows.truncate(first);
        lines.sequences.sort_by_key(|s| s.range.start);
        Some(lines)
    }

    /// Each row with its code; of several for one place all but the last have none.
    pub fn pieces(&self) -> impl Iterator<Item = (Range<u64>, &Row)> {
        self.sequences.iter().flat_map(|s| {
            let rows = &self.rows[s.rows.clone()];
            let ends = rows.iter().skip(1).map(|r| r.addr);
            let ends = ends.chain(std::iter::once(s.range.end));
            rows.iter().zip(ends).map(|(r, end)| (r.addr..end, r))
        })
    }

    fn sequence(&self, addr: u64) -> Option<&[Row]> {
        let i = self
            .sequences
            .partition_point(|s| s.range.start <= addr)
            .checked_sub(1)?;
        let s = &self.sequences[i];
        s.range.contains(&addr).then(|| &self.rows[s.rows.clone()])
    }

    /// The row that holds the address.
    pub fn row_at(&self, addr: u64) -> Option<&Row> {
        let rows = self.sequence(addr)?;
        rows[..rows.partition_point(|r| r.addr <= addr)].last()
    }

    /// Where the first statement behind the prologue begins: the row that says so, or the second
    /// address of the function that has a row.
    pub fn prologue_end(&self, function: &Range<u64>) -> Option<u64> {
        let rows = self.sequence(function.start)?;
        let from = rows.partition_point(|r| r.addr < function.start);
        let rows = &rows[from..];
        let rows = &rows[..rows.partition_point(|r| r.addr < function.end)];
        if let Some(marked) = rows.iter().find(|r| r.prologue_end) {
            return Some(marked.addr);
        }
        rows.iter()
            .find(|r| r.addr > function.start && r.is_stmt && r.line != 0)
            .map(|r| r.addr)
    }
}

/// The files of a line table header as full paths, so that index = file number.
pub(crate) fn file_table(
    dwarf: &gimli::Dwarf<R>,
    unit: &Unit,
    header: &gimli::LineProgramHeader<R>,
) -> Vec<String> {
    let string = |v| {
        dwarf
            .attr_string(unit, v)
            .map(|r| text(r.slice()))
            .unwrap_or_default()
    };
    let comp_dir = unit.comp_dir.map(|r| text(r.slice())).unwrap_or_default();
    let name = |f: &gimli::FileEntry<R>| {
        let dir = f.directory(header).map(string).unwrap_or_default();
        join(&join(&comp_dir, &dir), &string(f.path_name()))
    };
    let mut files: Vec<String> = header.file_names().iter().map(name).collect();
    if header.version() < 5 {
        let unit_name = unit.name.map(|r| text(r.slice())).unwrap_or_default();
        files.insert(0, join(&comp_dir, &unit_name));
    }
    files
}

fn join(dir: &str, name: &str) -> String {
    if name.starts_with('/') || dir.is_empty() {
        name.into()
    } else if name.is_empty() {
        dir.into()
    } else {
        format!("{}/{name}", dir.trim_end_matches('/'))
    }
}
