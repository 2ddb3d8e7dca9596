// SPDX-License-Identifier: MIT
//! `-i`: a script is put together at a prompt, line by line, and run from there. Each run is a `trapless` of its
//! own: with the options that we were started with, those of `set`, and the script behind `-e`.

use crate::exit::EXIT_FAILURE;
use crate::input::plain;
use crate::options::Options;
use crate::paths::Paths;
use crate::{examples, inherited, input, passes};
use clap::Parser;
use rustyline::error::ReadlineError;
use rustyline::DefaultEditor;
use std::ops::RangeInclusive;
use std::process::{Command, Stdio};
use trapless_sema::declare::loader::Loader;
use trapless_syntax::ast::NodeIds;
use trapless_syntax::diag::{Diagnostic, Diagnostics, Severity, Tag};
use trapless_syntax::SourceMap;

const PROMPT: &str = "trapless> ";
const MORE: &str = "......... ";

/// What a line may begin with; any other line is script.
const COMMANDS: &[(&[&str], &str, &str, Act)] = &[
    (
        &["add", "a"],
        "add TEXT",
        "add to the script; `add ` may be left out",
        add,
    ),
    (
        &["list", "l"],
        "list",
        "show the script, its lines numbered",
        list,
    ),
    (
        &["delete", "d"],
        "delete [N[-M]]",
        "delete these lines; alone: the whole script",
        delete,
    ),
    (
        &["edit", "e"],
        "edit",
        "change the script in $VISUAL or $EDITOR",
        edit,
    ),
    (
        &["load"],
        "load FILE",
        "the script is what is in FILE",
        load,
    ),
    (
        &["sample"],
        "sample [NAME]",
        "the script is this example; alone: list them",
        sample,
    ),
    (&["save"], "save FILE", "write the script to FILE", save),
    (
        &["set"],
        "set [OPTIONS]",
        "options of the runs to come, as on the command line: set -x 1234; alone: none",
        set,
    ),
    (&["show"], "show", "show the options", show),
    (
        &["run", "r"],
        "run [ARGS]",
        "run the script, until it ends or you interrupt it",
        run,
    ),
    (&["help", "h", "?"], "help", "show this", help),
    (
        &["quit", "q"],
        "quit",
        "leave; so does the end of the input (ctrl-D)",
        quit,
    ),
];

type Act = fn(&mut Prompt, &str) -> Result<(), String>;

struct Prompt {
    /// Of our own command line, but for -i.
    given: Vec<String>,
    /// By `set`.
    set: Vec<String>,
    lines: Vec<String>,
    input: DefaultEditor,
    over: bool,
}

/// The exit status.
pub fn start() -> u8 {
    let input = match DefaultEditor::new() {
        Ok(input) => input,
        Err(e) => {
            eprintln!("error: there is no prompt: {e}");
            return EXIT_FAILURE;
        }
    };
    // It ends what is run, not us; what is run finds no handler.
    inherited::outlive(libc::SIGINT);
    let words = std::env::args().skip(1);
    let mut prompt = Prompt {
        given: words
            .filter(|w| w != "-i" && w != "--interactive")
            .collect(),
        set: Vec::new(),
        lines: Vec::new(),
        input,
        over: false,
    };
    eprintln!("A script, line by line; `run` runs it, `help` shows what else there is.");
    while !prompt.over {
        match prompt.input.readline(PROMPT) {
            Ok(line) => prompt.take(&line),
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break,
            Err(e) => {
                eprintln!("error: the input cannot be read: {e}");
                return EXIT_FAILURE;
            }
        }
    }
    0
}

impl Prompt {
    fn take(&mut self, line: &str) {
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        // It only misses in the history then.
        let _ = self.input.add_history_entry(line);
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let known = COMMANDS.iter().find(|c| c.0.contains(&word));
        let done = match known {
            Some((.., act)) => act(self, rest.trim()),
            None => add(self, line),
        };
        if let Err(text) = done {
            eprintln!("{}", text.trim_end());
        }
    }

    fn script(&self) -> String {
        self.lines.iter().map(|l| format!("{l}\n")).collect()
    }

    /// The lines of a file, in place of those that are there.
    fn replace(&mut self, text: &str) {
        self.lines = text.lines().map(str::to_string).collect();
    }

    fn words(&self) -> impl Iterator<Item = &String> {
        self.given.iter().chain(&self.set)
    }

    fn options(&self) -> Result<Options, String> {
        let all = std::iter::once("trapless").chain(self.words().map(String::as_str));
        Options::try_parse_from(all.chain(["-e", ""])).map_err(|e| e.to_string())
    }

    /// A `trapless` with this script.
    fn command(&self) -> Result<Command, String> {
        let exe = std::env::current_exe().map_err(|e| format!("error: {}", plain(&e)))?;
        let mut command = Command::new(exe);
        command.args(self.words()).args(["-e", &self.script()]);
        Ok(command)
    }
}

fn add(prompt: &mut Prompt, text: &str) -> Result<(), String> {
    let options = prompt.options()?;
    let before = prompt.lines.len();
    let start = prompt.script().len();
    prompt.lines.push(text.to_string());
    loop {
        match syntax_of(&options, &prompt.script(), start) {
            Syntax::Whole => return check(prompt),
            Syntax::Wrong(text) => {
                prompt.lines.truncate(before);
                return Err(text);
            }
            Syntax::Unfinished => {}
        }
        match prompt.input.readline(MORE) {
            Ok(line) => prompt.lines.push(line),
            Err(_) => {
                prompt.lines.truncate(before);
                return Err("not added: it was not complete".to_string());
            }
        }
    }
}

enum Syntax {
    Whole,
    /// More is to come.
    Unfinished,
    Wrong(String),
}

/// Of what is added at `start`.
fn syntax_of(options: &Options, text: &str, start: usize) -> Syntax {
    let mut map = SourceMap::new();
    let mut diags = Diagnostics::new();
    let env = input::environment(options, options.words.clone());
    let tapset = passes::open_tapset(options, &Paths::find(), &mut diags);
    let macros = tapset.macros(&mut map, &env, &mut diags);
    let mut loader = Loader {
        map: &mut map,
        env: &env,
        macros: &macros,
        ids: &NodeIds::new(),
    };
    loader.parse("<input>", text.to_string(), &mut diags);
    let open = [
        Tag::LexComment,
        Tag::LexEmbedded,
        Tag::PpUnclosed,
        Tag::ParseUnclosed,
    ];
    let end = text.trim_end().len();
    let place = |d: &Diagnostic| d.span.map_or(0, |s| s.lo as usize);
    match diags.iter().find(|d| d.severity == Severity::Error) {
        None => Syntax::Whole,
        // As after lines have been deleted: whatever helps.
        Some(d) if place(d) < start && !open.contains(&d.tag) => Syntax::Whole,
        Some(d) if open.contains(&d.tag) || place(d) >= end => Syntax::Unfinished,
        Some(_) => Syntax::Wrong(diags.render(&map, false)),
    }
}

/// What the analysis has to say of the script as it is now; it stays as it is, for what it lacks may come.
fn check(prompt: &mut Prompt) -> Result<(), String> {
    let mut command = prompt.command()?;
    wait(
        command
            .arg("-p2")
            .stdin(Stdio::null())
            .stdout(Stdio::null()),
    )
}

/// It has said itself what was wrong.
fn wait(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(_) => Ok(()),
        Err(e) => Err(format!("error: trapless cannot be started: {}", plain(&e))),
    }
}

fn list(prompt: &mut Prompt, _: &str) -> Result<(), String> {
    for (n, line) in prompt.lines.iter().enumerate() {
        println!("{:>3}  {line}", n + 1);
    }
    Ok(())
}

fn delete(prompt: &mut Prompt, which: &str) -> Result<(), String> {
    if which.is_empty() {
        prompt.lines.clear();
        return Ok(());
    }
    let lines = range(which, prompt.lines.len())?;
    prompt.lines.drain(lines);
    Ok(())
}

/// Of lines from 1 on; what it is of an index from 0 on.
fn range(text: &str, count: usize) -> Result<RangeInclusive<usize>, String> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    match (from.trim().parse::<usize>(), to.trim().parse::<usize>()) {
        (Ok(from), Ok(to)) if 1 <= from && from <= to && to <= count => Ok(from - 1..=to - 1),
        _ => Err(format!(
            "error: no such lines: {text}\n  = next step: give a number of `list`, or a first and a last one, e.g. 2-5"
        )),
    }
}

fn edit(prompt: &mut Prompt, _: &str) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("error: {}", plain(&e));
    let file = tempfile::Builder::new()
        .suffix(".stp")
        .tempfile()
        .map_err(failed)?;
    std::fs::write(file.path(), prompt.script()).map_err(failed)?;
    let named = ["VISUAL", "EDITOR"]
        .into_iter()
        .find_map(|n| std::env::var(n).ok());
    let editor = named.unwrap_or_else(|| "vi".to_string());
    let mut command = Command::new("sh");
    // An editor may be given with options of its own.
    command
        .args(["-c", &format!("{editor} \"$0\"")])
        .arg(file.path());
    let status = command.status().map_err(failed)?;
    if !status.success() {
        return Err(format!("error: {editor} failed; the script is as it was"));
    }
    prompt.replace(&std::fs::read_to_string(file.path()).map_err(failed)?);
    check(prompt)
}

fn load(prompt: &mut Prompt, file: &str) -> Result<(), String> {
    let text =
        std::fs::read_to_string(file).map_err(|e| format!("error: {file}: {}", plain(&e)))?;
    prompt.replace(&text);
    check(prompt)
}

fn sample(prompt: &mut Prompt, name: &str) -> Result<(), String> {
    if name.is_empty() {
        for (name, what) in examples::all() {
            println!("{name:<22} {what}");
        }
        return Ok(());
    }
    let path = examples::find(name)
        .map_err(|(what, next)| format!("error: {what}\n  = next step: {next}"))?;
    prompt.replace(&std::fs::read_to_string(&path).map_err(|e| format!("error: {}", plain(&e)))?);
    list(prompt, "")
}

fn save(prompt: &mut Prompt, file: &str) -> Result<(), String> {
    std::fs::write(file, prompt.script()).map_err(|e| format!("error: {file}: {}", plain(&e)))
}

fn set(prompt: &mut Prompt, words: &str) -> Result<(), String> {
    let words = shlex::split(words).ok_or("error: a quote has no end")?;
    let before = std::mem::replace(&mut prompt.set, words);
    if let Err(text) = prompt.options() {
        prompt.set = before;
        return Err(text);
    }
    Ok(())
}

fn show(prompt: &mut Prompt, _: &str) -> Result<(), String> {
    let words: Vec<&str> = prompt.words().map(String::as_str).collect();
    match shlex::try_join(words) {
        Ok(text) => println!("options: {text}"),
        Err(e) => return Err(format!("error: {e}")),
    }
    Ok(())
}

fn run(prompt: &mut Prompt, args: &str) -> Result<(), String> {
    let args = shlex::split(args).ok_or("error: a quote has no end")?;
    wait(prompt.command()?.args(args))
}

fn help(_: &mut Prompt, _: &str) -> Result<(), String> {
    for (names, usage, what, _) in COMMANDS {
        let short = names.get(1).map_or(String::new(), |n| format!(" ({n})"));
        println!("{:<22} {what}", format!("{usage}{short}"));
    }
    println!(
        "Any other line is added to the script. One that is not complete goes on in the next."
    );
    Ok(())
}

fn quit(prompt: &mut Prompt, _: &str) -> Result<(), String> {
    prompt.over = true;
    Ok(())
}
