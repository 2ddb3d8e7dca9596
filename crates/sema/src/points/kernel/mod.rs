// SPDX-License-Identifier: MIT
//! `kernel...` points: functions and addresses of a kernel, which finds them by name. Where they lie it alone knows.

mod data;
mod exported;
pub mod kprobe;
pub mod modules;
mod point;
mod sources;
mod statements;
mod traces;

pub use point::{FAMILY, MODULE};

use crate::hand_over::hand_over;
use crate::ir::{ImageId, ProbeKind, Refusal};
use crate::points::components;
use crate::points::{Context, Place};
use crate::world::World;
use point::{no_match, open, owner, refusal_of, refused, runs_once, site};
use std::sync::Arc;
use trapless_debuginfo::{Kernel, KernelFunction};
use trapless_syntax::ast::{Component, Literal, ProbePoint, StrLit};
use trapless_syntax::diag::{Diagnostics, Tag};

/// What kernels have beside functions and trapless does not yet, with the way round.
const LATER: &[(&str, &str)] = &[(
    "mark",
    "kernels have no markers any more: kernel.function(\"NAME\")",
)];

/// The same of functions.
const LATER_OF_FUNCTION: &[(&str, &str)] = &[
    (
        "callee",
        "probe the callee, and ask in its handler who has called",
    ),
    (
        "callees",
        "probe the callees, and ask in their handlers who has called",
    ),
];

/// Whatever fails is reported. Nothing, or no file of the kernel, is no mistake of an optional point.
pub fn resolve(point: &ProbePoint, world: &mut World, diags: &mut Diagnostics) -> Vec<Place> {
    let Some((what, suffix)) = split(point, "the kernel", diags) else {
        return Vec::new();
    };
    let found = match what.name.name.as_str() {
        "function" => open(what, world, diags)
            .and_then(|k| functions(point, &[k], what, suffix, world, diags)),
        "statement" => statements::sound(what, suffix, diags)
            .and_then(|()| open(what, world, diags))
            .and_then(|k| statements::statements(point, &[k], what, suffix, world, diags)),
        "data" => data::data(point, what, suffix, world, diags),
        "trace" => traces::traces(point, what, suffix, world, diags),
        _ => {
            components::unknown(what, &components::OF_KERNEL, diags);
            None
        }
    };
    found.unwrap_or_default()
}

/// What is probed of a kernel, or of a module of it, and what else is said of that. `None`: reported.
fn split<'a>(
    point: &'a ProbePoint,
    of: &str,
    diags: &mut Diagnostics,
) -> Option<(&'a Component, &'a [Component])> {
    let rest = point.components.get(1..).unwrap_or(&[]);
    let found = rest.split_first();
    if found.is_none() {
        let message = format!("this names {of}, not a place in it");
        diags
            .error(Tag::PointUnknown, point.span, message)
            .help("add .function(\"NAME\")");
    }
    found.filter(|(what, _)| !refused(what, LATER, diags))
}

/// `of`: the kernel, or modules of it.
fn functions(
    point: &ProbePoint,
    of: &[Arc<Kernel>],
    c: &Component,
    suffix: &[Component],
    world: &mut World,
    diags: &mut Diagnostics,
) -> Option<Vec<Place>> {
    let name = name_of(c, diags)?;
    let wanted = wanted(suffix, diags)?;
    let text = name.text();
    if of.iter().any(|k| k.runs_once(&text)) {
        runs_once(&text, name.span, diags);
        return None;
    }
    let mut found = match wanted.by_source || text.contains('@') {
        true => sources::places(point, of, c, suffix, world, diags)?,
        false => by_name(point, of, &text, suffix, world),
    };
    if found.is_empty() && of.iter().any(|k| world.has_debug_here(k)) {
        // It may be inlined only. What is wrong with it else is told below.
        let mut own = Diagnostics::new();
        found.extend(sources::places(point, of, c, suffix, world, &mut own).unwrap_or_default());
    }
    if wanted.exported {
        found = exported::among(found, of, c, world, diags)?;
    }
    if let (true, Some(first)) = (found.is_empty(), of.first()) {
        let what = if wanted.exported {
            "exported function"
        } else {
            "function"
        };
        no_match(what, first, &first.nearest(&text), name, world, diags);
        return None;
    }
    Some(found)
}

fn by_name(
    point: &ProbePoint,
    of: &[Arc<Kernel>],
    pattern: &str,
    suffix: &[Component],
    world: &mut World,
) -> Vec<Place> {
    let mut found = Vec::new();
    for kernel in of {
        let image = world.kernel_image(kernel);
        found.extend(kernel.functions(pattern).into_iter().map(|f| (f, image)));
    }
    let refusal = refusal_of(point, pattern);
    let at_return = suffix.iter().any(|c| c.name.name == "return");
    let words: String = suffix.iter().map(|c| format!(".{}", c.name.name)).collect();
    let words = words.replace(".maxactive", "");
    let place = |(f, image)| place(f, image, at_return, &words, refusal);
    hand_over(found).map(place).collect()
}

fn name_of<'a>(c: &'a Component, diags: &mut Diagnostics) -> Option<&'a StrLit> {
    let (tag, message) = match &c.arg {
        Some(Literal::String(s)) => return Some(s),
        Some(Literal::Number(_)) => (
            Tag::PointKernel,
            "a function of a kernel is found by its name; .statement(0xADDRESS) probes an address",
        ),
        None => (Tag::PointArgument, "which function is meant?"),
    };
    diags.error(tag, c.span, message).help(
        "give its name: kernel.function(\"vfs_read\"), kernel.function(\"vfs_read@read_write.c\")",
    );
    None
}

/// What is said behind a function.
#[derive(Default)]
struct Wanted {
    at_return: bool,
    exported: bool,
    /// Debug information tells where that is.
    by_source: bool,
}

/// `None`: reported.
fn wanted(suffix: &[Component], diags: &mut Diagnostics) -> Option<Wanted> {
    let mut wanted = Wanted::default();
    for c in suffix {
        match c.name.name.as_str() {
            "call" if !wanted.at_return => {}
            "return" => wanted.at_return = true,
            "maxactive" if wanted.at_return => {}
            "exported" => wanted.exported = true,
            "inline" | "label" => wanted.by_source = true,
            _ if refused(c, LATER_OF_FUNCTION, diags) => return None,
            _ => {
                components::unknown(c, &components::OF_KERNEL_FUNCTION, diags);
                return None;
            }
        }
    }
    Some(wanted)
}

/// What the kernel finds by name, at its first byte.
fn place(
    f: KernelFunction,
    image: ImageId,
    at_return: bool,
    words: &str,
    refusal: Refusal,
) -> Place {
    Place {
        point: format!(
            "{}.function(\"{}\"){words}",
            owner(f.module.as_ref()),
            f.name
        )
        .into(),
        func: f.name.clone(),
        kind: match at_return {
            true => ProbeKind::Return {
                process: None,
                image,
                addr: 0,
                parts: Arc::default(),
                nth: f.nth,
                linkage: false,
                on_entry: None,
                call_data: Vec::new(),
            },
            false => site(image, f.nth, 0),
        },
        context: Some(Context {
            kernel: Some(f),
            at_return,
            ..Context::at(image, 0)
        }),
        refusal,
        never: false,
    }
}
