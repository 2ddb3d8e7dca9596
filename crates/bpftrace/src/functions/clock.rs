// SPDX-License-Identifier: MIT
//! Formats of time() and strftime().

use crate::ast::{Expr, Kind};
use crate::error::{refused, wrong, Result};
use crate::handler::Handler;
use crate::helpers::Helper;

/// Letters of time()'s format: format, and value of SECONDS.
const CLOCK_PARTS: [(char, &str, &str); 12] = [
    ('H', "%s", "clock(11, 2, SECONDS)"),
    ('M', "%s", "clock(14, 2, SECONDS)"),
    ('S', "%s", "clock(17, 2, SECONDS)"),
    ('T', "%s", "clock(11, 8, SECONDS)"),
    ('R', "%s", "clock(11, 5, SECONDS)"),
    ('Y', "%s", "clock(20, 4, SECONDS)"),
    ('m', "%02d", "clock_month(SECONDS)"),
    (
        'd',
        "%02d",
        "strtol(str_replace(clock(8, 2, SECONDS), \" \", \"\"), 10)",
    ),
    ('e', "%s", "clock(8, 2, SECONDS)"),
    ('a', "%s", "clock(0, 3, SECONDS)"),
    ('b', "%s", "clock(4, 3, SECONDS)"),
    ('s', "%d", "(SECONDS)"),
];

impl Handler<'_> {
    /// A format of time() as printf() takes it.
    pub fn clock(&mut self, format: &Expr, seconds: &str) -> Result<String> {
        let Kind::Text(text) = &format.kind else {
            return wrong(
                format.at,
                "a format is text in quotes",
                "time(\"%H:%M:%S\\n\")",
            );
        };
        self.notes.helpers.insert(Helper::Clock);
        let (mut out, mut values) = (String::new(), String::new());
        let mut chars = text
            .replace("%F", "%Y-%m-%d")
            .chars()
            .collect::<Vec<_>>()
            .into_iter();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            let letter = chars.next();
            let part = CLOCK_PARTS.iter().find(|p| Some(p.0) == letter);
            match (letter, part) {
                (_, Some((_, form, value))) => {
                    out += form;
                    values += &format!(", {}", value.replace("SECONDS", seconds));
                }
                (Some('%'), _) => out += "%%",
                _ => {
                    let letters: Vec<String> =
                        CLOCK_PARTS.iter().map(|p| format!("%{}", p.0)).collect();
                    return refused(
                        format.at,
                        format!("%{} is not written here", letter.unwrap_or(' ')),
                        letters.join(" "),
                    );
                }
            }
        }
        Ok(format!("\"{out}\"{values}"))
    }
}
