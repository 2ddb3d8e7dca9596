// SPDX-License-Identifier: MIT
//! `kernel.data(ADDRESS or "SYMBOL").write`: memory of a kernel, watched by the processors' debug registers. The kernel
//! finds symbols by name, and their size, too.

use super::point::{open, refusal_of};
use crate::ir::ProbeKind;
use crate::points::access::{access, Access};
use crate::points::{Context, Place};
use crate::world::World;
use trapless_debuginfo::Kernel;
use trapless_syntax::ast::{Component, Literal, ProbePoint};
use trapless_syntax::diag::{Diagnostics, Tag};
use trapless_syntax::Span;

/// Addresses from here on are the kernel's own.
const KERNEL: u64 = 1 << 63;

pub fn data(
    point: &ProbePoint,
    c: &Component,
    suffix: &[Component],
    world: &mut World,
    diags: &mut Diagnostics,
) -> Option<Vec<Place>> {
    let how = access(c, suffix, world.machine, diags)?;
    let kernel = open(c, world, diags)?;
    let size = size(&how, world.machine.abi.word.into(), diags)?;
    let (text, symbol, addr) = match &c.arg {
        Some(Literal::Number(n)) => {
            let addr = n.value as u64;
            aligned(addr, size.unwrap_or(1), n.span, diags)?;
            (format!("{addr:#x}"), String::new(), addr)
        }
        Some(Literal::String(s)) => {
            has_one_place(&kernel, &s.text(), s.span, diags)?;
            (format!("\"{}\"", s.text()), s.text().to_string(), 0)
        }
        None => {
            diags
                .error(Tag::PointArgument, c.span, "which variable is meant?")
                .help("e.g. kernel.data(\"pid_max\").write, kernel.data(0xffffffff82a1c0d8).length(4).rw");
            return None;
        }
    };
    let image = world.kernel_image(&kernel);
    Some(vec![Place {
        point: format!("kernel.data({text}){}", how.text).into(),
        func: symbol.as_str().into(),
        kind: ProbeKind::Watch {
            process: None,
            image: Some(image),
            addr,
            // as large as the symbol is
            size: size.unwrap_or(if symbol.is_empty() { 1 } else { 0 }),
            reads: how.reads,
        },
        context: Some(Context {
            anywhere: true,
            ..Context::at(image, addr)
        }),
        refusal: refusal_of(point, ""),
        never: false,
    }])
}

/// `None` inside: nothing is said.
fn size(how: &Access, word: u64, diags: &mut Diagnostics) -> Option<Option<u64>> {
    match how.length {
        Some((n, span)) if !n.is_power_of_two() || n > word => {
            diags
                .error(
                    Tag::PointArgument,
                    span,
                    format!("one debug register cannot watch {n} bytes"),
                )
                .help(format!(
                    "watch 1, 2, 4 or {word} of them, or each part by a probe"
                ));
            None
        }
        given => Some(given.map(|g| g.0)),
    }
}

fn aligned(addr: u64, size: u64, span: Span, diags: &mut Diagnostics) -> Option<()> {
    let (message, help) = match addr {
        _ if addr < KERNEL => (
            format!("no kernel has data at {addr:#x}"),
            "give an address as /proc/kallsyms shows it, or the variable's name".to_string(),
        ),
        _ if !addr.is_multiple_of(size) => (
            format!("{addr:#x} is no multiple of {size}, as what a debug register watches must be"),
            "watch its parts: .length(1)".to_string(),
        ),
        _ => return Some(()),
    };
    diags.error(Tag::PointArgument, span, message).help(help);
    None
}

fn has_one_place(kernel: &Kernel, name: &str, span: Span, diags: &mut Diagnostics) -> Option<()> {
    if !kernel.is_per_processor(name) {
        return Some(());
    }
    let message = format!("`{name}` has a place of its own for each processor");
    diags
        .error(Tag::PointArgument, span, message)
        .help("watch one of them by its address");
    None
}
