// SPDX-License-Identifier: MIT
//! What `-c CMD` starts: the words to start, and the program that `process`
//! without a name means. The process that we start becomes that program.

mod find;
mod scan;

pub use find::{find, is_script};
use scan::{scan, Word};

/// A command line, as the shell would understand it.
#[derive(Debug, PartialEq, Eq)]
pub struct Command {
    /// What to start; the shell and its line where more than words are needed.
    pub words: Vec<String>,
    /// The first program's name, as written; `None`: only the shell can tell.
    pub program: Option<String>,
    /// More than one command: only the shell itself is our process.
    pub several: bool,
}

/// Words that the shell does itself, or that change how the rest is read.
const SHELL_WORDS: &[&str] = &[
    "!", "{", ".", ":", "[[", "alias", "bg", "break", "case", "cd", "command", "continue", "do",
    "done", "elif", "else", "eval", "exit", "export", "fg", "fi", "for", "function", "hash", "if",
    "jobs", "local", "read", "readonly", "return", "select", "set", "shift", "source", "then",
    "time", "times", "trap", "type", "ulimit", "umask", "unalias", "unset", "until", "wait",
    "while",
];

/// A shell that is named is a program as any other: `bash -c LINE` is bash.
pub fn parse(line: &str) -> Command {
    let scan = scan(line);
    if scan.several {
        // The shell becomes what its last command execs.
        let start = scan.commands.last().copied().unwrap_or_default();
        let last = scan::scan(&line[start..]).words;
        let program = match last.first() {
            Some(w) if w.text == "exec" => last.get(1).and_then(plain),
            _ => None,
        };
        return Command {
            words: shell(line),
            several: program.is_none(),
            program,
        };
    }
    let first = scan.words.iter().position(|w| !is_assignment(&w.text));
    let Some(first) = first else {
        return shell_only(line);
    };
    let words = &scan.words[first..];
    let exec = (words[0].text == "exec") as usize;
    let Some(word) = words.get(exec).filter(|w| !is_shells(&w.text)) else {
        return shell_only(line);
    };
    let program = plain(word);
    let expands = scan.open || words.iter().any(|w| w.expands);
    Command {
        words: match first == 0 && program.is_some() && !expands {
            true => words[exec..].iter().map(|w| w.text.clone()).collect(),
            false => shell_becomes(line, words[exec].start, exec == 1),
        },
        program,
        several: false,
    }
}

/// The programs that a line names, as written; also what only may be one.
pub fn programs(line: &str) -> Vec<String> {
    let program = |start: &usize| {
        let words = scan::scan(&line[*start..]).words;
        let own = |w: &&Word| !is_assignment(&w.text) && !is_shells(&w.text) && w.text != "exec";
        words.iter().find(own).and_then(plain)
    };
    scan(line).commands.iter().filter_map(program).collect()
}

fn shell_only(line: &str) -> Command {
    Command {
        words: shell(line),
        program: None,
        several: true,
    }
}

fn shell(line: &str) -> Vec<String> {
    ["/bin/sh", "-c", line].map(str::to_string).to_vec()
}

/// Without `exec` the shell would start the program as its child.
fn shell_becomes(line: &str, program: usize, has_exec: bool) -> Vec<String> {
    let mut text = line.to_string();
    if !has_exec {
        text.insert_str(program, "exec ");
    }
    shell(&text)
}

fn plain(word: &Word) -> Option<String> {
    (!word.expands && !word.text.is_empty()).then(|| word.text.clone())
}

fn is_shells(word: &str) -> bool {
    SHELL_WORDS.contains(&word)
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else {
        return false;
    };
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, want: &[&str], program: Option<&str>, several: bool) {
        let want = Command {
            words: want.iter().map(|w| w.to_string()).collect(),
            program: program.map(str::to_string),
            several,
        };
        assert_eq!(parse(line), want);
    }

    #[test]
    fn words_alone_need_no_shell() {
        check(
            "git status -s",
            &["git", "status", "-s"],
            Some("git"),
            false,
        );
        check("  ls  ", &["ls"], Some("ls"), false);
        check(
            "sqlite3 db \"select 1\"",
            &["sqlite3", "db", "select 1"],
            Some("sqlite3"),
            false,
        );
        check(
            "p\\ q 'a;b' \"\\x\\\"\" '' k=v;",
            &["p q", "a;b", "\\x\"", "", "k=v"],
            Some("p q"),
            false,
        );
        check("exec prog x # why", &["prog", "x"], Some("prog"), false);
    }

    #[test]
    fn one_command_becomes_the_process() {
        let shell = |line, want, program| check(line, &["/bin/sh", "-c", want], program, false);
        shell(
            "A=1 B='x y' prog >out 2>&1",
            "A=1 B='x y' exec prog >out 2>&1",
            Some("prog"),
        );
        shell(
            "'a prog' $(date; ls) ;",
            "exec 'a prog' $(date; ls) ;",
            Some("a prog"),
        );
        shell("exec prog *", "exec prog *", Some("prog"));
        shell("echo \"$HOME\"", "exec echo \"$HOME\"", Some("echo"));
        shell("prog 'no end", "exec prog 'no end", Some("prog"));
        // A name that the shell makes is unknown.
        shell("$EDITOR x", "exec $EDITOR x", None);
    }

    #[test]
    fn a_shell_that_is_named_is_the_program() {
        let line = "bash -c 'a | b; c'";
        check(line, &["bash", "-c", "a | b; c"], Some("bash"), false);
        let line = "sh -c \"git log\" >x";
        let want = "exec sh -c \"git log\" >x";
        check(line, &["/bin/sh", "-c", want], Some("sh"), false);
    }

    #[test]
    fn programs_of_a_line() {
        let line = "A=1 a x | 'b c'; if d; then exec /e/f & done && $g";
        assert_eq!(programs(line), ["a", "b c", "d", "/e/f"]);
    }

    #[test]
    fn several_commands_stay_with_the_shell() {
        for line in [
            "a; b", "a && b", "a | b", "a &", "(a)", "cd x", "a\nb", "if a", "A=1",
        ] {
            check(line, &["/bin/sh", "-c", line], None, true);
        }
        let line = "cd x && exec b y";
        check(line, &["/bin/sh", "-c", line], Some("b"), false);
    }
}
