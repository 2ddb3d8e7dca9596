// SPDX-License-Identifier: MIT
//! `--format` and `--convert`: sessions and recordings in formats that other tools read.

use crate::exit::{EXIT_FAILURE, EXIT_USAGE};
use crate::forward::Forward;
use crate::options::Options;
use crate::progress::Progress;
use std::fs::File;
use std::io::{BufReader, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use trapless_events::calls::Limits;
use trapless_events::convert::{convert, Failure, Summary};
use trapless_events::event::NoteKind;
use trapless_events::raw::{Fault, Source};
use trapless_events::write::{Format, Output};

/// What the session's output is made into by us; `None`: the runner writes it.
pub fn wanted(options: &Options) -> Option<Format> {
    let format = Format::named(options.format.as_deref()?)?;
    (format != Format::Text).then_some(format)
}

/// A recording, or what is made of one.
pub fn wants_events(options: &Options) -> bool {
    let format = options.format.as_deref();
    format.is_some_and(|f| Format::named(f) != Some(Format::Text))
}

/// Of the calls that are shown.
fn limits(options: &Options) -> Limits {
    let all = Limits::default();
    Limits {
        depth: options.depth.map_or(all.depth, |n| n as usize),
        least: options.min.unwrap_or(all.least),
    }
}

/// Before anything runs: can the output be of this format? Else why, and what to do.
pub fn refuse(options: &Options) -> Option<String> {
    let format = wanted(options);
    if limits(options) != Limits::default() && !format.is_some_and(Format::has_calls) {
        return Some(
            "error: --depth and --min choose among calls, which this format does not show\n  \
             = next step: name --format calls or --format perfetto"
                .into(),
        );
    }
    let format = format?;
    (format.is_folder() && options.output.is_none()).then(|| {
        let name = options.format.as_deref().unwrap_or_default();
        format!(
            "error: --format {name} writes a folder of files\n  = next step: name the folder with -o"
        )
    })
}

/// `--convert FILE`
pub fn start(file: &Path, options: &Options) -> u8 {
    let Some(format) = Format::named(options.format.as_deref().unwrap_or("text")) else {
        eprintln!("error: a recording is raw already\n  = next step: name another --format");
        return EXIT_USAGE;
    };
    let input = match File::open(file) {
        Ok(input) => input,
        Err(e) => return failed(file, &Failure::Reading(e.into())),
    };
    let output = match Output::open(format, options.output.as_deref()) {
        Ok(output) => output,
        Err(e) => return failed(output_name(options), &Failure::Writing(e)),
    };
    let progress = Progress::start(&["converting"]);
    let (summary, result) = convert(
        Input(BufReader::with_capacity(BUFFER, input)),
        format,
        limits(options),
        output,
        &mut |n| tell(n, options),
    );
    drop(progress);
    let mut status = match &result {
        Err(e) if !e.is_enough() => failed(file, e),
        _ => 0,
    };
    if !options.no_warnings {
        tell_losses(&summary);
    }
    if summary.damaged > 0 {
        eprintln!(
            "error: {} records were damaged, and are left out",
            summary.damaged
        );
        status = EXIT_FAILURE;
    }
    status
}

/// A session whose output is made into a format as it comes.
pub struct Live<'a> {
    options: &'a Options,
    format: Format,
    output: Output,
    stream: OwnedFd,
    /// The end that the runner writes to.
    theirs: OwnedFd,
}

impl<'a> Live<'a> {
    /// Opens the output, and tells the runner where its records go. An exit status where that fails.
    pub fn prepare(
        format: Format,
        options: &'a Options,
        runner: &mut Command,
    ) -> Result<Live<'a>, u8> {
        let failed = |e| failed(output_name(options), &Failure::Writing(e));
        let output = Output::open(format, options.output.as_deref()).map_err(failed)?;
        let pipe = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
        let (stream, theirs) = pipe.map_err(|e| failed(e.into()))?;
        // The runner opens it by this name, and closes it before it starts a program.
        rustix::io::fcntl_setfd(&theirs, rustix::io::FdFlags::empty())
            .map_err(|e| failed(e.into()))?;
        runner.arg("--raw");
        runner
            .arg("-o")
            .arg(format!("/proc/self/fd/{}", theirs.as_raw_fd()));
        Ok(Live {
            options,
            format,
            output,
            stream,
            theirs,
        })
    }

    /// Runs it to its end. The exit status.
    pub fn run(self, runner: &mut Command) -> std::io::Result<u8> {
        let options = self.options;
        let mut child = runner.spawn()?;
        drop(self.theirs);
        let forward = Forward::to(child.id());
        let (summary, result) = convert(
            Input(BufReader::with_capacity(BUFFER, File::from(self.stream))),
            self.format,
            limits(options),
            self.output,
            &mut |_| {}, // the runner has told it
        );
        // Nobody reads its output any more: it ends.
        let status = child.wait()?;
        drop(forward);
        let code = status.code().or(status.signal().map(|s| 128 + s));
        let code = code.map_or(EXIT_FAILURE, |c| c as u8);
        let mine = match &result {
            // It has said why it ended before it wrote a byte.
            Err(Failure::Reading(_)) if summary == Summary::default() && code != 0 => 0,
            Err(e) if !e.is_enough() => failed(output_name(options), e),
            _ => 0,
        };
        Ok(if code != 0 { code } else { mine })
    }
}

const BUFFER: usize = 1 << 18;

/// Bytes that are there, or come.
struct Input(BufReader<File>);

impl Read for Input {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(to)
    }
}

impl Source for Input {
    fn waits(&mut self) -> bool {
        use rustix::event::{poll, PollFd, PollFlags, Timespec};
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let fd = self.0.get_ref().as_fd();
        self.0.buffer().is_empty()
            && poll(
                &mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)],
                Some(&now),
            ) == Ok(0)
    }
}

fn output_name(options: &Options) -> &Path {
    options.output.as_deref().unwrap_or(Path::new("the output"))
}

/// As the runner had.
fn tell(note: &NoteKind, options: &Options) {
    match note {
        NoteKind::Error(text) => eprintln!("ERROR: {text}"),
        NoteKind::Warning(text) if !options.no_warnings => eprintln!("WARNING: {text}"),
        _ => {}
    }
}

/// What the runner had said at the session's end.
fn tell_losses(summary: &Summary) {
    let totals = summary.totals.unwrap_or_default();
    for (what, n) in [
        ("records lost", totals.lost.max(summary.lost)),
        (
            "handlers skipped (a lock was not free in time)",
            totals.skipped,
        ),
        (
            "hits in threads for which there was no room",
            totals.no_block,
        ),
    ] {
        if n > 0 {
            eprintln!("WARNING: {what}: {n}");
        }
    }
}

fn failed(what: &Path, e: &Failure) -> u8 {
    use std::io::ErrorKind::{
        DirectoryNotEmpty, InvalidData, NotFound, PermissionDenied, StorageFull,
    };
    let next = match e {
        Failure::Writing(e) => match e.kind() {
            DirectoryNotEmpty => "name a folder that is empty, or not there yet, with -o",
            NotFound | PermissionDenied => "name another output with -o",
            InvalidData => {
                "print one with print_ubacktrace(), or count in an array by sprint_ubacktrace()"
            }
            StorageFull => "make room; what came before is written",
            _ => "name another output with -o; what came before is written",
        },
        Failure::Reading(Fault::NoRecording) => {
            "trapless --format raw -o FILE, or trapless-run --raw, makes recordings"
        }
        Failure::Reading(Fault::Io(_)) => {
            "name a recording: trapless --format raw -o FILE makes them"
        }
        Failure::Reading(Fault::Newer(_)) => "convert it with that trapless",
        Failure::Reading(_) => "what came before is written",
    };
    eprintln!("error: {}: {e}\n  = next step: {next}", what.display());
    EXIT_FAILURE
}
