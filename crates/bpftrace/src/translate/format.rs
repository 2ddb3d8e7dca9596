// SPDX-License-Identifier: MIT
//! Formats of printf().

use crate::ast::{Expr, Kind};
use crate::error::{refused, wrong, Result};
use crate::handler::Handler;
use crate::types::Ty;

impl Handler<'_> {
    /// The format and its values, as printf() and sprintf() take them.
    pub fn formatted(&mut self, name: &str, args: &[Expr], at: crate::error::At) -> Result<String> {
        let Some((first, values)) = args.split_first() else {
            return wrong(
                at,
                format!("{name}() needs a format"),
                "printf(\"%d\\n\", pid)",
            );
        };
        let Kind::Text(format) = &first.kind else {
            return wrong(
                first.at,
                "a format is text in quotes",
                "printf(\"%d\\n\", pid)",
            );
        };
        let (format, wanted) = conversions(format, first)?;
        if wanted.len() != values.len() {
            let what = format!(
                "the format wants {} values, and there are {}",
                wanted.len(),
                values.len()
            );
            return wrong(first.at, what, "give one value for each %; %% is a % sign");
        }
        let mut out = format!("\"{format}\"");
        for (conversion, value) in wanted.iter().zip(values) {
            let made = self.expr(value)?;
            let fits = match made.ty {
                Ty::Unknown => true,
                Ty::Number => *conversion != 's',
                _ => *conversion == 's',
            };
            if !fits {
                let is = if made.ty == Ty::Number {
                    "a number"
                } else {
                    "text"
                };
                return wrong(value.at, format!("%{conversion} does not go with {is}"), "%s is for text, %d, %u, %x, %c and %p are for numbers; str() makes text of an address");
            }
            out += &format!(", {}", made.text);
        }
        Ok(out)
    }
}

/// The format without the sizes of numbers, and its conversions.
fn conversions(format: &str, at: &Expr) -> Result<(String, Vec<char>)> {
    let (mut out, mut all) = (String::new(), Vec::new());
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        out.push(c);
        if c != '%' {
            continue;
        }
        let conversion = loop {
            match chars.next() {
                Some('l' | 'h' | 'z' | 'j') => {}
                Some(c @ ('-' | '+' | '#' | '.' | ' ' | '0'..='9')) => out.push(c),
                other => break other,
            }
        };
        match conversion {
            Some('%') => out.push('%'),
            Some(c @ ('d' | 'i' | 'u' | 'x' | 'X' | 'o' | 'c' | 'p' | 's')) => {
                out.push(c);
                all.push(c);
            }
            Some(c) => {
                return refused(
                    at.at,
                    format!("%{c} is not translated"),
                    "%d, %u, %x, %X, %o, %c, %p, %s",
                )
            }
            None => return wrong(at.at, "the format ends behind a %", "%% is a % sign"),
        }
    }
    Ok((out, all))
}
