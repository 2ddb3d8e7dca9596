// SPDX-License-Identifier: MIT
//! What `-c CMD` starts: the program that `process` without a name means, and
//! the line that makes the process that we start become that program.

use std::path::{Path, PathBuf};

/// A command line, as the shell would understand it.
#[derive(Debug, PartialEq, Eq)]
pub struct Command {
    /// What to hand to the shell, or to start as words.
    pub line: String,
    /// The first program's name, as written; `None`: only the shell can tell.
    pub program: Option<String>,
    /// More than one command: only the shell itself is our process.
    pub several: bool,
}

/// Words that the shell does itself, or that change how the rest is read.
const SHELL_WORDS: &[&str] = &[
    "!", "{", ".", ":", "[[", "alias", "bg", "break", "case", "cd", "command", "continue", "eval",
    "exit", "export", "fg", "for", "function", "hash", "if", "jobs", "local", "read", "readonly",
    "return", "select", "set", "shift", "source", "time", "times", "trap", "type", "ulimit",
    "umask", "unalias", "unset", "until", "wait", "while",
];

/// Depth of `sh -c 'sh -c ...'`, and of interpreters that are scripts.
const MAX_DEPTH: usize = 4;

pub fn parse(line: &str) -> Command {
    parse_at(line, 0)
}

fn parse_at(line: &str, depth: usize) -> Command {
    let scan = scan(line);
    if scan.several {
        // The shell becomes what its last command execs.
        let last = words_behind(line, scan.last);
        let program = match last.first() {
            Some(w) if w.text == "exec" => last.get(1).and_then(Word::plain),
            _ => None,
        };
        return Command {
            line: line.to_string(),
            several: program.is_none(),
            program,
        };
    }
    let first = scan.words.iter().position(|w| !is_assignment(&w.text));
    let Some(first) = first else {
        return shell_only(line);
    };
    let words = &scan.words[first..];
    if let Some(inner) = shell_argument(words).filter(|_| first == 0 && depth < MAX_DEPTH) {
        return parse_at(&inner, depth + 1);
    }
    let exec = words[0].text == "exec";
    let Some(word) = words.get(exec as usize) else {
        return shell_only(line);
    };
    if SHELL_WORDS.contains(&word.text.as_str()) {
        return shell_only(line);
    }
    let mut text = line.to_string();
    if !exec && needs_shell(line) {
        // Else the shell would start the program as its child.
        text.insert_str(words[0].start, "exec ");
    }
    Command {
        line: text,
        program: word.plain(),
        several: false,
    }
}

fn shell_only(line: &str) -> Command {
    Command {
        line: line.to_string(),
        program: None,
        several: true,
    }
}

/// `sh -c LINE` and nothing more.
fn shell_argument(words: &[Word]) -> Option<String> {
    let [shell, flag, line] = words else {
        return None;
    };
    let name = Path::new(&shell.text).file_name()?.to_str()?;
    let is_shell = matches!(name, "sh" | "dash" | "bash");
    (is_shell && flag.text == "-c" && !line.expands).then(|| line.text.clone())
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

fn needs_shell(line: &str) -> bool {
    line.contains(|c| "|&;<>()$`\\\"'*?[]#~=%!{}\n".contains(c))
}

#[derive(Debug, Default)]
struct Word {
    text: String,
    start: usize,
    /// Holds something that the shell replaces.
    expands: bool,
}

impl Word {
    fn plain(&self) -> Option<String> {
        (!self.expands && !self.text.is_empty()).then(|| self.text.clone())
    }
}

#[derive(Default)]
struct Scan {
    words: Vec<Word>,
    several: bool,
    /// Where the text behind the last separator begins.
    last: usize,
}

fn words_behind(line: &str, at: usize) -> Vec<Word> {
    scan(&line[at..]).words
}

/// Words without their quotes, and whether there is more than one command.
fn scan(line: &str) -> Scan {
    let mut out = Scan::default();
    let mut word: Option<Word> = None;
    let mut chars = line.char_indices().peekable();
    let mut before = ' ';
    while let Some((at, c)) = chars.next() {
        let fresh = || Word {
            start: at,
            ..Word::default()
        };
        match c {
            ' ' | '\t' => out.words.extend(word.take()),
            '\'' => {
                let w = word.get_or_insert_with(fresh);
                w.text
                    .extend(chars.by_ref().map(|p| p.1).take_while(|c| *c != '\''));
            }
            '"' => {
                let w = word.get_or_insert_with(fresh);
                while let Some((_, c)) = chars.next() {
                    match c {
                        '"' => break,
                        '\\' => w.text.extend(chars.next().map(|p| p.1)),
                        _ => {
                            w.expands |= c == '$' || c == '`';
                            w.text.push(c);
                        }
                    }
                }
            }
            '\\' => {
                let w = word.get_or_insert_with(fresh);
                w.text.extend(chars.next().map(|p| p.1));
            }
            '$' if chars.peek().is_some_and(|p| p.1 == '(') => {
                word.get_or_insert_with(fresh).expands = true;
                skip_brackets(&mut chars);
            }
            '&' if before == '>' || before == '<' => {}
            ';' | '&' | '|' | '(' | ')' | '\n' => {
                out.words.extend(word.take());
                if !line[at + 1..].trim().is_empty() || c != ';' && c != '\n' {
                    out.several = true;
                    out.last = at + 1;
                }
            }
            '#' if word.is_none() => break,
            _ => {
                let w = word.get_or_insert_with(fresh);
                w.expands |= "$`*?[~".contains(c);
                w.text.push(c);
            }
        }
        before = c;
    }
    out.words.extend(word);
    out
}

fn skip_brackets(chars: &mut std::iter::Peekable<std::str::CharIndices>) {
    let mut depth = 0;
    for (_, c) in chars.by_ref() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return;
        }
    }
}

/// The file that runs for a program's name: found in PATH, links followed,
/// and of a script its interpreter.
pub fn find(name: &str) -> Option<PathBuf> {
    let mut name = name.to_string();
    for _ in 0..MAX_DEPTH {
        let path = in_path(&name)?;
        match interpreter(&path) {
            Some(next) => name = next,
            None => return Some(path),
        }
    }
    None
}

fn in_path(name: &str) -> Option<PathBuf> {
    let found = match name.contains('/') {
        true => PathBuf::from(name),
        false => std::env::split_paths(&std::env::var_os("PATH")?)
            .map(|d| d.join(name))
            .find(|p| is_executable(p))?,
    };
    found.canonicalize().ok().filter(|p| p.is_file())
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path).map(|m| (m.is_file(), m.permissions().mode()));
    mode.is_ok_and(|(file, mode)| file && mode & 0o111 != 0)
}

/// The program in the `#!` line; with `env`, the one that env looks for.
fn interpreter(path: &Path) -> Option<String> {
    use std::io::Read;
    let mut head = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(256).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace();
    let program = words.next()?;
    if Path::new(program).file_name()? == "env" {
        let real = words.find(|w| !w.starts_with('-') && !w.contains('='));
        return Some(real.unwrap_or(program).to_string());
    }
    Some(program.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, want: &str, program: Option<&str>, several: bool) {
        let want = Command {
            line: want.to_string(),
            program: program.map(str::to_string),
            several,
        };
        assert_eq!(parse(line), want);
    }

    #[test]
    fn words_alone_need_no_shell() {
        check("git status -s", "git status -s", Some("git"), false);
        check("  ls  ", "  ls  ", Some("ls"), false);
    }

    #[test]
    fn one_command_becomes_the_process() {
        check(
            "sqlite3 db \"select 1\"",
            "exec sqlite3 db \"select 1\"",
            Some("sqlite3"),
            false,
        );
        check(
            "A=1 B='x y' prog >out 2>&1",
            "A=1 B='x y' exec prog >out 2>&1",
            Some("prog"),
            false,
        );
        check(
            "'a prog' $(date; ls) ;",
            "exec 'a prog' $(date; ls) ;",
            Some("a prog"),
            false,
        );
        check("exec prog *", "exec prog *", Some("prog"), false);
        check("p\\ q 'a;b'", "exec p\\ q 'a;b'", Some("p q"), false);
    }

    #[test]
    fn a_shell_around_one_command_is_left_out() {
        check("sh -c 'git log'", "git log", Some("git"), false);
        check("/bin/sh -c \"ls '*'\"", "exec ls '*'", Some("ls"), false);
        check("sh -c 'a | b'", "a | b", None, true);
    }

    #[test]
    fn several_commands_stay_with_the_shell() {
        for line in [
            "a; b", "a && b", "a | b", "a &", "(a)", "cd x", "a\nb", "if a", "A=1",
        ] {
            check(line, line, None, true);
        }
        check("cd x && exec b y", "cd x && exec b y", Some("b"), false);
    }

    #[test]
    fn a_name_that_the_shell_makes_is_unknown() {
        check("$EDITOR x", "exec $EDITOR x", None, false);
    }

    #[test]
    fn programs_are_found() {
        assert!(find("sh").is_some_and(|p| p.is_absolute()));
        assert_eq!(find("no-such-program"), None);
        let script = std::env::temp_dir().join(format!("trapless-cli-{}", std::process::id()));
        std::fs::write(&script, "#!/usr/bin/env -S sh -e\n").unwrap();
        assert_eq!(find(script.to_str().unwrap()), find("sh"));
        std::fs::remove_file(&script).unwrap();
    }
}
