// SPDX-License-Identifier: MIT
//! The command line. Each flag is defined once; parser, help, completions and
//! the option list of the manual come from here.

use crate::events::caller::{self, Caller};
use crate::ready::table;
use clap::{CommandFactory, Parser};
use std::path::PathBuf;
use trapless_events::write::Format;

// The groups, as --help and the manual have them.
const HELP: &str = "Help";
const RUN: &str = "Run a script";
const EVENTS: &str = "Trace standard events, without a script";
const LIST: &str = "List what can be probed, and called";
const LOOK: &str = "Look inside";
const SESSIONS: &str = "Sessions that run";
const LIMITS: &str = "Limits";
const MODULES: &str = "Modules and their cache";
const STAP: &str = "Compatibility with stap";

/// What -h shows.
const BRIEF: [&str; 15] = [
    "brief",
    "help",
    "script",
    "example",
    "interactive",
    "command",
    "pid",
    "time_limit",
    "output",
    "trace_events",
    "list",
    "list_vars",
    "explain",
    "monitor",
    "sessions",
];

/// Trace a live process with a SystemTap script: handlers run inside the
/// target, reached by a jump instead of a breakpoint.
#[derive(Parser, Debug)]
#[command(
    name = "trapless",
    version,
    about,
    before_help = beginning(),
    after_help = ENDING,
    disable_help_flag = true,
    disable_version_flag = true,
    disable_help_subcommand = true
)]
pub struct Options {
    /// The most used options; --help has them all
    #[arg(short = 'h', help_heading = HELP)]
    pub brief: bool,

    /// All options, by groups
    #[arg(long, action = clap::ArgAction::HelpShort, help_heading = HELP)]
    pub help: Option<bool>,

    #[arg(short = 'V', long, action = clap::ArgAction::Version, help = "The version", help_heading = HELP)]
    pub version: Option<bool>,

    /// The script text; then every word that is left is an argument of the script
    #[arg(short = 'e', value_name = "SCRIPT", help_heading = RUN)]
    pub script: Option<String>,

    /// More script text, parsed behind the script itself
    #[arg(short = 'E', value_name = "SCRIPT", help_heading = RUN)]
    pub more: Vec<String>,

    /// FILE is the name of a script that comes with trapless
    #[arg(long, conflicts_with_all = ["script", "list", "list_vars"], help_heading = RUN)]
    pub example: bool,

    /// Put a script together at a prompt, line by line, and run it from there; `help` there shows how
    #[arg(short = 'i', long, conflicts_with_all = ["script", "list", "list_vars", "asking", "coverage"], help_heading = RUN)]
    pub interactive: bool,

    /// Run PROGRAM, which is written for bpftrace: it is translated to a script; words that are left are its $1, $2 ...
    /// With -p1 the script is shown, and with -v, too
    #[arg(long, value_name = "PROGRAM", conflicts_with_all = OTHER_THAN_BPFTRACE, help_heading = RUN)]
    pub bpftrace: Option<String>,

    /// Start CMD, trace it from its first instruction, end with it
    #[arg(short = 'c', value_name = "CMD", help_heading = RUN)]
    pub command: Option<String>,

    /// Trace the running process PID
    #[arg(short = 'x', value_name = "PID", conflicts_with = "command", value_parser = process_number, help_heading = RUN)]
    pub pid: Option<u32>,

    /// Let children of the traced programs, and processes that start later, run untraced
    #[arg(long, help_heading = RUN)]
    pub no_follow: bool,

    /// Launch CMD with a preloaded agent: for places where ptrace is forbidden
    #[arg(long, requires = "command", help_heading = RUN)]
    pub preload: bool,

    /// End the session after SECONDS
    #[arg(short = 'T', value_name = "SECONDS", value_parser = seconds, help_heading = RUN)]
    pub time_limit: Option<u32>,

    /// Write the output to FILE
    #[arg(short = 'o', value_name = "FILE", help_heading = RUN)]
    pub output: Option<PathBuf>,

    /// Write the output as FORMAT: text as the script prints it; one JSON object a line; a table (csv); a trace for
    /// babeltrace2 and Trace Compass in the folder FILE (ctf), or for the Perfetto UI; calls with their times, indented;
    /// stacks as lines with counts (folded), a flame graph (svg) or a profile (pprof); or a recording for --convert (raw)
    #[arg(long, value_name = "FORMAT", value_parser = clap::builder::PossibleValuesParser::new(formats()), conflicts_with_all = ["rotate", "background", "monitor"], help_heading = RUN)]
    pub format: Option<String>,

    /// With a --format other than text: the script's globals as rows every SECONDS, and not at the end only
    #[arg(long = "every", value_name = "SECONDS", value_parser = seconds, requires = "format", conflicts_with = "convert", help_heading = RUN)]
    pub rows_every: Option<u32>,

    /// `$x$` and `$x$$` show values as debuggers do: names of enums, floats, and texts, containers and smart pointers of
    /// C++, Rust and Go; --format of anything but text does this too
    #[arg(long, help_heading = RUN)]
    pub pretty: bool,

    /// Of the formats calls and perfetto: no calls that are more than N deep
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = RUN)]
    pub depth: Option<u32>,

    /// Of the formats calls and perfetto: no calls that take less, e.g. 500ns, 10us, 1.5ms
    #[arg(long, value_name = "TIME", value_parser = nanoseconds, help_heading = RUN)]
    pub min: Option<u64>,

    /// Write the recording FILE (of `--format raw` or `trapless-run --raw`) as another --format
    #[arg(long, value_name = "FILE", conflicts_with_all = OTHER_THAN_CONVERTING, help_heading = RUN)]
    pub convert: Option<PathBuf>,

    /// Turn FILE over at so many MiB: FILE.0, FILE.1 ...; N: keep that many
    #[arg(short = 'S', value_name = "MIB[,N]", requires = "output", value_parser = rotation, help_heading = RUN)]
    pub rotate: Option<String>,

    /// Print the session's process id and leave it running in the background, its output in FILE
    #[arg(short = 'F', requires = "output", help_heading = RUN)]
    pub background: bool,

    /// Set a global of the script
    #[arg(short = 'G', value_name = "VAR=VALUE", help_heading = RUN)]
    pub globals: Vec<String>,

    /// Guru mode: handlers may change variables of the traced program
    #[arg(short = 'g', help_heading = RUN)]
    pub guru: bool,

    /// Look for script libraries in DIR too
    #[arg(short = 'I', value_name = "DIR", help_heading = RUN)]
    pub include: Vec<PathBuf>,

    /// Variables of the program that cannot be read are 0, with a warning, instead of an error
    #[arg(long, help_heading = RUN)]
    pub skip_badvars: bool,

    /// Do not print globals at the end that are written only
    #[arg(long, help_heading = RUN)]
    pub no_global_var_display: bool,

    /// Script file (`-`: standard input), then the script's arguments
    #[arg(value_name = "FILE | ARGS", allow_negative_numbers = true)]
    pub words: Vec<String>,

    /// Print a line for each of these events: names with commas, * and ? in them, or PROVIDER:NAME of a program's own hooks
    /// or a kernel's tracepoints, e.g. sys_enter,exec,net:*; of -c CMD or -x PID, with -r of a kernel. `help` lists them;
    /// with -p1 the script is shown that does it
    #[arg(long, value_name = "LIST", conflicts_with_all = OTHER_THAN_EVENTS, help_heading = EVENTS)]
    pub trace_events: Option<String>,

    /// Of sys_enter: the nearest of DEPTH callers that lies in the program, or between two addresses (LOW-HIGH, the second
    /// one behind the last), or in the program or library of this name
    #[arg(long, value_name = "DEPTH[,LOW-HIGH|,FILE]", requires = "trace_events", value_parser = caller::parse, help_heading = EVENTS)]
    pub trace_caller: Option<Caller>,

    /// List the probe points that PATTERN matches
    #[arg(short = 'l', value_name = "PATTERN", conflicts_with_all = ["script", "list_vars"], help_heading = LIST)]
    pub list: Option<String>,

    /// The same, with the variables that can be read there
    #[arg(short = 'L', value_name = "PATTERN", conflicts_with = "script", help_heading = LIST)]
    pub list_vars: Option<String>,

    /// Say how much of the program or library FILE, of kernel or of module("NAME") can be probed, and how; with -v for
    /// each instruction
    #[arg(long, value_name = "FILE", conflicts_with_all = ["script", "command", "pid", "list", "list_vars", "words"], help_heading = LIST)]
    pub coverage: Option<PathBuf>,

    /// List the functions of the script library
    #[arg(long, help_heading = LIST)]
    pub dump_functions: bool,

    /// List the kinds of probe points
    #[arg(long, help_heading = LIST)]
    pub dump_probe_types: bool,

    /// List the probe points of the script library, and what they stand for
    #[arg(long, help_heading = LIST)]
    pub dump_probe_aliases: bool,

    /// Answer an editor that speaks the language server protocol, on standard input and output; -c, -x, -g, -I, -D and
    /// the arguments hold for all scripts
    #[arg(long, conflicts_with_all = OTHER_THAN_EDITING, help_heading = LIST)]
    pub language_server: bool,

    /// Say for each probe: where, which rung of the placement ladder, why not a better one
    #[arg(long, help_heading = LOOK)]
    pub explain: bool,

    /// At the end, behind the script's output: each probe's hits, and the cycles that its handler took (least, average, most)
    #[arg(short = 't', help_heading = LOOK)]
    pub timing: bool,

    /// Say what each pass did and how long it took; twice: more
    #[arg(short = 'v', action = clap::ArgAction::Count, help_heading = LOOK)]
    pub verbose: u8,

    /// How much each of five passes says, a digit for each; as -v, the largest holds for all
    #[arg(long, value_name = "DIGITS", value_parser = digits, help_heading = LOOK)]
    pub vp: Option<u8>,

    /// Know the functions and variables of this program or library, too, where addresses are shown by name
    #[arg(short = 'd', value_name = "FILE", help_heading = LOOK)]
    pub symbols_of: Vec<String>,

    /// No warnings, and no closing lines
    #[arg(short = 'w', help_heading = LOOK)]
    pub no_warnings: bool,

    /// Warnings are errors
    #[arg(short = 'W', conflicts_with = "no_warnings", help_heading = LOOK)]
    pub warnings_are_errors: bool,

    /// Colours in messages: `auto` where standard error is a terminal and NO_COLOR is not set
    #[arg(long, value_name = "WHEN", visible_alias = "colour", num_args = 0..=1, require_equals = true,
        default_value = "auto", default_missing_value = "always", value_parser = ["auto", "always", "never"], help_heading = LOOK)]
    pub color: String,

    /// Show the probes with their hits, and the script's globals, anew every SECONDS (1); on a terminal keys switch probes
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "1",
        value_parser = seconds, conflicts_with = "background", help_heading = SESSIONS)]
    pub monitor: Option<u32>,

    /// List the sessions that run, their probes, states and hits
    #[arg(long, group = "asking", conflicts_with_all = OTHER_THAN_ASKING, help_heading = SESSIONS)]
    pub sessions: bool,

    /// Switch on probes of sessions that run: a number of the list, or a pattern of points, aliases or functions
    #[arg(long, value_name = "PROBES", group = "asking", conflicts_with_all = OTHER_THAN_ASKING, help_heading = SESSIONS)]
    pub enable: Option<String>,

    /// Switch off probes of sessions that run; they cost nothing then
    #[arg(long, value_name = "PROBES", group = "asking", conflicts_with_all = OTHER_THAN_ASKING, help_heading = SESSIONS)]
    pub disable: Option<String>,

    /// off: all probes of sessions that run stand on breakpoints; on: jumps again
    #[arg(long, value_name = "on|off", group = "asking", conflicts_with_all = OTHER_THAN_ASKING, help_heading = SESSIONS)]
    pub optimize: Option<String>,

    /// Of --sessions, --enable, --disable and --optimize: the session with this number; where several run, none is
    /// changed without it, and `all` means all
    #[arg(long, value_name = "PID|all", requires = "asking", help_heading = SESSIONS)]
    pub session: Option<String>,

    /// Set a limit: MAXSTRINGLEN, MAXACTION, MAXACTION_INTERRUPTIBLE, MAXMAPENTRIES (elements of an array), MAPMEMORY (MiB that all arrays without a size may grow to together: 256, in a kernel 16, at most 960), MAXERRORS, MAXSKIPPED, MAXNESTING, MAXBACKTRACE (frames of a stack: 32),
    /// HIST_ELISION (empty rows of a histogram shown beside others: 2, or -1 for all), RINGSIZE (bytes that one thread may print ahead of what is read: all that -s gives)
    #[arg(short = 'D', value_name = "NAME=VALUE", help_heading = LIMITS)]
    pub limits: Vec<String>,

    /// MiB for what all threads together print ahead of what is read: 128, at most 1024; memory is taken as it is used
    #[arg(short = 's', value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = LIMITS)]
    pub buffer: Option<u32>,

    /// Run-time errors end their handler, and nothing else: neither are they shown, nor do they end the session
    #[arg(long, help_heading = LIMITS)]
    pub suppress_handler_errors: bool,

    /// Handlers may run as long as they like (MAXACTION); only with -g
    #[arg(long, requires = "guru", help_heading = LIMITS)]
    pub suppress_time_limits: bool,

    /// Bytes of address space that the passes and the compiler may have, each; the session has not these limits
    #[arg(long, value_name = "BYTES", help_heading = LIMITS)]
    pub rlimit_as: Option<u64>,

    /// Seconds of processor time, likewise
    #[arg(long, value_name = "SECONDS", help_heading = LIMITS)]
    pub rlimit_cpu: Option<u64>,

    /// Processes of the user while the compiler is started
    #[arg(long, value_name = "COUNT", help_heading = LIMITS)]
    pub rlimit_nproc: Option<u64>,

    /// Bytes of stack, likewise
    #[arg(long, value_name = "BYTES", help_heading = LIMITS)]
    pub rlimit_stack: Option<u64>,

    /// Bytes of a file that is written, likewise
    #[arg(long, value_name = "BYTES", help_heading = LIMITS)]
    pub rlimit_fsize: Option<u64>,

    /// Stop after pass N: 1 parse, 2 analyse, 3 translate, 4 compile, 5 run
    #[arg(short = 'p', value_name = "N", default_value_t = 5, overrides_with = "last_pass", value_parser = clap::value_parser!(u8).range(1..=5), help_heading = MODULES)]
    pub last_pass: u8,

    /// Name of the module and of its sessions; with -p4 it is left as NAME.tap in this folder (without -m: script.tap)
    #[arg(short = 'm', value_name = "NAME", help_heading = MODULES)]
    pub module: Option<String>,

    /// The kernel that the module is for, and that the script's conditionals see, in place of the running one; of a script
    /// that probes processes only, the conditionals alone. For a kernel's types its files are read: /boot/vmlinuz-RELEASE,
    /// /usr/lib/modules/RELEASE/vmlinuz; DIR has boot/vmlinuz-* or vmlinux
    #[arg(short = 'r', value_name = "RELEASE|DIR", help_heading = MODULES)]
    pub release: Option<String>,

    /// Processor of the target: x86_64 (others are not built yet)
    #[arg(short = 'a', value_name = "ARCH", help_heading = MODULES)]
    pub arch: Option<String>,

    /// Keep the generated C and object files, and say where
    #[arg(short = 'k', help_heading = MODULES)]
    pub keep: bool,

    /// The C compiler
    #[arg(long, value_name = "PROGRAM", env = "CC", default_value = "gcc", help_heading = MODULES)]
    pub cc: String,

    /// Do not read or write the module cache
    #[arg(long, visible_alias = "disable-cache", help_heading = MODULES)]
    pub no_cache: bool,

    /// Write the module cache, but do not read it
    #[arg(long, help_heading = MODULES)]
    pub poison_cache: bool,

    /// Empty the module cache and exit
    #[arg(long, help_heading = MODULES)]
    pub clean_cache: bool,

    /// Folder for temporary files
    #[arg(long, value_name = "DIR", env = "TMPDIR", hide_env_values = true, help_heading = MODULES)]
    pub tmpdir: Option<PathBuf>,

    /// Print completions for SHELL (bash, zsh, fish ...) and exit
    #[arg(long, value_name = "SHELL", hide = true, exclusive = true)]
    pub completions: Option<clap_complete::Shell>,

    /// The script's conditionals see this as `systemtap_v`
    #[arg(long, value_name = "VERSION", value_parser = version, help_heading = STAP)]
    pub compatible: Option<String>,

    /// The script's conditionals see this as `systemtap_privilege`; rights are those of whoever runs trapless
    #[arg(long, value_name = "LEVEL", value_parser = ["stapusr", "stapsys", "stapdev"], help_heading = STAP)]
    pub privilege: Option<String>,

    /// The same as --privilege=stapusr
    #[arg(long, conflicts_with = "privilege", help_heading = STAP)]
    pub unprivileged: bool,

    /// Nothing to do here (-d for the libraries that the programs need): always on
    #[arg(long, help_heading = STAP)]
    pub ldd: bool,

    /// Nothing to do here (SystemTap's optimiser off): no part of a script is ever left out
    #[arg(short = 'u', help_heading = STAP)]
    pub unoptimized: bool,

    /// Nothing to do here (SystemTap's bulk mode): each thread has a buffer of its own
    #[arg(short = 'b', help_heading = STAP)]
    pub bulk: bool,

    /// Nothing to do here: handlers run inside the program, whatever backend is named
    #[arg(long, value_name = "BACKEND", value_parser = ["kernel", "dyninst", "bpf"], help_heading = STAP)]
    pub runtime: Option<String>,

    /// The same as --runtime=dyninst, and --runtime=bpf
    #[arg(long, help_heading = STAP)]
    pub dyninst: bool,
    #[arg(long, hide = true)]
    pub bpf: bool,

    /// Nothing to do here: no kernel module is built
    #[arg(short = 'B', value_name = "NAME=VALUE", help_heading = STAP)]
    pub build: Vec<String>,

    #[arg(long, value_name = "NAME=VALUE", hide = true)]
    pub modinfo: Vec<String>,

    #[arg(long, hide = true)]
    pub save_uprobes: bool,

    #[arg(long, hide = true)]
    pub all_modules: bool,

    /// Nothing to do here: parameters are read where debug information says they are
    #[arg(short = 'P', long, help_heading = STAP)]
    pub prologue_searching: bool,

    /// Nothing to do here: the language has no parts that depend on --compatible
    #[arg(long, help_heading = STAP)]
    pub check_version: bool,

    /// Nothing to do here: all errors of a script are shown at once
    #[arg(long, help_heading = STAP)]
    pub semantic_keep_going: bool,
}

/// Of `--format`: the recording itself.
pub const RAW: &str = "raw";

fn formats() -> Vec<&'static str> {
    Format::names().chain([RAW]).collect()
}

/// The most used options alone.
pub fn brief() -> clap::builder::StyledStr {
    let all = Options::command()
        .before_help(table::list())
        .after_help("All options, by groups, with examples: trapless --help");
    let shown = |a: clap::Arg| {
        let hidden = !a.is_positional() && !BRIEF.contains(&a.get_id().as_str());
        a.hide(hidden)
    };
    all.mut_args(shown).render_help()
}

fn beginning() -> String {
    format!("{EXAMPLES}\n\n{}", table::list())
}

/// As timer.s() takes them.
fn process_number(text: &str) -> Result<u32, String> {
    let wrong = |_| "a process number is wanted; pgrep NAME shows those of a program".to_string();
    text.parse().map_err(wrong)
}

/// A number with its unit, or of nanoseconds.
fn nanoseconds(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, f64); 5] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("", 1.0)];
    let found = UNITS.iter().find_map(|(unit, ns)| {
        let number: f64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        Some(number * ns)
    });
    match found {
        Some(ns) if (0.0..1e18).contains(&ns) => Ok(ns.round() as u64),
        _ => Err("a time is wanted, with ns, us, ms or s behind the number".into()),
    }
}

fn seconds(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err(
            "whole seconds, 1 or more; for parts of one say in the script when it ends, \
             e.g. probe timer.ms(1500) { exit() }"
                .into(),
        ),
    }
}

/// `MIB` or `MIB,N`
fn rotation(text: &str) -> Result<String, String> {
    let number = |part: &str| part.parse::<u32>().is_ok_and(|n| n > 0);
    let (size, keep) = text.split_once(',').unwrap_or((text, "1"));
    match number(size) && number(keep) {
        true => Ok(text.to_string()),
        false => Err("whole MiB, and after a comma how many files are kept, e.g. 10,5".into()),
    }
}

/// The largest digit.
fn digits(text: &str) -> Result<u8, String> {
    let value = |c: char| c.to_digit(10).map(|d| d as u8);
    let all: Option<Vec<u8>> = text.chars().map(value).collect();
    match all.and_then(|d| d.into_iter().max()) {
        Some(n) if text.len() <= 5 => Ok(n),
        _ => Err("a digit for each of five passes, e.g. 00020".into()),
    }
}

/// A version as conditionals compare it.
fn version(text: &str) -> Result<String, String> {
    let number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    match text.split('.').all(number) {
        true => Ok(text.to_string()),
        false => Err("a version is numbers with points, e.g. 4.8".into()),
    }
}

/// What a request to running sessions has nothing to do with.
const OTHER_THAN_ASKING: [&str; 7] = [
    "script",
    "command",
    "pid",
    "list",
    "list_vars",
    "words",
    "coverage",
];

/// What makes a recording.
const OTHER_THAN_CONVERTING: [&str; 9] = [
    "script",
    "words",
    "command",
    "pid",
    "list",
    "list_vars",
    "trace_events",
    "asking",
    "coverage",
];

/// What needs a script, or none.
const OTHER_THAN_EVENTS: [&str; 10] = [
    "script",
    "words",
    "example",
    "interactive",
    "list",
    "list_vars",
    "asking",
    "coverage",
    "language_server",
    "globals",
];

/// What has no place beside a program of bpftrace.
const OTHER_THAN_BPFTRACE: [&str; 10] = [
    "script",
    "example",
    "interactive",
    "list",
    "list_vars",
    "trace_events",
    "convert",
    "asking",
    "coverage",
    "language_server",
];

/// What no editor's script is run with.
const OTHER_THAN_EDITING: [&str; 7] = [
    "script",
    "more",
    "list",
    "list_vars",
    "output",
    "module",
    "asking",
];

const EXAMPLES: &str = "\
Examples:
  trapless -c 'ls -l /' -e 'global n  probe end { print(@hist_log(n)) }
      probe process.library(\"libc.so.6\").function(\"malloc\") { n <<< ulong_arg(1) }'
  trapless -l 'process(\"bash\").function(\"*alias*\")'
  trapless -p4 -m calls calls.stp        then, also where there is no compiler:
  trapless-run calls.tap -x 1234";

const ENDING: &str = "\
Without -c and -x, process(\"PATH\") means every process of that program that runs now and
that you may trace.

Exit status: 2 when the command line is wrong; 1 when the script, the target or a probe
was refused (but not one with `?`, or some of those that a wildcard matched), or a handler
failed; else with -c that of CMD (128 + n when signal n ended it), otherwise 0, whether
the target ended, the script by exit(), or you by an interrupt.";
