// SPDX-License-Identifier: MIT
//! SystemTap's options that trapless does not have, each with what to do instead.

/// How an option is met: alone, or before a value of its own.
#[derive(Clone, Copy, PartialEq)]
enum Takes {
    Nothing,
    Value,
}
use Takes::{Nothing, Value};

const OPTIONS: &[(&str, Takes, &str)] = &[
    (
        "-q",
        Nothing,
        "leave it out: no information is left out of a script",
    ),
    ("-R", Value, "leave it out: no kernel module is built"),
    (
        "--remote",
        Value,
        "compile here with -p4, copy NAME.tap and trapless-run there",
    ),
    (
        "--remote-prefix",
        Nothing,
        "compile here with -p4, copy NAME.tap and trapless-run there",
    ),
    (
        "--use-server",
        Nothing,
        "compile on the other machine with -p4, copy NAME.tap here",
    ),
    (
        "--list-servers",
        Nothing,
        "compile on the other machine with -p4, copy NAME.tap here",
    ),
    (
        "--trust-servers",
        Nothing,
        "compile on the other machine with -p4, copy NAME.tap here",
    ),
    (
        "--sign-module",
        Nothing,
        "leave it out: no kernel module is built",
    ),
    ("--download-debuginfo", Nothing, "set DEBUGINFOD_URLS"),
    ("--sysroot", Value, "run trapless inside of it: chroot"),
    (
        "--sysenv",
        Value,
        "set the variable for -c: -c 'NAME=VALUE CMD'",
    ),
    (
        "--target-namespaces",
        Value,
        "leave it out: -x finds a process's own namespaces",
    ),
    ("--debug", Nothing, "use -v -v, and --explain"),
];

/// Ours that have a value in the next word, which may look like an option.
const WITH_VALUE: &[&str] = &[
    "-e", "-E", "-c", "-x", "-p", "-o", "-m", "-I", "-D", "-G", "-l", "-L", "-d", "-T", "-r", "-a",
    "-S", "-s", "-B", "--vp", "--tmpdir",
];

/// What to say of the first one; `None`: there is none.
pub fn refuse(words: impl Iterator<Item = String>) -> Option<String> {
    let mut words = words.take_while(|w| w != "--");
    while let Some(word) = words.next() {
        if WITH_VALUE.contains(&word.as_str()) {
            words.next();
        } else if let Some((name, _, instead)) = OPTIONS.iter().find(|o| is(o, &word)) {
            return Some(format!(
                "error[USAGE]: {name} is an option of SystemTap's that has no meaning here\n  = next step: {instead}\n\n"
            ));
        }
    }
    None
}

fn is((name, takes, _): &(&str, Takes, &str), word: &str) -> bool {
    match name.starts_with("--") {
        true => word == *name || (word.starts_with(name) && word[name.len()..].starts_with('=')),
        false => {
            word == *name || (*takes == Value && !word.starts_with("--") && word.starts_with(name))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::refuse;

    fn said(line: &str) -> Option<String> {
        refuse(line.split(' ').map(str::to_string))
    }

    #[test]
    fn theirs_are_named_with_a_next_step() {
        for line in [
            "--remote host",
            "--remote=host",
            "-Rx",
            "-R x x.stp",
            "-v --debug",
        ] {
            let text = said(line).unwrap_or_default();
            assert!(text.contains("next step: "), "{line}");
        }
    }

    #[test]
    fn values_and_ours_are_left_alone() {
        for line in [
            "-e -q",
            "-c --remote",
            "-v x.stp",
            "--sessions",
            "-- -q",
            "--session 5",
            "-G s=5",
        ] {
            assert_eq!(said(line), None, "{line}");
        }
    }
}
