// SPDX-License-Identifier: MIT
//! `--bpftrace`: a program of bpftrace, as the script that it is translated to.

use crate::options::Options;
use trapless_bpftrace::{translate, Error, Kind, Setting};
use trapless_syntax::diag::{Diagnostics, Tag};
use trapless_syntax::{SourceMap, Span};

/// The script's text, its name for messages, and its arguments, as input::script_text() has them.
pub fn script(
    program: &str,
    options: &Options,
    map: &mut SourceMap,
    diags: &mut Diagnostics,
) -> Option<(String, String, Vec<String>)> {
    let setting = Setting {
        target: options.command.is_some() || options.pid.is_some(),
        kernel: options.release.is_some(),
        words: options.words.clone(),
    };
    let made = match translate(program, &setting) {
        Ok(made) => made,
        Err(e) => {
            report(&e, program, map, diags);
            return None;
        }
    };
    for (n, word) in options.words.iter().enumerate().skip(made.words) {
        let what = format!(
            "the program does not name ${}: `{word}` is used by nothing",
            n + 1
        );
        diags.warn(Tag::ArgUnused, None, what).help("leave it out");
    }
    if options.verbose > 0 {
        eprint!("Pass 1: the script of --bpftrace:\n{}", made.text);
    }
    Some((
        made.text,
        "<--bpftrace, translated>".to_string(),
        Vec::new(),
    ))
}

fn report(e: &Error, program: &str, map: &mut SourceMap, diags: &mut Diagnostics) {
    let file = map.add("<--bpftrace>", program);
    let tag = match e.kind {
        Kind::Wrong => Tag::BpftraceWrong,
        Kind::Refused => Tag::BpftraceRefused,
    };
    let span = Span::new(file, e.at.lo, e.at.hi.max(e.at.lo));
    diags
        .error(tag, Some(span), e.what.clone())
        .help(e.next.clone());
}
