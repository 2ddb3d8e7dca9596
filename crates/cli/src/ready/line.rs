// SPDX-License-Identifier: MIT
//! A ready command's line: the main options that it takes, and its own.

use super::table::{Arg, Own, Ready, Takes};
use super::{points, screen};
use crate::options::Options;
use crate::paths::Paths;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::{Error, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args, FromArgMatches};

/// Of the main options, those that --help shows.
const SHOWN: [&str; 10] = [
    "brief",
    "help",
    "command",
    "pid",
    "no_follow",
    "time_limit",
    "output",
    "format",
    "explain",
    "verbose",
];

/// Those that are about another script, or none.
const REFUSED: [&str; 18] = [
    "script",
    "example",
    "interactive",
    "convert",
    "trace_events",
    "trace_caller",
    "list",
    "list_vars",
    "coverage",
    "dump_functions",
    "dump_probe_types",
    "dump_probe_aliases",
    "language_server",
    "sessions",
    "enable",
    "disable",
    "optimize",
    "clean_cache",
];

/// All of the line behind the command's name. What stands behind `--` is the program to start.
pub fn options(ready: &'static Ready, words: &[String]) -> Result<Options, Error> {
    let mut command = command(ready);
    let (own, program) = match words.iter().position(|w| w == "--") {
        Some(at) => (&words[..at], Some(&words[at + 1..])),
        None => (words, None),
    };
    let mut line = vec![ready.name.to_string()];
    line.extend_from_slice(own);
    if let Some(program) = program {
        let text = shlex::try_join(program.iter().map(String::as_str));
        line.push("-c".into());
        line.push(text.map_err(|e| command.error(ErrorKind::InvalidValue, e))?);
    }
    let matches = command.try_get_matches_from_mut(line)?;
    let mut options = Options::from_arg_matches(&matches)?;
    if options.brief {
        print!("{}", command.render_help());
        std::process::exit(0);
    }
    check(ready, &matches, &options)
        .map_err(|text| command.error(ErrorKind::ArgumentConflict, text))?;
    let args = arguments(ready, &matches, &options);
    let args = args.map_err(|text| command.error(ErrorKind::InvalidValue, text))?;
    let file = format!("ready/{}.stp", ready.name);
    options.words = vec![Paths::find()
        .examples
        .join(file)
        .to_string_lossy()
        .into_owned()];
    options.words.extend(args);
    let limits = ready.limits.iter().map(|l| l.to_string());
    options.limits.splice(0..0, limits);
    if options.format.as_deref().unwrap_or("text") == "text" {
        options.format = ready.format.map(str::to_string);
    }
    Ok(options)
}

pub fn command(ready: &'static Ready) -> clap::Command {
    let is_own = |id: &str| ready.options.iter().any(|o| o.name == id);
    let hidden = |a: clap::Arg| {
        let id = a.get_id().as_str();
        let shown = SHOWN.contains(&id)
            || ready.shows.contains(&id)
            || is_own(id)
            || id == "words" && ready.words.is_some();
        a.hide(!shown)
    };
    let words = |a: clap::Arg| match &ready.words {
        Some(words) => a.value_name("FUNCTION").help(words.help),
        None => a,
    };
    let own = clap::Command::new(ready.name).args(ready.options.iter().map(arg));
    Options::augment_args(own)
        .bin_name(format!("trapless {}", ready.name))
        .about(sentence(ready.what))
        .before_help("")
        .after_help(ready.ending)
        .override_usage(usage(ready))
        .mut_args(hidden)
        .mut_arg("words", words)
        .mut_arg("brief", |a| a.help("The same as --help"))
        .mut_arg("help", |a| a.help("All that this command has of its own"))
}

/// It begins with a capital.
fn sentence(what: &str) -> String {
    let mut text = what.to_string();
    text[..1].make_ascii_uppercase();
    text
}

fn usage(ready: &Ready) -> String {
    let words = if ready.usage.is_empty() { "" } else { " " };
    let line = format!("trapless {} [OPTIONS]{words}{}", ready.name, ready.usage);
    format!("{line} <-x PID | -c CMD | -- CMD ARGS...>")
}

fn arg(own: &'static Own) -> clap::Arg {
    let arg = clap::Arg::new(own.name).long(own.name).help(own.help);
    let arg = arg.help_heading("What is shown");
    match own.takes {
        Takes::Nothing => return arg.action(ArgAction::SetTrue),
        Takes::Number(most) => arg.value_parser(move |text: &str| number(text, most)),
        Takes::OneOf(choices) => arg.value_parser(
            PossibleValuesParser::new(choices.iter().map(|c| c.0))
                .map(|name| meant(choices, &name)),
        ),
        Takes::Names => arg.value_parser(names),
        Takes::Libraries => arg.value_parser(points::plain).action(ArgAction::Append),
    }
    .value_name(own.value)
}

/// A choice's words for the script.
fn meant(choices: &[(&str, &str)], name: &str) -> String {
    let found = choices.iter().find(|c| c.0 == name);
    found.map_or(name, |c| c.1).to_string()
}

fn number(text: &str, most: u32) -> Result<String, String> {
    match text.parse::<u32>() {
        Ok(n) if (1..=most).contains(&n) => Ok(n.to_string()),
        _ => Err(format!("a whole number is wanted, 1 to {most}")),
    }
}

fn names(text: &str) -> Result<String, String> {
    let is_name = |name: &str| {
        let fits = |b: u8| b.is_ascii_alphanumeric() || b"_*".contains(&b);
        !name.is_empty() && name.bytes().all(fits)
    };
    match text.split(',').all(is_name) {
        true => Ok(text.to_string()),
        false => Err("names are wanted, with commas between them, e.g. openat,read*".into()),
    }
}

/// What clap is not told: or what is wrong.
fn check(ready: &'static Ready, matches: &ArgMatches, options: &Options) -> Result<(), String> {
    let given = |id: &&&str| matches.value_source(id) == Some(ValueSource::CommandLine);
    if let Some(id) = REFUSED.iter().find(given) {
        return Err(format!(
            "{} runs a script of its own: {} does not go with it",
            ready.name,
            flag(&command(ready), id)
        ));
    }
    if let (None, Some(word)) = (&ready.words, options.words.first()) {
        return Err(format!(
            "{} takes no word `{word}`; a program and its arguments stand behind --",
            ready.name
        ));
    }
    if ready.words.as_ref().is_some_and(|w| w.needed) && options.words.is_empty() {
        return Err("of which functions? One or more are named, e.g. libc.so.6:malloc".into());
    }
    if options.command.is_none() && options.pid.is_none() {
        return Err(
            "of which program? -x PID for one that runs, -c CMD or -- CMD ARGS for one to start"
                .into(),
        );
    }
    Ok(())
}

fn flag(command: &clap::Command, id: &str) -> String {
    let arg = command.get_arguments().find(|a| a.get_id() == id);
    let long = arg.and_then(|a| a.get_long()).map(|l| format!("--{l}"));
    let short = arg.and_then(|a| a.get_short()).map(|s| format!("-{s}"));
    long.or(short).unwrap_or_default()
}

/// What the script is given, in the order that it wants.
fn arguments(
    ready: &Ready,
    matches: &ArgMatches,
    options: &Options,
) -> Result<Vec<String>, String> {
    let mut args = Vec::new();
    for arg in ready.args {
        match arg {
            Arg::Points(otherwise) => {
                let libraries = values(matches, ready, "library");
                args.push(points::list(&options.words, &libraries, otherwise)?);
            }
            Arg::Value(name, otherwise) => args.push(value(matches, name, otherwise)),
            Arg::Live(on_terminal) => {
                let (lines, _) = screen::size(options);
                let otherwise = if lines > 0 { on_terminal } else { "0" };
                let every = value(matches, "every", otherwise);
                let drawn = if every == "0" { 0 } else { lines };
                args.extend([every, drawn.to_string()]);
            }
            Arg::Columns => args.push(screen::size(options).1.to_string()),
        }
    }
    Ok(args)
}

/// Of a switch 1.
fn value(matches: &ArgMatches, name: &str, otherwise: &str) -> String {
    let text = match matches.try_get_one::<bool>(name) {
        Ok(on) => on.filter(|on| **on).map(|_| "1".to_string()),
        Err(_) => matches.get_one::<String>(name).cloned(),
    };
    text.unwrap_or_else(|| otherwise.to_string())
}

fn values(matches: &ArgMatches, ready: &Ready, name: &str) -> Vec<String> {
    let has = ready.options.iter().any(|o| o.name == name);
    let values = has.then(|| matches.get_many::<String>(name)).flatten();
    values.into_iter().flatten().cloned().collect()
}
