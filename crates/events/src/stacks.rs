// SPDX-License-Identifier: MIT
//! Stacks of events and rows, counted: what flame graphs and profiles are made of.
//!
//! A stack is what print_ubacktrace() and its kin print, or a text that has the same lines, a list of addresses, or,
//! where the field is called `stack`, names with semicolons between them.

use crate::event::{Event, Value};
use crate::module::{Field, FieldKind, Shows};
use std::collections::{BTreeMap, HashMap};

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Frame {
    pub name: String,
    /// The file that its code is of; "": nobody has said.
    pub module: String,
    /// 0: nobody has said.
    pub address: u64,
}

/// Samples of one name: of the events, or of a global's rows.
#[derive(Debug, Default)]
pub struct Series {
    /// What each of a sample's values is.
    pub values: Vec<&'static str>,
    /// By their frames, the outermost first.
    pub samples: BTreeMap<Vec<Frame>, Vec<i64>>,
    time: u64,
}

#[derive(Debug, Default)]
pub struct Stacks {
    events: HashMap<String, Series>,
    rows: HashMap<String, Series>,
    /// Of the first and the last event.
    pub times: Option<(u64, u64)>,
}

impl Stacks {
    pub fn add(&mut self, e: &Event<'_>) {
        let first = self.times.map_or(e.time, |t| t.0);
        self.times = Some((first, e.time));
        let is_row = e.probe.is_some_and(|p| p.shows == Shows::Rows);
        let mut sample = Sample::of(e, is_row);
        let Some(mut frames) = sample.stack.take() else {
            return;
        };
        sample.root.append(&mut frames);
        let all = if is_row {
            &mut self.rows
        } else {
            &mut self.events
        };
        let series = all.entry(e.class.name.to_string()).or_default();
        // Rows are one moment's: those of before are told anew.
        if is_row && series.time != e.time {
            series.samples.clear();
        }
        series.time = e.time;
        let (names, values): (Vec<_>, Vec<_>) = sample.values.into_iter().unzip();
        series.values = names;
        let sums = series.samples.entry(sample.root).or_default();
        sums.resize(values.len(), 0);
        for (sum, v) in sums.iter_mut().zip(values) {
            *sum = sum.saturating_add(v);
        }
    }

    /// By name. Rows say what their script has counted; where there are any, events do not count once more.
    pub fn series(&self) -> BTreeMap<&str, &Series> {
        let all = match self.rows.is_empty() {
            true => &self.events,
            false => &self.rows,
        };
        all.iter().map(|(name, s)| (name.as_str(), s)).collect()
    }
}

/// Values of a row that can be added up.
const COUNTED: [&str; 3] = ["value", "count", "sum"];
/// ... and those that cannot.
const OTHERS: [&str; 3] = ["min", "max", "avg"];

#[derive(Default)]
struct Sample {
    stack: Option<Vec<Frame>>,
    /// What stands before the stack: the program, or a row's other keys.
    root: Vec<Frame>,
    values: Vec<(&'static str, i64)>,
}

impl Sample {
    fn of(e: &Event<'_>, is_row: bool) -> Sample {
        let mut sample = Sample::default();
        for (field, value) in e.fields() {
            if sample.stack.is_none() {
                sample.stack = stack_of(field, value);
                if sample.stack.is_some() {
                    continue;
                }
            }
            if is_row {
                sample.take(field, value);
            }
        }
        if !is_row {
            sample.values.push(("count", 1));
            sample.root = vec![named(&e.thread.comm)];
        }
        sample
    }

    fn take(&mut self, field: &Field, value: Value<'_>) {
        let counted = COUNTED.iter().find(|n| **n == field.name);
        match (counted, value) {
            (Some(name), Value::Number(n)) => self.values.push((name, n)),
            _ if OTHERS.contains(&field.name.as_str()) => {}
            (_, Value::Number(n)) => self.root.push(named(&format!("{} {n}", field.name))),
            (_, Value::Text(t)) => self.root.push(named(&String::from_utf8_lossy(t))),
        }
    }
}

fn named(name: &str) -> Frame {
    Frame {
        name: name.to_string(),
        ..Frame::default()
    }
}

/// The outermost frame first; `None`: the value is no stack.
fn stack_of(field: &Field, value: Value<'_>) -> Option<Vec<Frame>> {
    let Value::Text(text) = value else {
        return None;
    };
    if !matches!(field.kind, FieldKind::Text | FieldKind::Stack) {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?;
    if field.name == "stack" && text.contains(';') {
        return Some(text.split(';').map(named).collect());
    }
    addresses(text).or_else(|| lines(text))
}

/// `0x7f01 0x55e2`, the innermost first.
fn addresses(text: &str) -> Option<Vec<Frame>> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    if words.len() < 2 {
        return None;
    }
    let frame = |w: &&str| {
        Some(Frame {
            address: hex(w)?,
            ..named(w)
        })
    };
    words.iter().rev().map(frame).collect()
}

fn lines(text: &str) -> Option<Vec<Frame>> {
    let lines = text.lines().filter(|l| !l.trim().is_empty());
    let mut frames: Vec<Frame> = lines.map(frame).collect::<Option<_>>()?;
    frames.reverse();
    (!frames.is_empty()).then_some(frames)
}

fn hex(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

/// `0x7f01 : name+0x0/0x317 [file]`, where all but the name, or all but the address, may be missing.
fn frame(line: &str) -> Option<Frame> {
    let line = line.trim();
    let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
    let (address, text) = match hex(first) {
        Some(address) => (address, rest.strip_prefix(": ").unwrap_or(rest)),
        None => (0, line),
    };
    if text.is_empty() {
        return Some(Frame {
            address,
            ..named(first)
        });
    }
    let behind = text.strip_suffix(']').and_then(|t| t.rsplit_once('['));
    let (place, module) = behind.map_or((text, ""), |(p, m)| (p.trim_end(), m));
    if place.is_empty() {
        return Some(unnamed(address, module));
    }
    let (name, _) = place.rsplit_once("+0x")?;
    Some(Frame {
        name: name.to_string(),
        module: module.to_string(),
        address,
    })
}

/// `[/usr/bin/git+0x1f069/0x3b0618]`: code without a name is called after its file.
fn unnamed(address: u64, place: &str) -> Frame {
    let (module, _) = place.rsplit_once("+0x").unwrap_or((place, ""));
    let base = module.rsplit('/').next().unwrap_or(module);
    Frame {
        name: format!("[{base}]"),
        module: module.to_string(),
        address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, name: &str, module: &str, address: u64) {
        let f = frame(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(
            (&*f.name, &*f.module, f.address),
            (name, module, address),
            "{text}"
        );
    }

    #[test]
    fn frames_as_they_are_printed() {
        check(
            " 0x7f01 : malloc+0x0/0x317 [/lib/libc.so.6]",
            "malloc",
            "/lib/libc.so.6",
            0x7f01,
        );
        check(
            "malloc+0x0/0x317 [/lib/libc.so.6]",
            "malloc",
            "/lib/libc.so.6",
            0,
        );
        check(
            " 0x55e2 [/usr/bin/git+0x1f069/0x3b0618]",
            "[git]",
            "/usr/bin/git",
            0x55e2,
        );
        check("operator[](int)+0x8", "operator[](int)", "", 0);
        check("0x55e2", "0x55e2", "", 0x55e2);
    }

    #[test]
    fn other_text_is_no_stack() {
        for text in [
            "",
            "a line",
            "12",
            "<no user backtrace at begin>",
            "name [of] it",
            "0x12",
        ] {
            assert!(addresses(text).is_none(), "{text}");
        }
        for text in [
            "",
            "a line",
            "12",
            "<no user backtrace at begin>",
            "name [of] it",
        ] {
            assert!(lines(text).is_none(), "{text}");
        }
    }
}
