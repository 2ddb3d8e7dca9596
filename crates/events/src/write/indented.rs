// SPDX-License-Identifier: MIT
//! Calls as an indented listing: how long each took, its thread, and what it called.

use crate::calls::{Calls, Limits, Shown, Step};
use crate::event::{Event, Note, NoteKind, Totals};
use crate::module::Module;
use crate::writer::Writer;
use std::collections::BTreeMap;
use std::io::{self, Write};

pub struct Indented {
    out: Box<dyn Write>,
    calls: Calls<()>,
    rings: BTreeMap<u32, Ring>,
    text: Vec<u8>,
}

#[derive(Default)]
struct Ring {
    tid: u32,
    /// Entered, and written.
    open: Vec<Shown>,
    /// Entered: whether it calls anything is not known yet.
    last: Option<Shown>,
}

const HEAD: &str = "# DURATION        TID     FUNCTION\n";
const LEFT: &str = "left without a return";
const UNDER_WAY: &str = "no return until the end";

impl Indented {
    pub fn new(mut out: Box<dyn Write>, module: &Module, limits: Limits) -> io::Result<Indented> {
        out.write_all(HEAD.as_bytes())?;
        Ok(Indented {
            out,
            calls: Calls::new(module, limits),
            rings: BTreeMap::new(),
            text: Vec::new(),
        })
    }

    fn write(&mut self) -> io::Result<()> {
        let done = self.out.write_all(&self.text);
        self.text.clear();
        done
    }
}

impl Ring {
    fn step(&mut self, step: Step<()>, to: &mut Vec<u8>) {
        match step {
            Step::Enter { call, .. } => {
                self.begin(to);
                self.last = Some(call);
            }
            Step::Leave { time, call, with } => {
                let took = with.map(|()| time.saturating_sub(call.entered));
                self.end(&call, took, LEFT, to);
            }
        }
    }

    /// What was entered last is not all by itself.
    fn begin(&mut self, to: &mut Vec<u8>) {
        if let Some(call) = self.last.take() {
            line(
                to,
                None,
                self.tid,
                call.depth,
                &format!("{}() {{", call.name),
            );
            self.open.push(call);
        }
    }

    fn end(&mut self, call: &Shown, took: Option<u64>, otherwise: &str, to: &mut Vec<u8>) {
        let name = &call.name;
        let remark = if took.is_some() { "" } else { otherwise };
        let text = match self.last.take() {
            Some(_) if took.is_some() => format!("{name}();"),
            Some(_) => format!("{name}(); /* {remark} */"),
            None => {
                self.open.pop();
                let between = if took.is_some() { "" } else { ": " };
                format!("}} /* {name}{between}{remark} */")
            }
        };
        line(to, took, self.tid, call.depth, &text);
    }

    fn close(&mut self, why: &str, to: &mut Vec<u8>) {
        let all = self.open.iter().chain(&self.last).cloned();
        for call in all.collect::<Vec<_>>().iter().rev() {
            self.end(call, None, why, to);
        }
    }
}

fn line(to: &mut Vec<u8>, took: Option<u64>, tid: u32, depth: usize, text: &str) {
    let took = took.map(duration).unwrap_or_default();
    let indent = 2 * depth;
    to.extend_from_slice(format!("{took:>11} [{tid:>7}] | {:indent$}{text}\n", "").as_bytes());
}

/// Three digits before the point at most, and a unit to fit.
fn duration(ns: u64) -> String {
    const UNITS: [&str; 3] = ["us", "ms", "s "];
    let (mut value, mut unit) = (ns as f64 / 1000.0, 0);
    while value >= 999.9995 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.3} {}", UNITS[unit])
}

impl Writer for Indented {
    fn event(&mut self, e: &Event<'_>) -> io::Result<()> {
        let ring = self.rings.entry(e.ring).or_default();
        let text = &mut self.text;
        let of_call = self.calls.take(e, || (), &mut |step| ring.step(step, text));
        ring.tid = e.thread.tid;
        if !of_call {
            e.put_text(text);
        }
        self.write()
    }

    fn note(&mut self, n: &Note<'_>) -> io::Result<()> {
        if let NoteKind::Lost(n) = n.kind {
            self.text
                .extend_from_slice(format!("# {n} events were lost here\n").as_bytes());
        }
        self.write()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn end(&mut self, _: Option<&Totals>) -> io::Result<()> {
        for ring in self.rings.values_mut() {
            ring.close(UNDER_WAY, &mut self.text);
        }
        self.write()?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations_have_a_unit_to_fit() {
        assert_eq!(duration(7), "0.007 us");
        assert_eq!(duration(999_999), "999.999 us");
        assert_eq!(duration(1_234_567), "1.235 ms");
        assert_eq!(duration(61_000_000_000), "61.000 s ");
    }
}
