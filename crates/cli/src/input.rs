// SPDX-License-Identifier: MIT
//! The script's text and what its conditionals see.

use crate::options::Options;
use crate::{command, examples};
use std::path::Path;
use trapless_debuginfo::{release_of, running};
use trapless_machine::{Machine, MACHINES};
use trapless_syntax::diag::{Diagnostics, Tag};
use trapless_syntax::{Environment, Words};

/// The script's text, its name for messages, and its arguments.
pub fn script_text(
    options: &Options,
    diags: &mut Diagnostics,
) -> Option<(String, String, Vec<String>)> {
    if let Some(pattern) = options.list.as_ref().or(options.list_vars.as_ref()) {
        let text = format!("probe {pattern} {{ }}\n");
        return Some((text, "<pattern>".to_string(), options.words.clone()));
    }
    if let Some(text) = &options.script {
        return Some((text.clone(), "<input>".to_string(), options.words.clone()));
    }
    let Some((file, args)) = options.words.split_first() else {
        diags
            .error(Tag::Usage, None, "no script is given")
            .help("trapless -e 'SCRIPT', or trapless FILE.stp; trapless --help shows examples");
        return None;
    };
    let example = match options.example.then(|| examples::find(file)).transpose() {
        Ok(example) => example,
        Err((what, next)) => {
            diags.error(Tag::FileMissing, None, what).help(next);
            return None;
        }
    };
    let file = example.as_deref().and_then(Path::to_str).unwrap_or(file);
    let bytes = match file {
        "-" => {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut std::io::stdin(), &mut bytes).map(|_| bytes)
        }
        path => std::fs::read(path),
    };
    match bytes {
        Ok(b) if b.starts_with(b"\x7fELF") => {
            no_script(&options.words, diags);
            None
        }
        Ok(b) if b.starts_with(b"\x81TAP") => {
            no_source(file, diags);
            None
        }
        Ok(b) => Some((
            String::from_utf8_lossy(&b).into_owned(),
            if file == "-" { "<stdin>" } else { file }.to_string(),
            args.to_vec(),
        )),
        Err(_) if !file.contains('/') && command::find(file).is_some() => {
            no_script(&options.words, diags);
            None
        }
        Err(e) => {
            diags
                .error(Tag::FileMissing, None, format!("{file}: {}", plain(&e)))
                .help(instead_of(file));
            None
        }
    }
}

/// What to do where there is no such file.
fn instead_of(file: &str) -> String {
    let name = Path::new(file).file_name().and_then(|n| n.to_str());
    let known = name.and_then(|n| examples::find(n).ok());
    match known.as_deref().and_then(Path::file_name) {
        Some(name) => format!(
            "that of this name which comes with trapless is run by --example: trapless --example {}",
            name.to_string_lossy()
        ),
        None => "give the path of a script file, or its text with -e".into(),
    }
}

/// The system's words without its number.
pub fn plain(e: &std::io::Error) -> String {
    let text = e.to_string();
    text.split(" (os error").next().unwrap_or("").to_string()
}

/// `-a ARCH`
pub fn machine(options: &Options) -> &'static Machine {
    let named = options.arch.as_deref().and_then(Machine::named);
    named.unwrap_or_default()
}

pub fn check_built(options: &Options, diags: &mut Diagnostics) {
    let Some(arch) = options.arch.as_deref() else {
        return;
    };
    if Machine::named(arch).is_none() {
        diags
            .error(
                Tag::NotBuilt,
                None,
                format!("-a {arch}: modules for this processor are not built yet"),
            )
            .help(format!(
                "leave -a out, or give {}",
                MACHINES.map(|m| m.abi.name).join(", ")
            ));
    }
}

pub fn environment(options: &Options, args: Vec<String>) -> Environment {
    let standard = Environment::default();
    let named = options.release.as_deref();
    Environment {
        kernel_release: named.map_or_else(running, release_of),
        arch: options
            .arch
            .clone()
            .unwrap_or_else(|| std::env::consts::ARCH.to_string()),
        guru: options.guru,
        args: Words::new(args),
        language_version: options
            .compatible
            .clone()
            .unwrap_or(standard.language_version),
        privilege: match options.unprivileged {
            true => "stapusr".to_string(),
            false => options.privilege.clone().unwrap_or(standard.privilege),
        },
        ..Environment::default()
    }
}

/// As SystemTap does.
pub fn warn_unnamed(args: &Words, diags: &mut Diagnostics) {
    for (n, word) in args.unnamed() {
        let what = format!("the script names neither ${n} nor @{n}: `{word}` is used by nothing");
        diags.warn(Tag::ArgUnused, None, what).help(
            "leave it out; arguments of the traced program belong into -c: -c 'PROGRAM ARGUMENT'",
        );
    }
}

/// The command line begins with a program's name.
fn no_script(words: &[String], diags: &mut Diagnostics) {
    let what = format!("{} is a program, not a script", words[0]);
    let command = words.join(" ");
    diags.error(Tag::Usage, None, what).help(format!(
        "trace it with -c: trapless FILE.stp -c '{command}'"
    ));
}

/// It is compiled already.
fn no_source(file: &str, diags: &mut Diagnostics) {
    let what = format!("{file} is a module, not a script");
    diags.error(Tag::Usage, None, what).help(format!(
        "run it: trapless-run {file} -x PID, or -c CMD in place of -x PID"
    ));
}
