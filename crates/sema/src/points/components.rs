// SPDX-License-Identifier: MIT
//! The words that probe points are made of, and what to say of others.

use trapless_syntax::ast::{Component, Literal, ProbePoint};
use trapless_syntax::diag::{nearest, Diagnostics, Tag};

/// What may stand at one place of a point.
pub struct Components {
    built: &'static [&'static str],
    /// Not built yet, with the way round.
    later: &'static [(&'static str, &'static str)],
    help: &'static str,
}

pub const OF_PROCESS: Components = Components {
    built: &[
        "function",
        "statement",
        "mark",
        "hook",
        "provider",
        "plt",
        "library",
        "plugin",
        "begin",
        "end",
        "thread",
        "data",
        "syscall",
    ],
    later: &[("insn", "probe single statements")],
    help:
        "use .function, .statement, .mark, .hook, .plt, .data, .library, .begin, .end, .thread or .syscall",
};

pub const OF_FUNCTION: Components = Components {
    built: &[
        "call",
        "return",
        "inline",
        "exported",
        "maxactive",
        "label",
        "callee",
        "callees",
    ],
    later: &[],
    help: "use .call, .return, .inline, .exported, .label or .callee, or nothing",
};

pub const OF_KERNEL: Components = Components {
    built: &["function", "statement", "trace", "data"],
    later: &[],
    help: "use .function, .statement, .trace or .data",
};

pub const OF_MODULE: Components = Components {
    built: &["function", "statement"],
    later: &[],
    help: "use .function or .statement",
};

pub const OF_TRACE: Components = Components {
    built: &[],
    later: &[],
    help: "nothing may follow a tracepoint",
};

pub const OF_KERNEL_FUNCTION: Components = Components {
    built: &["call", "return", "inline", "exported", "maxactive", "label"],
    later: &[],
    help: "use .call, .return, .inline, .exported or .label, or nothing",
};

pub const OF_KERNEL_STATEMENT: Components = Components {
    built: &["nearest"],
    later: &[],
    help: "use .nearest behind a line, or nothing",
};

pub const OF_STATEMENT: Components = Components {
    built: &["nearest", "absolute"],
    later: &[],
    help: "use .nearest, or nothing",
};

pub const OF_MARK: Components = Components {
    built: &[],
    later: &[],
    help: "nothing may follow a mark",
};

pub const OF_PROVIDER: Components = Components {
    built: &["mark", "hook"],
    later: &[],
    help: "use .mark or .hook",
};

pub const OF_HOOK: Components = Components {
    built: &[],
    later: &[],
    help: "nothing may follow a hook",
};

pub const OF_PLT: Components = Components {
    built: &["return", "maxactive"],
    later: &[],
    help: "use .return, or nothing",
};

pub const OF_KPROBE: Components = Components {
    built: &["function", "module"],
    later: &[],
    help: "use .function(\"NAME\"), or .module(\"NAME\").function(\"NAME\")",
};

pub const OF_LABEL: Components = Components {
    built: &[],
    later: &[],
    help: "nothing may follow a label",
};

pub const OF_THREAD: Components = Components {
    built: &["begin", "end"],
    later: &[],
    help: "use .begin or .end",
};

pub const OF_DATA: Components = Components {
    built: &["write", "rw", "length"],
    later: &[],
    help: "use .write or .rw, and .length(n) before it",
};

pub const OF_ACCESS: Components = Components {
    built: &[],
    later: &[],
    help: "nothing may follow .write and .rw",
};

pub const OF_SYSCALL: Components = Components {
    built: &["number", "return"],
    later: &[],
    help: "use .number(n), .return, or nothing",
};

pub const OF_EVENT: Components = Components {
    built: &[],
    later: &[],
    help: "nothing may follow begin and end",
};

pub const OF_TIMER: Components = Components {
    built: &[
        "s", "sec", "ms", "msec", "us", "usec", "ns", "nsec", "jiffies", "hz", "profile",
    ],
    later: &[],
    help: "timers count in s, ms, us, ns, jiffies or hz",
};

pub const OF_PROFILE: Components = Components {
    built: &["tick", "freq"],
    later: &[],
    help: "use timer.profile, or timer.profile.freq.hz(n)",
};

pub const OF_FREQ: Components = Components {
    built: &["hz"],
    later: &[],
    help: "use timer.profile.freq.hz(n)",
};

pub const OF_RATE: Components = Components {
    built: &[],
    later: &[],
    help: "nothing may follow how often it is",
};

pub const OF_TIMER_UNIT: Components = Components {
    built: &["randomize"],
    later: &[],
    help: "only .randomize(n) may follow, not behind hz",
};

pub const OF_RANDOMIZED: Components = Components {
    built: &[],
    later: &[],
    help: "nothing may follow",
};

pub const OF_SESSION: Components = Components {
    built: &[],
    later: &[],
    help: "nothing may follow begin, end, error and never",
};

/// Kinds of points, each under those that it may follow; arguments as `-l` would show them.
const TREE: &[(&str, &Components)] = &[
    ("timer", &OF_TIMER),
    ("timer.ms(n)", &OF_TIMER_UNIT),
    ("timer.profile", &OF_PROFILE),
    ("timer.profile.freq", &OF_FREQ),
    ("process(\"PATH\")", &OF_PROCESS),
    ("process(\"PATH\").function(\"NAME\")", &OF_FUNCTION),
    ("process(\"PATH\").statement(\"PLACE\")", &OF_STATEMENT),
    ("process(\"PATH\").plt(\"NAME\")", &OF_PLT),
    ("process(\"PATH\").provider(\"NAME\")", &OF_PROVIDER),
    ("process(\"PATH\").thread", &OF_THREAD),
    ("process(\"PATH\").data(\"NAME\")", &OF_DATA),
    ("process(\"PATH\").syscall", &OF_SYSCALL),
    ("kernel", &OF_KERNEL),
    ("kernel.function(\"NAME\")", &OF_KERNEL_FUNCTION),
    ("kernel.statement(\"PLACE\")", &OF_KERNEL_STATEMENT),
    ("kernel.data(\"NAME\")", &OF_DATA),
    ("kprobe", &OF_KPROBE),
    ("kprobe.function(\"NAME\")", &OF_KERNEL_FUNCTION),
    ("kprobe.module(\"NAME\")", &OF_MODULE),
    ("module(\"NAME\")", &OF_MODULE),
    ("module(\"NAME\").function(\"NAME\")", &OF_KERNEL_FUNCTION),
    (
        "module(\"NAME\").statement(\"PLACE\")",
        &OF_KERNEL_STATEMENT,
    ),
];

/// What takes an argument, by its word.
fn with_argument(word: &str) -> String {
    match word {
        "function" | "plt" | "mark" | "hook" | "provider" | "label" | "callee" | "data"
        | "trace" | "module" => format!("{word}(\"NAME\")"),
        "library" | "plugin" => format!("{word}(\"PATH\")"),
        "statement" => format!("{word}(\"PLACE\")"),
        "s" | "sec" | "ms" | "msec" | "us" | "usec" | "ns" | "nsec" | "jiffies" | "hz"
        | "randomize" | "maxactive" | "callees" | "length" | "number" => format!("{word}(n)"),
        _ => word.to_string(),
    }
}

/// The words that may follow these, each with its argument: `["timer"]` gives `s(n)` and so on. A
/// library's points are its program's. Empty: nothing may follow.
pub fn after(words: &[&str]) -> Vec<(&'static str, String)> {
    let own = words
        .iter()
        .filter(|w| !matches!(**w, "library" | "plugin"));
    let shown = own.map(|word| match *word {
        "process" => "process(\"PATH\")".to_string(),
        unit if words[0] == "timer" && with_argument(unit).ends_with("(n)") => "ms(n)".to_string(),
        word => with_argument(word),
    });
    let before = shown.collect::<Vec<_>>().join(".");
    let found = TREE.iter().find(|t| t.0 == before);
    let built = found.map_or(&[][..], |t| t.1.built);
    built.iter().map(|w| (*w, with_argument(w))).collect()
}

/// The words alone; behind nothing those that a point begins with.
pub fn words_after(words: &[&str]) -> Vec<&'static str> {
    match words {
        [] => FIRST.to_vec(),
        _ => after(words).into_iter().map(|w| w.0).collect(),
    }
}

/// May the word have such an argument, or none?
pub fn takes(word: &str, arg: &Option<Literal>) -> bool {
    let form = with_argument(word);
    let either = ["process", "function", "statement", "data"].contains(&word);
    match arg {
        None => form == word || ["plt", "callees"].contains(&word),
        Some(Literal::Number(_)) => {
            either || form.ends_with("(n)") || SESSION.contains(&&*format!("{word}(n)"))
        }
        Some(Literal::String(_)) => either || form.ends_with("\")"),
    }
}

/// May the word stand there for all of a kernel's, or a module's, that have a name?
pub fn takes_all_names(before: &[&str], word: &str) -> bool {
    let of_kernel = matches!(
        before,
        ["kernel" | "module" | "kprobe"] | ["kprobe", "module"]
    );
    of_kernel && matches!(word, "function" | "trace")
}

/// What is not of a program or a timer.
const SESSION: [&str; 7] = [
    "begin", "begin(n)", "end", "end(n)", "error", "error(n)", "never",
];

/// First words of the points that can be used.
pub const FIRST: [&str; 7] = [
    "begin", "end", "error", "never", "process", "timer", "kernel",
];

/// A line for each kind of point that can be used.
pub fn types() -> Vec<String> {
    let mut all: Vec<String> = SESSION.map(str::to_string).to_vec();
    for (before, components) in TREE {
        let words = components.built.iter().map(|w| with_argument(w));
        all.extend(words.map(|w| format!("{before}.{w}")));
    }
    all
}

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

/// What stands before the arguments.
pub fn words(point: &ProbePoint) -> Vec<&str> {
    point
        .components
        .iter()
        .map(|c| c.name.name.as_str())
        .collect()
}

/// The point's components as `pp()` shows them.
pub fn text<'a>(components: impl IntoIterator<Item = &'a Component>) -> String {
    let words: Vec<String> = components
        .into_iter()
        .map(|c| match &c.arg {
            None => c.name.name.clone(),
            Some(Literal::Number(n)) => format!("{}({})", c.name.name, n.value),
            Some(Literal::String(s)) => format!("{}(\"{}\")", c.name.name, s.text()),
        })
        .collect();
    words.join(".")
}

#[cfg(test)]
mod tests {
    use super::after;

    #[test]
    fn what_may_follow() {
        let words = |before: &[&str]| after(before).into_iter().map(|w| w.1).collect::<Vec<_>>();
        assert!(words(&["process"]).contains(&"function(\"NAME\")".to_string()));
        assert!(words(&["process", "library", "function"]).contains(&"return".to_string()));
        assert_eq!(words(&["timer", "s"]), ["randomize(n)"]);
        assert!(words(&["timer"]).contains(&"profile".to_string()));
        assert!(words(&["process", "mark"]).is_empty() && words(&["begin"]).is_empty());
    }
}
