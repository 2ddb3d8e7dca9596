// SPDX-License-Identifier: MIT
//! A line of shell as words.

use std::iter::Peekable;
use std::str::CharIndices;

#[derive(Debug, Default)]
pub struct Word {
    /// Without its quotes.
    pub text: String,
    pub start: usize,
    /// Holds something that the shell replaces, or acts on.
    pub expands: bool,
}

#[derive(Debug, Default)]
pub struct Line {
    pub words: Vec<Word>,
    /// More than one command.
    pub several: bool,
    /// Where each command begins.
    pub commands: Vec<usize>,
    /// A quote has no end.
    pub open: bool,
}

/// Words, and whether there is more than one command.
pub fn scan(line: &str) -> Line {
    let mut out = Line {
        commands: vec![0],
        ..Line::default()
    };
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
            '\'' => out.open |= !single_quoted(&mut chars, word.get_or_insert_with(fresh)),
            '"' => out.open |= !double_quoted(&mut chars, word.get_or_insert_with(fresh)),
            '\\' => match chars.next() {
                Some((_, '\n')) => {}
                Some((_, c)) => word.get_or_insert_with(fresh).text.push(c),
                None => word.get_or_insert_with(fresh).text.push(c),
            },
            '$' if chars.peek().is_some_and(|p| p.1 == '(') => {
                word.get_or_insert_with(fresh).expands = true;
                skip_brackets(&mut chars);
            }
            '&' if before == '>' || before == '<' => {}
            ';' | '&' | '|' | '(' | ')' | '\n' => {
                out.words.extend(word.take());
                if !line[at + 1..].trim().is_empty() || c != ';' && c != '\n' {
                    out.several = true;
                    out.commands.push(at + 1);
                }
            }
            '#' if word.is_none() => break,
            _ => {
                let w = word.get_or_insert_with(fresh);
                w.expands |= "$`*?[~<>{}!".contains(c);
                w.text.push(c);
            }
        }
        before = c;
    }
    out.words.extend(word);
    out
}

/// False: it has no end.
fn single_quoted(chars: &mut Peekable<CharIndices>, word: &mut Word) -> bool {
    for (_, c) in chars {
        if c == '\'' {
            return true;
        }
        word.text.push(c);
    }
    false
}

fn double_quoted(chars: &mut Peekable<CharIndices>, word: &mut Word) -> bool {
    while let Some((_, c)) = chars.next() {
        match (c, chars.peek().map(|p| p.1)) {
            ('"', _) => return true,
            ('\\', Some(next @ ('$' | '`' | '"' | '\\' | '\n'))) => {
                chars.next();
                word.text.extend(Some(next).filter(|c| *c != '\n'));
            }
            _ => {
                word.expands |= c == '$' || c == '`';
                word.text.push(c);
            }
        }
    }
    false
}

fn skip_brackets(chars: &mut Peekable<CharIndices>) {
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
