// SPDX-License-Identifier: MIT
//! How deep the calls of a script's functions may be nested where no -D MAXNESTING says so: as deep as they are, and
//! ten more where one calls itself, as in SystemTap.

use crate::ir::{Function, FunctionBody, Handler};
use crate::walk::callees;

const MORE_OF_RECURSION: u32 = 10;
/// Ways through the functions are counted; of those that nobody would write, not all.
const STEPS: u32 = 100_000;

struct Ways {
    calls: Vec<Vec<usize>>,
    /// Functions on the way that is walked.
    on_way: Vec<bool>,
    steps: u32,
}

fn calls(functions: &[Function]) -> Vec<Vec<usize>> {
    let of = |f: &Function| match &f.body {
        FunctionBody::Script(body) => {
            let mut found = callees(body);
            found.sort_unstable();
            found.dedup();
            found
        }
        FunctionBody::C(_) | FunctionBody::Embedded(_) => Vec::new(),
    };
    functions.iter().map(of).collect()
}

/// A function is recursive when it can reach itself.
pub fn mark_recursion(functions: &mut [Function]) {
    let calls = calls(functions);
    for (n, f) in functions.iter_mut().enumerate() {
        let mut seen = vec![false; calls.len()];
        let mut todo = calls[n].clone();
        while let Some(c) = todo.pop() {
            if !std::mem::replace(&mut seen[c], true) {
                todo.extend(&calls[c]);
            }
        }
        f.recursive = seen[n];
    }
}

impl Ways {
    /// Functions on the longest way from `f` on. One that is on it already is gone through once more (`again`: such a
    /// one is on it), a second one ends it.
    fn longest(&mut self, f: usize, again: bool) -> u32 {
        self.steps += 1;
        let on_way = self.on_way[f];
        if (on_way && again) || self.steps > STEPS {
            return 1;
        }
        self.on_way[f] = true;
        let mut longest = 0;
        for n in 0..self.calls[f].len() {
            longest = longest.max(self.longest(self.calls[f][n], again || on_way));
        }
        self.on_way[f] = on_way;
        longest + 1
    }
}

pub fn default(functions: &[Function], handlers: &[Handler]) -> u32 {
    let mut ways = Ways {
        calls: calls(functions),
        on_way: vec![false; functions.len()],
        steps: 0,
    };
    let called = handlers.iter().flat_map(|h| callees(&h.body));
    let longest = called.map(|f| ways.longest(f, false)).max().unwrap_or(1);
    match functions.iter().any(|f| f.recursive) {
        true => longest + MORE_OF_RECURSION,
        false => longest,
    }
}
