// SPDX-License-Identifier: MIT
//! A line for each stack, the outermost function first, and how often it was: what flamegraph.pl, inferno and
//! speedscope.app read. Where stacks are of several events or globals, their names come first.

use crate::stacks::{Frame, Stacks};
use std::io::{self, Write};

pub fn put(stacks: &Stacks, out: &mut dyn Write) -> io::Result<()> {
    let series = stacks.series();
    for (name, s) in &series {
        for (frames, values) in &s.samples {
            let root = (series.len() > 1).then(|| plain(name));
            let words = root
                .into_iter()
                .chain(frames.iter().map(|f: &Frame| plain(&f.name)));
            let line = words.collect::<Vec<_>>().join(";");
            writeln!(out, "{line} {}", values.first().unwrap_or(&0))?;
        }
    }
    Ok(())
}

/// What cannot stand in a name.
fn plain(name: &str) -> String {
    name.replace([';', '\n'], ":")
}
