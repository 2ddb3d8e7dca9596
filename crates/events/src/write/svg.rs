// SPDX-License-Identifier: MIT
//! A flame graph: a picture for a browser. The outermost functions are at the bottom; a box is as wide as the
//! share of the samples in which its function is there, and says how many when it is pointed at.

use crate::stacks::Stacks;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Pixels.
const WIDTH: f64 = 1200.0;
const ROW: f64 = 17.0;
const HEAD: f64 = 34.0;
const CHARACTER: f64 = 6.7;
/// What is narrower cannot be seen.
const LEAST: f64 = 0.1;

#[derive(Default)]
struct Node {
    samples: i64,
    below: BTreeMap<String, Node>,
}

impl Node {
    fn add<'a>(&mut self, frames: impl Iterator<Item = &'a str>, n: i64) {
        self.samples = self.samples.saturating_add(n);
        let mut at = self;
        for name in frames {
            at = at.below.entry(name.to_string()).or_default();
            at.samples = at.samples.saturating_add(n);
        }
    }

    /// Without recursion: stacks may be deep.
    fn depth(&self) -> usize {
        let mut row: Vec<&Node> = vec![self];
        let mut depth = 0;
        while !row.is_empty() {
            row = row.iter().flat_map(|n| n.below.values()).collect();
            depth += 1;
        }
        depth
    }
}

pub fn put(stacks: &Stacks, out: &mut dyn Write) -> io::Result<()> {
    let series = stacks.series();
    let mut root = Node::default();
    for (name, s) in &series {
        for (frames, values) in &s.samples {
            let names = (series.len() > 1).then_some(*name).into_iter();
            let names = names.chain(frames.iter().map(|f| f.name.as_str()));
            root.add(names, values.first().copied().unwrap_or(0).max(0));
        }
    }
    let names: Vec<&str> = series.keys().copied().collect();
    let height = HEAD + ROW * root.depth() as f64 + 8.0;
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"monospace\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fdfdfb\"/>\n\
         <text x=\"8\" y=\"20\" font-size=\"14\">{}: {} samples</text>",
        escaped(&names.join(", ")),
        root.samples
    )?;
    boxes(&root, height, out)?;
    writeln!(out, "</svg>")
}

/// A box that is to be drawn: node, name, left edge, row from the bottom.
type Waiting<'a> = (&'a Node, &'a str, f64, usize);

fn boxes(root: &Node, height: f64, out: &mut dyn Write) -> io::Result<()> {
    let all = root.samples.max(1) as f64;
    let mut waiting: Vec<Waiting<'_>> = vec![(root, "all", 0.0, 0)];
    while let Some((node, name, left, row)) = waiting.pop() {
        let width = WIDTH * node.samples as f64 / all;
        if width < LEAST {
            continue;
        }
        let top = height - 8.0 - ROW * (row as f64 + 1.0);
        put_box(name, node.samples, all, (left, top, width), out)?;
        let mut at = left;
        for (name, below) in &node.below {
            waiting.push((below, name, at, row + 1));
            at += WIDTH * below.samples as f64 / all;
        }
    }
    Ok(())
}

fn put_box(
    name: &str,
    samples: i64,
    all: f64,
    (left, top, width): (f64, f64, f64),
    out: &mut dyn Write,
) -> io::Result<()> {
    let share = 100.0 * samples as f64 / all;
    let room = ((width - 6.0) / CHARACTER) as usize;
    let label: String = match name.chars().count() {
        n if n <= room => name.into(),
        _ if room < 4 => String::new(),
        _ => name.chars().take(room - 2).collect::<String>() + "..",
    };
    writeln!(
        out,
        "<g><title>{}: {samples} ({share:.2} %)</title>\
         <rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{}\" rx=\"1\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
        escaped(name),
        ROW - 1.0,
        colour(name),
        left + 3.0,
        top + ROW - 5.0,
        escaped(&label)
    )
}

/// The same for a name each time: warm ones.
fn colour(name: &str) -> String {
    let hash = name.bytes().fold(2166136261u32, |h, b| {
        (h ^ u32::from(b)).wrapping_mul(16777619)
    });
    format!("hsl({}, 85%, {}%)", 10 + hash % 45, 62 + hash / 64 % 14)
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
