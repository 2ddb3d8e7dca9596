// SPDX-License-Identifier: MIT
//! The ready commands. Each has a script of the same name in examples/ready.

pub struct Ready {
    pub name: &'static str,
    pub what: &'static str,
    /// Behind `trapless NAME [OPTIONS]`.
    pub usage: &'static str,
    /// What the words are, and how many there have to be.
    pub words: Option<Words>,
    /// Main options that --help shows of this one only.
    pub shows: &'static [&'static str],
    pub options: &'static [Own],
    /// The script's arguments, in order.
    pub args: &'static [Arg],
    /// Of -D, where the command line says nothing else.
    pub limits: &'static [&'static str],
    /// Of --format, where the command line says nothing else.
    pub format: Option<&'static str>,
    /// How the output is to be read, and examples.
    pub ending: &'static str,
}

pub struct Words {
    pub help: &'static str,
    pub needed: bool,
}

/// An option of one command's own.
pub struct Own {
    pub name: &'static str,
    /// "": a switch.
    pub value: &'static str,
    pub help: &'static str,
    pub takes: Takes,
}

/// What an option's value may be.
pub enum Takes {
    Nothing,
    /// From 1 to this.
    Number(u32),
    /// One of these, each with the script's words for it.
    OneOf(&'static [(&'static str, &'static str)]),
    /// Names with commas, and * in them.
    Names,
    /// A library's name; may be given several times.
    Libraries,
}

/// Where a script's argument comes from.
pub enum Arg {
    /// The words, or these where there are none, and all functions of each --library, as points behind `process.`.
    Points(&'static str),
    /// An option's value, or this where it is not given; of a switch 1, or this.
    Value(&'static str, &'static str),
    /// Two: what --every says, on a terminal this without it, else 0; and the lines of the terminal that is drawn anew, or 0.
    Live(&'static str),
    /// Of the terminal, or 0.
    Columns,
}

const EVERY: Own = Own {
    name: "every",
    value: "SECONDS",
    help: "Show the table so far every SECONDS; on a terminal the screen is drawn anew",
    takes: Takes::Number(86_400),
};

const ROWS: Own = Own {
    name: "rows",
    value: "N",
    help: "Lines that a table has at most [default: 30]",
    takes: Takes::Number(100_000),
};

const LIBRARY: Own = Own {
    name: "library",
    value: "NAME",
    help: "All functions that this library exports, too; may be given several times",
    takes: Takes::Libraries,
};

const FUNCTIONS: &str = "Functions, with * and ? as in probe points; of a library LIBRARY:FUNCTION";

/// Tables of a large program are walked at once.
const WALKS: &str = "MAXACTION=100000000";

pub const READY: &[Ready] = &[
    Ready {
        name: "top",
        what: "which functions are called most, and take longest",
        usage: "[FUNCTION...]",
        words: Some(Words {
            help: FUNCTIONS,
            needed: false,
        }),
        shows: &[],
        options: &[
            EVERY,
            ROWS,
            Own {
                name: "sort",
                value: "BY",
                help: "What orders the functions: their total time, or another figure [default: total]",
                takes: Takes::OneOf(&[("total", "@sum"), ("calls", "@count"), ("average", "@avg"), ("max", "@max")]),
            },
            LIBRARY,
        ],
        args: &[
            Arg::Points("*"),
            Arg::Live("1"),
            Arg::Value("rows", "30"),
            Arg::Value("sort", "@sum"),
            Arg::Columns,
        ],
        limits: &[WALKS],
        format: None,
        ending: "\
Without FUNCTION all of the program's own are shown. On a terminal the screen is drawn anew every second; \
elsewhere there is one table, at the end. Times go from \
entry to return, so what a function calls is in its time, too. Calls that have not returned have no time. \
Every function costs two probes: name those that you care for where a program has very many.

Examples:
  trapless top -x 1234                    all functions of a process; Ctrl-C ends it
  trapless top 'libsqlite3.so.0:sqlite3_*' -- sqlite3 :memory: 'select 1'
  trapless top libc.so.6:malloc libc.so.6:free --sort calls -c 'git --version'
  trapless top -x 1234 --library libz.so.1 -T 10 --format json -o calls.json",
    },
    Ready {
        name: "hist",
        what: "how long calls of functions take, as histograms",
        usage: "FUNCTION...",
        words: Some(Words {
            help: FUNCTIONS,
            needed: true,
        }),
        shows: &[],
        options: &[EVERY],
        args: &[
            Arg::Points(""), Arg::Live("0"),
        ],
        limits: &[WALKS],
        format: None,
        ending: "\
For each function: how many calls have returned, and nanoseconds from entry to return. In a histogram each \
row has the calls that took at least so many nanoseconds, and less than the next row's.

Examples:
  trapless hist libc.so.6:malloc -- ls -l /
  trapless hist 'handle_*' -x 1234        until Ctrl-C
  trapless hist libc.so.6:write --every 5 -x 1234",
    },
    Ready {
        name: "trace",
        what: "every call of a program's functions, with its time, indented",
        usage: "[FUNCTION...]",
        words: Some(Words {
            help: FUNCTIONS,
            needed: false,
        }),
        shows: &["depth", "min"],
        options: &[LIBRARY],
        args: &[Arg::Points("*")],
        limits: &[],
        format: Some("calls"),
        ending: "\
Without FUNCTION all of the program's own are shown. A line has how long the call took, from entry to return, \
the thread, and the function, indented by who called it. A call that was left by an exception or longjmp has no \
time, nor has one that had not returned at the end. --format perfetto -o FILE draws the same calls on \
https://ui.perfetto.dev; --format raw keeps them for --convert, which takes --depth and --min, too.

Examples:
  trapless trace 'libc.so.6:*dir' -- ls /
  trapless trace --min 100us --depth 5 -x 1234    until Ctrl-C
  trapless trace 'libsqlite3.so.0:sqlite3_*' -- sqlite3 :memory: 'select 1'
  trapless trace --format perfetto -o calls.pftrace -x 1234 -T 5",
    },
    Ready {
        name: "strace",
        what: "the system calls of a program and its children",
        usage: "",
        words: None,
        shows: &[],
        options: &[
            Own {
                name: "summary",
                value: "",
                help: "No lines, but a table at the end: calls, errors and time of each system call",
                takes: Takes::Nothing,
            },
            Own {
                name: "calls",
                value: "NAMES",
                help: "Only these system calls: names with commas, * in them",
                takes: Takes::Names,
            },
            Own {
                name: "times",
                value: "",
                help: "Behind each line how long the call took, in seconds",
                takes: Takes::Nothing,
            },
        ],
        args: &[
            Arg::Value("calls", "*"),
            Arg::Value("summary", "0"),
            Arg::Value("times", "0"),
        ],
        limits: &[WALKS],
        format: None,
        ending: "\
A line is written when a call returns; lines of other threads than the program's first begin with [pid N]. \
No thread is stopped for it. The lines go to the program's own output, unless -o names a file.

Examples:
  trapless strace -o calls.txt -- git --version
  trapless strace --calls openat,execve -c 'make -s'
  trapless strace --summary -x 1234       until Ctrl-C",
    },
    Ready {
        name: "profile",
        what: "where a program spends its time: stacks for a flame graph",
        usage: "",
        words: None,
        shows: &[],
        options: &[Own {
            name: "hz",
            value: "N",
            help: "Samples a second [default: 99]",
            takes: Takes::Number(1000),
        }],
        args: &[Arg::Value("hz", "99")],
        limits: &[WALKS, "MAXSTRINGLEN=4096", "MAXBACKTRACE=128"],
        format: None,
        ending: "\
Threads that run are sampled; those that sleep are not disturbed. A line for each stack, \
`main;parse;read_token 12`, with the process's name before it and the number of samples behind it: what \
flamegraph.pl, inferno-flamegraph and speedscope.app take.

Examples:
  trapless profile -x 1234 -T 10 -o stacks.folded
  trapless profile --hz 500 -o stacks.folded -- git log --all --stat",
    },
    Ready {
        name: "leaks",
        what: "which allocations are not given back, by who made them",
        usage: "",
        words: None,
        shows: &[],
        options: &[ROWS],
        args: &[Arg::Value("rows", "30")],
        limits: &[WALKS],
        format: None,
        ending: "\
Of what malloc, calloc and realloc of libc.so.6 gave since the start of the trace. What is still in use then \
counts, too: look for places whose bytes grow from one run to a longer one.

Examples:
  trapless leaks -x 1234                  until Ctrl-C
  trapless leaks -- git log --oneline",
    },
];

/// For --help: a line each.
pub fn list() -> String {
    let line = |r: &Ready| format!("  {:<9}{}\n", r.name, r.what);
    let lines: String = READY.iter().map(line).collect();
    format!("Ready commands, without a script (trapless NAME --help):\n{lines}")
}
