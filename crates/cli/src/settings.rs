// SPDX-License-Identifier: MIT
//! What options say in the script's stead: `-D`, `-G`, `-T`.

use crate::options::Options;
use trapless_sema::ir;
use trapless_sema::loader::Loader;
use trapless_syntax::ast::{Item, Literal, NumLit, Script, StrLit};
use trapless_syntax::diag::{Diagnostics, Tag};

/// `-T SECONDS`, in the script's own words: it also holds for a module.
pub fn time_limit(seconds: u32, loader: &mut Loader, diags: &mut Diagnostics) -> Script {
    let text = format!("probe timer.s({seconds}) {{ exit() }}\n");
    loader.parse("<-T>", text, diags)
}

/// `-G VAR=VALUE`: as if the script's declaration said so.
pub fn set_globals(options: &Options, script: &mut Script, diags: &mut Diagnostics) {
    for word in &options.globals {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let mut found = script.items.iter_mut().filter_map(|i| match i {
            Item::Global(g) if g.name.name == name => Some(g),
            _ => None,
        });
        let Some(g) = found.next() else {
            diags
                .error(
                    Tag::Usage,
                    None,
                    format!("-G {word}: the script has no global `{name}`"),
                )
                .help("-G NAME=VALUE sets a global that the script declares");
            continue;
        };
        let span = g.span;
        g.init = Some(match parse_number(value) {
            Some(value) => Literal::Number(NumLit { value, span }),
            None => Literal::String(StrLit {
                bytes: value.as_bytes().to_vec(),
                span,
            }),
        });
    }
}

fn parse_number(text: &str) -> Option<i64> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |d| (-1, d));
    let n = match digits.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16),
        None => digits.parse::<i64>(),
    };
    n.ok().map(|n: i64| n.wrapping_mul(sign))
}

pub fn limits(options: &Options, diags: &mut Diagnostics) -> ir::Options {
    let mut out = ir::Options {
        guru: options.guru,
        ..ir::Options::default()
    };
    for word in &options.limits {
        let (name, value) = word.split_once('=').unwrap_or((word, "1"));
        let field = match name {
            "MAXSTRINGLEN" => &mut out.max_string,
            "MAXACTION" => &mut out.max_action,
            "MAXNESTING" => &mut out.max_nesting,
            "MAXERRORS" => &mut out.max_errors,
            "MAXSKIPPED" => &mut out.max_skipped,
            "MAXMAPENTRIES" => &mut out.max_map_entries,
            "RINGSIZE" => &mut out.ring_size,
            _ => {
                diags
                    .warn(
                        Tag::Usage,
                        None,
                        format!("-D {name}: not a limit of trapless; ignored"),
                    )
                    .help("the limits are listed under -D in trapless --help");
                continue;
            }
        };
        let range = match name {
            "MAXSTRINGLEN" => 16..=8192,
            "RINGSIZE" => 4096..=16 << 20,
            "MAXMAPENTRIES" => 1..=u32::MAX,
            _ => 0..=u32::MAX,
        };
        match value.parse::<u32>() {
            Ok(n) if range.contains(&n) => *field = n,
            _ => {
                let (least, most) = range.into_inner();
                diags
                    .error(
                        Tag::Usage,
                        None,
                        format!("-D {word}: the value is a number, {least} to {most}"),
                    )
                    .help("e.g. -D MAXSTRINGLEN=1024");
            }
        }
    }
    out
}
