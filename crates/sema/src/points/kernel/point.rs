// SPDX-License-Identifier: MIT
//! A point of a kernel: whose it is, where it stands, and what is said where there is none.

use crate::ir::{ImageId, ProbeKind, Refusal};
use crate::world::{report, World};
use std::sync::Arc;
use trapless_debuginfo::{glob, Kernel};
use trapless_syntax::ast::{Component, ProbePoint, StrLit};
use trapless_syntax::diag::{Diagnostics, Tag};
use trapless_syntax::Span;

pub const FAMILY: &str = "kernel";
pub const MODULE: &str = "module";

/// The kernel that a point is of.
pub fn open(c: &Component, world: &mut World, diags: &mut Diagnostics) -> Option<Arc<Kernel>> {
    let kernel = world.kernel();
    kernel.map_err(|e| report(&e, c.span, diags)).ok()
}

pub fn refusal_of(point: &ProbePoint, pattern: &str) -> Refusal {
    match point.optional || point.sufficient {
        true => Refusal::Nothing,
        false if glob::is_glob(pattern) => Refusal::Warning,
        false => Refusal::Error,
    }
}

pub fn refused(c: &Component, later: &[(&str, &str)], diags: &mut Diagnostics) -> bool {
    let name = c.name.name.as_str();
    let known = later.iter().find(|l| l.0 == name);
    if let Some((_, instead)) = known {
        let message = format!("`.{name}` of kernels is not built yet");
        diags
            .error(Tag::PointKernel, c.span, message)
            .help(*instead);
    }
    known.is_some()
}

/// Of text that is gone, a function's, which is named.
pub fn runs_once(function: &str, span: Span, diags: &mut Diagnostics) {
    let message =
        format!("`{function}` runs only while the kernel starts, and its code is gone then");
    diags
        .error(Tag::PointNoMatch, span, message)
        .help("probe what stays: patterns leave such functions out");
}

/// `what`: function, or tracepoint; `near`: names like that one.
pub fn no_match(
    what: &str,
    kernel: &Kernel,
    near: &[String],
    name: &StrLit,
    world: &World,
    diags: &mut Diagnostics,
) {
    let word = what.trim_start_matches("exported ");
    let word = word.trim_end_matches("point");
    let help = match near.is_empty() {
        true => {
            let owner = owner(kernel.module_name());
            world.listed_by("-l", &format!("{owner}.{word}(\"*\")"))
        }
        false => format!("did you mean {}?", near.join(", ")),
    };
    let of = match kernel.module_name() {
        Some(module) => format!("module `{module}`"),
        None => "kernel".to_string(),
    };
    let message = format!(
        "no {what} of the {of} matches `{}` ({})",
        name.text(),
        kernel.path().display()
    );
    diags
        .error(Tag::PointNoMatch, name.span, message)
        .help(help);
}

/// As a point names it.
pub fn owner(module: Option<&Arc<str>>) -> String {
    match module {
        Some(name) => format!("{MODULE}(\"{name}\")"),
        None => FAMILY.to_string(),
    }
}

/// So many bytes behind a function's first; `nth`: of those that have its name.
pub fn site(image: ImageId, nth: u32, offset: u64) -> ProbeKind {
    ProbeKind::Site {
        process: None,
        image,
        addr: offset,
        parts: Arc::default(),
        semaphore: None,
        nth,
    }
}
