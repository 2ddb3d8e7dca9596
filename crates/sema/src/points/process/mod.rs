// SPDX-License-Identifier: MIT
//! `process...` points: programs, libraries, and the places in them; and one
//! clear word for every family that does not exist yet.

mod callees;
mod data;
mod events;
mod functions;
mod hooks;
mod marks;
mod plt;
mod statements;
mod subjects;
mod syscalls;

use crate::ir::{ImageId, Part, ProbeKind, Refusal};
use crate::not_built;
use crate::points::components;
use crate::points::{append, Place};
use crate::world::World;
use std::sync::Arc;
use trapless_debuginfo::Binary;
use trapless_syntax::ast::{Component, Literal, ProbePoint};
use trapless_syntax::diag::{Diagnostics, Tag};

pub fn resolve(point: &ProbePoint, world: &mut World, diags: &mut Diagnostics) -> Vec<Place> {
    let quiet = point.optional || point.sufficient;
    let mut own = Diagnostics::new();
    let found = Resolver {
        point,
        world,
        diags: &mut own,
        parts: Arc::default(),
    }
    .resolve();
    name_the_program(point, world, &mut own);
    // What was asked for politely may be missing; mistakes are still told.
    if !quiet {
        diags.append(own);
    }
    found.unwrap_or_default()
}

/// Places of a file that no process has: a kernel's. `of`: it, its image, and the point so far; `what`: which places.
pub fn in_file(
    point: &ProbePoint,
    of: (Arc<Binary>, ImageId, String),
    what: (&Component, &[Component]),
    world: &mut World,
    diags: &mut Diagnostics,
) -> Option<Vec<Place>> {
    let (binary, image, text) = of;
    let subject = Subject {
        binary,
        image,
        process: None,
        text,
    };
    let mut r = Resolver {
        point,
        world,
        diags,
        parts: Arc::default(),
    };
    match what.0.name.name.as_str() {
        "function" => r.functions(&subject, what.0, what.1),
        _ => r.statements(&subject, what.0, what.1),
    }
}

/// What is not in the shell is looked for in the wrong program.
fn name_the_program(point: &ProbePoint, world: &World, diags: &mut Diagnostics) {
    let unnamed = point.components.first().is_some_and(|c| c.arg.is_none());
    let Some(next) = world.target.stands_in.as_ref().filter(|_| unnamed) else {
        return;
    };
    let lacks = |tag| {
        matches!(
            tag,
            Tag::FunctionUnknown
                | Tag::FunctionNotExported
                | Tag::SymbolsNone
                | Tag::DebuginfoNone
                | Tag::SourceFileUnknown
                | Tag::PointNoMatch
        )
    };
    for d in diags.iter_mut().filter(|d| lacks(d.tag)) {
        d.help(next.as_str());
    }
}

struct Resolver<'a> {
    point: &'a ProbePoint,
    world: &'a mut World,
    diags: &'a mut Diagnostics,
    /// Of the latest function: of hundred thousands of copies neighbours lie in the same one mostly.
    parts: Arc<[Part]>,
}

/// The file to be probed, and the program whose processes are meant.
struct Subject {
    binary: Arc<Binary>,
    image: ImageId,
    process: Option<ImageId>,
    /// The point so far, for `pp()`.
    text: String,
}

impl Subject {
    /// An instruction of the file; of a mark with its counter of those who listen.
    fn site(&self, addr: u64, semaphore: Option<u64>) -> ProbeKind {
        ProbeKind::Site {
            process: self.process,
            image: self.image,
            addr,
            parts: around(&self.binary, addr),
            semaphore,
            nth: 0,
        }
    }
}

impl Resolver<'_> {
    fn resolve(mut self) -> Option<Vec<Place>> {
        let point = self.point;
        let first = point.components.first()?;
        if first.name.name != "process" {
            return self.other_family(first);
        }
        let rest = &point.components[1..];
        if self.is_of_system(first, rest.first()) {
            return self.syscalls_of_system(rest);
        }
        let mut subjects = self.process(first)?;
        let mut rest = &point.components[1..];
        while let Some(c) = rest
            .first()
            .filter(|c| c.name.name == "library" || c.name.name == "plugin")
        {
            subjects = self.libraries(c, &subjects)?;
            rest = &rest[1..];
        }
        let Some(what) = rest.first() else {
            self.diags
                .error(
                    Tag::PointUnknown,
                    point.span,
                    "this names a file, not a place in it",
                )
                .help("add .function(\"name\") or .statement(\"function@file:line\")");
            return None;
        };
        self.each(&subjects, |r, subject| match what.name.name.as_str() {
            "function" => r.functions(subject, what, &rest[1..]),
            "statement" => r.statements(subject, what, &rest[1..]),
            "plt" => r.plt(subject, what, &rest[1..]),
            "hook" => r.hooks(subject, rest),
            "provider" if rest.get(1).is_some_and(is_hook) => r.hooks(subject, rest),
            "mark" | "provider" => r.marks(subject, rest),
            "begin" | "end" | "thread" => r.events(subject, rest),
            "data" => r.data(subject, what, &rest[1..]),
            "syscall" => r.syscalls(subject, rest),
            _ => {
                components::unknown(what, &components::OF_PROCESS, r.diags);
                None
            }
        })
    }

    /// The same of several files: it is enough when one of them has it, and
    /// the first one's mistakes stand for all.
    fn each<T>(
        &mut self,
        subjects: &[Subject],
        mut f: impl FnMut(&mut Resolver, &Subject) -> Option<Vec<T>>,
    ) -> Option<Vec<T>> {
        let (mut all, mut first) = (Vec::new(), None);
        for subject in subjects {
            let mut own = Diagnostics::new();
            let mut r = Resolver {
                point: self.point,
                world: self.world,
                diags: &mut own,
                parts: Arc::default(),
            };
            match f(&mut r, subject) {
                Some(found) => {
                    append(&mut all, found);
                    self.diags.append(own);
                }
                None => drop(first.get_or_insert(own)),
            }
        }
        if !all.is_empty() {
            return Some(all);
        }
        if let Some(own) = first {
            self.diags.append(own);
        }
        None
    }

    fn other_family(&mut self, first: &Component) -> Option<Vec<Place>> {
        let known = not_built::point(&components::words(self.point));
        let name = known.as_ref().map_or(&*first.name.name, |k| k.words);
        let (tag, what) = match &known {
            Some(k) if k.in_kernel => (Tag::PointKernel, "are in the kernel, and not built yet"),
            _ => (Tag::NotBuilt, "are not built yet"),
        };
        let instead = known.map_or("use process(\"...\").function(\"...\")", |k| k.instead);
        let message = format!("`{name}` points {what}");
        self.diags.error(tag, first.span, message).help(instead);
        None
    }

    /// The text that names it, as it is written.
    fn name_of(&mut self, c: &Component, example: &str) -> Option<String> {
        if let Some(Literal::String(s)) = &c.arg {
            return Some(s.text().into_owned());
        }
        let message = format!("a {} is given by its name", c.name.name);
        self.diags
            .error(Tag::PointArgument, c.span, message)
            .help(example);
        None
    }

    fn refusal(&self, matched: bool) -> Refusal {
        match (self.point.optional || self.point.sufficient, matched) {
            (true, _) => Refusal::Nothing,
            (false, true) => Refusal::Warning,
            (false, false) => Refusal::Error,
        }
    }
}

/// `.provider("p")`, where that comes first, and what follows.
fn provider_of(words: &[Component]) -> (Option<&Component>, &[Component]) {
    match words.split_first() {
        Some((first, rest)) if first.name.name == "provider" => (Some(first), rest),
        _ => (None, words),
    }
}

fn is_hook(c: &Component) -> bool {
    c.name.name == "hook"
}

/// The function that an address lies in: Go's, and many in assembly, have no unwind entry that would tell.
pub(crate) fn around(binary: &Binary, addr: u64) -> Arc<[Part]> {
    let part = binary.symbols().around(addr).map(|s| Part {
        addr: s.addr,
        size: s.size,
    });
    part.into_iter().collect()
}
