// SPDX-License-Identifier: MIT
//! The words that probe points are made of, and what to say of others.

use trapless_syntax::ast::Component;
use trapless_syntax::diag::{nearest, Diagnostics, Tag};

/// What may stand at one place of a point.
pub struct Components {
    built: &'static [&'static str],
    /// Not built yet, with the way round.
    later: &'static [(&'static str, &'static str)],
    help: &'static str,
}

pub const OF_PROCESS: Components = Components {
    built: &["function", "statement", "library"],
    later: &[
        ("begin", "use `probe begin`"),
        ("end", "use `probe end`"),
        ("thread", "probe the thread's start function"),
        ("syscall", "probe the C library's function of that name"),
        ("mark", "probe the function around the mark"),
        ("provider", "probe the function around the mark"),
        ("plt", "probe the function in its library"),
        ("data", "probe the functions that write the variable"),
        ("plugin", "use .library"),
        ("insn", "probe single statements"),
    ],
    help: "use .function, .statement or .library",
};

pub const OF_FUNCTION: Components = Components {
    built: &["call", "return", "inline", "exported", "maxactive"],
    later: &[
        ("label", "use .statement(\"function@file:line\")"),
        ("callee", "probe the callee itself"),
        ("callees", "probe the callees themselves"),
    ],
    help: "use .call, .return, .inline or .exported, or nothing",
};

pub const OF_STATEMENT: Components = Components {
    built: &["nearest", "absolute"],
    later: &[],
    help: "use .nearest, or nothing",
};

pub const OF_TIMER: Components = Components {
    built: &["s", "sec", "ms", "msec", "us", "usec", "ns", "nsec", "hz"],
    later: &[
        ("profile", "use timer.ms(n)"),
        ("tick", "use timer.ms(n)"),
        ("jiffies", "use timer.ms(n)"),
    ],
    help: "timers count in s, ms, us, ns or hz",
};

pub const OF_TIMER_UNIT: Components = Components {
    built: &[],
    later: &[("randomize", "leave it out")],
    help: "nothing may follow",
};

pub const OF_SESSION: Components = Components {
    built: &[],
    later: &[],
    help: "nothing may follow begin, end, error and never",
};

/// Say that `c` is not one of them, or not yet.
pub fn unknown(c: &Component, known: &Components, diags: &mut Diagnostics) {
    let name = c.name.name.as_str();
    if let Some((_, instead)) = known.later.iter().find(|l| l.0 == name) {
        diags
            .error(Tag::NotBuilt, c.span, format!("`.{name}` is not built yet"))
            .help(*instead);
        return;
    }
    let all = known.built.iter().chain(known.later.iter().map(|l| &l.0));
    let near = nearest(name, all.copied());
    diags
        .error(
            Tag::PointUnknown,
            c.span,
            format!("`.{name}` has no meaning here"),
        )
        .help(known.help)
        .help(near.map(|near| format!("did you mean `.{near}`?")));
}
