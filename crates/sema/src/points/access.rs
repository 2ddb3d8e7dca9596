// SPDX-License-Identifier: MIT
//! What follows `.data(...)`: `.length(n)`, `.write` or `.rw`; of programs and of kernels.

use crate::points::components;
use trapless_machine::Machine;
use trapless_syntax::ast::{Component, Literal};
use trapless_syntax::diag::{Diagnostics, Tag};
use trapless_syntax::Span;

pub struct Access {
    pub reads: bool,
    pub length: Option<(u64, Span)>,
    pub text: String,
}

/// Of `c`, which names the memory. `None`: reported.
pub fn access(
    c: &Component,
    suffix: &[Component],
    machine: &Machine,
    diags: &mut Diagnostics,
) -> Option<Access> {
    let (length, rest) = match suffix {
        [l, rest @ ..] if l.name.name == "length" => (Some(length(l, machine, diags)?), rest),
        _ => (None, suffix),
    };
    let reads = match rest {
        [how] if how.name.name == "write" && how.arg.is_none() => false,
        [how] if how.name.name == "rw" && how.arg.is_none() => true,
        [] => {
            diags
                .error(Tag::PointUnknown, c.span, "what is to happen to it?")
                .help("add .write, or .rw for reads and writes");
            return None;
        }
        [how, more, ..] if ["write", "rw"].contains(&how.name.name.as_str()) => {
            components::unknown(more, &components::OF_ACCESS, diags);
            return None;
        }
        [how, ..] => {
            components::unknown(how, &components::OF_DATA, diags);
            return None;
        }
    };
    let what = length.map_or(String::new(), |(n, _)| format!(".length({n})"));
    Some(Access {
        reads,
        length,
        text: format!("{what}.{}", if reads { "rw" } else { "write" }),
    })
}

fn length(c: &Component, machine: &Machine, diags: &mut Diagnostics) -> Option<(u64, Span)> {
    let longest = machine.longest_watched();
    if let Some(Literal::Number(n)) = &c.arg {
        if (1..=longest as i64).contains(&n.value) {
            return Some((n.value as u64, n.span));
        }
    }
    let message = format!("a length is a number of bytes, 1 to {longest}");
    diags
        .error(Tag::PointArgument, c.span, message)
        .help(format!(
            "the processor has {} debug registers of up to {} bytes each",
            machine.debug_registers, machine.abi.word
        ));
    None
}
