// SPDX-License-Identifier: MIT
//! The command line. Each flag is defined once; parser, help, completions and
//! the option list of the manual come from here.

use clap::Parser;
use std::path::PathBuf;

/// Trace a live process with a SystemTap script: handlers run inside the
/// target, reached by a jump instead of a breakpoint.
#[derive(Parser, Debug)]
#[command(
    name = "trapless",
    version,
    about,
    after_help = EXAMPLES,
    disable_help_subcommand = true,
    arg_required_else_help = true
)]
pub struct Options {
    /// The script text; then every word that is left is an argument of the script
    #[arg(short = 'e', value_name = "SCRIPT")]
    pub script: Option<String>,

    /// More script text, parsed behind the script itself
    #[arg(short = 'E', value_name = "SCRIPT")]
    pub more: Vec<String>,

    /// Put a script together at a prompt, line by line, and run it from there; `help` there shows how
    #[arg(short = 'i', long, conflicts_with_all = ["script", "list", "list_vars", "asking", "coverage"])]
    pub interactive: bool,

    /// FILE is the name of a script that comes with trapless; -i lists them by `sample`
    #[arg(long, conflicts_with_all = ["script", "list", "list_vars"])]
    pub example: bool,

    /// Start CMD, trace it from its first instruction, end with it
    #[arg(short = 'c', value_name = "CMD")]
    pub command: Option<String>,

    /// Trace the running process PID
    #[arg(short = 'x', value_name = "PID", conflicts_with = "command")]
    pub pid: Option<u32>,

    /// Stop after pass N: 1 parse, 2 analyse, 3 translate, 4 compile, 5 run
    #[arg(short = 'p', value_name = "N", default_value_t = 5, overrides_with = "last_pass", value_parser = clap::value_parser!(u8).range(1..=5))]
    pub last_pass: u8,

    /// Write the output to FILE
    #[arg(short = 'o', value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Turn FILE over at so many MiB: FILE.0, FILE.1 ...; N: keep that many
    #[arg(short = 'S', value_name = "MIB[,N]", requires = "output", value_parser = rotation)]
    pub rotate: Option<String>,

    /// Print the session's process id and leave it running in the background, its output in FILE
    #[arg(short = 'F', requires = "output")]
    pub background: bool,

    /// Show the probes with their hits, and the script's globals, anew every SECONDS (1); on a terminal keys switch probes
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "1",
        value_parser = seconds, conflicts_with = "background")]
    pub monitor: Option<u32>,

    /// Name of the module and of its sessions; with -p4 it is left as NAME.tap in this folder (without -m: script.tap)
    #[arg(short = 'm', value_name = "NAME")]
    pub module: Option<String>,

    /// Look for script libraries in DIR too
    #[arg(short = 'I', value_name = "DIR")]
    pub include: Vec<PathBuf>,

    /// Set a limit: MAXSTRINGLEN, MAXACTION, MAXACTION_INTERRUPTIBLE, MAXMAPENTRIES (elements of an array), MAPMEMORY (MiB that all arrays without a size may grow to together: 256, at most 960), MAXERRORS, MAXSKIPPED, MAXNESTING, MAXBACKTRACE (frames of a stack: 32),
    /// HIST_ELISION (empty rows of a histogram shown beside others: 2, or -1 for all), RINGSIZE (bytes that one thread may print ahead of what is read: all that -s gives)
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    pub limits: Vec<String>,

    /// Set a global of the script
    #[arg(short = 'G', value_name = "VAR=VALUE")]
    pub globals: Vec<String>,

    /// Guru mode: handlers may change variables of the traced program
    #[arg(short = 'g')]
    pub guru: bool,

    /// List the probe points that PATTERN matches
    #[arg(short = 'l', value_name = "PATTERN", conflicts_with_all = ["script", "list_vars"])]
    pub list: Option<String>,

    /// The same, with the variables that can be read there
    #[arg(short = 'L', value_name = "PATTERN", conflicts_with = "script")]
    pub list_vars: Option<String>,

    /// Say what each pass did and how long it took; twice: more
    #[arg(short = 'v', action = clap::ArgAction::Count)]
    pub verbose: u8,

    /// How much each of five passes says, a digit for each; as -v, the largest holds for all
    #[arg(long, value_name = "DIGITS", value_parser = digits)]
    pub vp: Option<u8>,

    /// Keep the generated C and object files, and say where
    #[arg(short = 'k')]
    pub keep: bool,

    /// No warnings, and no closing lines
    #[arg(short = 'w')]
    pub no_warnings: bool,

    /// Warnings are errors
    #[arg(short = 'W', conflicts_with = "no_warnings")]
    pub warnings_are_errors: bool,

    /// Nothing to do here (SystemTap's optimiser off): no part of a script is ever left out
    #[arg(short = 'u')]
    pub unoptimized: bool,

    /// Nothing to do here (SystemTap's bulk mode): each thread has a buffer of its own
    #[arg(short = 'b')]
    pub bulk: bool,

    /// MiB for what all threads together print ahead of what is read: 128, at most 1024; memory is taken as it is used
    #[arg(short = 's', value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub buffer: Option<u32>,

    /// Know the functions and variables of this program or library, too, where addresses are shown by name
    #[arg(short = 'd', value_name = "FILE")]
    pub symbols_of: Vec<String>,

    /// The same of the libraries that the programs need; always on
    #[arg(long)]
    pub ldd: bool,

    /// At the end, behind the script's output: each probe's hits, and the cycles that its handler took (least, average, most)
    #[arg(short = 't')]
    pub timing: bool,

    /// End the session after SECONDS
    #[arg(short = 'T', value_name = "SECONDS", value_parser = seconds)]
    pub time_limit: Option<u32>,

    /// Kernel release that the script's conditionals see
    #[arg(short = 'r', value_name = "RELEASE")]
    pub release: Option<String>,

    /// Processor of the target: x86_64 (others are not built yet)
    #[arg(short = 'a', value_name = "ARCH")]
    pub arch: Option<String>,

    /// Say for each probe: where, which rung of the placement ladder, why not a better one
    #[arg(long)]
    pub explain: bool,

    /// Let children of the traced programs, and processes that start later, run untraced
    #[arg(long)]
    pub no_follow: bool,

    /// Launch CMD with a preloaded agent: for places where ptrace is forbidden
    #[arg(long, requires = "command")]
    pub preload: bool,

    /// Say how much of the program or library FILE can be probed, and how; with -v for each instruction
    #[arg(long, value_name = "FILE", conflicts_with_all = ["script", "command", "pid", "list", "list_vars", "words"])]
    pub coverage: Option<PathBuf>,

    /// List the sessions that run, their probes, states and hits
    #[arg(long, group = "asking", conflicts_with_all = OTHER_THAN_ASKING)]
    pub sessions: bool,

    /// Switch on probes of sessions that run: a number of the list, or a pattern of points or functions
    #[arg(long, value_name = "PROBES", group = "asking", conflicts_with_all = OTHER_THAN_ASKING)]
    pub enable: Option<String>,

    /// Switch off probes of sessions that run; they cost nothing then
    #[arg(long, value_name = "PROBES", group = "asking", conflicts_with_all = OTHER_THAN_ASKING)]
    pub disable: Option<String>,

    /// off: all probes of sessions that run stand on breakpoints; on: jumps again
    #[arg(long, value_name = "on|off", group = "asking", conflicts_with_all = OTHER_THAN_ASKING)]
    pub optimize: Option<String>,

    /// Of --sessions, --enable, --disable and --optimize: the session with this number; where several run, none is
    /// changed without it, and `all` means all
    #[arg(long, value_name = "PID|all", requires = "asking")]
    pub session: Option<String>,

    /// Variables of the program that cannot be read are 0, with a warning, instead of an error
    #[arg(long)]
    pub skip_badvars: bool,

    /// Nothing to do here: handlers run inside the program, whatever backend is named
    #[arg(long, value_name = "BACKEND", value_parser = ["kernel", "dyninst", "bpf"])]
    pub runtime: Option<String>,

    /// The same as --runtime=dyninst, and --runtime=bpf
    #[arg(long)]
    pub dyninst: bool,
    #[arg(long, hide = true)]
    pub bpf: bool,

    /// Nothing to do here: no kernel module is built
    #[arg(short = 'B', value_name = "NAME=VALUE")]
    pub build: Vec<String>,
    #[arg(long, value_name = "NAME=VALUE", hide = true)]
    pub modinfo: Vec<String>,
    #[arg(long, hide = true)]
    pub save_uprobes: bool,
    #[arg(long, hide = true)]
    pub all_modules: bool,

    /// Nothing to do here: parameters are read where debug information says they are
    #[arg(short = 'P', long)]
    pub prologue_searching: bool,

    /// Colours in messages: `auto` where standard error is a terminal and NO_COLOR is not set
    #[arg(long, value_name = "WHEN", visible_alias = "colour", num_args = 0..=1, require_equals = true,
        default_value = "auto", default_missing_value = "always", value_parser = ["auto", "always", "never"])]
    pub color: String,

    /// Do not print globals at the end that are written only
    #[arg(long)]
    pub no_global_var_display: bool,

    /// Run-time errors end their handler, and nothing else: neither are they shown, nor do they end the session
    #[arg(long)]
    pub suppress_handler_errors: bool,

    /// Handlers may run as long as they like (MAXACTION); only with -g
    #[arg(long, requires = "guru")]
    pub suppress_time_limits: bool,

    /// The script's conditionals see this as `systemtap_v`
    #[arg(long, value_name = "VERSION", value_parser = version)]
    pub compatible: Option<String>,

    /// Nothing to do here: the language has no parts that depend on --compatible
    #[arg(long)]
    pub check_version: bool,

    /// Nothing to do here: all errors of a script are shown at once
    #[arg(long)]
    pub semantic_keep_going: bool,

    /// The script's conditionals see this as `systemtap_privilege`; rights are those of whoever runs trapless
    #[arg(long, value_name = "LEVEL", value_parser = ["stapusr", "stapsys", "stapdev"])]
    pub privilege: Option<String>,

    /// The same as --privilege=stapusr
    #[arg(long, conflicts_with = "privilege")]
    pub unprivileged: bool,

    /// List the functions of the script library
    #[arg(long)]
    pub dump_functions: bool,

    /// List the kinds of probe points
    #[arg(long)]
    pub dump_probe_types: bool,

    /// List the probe points of the script library, and what they stand for
    #[arg(long)]
    pub dump_probe_aliases: bool,

    /// Answer an editor that speaks the language server protocol, on standard input and output; -c, -x, -g, -I, -D and
    /// the arguments hold for all scripts
    #[arg(long, conflicts_with_all = OTHER_THAN_EDITING)]
    pub language_server: bool,

    /// Do not read or write the module cache
    #[arg(long, visible_alias = "disable-cache")]
    pub no_cache: bool,

    /// Write the module cache, but do not read it
    #[arg(long)]
    pub poison_cache: bool,

    /// Empty the module cache and exit
    #[arg(long)]
    pub clean_cache: bool,

    /// Folder for temporary files
    #[arg(long, value_name = "DIR", env = "TMPDIR", hide_env_values = true)]
    pub tmpdir: Option<PathBuf>,

    /// Bytes of address space that the passes and the compiler may have, each; the session has not these limits
    #[arg(long, value_name = "BYTES")]
    pub rlimit_as: Option<u64>,

    /// Seconds of processor time, likewise
    #[arg(long, value_name = "SECONDS")]
    pub rlimit_cpu: Option<u64>,

    /// Processes of the user while the compiler is started
    #[arg(long, value_name = "COUNT")]
    pub rlimit_nproc: Option<u64>,

    /// Bytes of stack, likewise
    #[arg(long, value_name = "BYTES")]
    pub rlimit_stack: Option<u64>,

    /// Bytes of a file that is written, likewise
    #[arg(long, value_name = "BYTES")]
    pub rlimit_fsize: Option<u64>,

    /// The C compiler
    #[arg(long, value_name = "PROGRAM", env = "CC", default_value = "gcc")]
    pub cc: String,

    /// Print completions for SHELL (bash, zsh, fish ...) and exit
    #[arg(long, value_name = "SHELL", hide = true, exclusive = true)]
    pub completions: Option<clap_complete::Shell>,

    /// Script file (`-`: standard input), then the script's arguments
    #[arg(value_name = "FILE | ARGS", allow_negative_numbers = true)]
    pub words: Vec<String>,
}

/// As timer.s() takes them.
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
  trapless -x 1234 -e 'global n  probe end { println(n) }
      probe process.library(\"libc.so.6\").function(\"malloc\") { n++ }'
  trapless -l 'process(\"bash\").function(\"*alias*\")'
  trapless -p4 -m calls calls.stp        then, where there is no compiler:
  trapless-run calls.tap -x 1234

Without -c and -x, process(\"PATH\") means every process of that program that runs now and
that you may trace.

Exit status: 2 when the command line is wrong; 1 when the script, the target or a probe
was refused (but not one with `?`, or some of those that a wildcard matched), or a handler
failed; else with -c that of CMD (128 + n when signal n ended it), otherwise 0, whether
the target ended, the script by exit(), or you by an interrupt.";
