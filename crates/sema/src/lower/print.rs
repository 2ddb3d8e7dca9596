// SPDX-License-Identifier: MIT
//! `print` and its kin, all as formats.

use super::{up_to_nul, Lowerer};
use crate::ir::{self, Ty};
use crate::types::infer::{format_args, VTy};
use trapless_syntax::ast::{Expr, ExprKind, Print, PrintKind, StrLit};
use trapless_syntax::diag::Tag;
use trapless_syntax::format::{parse_format, Kind, Piece, Size};
use trapless_syntax::Span;

impl Lowerer<'_, '_> {
    pub fn print(&mut self, p: &Print, span: Span) -> Option<ir::Print> {
        if let [Expr {
            kind: ExprKind::Hist { operand, .. },
            ..
        }] = &p.args[..]
        {
            return self.histogram(p, operand, span);
        }
        if let (PrintKind::Printf, Some(format)) = (p.kind, &p.format) {
            return self.printf(p, format, span);
        }
        let mut args = Vec::new();
        for a in &p.args {
            args.push(self.expr(a, VTy::Unknown));
        }
        let args = args.into_iter().collect::<Option<Vec<_>>>()?;
        let between = p
            .delimiter
            .as_ref()
            .map_or(Vec::new(), |d| escaped(&d.bytes));
        let mut format = Vec::new();
        for (n, a) in args.iter().enumerate() {
            if n > 0 {
                format.extend_from_slice(&between);
            }
            format.extend_from_slice(if a.ty == Ty::Str { b"%s" } else { b"%d" });
        }
        if matches!(p.kind, PrintKind::Println | PrintKind::Printdln) {
            format.push(b'\n');
        }
        Some(ir::Print {
            format,
            args,
            to_string: p.to_string,
            ..ir::Print::default()
        })
    }

    fn histogram(&mut self, p: &Print, operand: &Expr, span: Span) -> Option<ir::Print> {
        let println = match (p.kind, p.to_string) {
            (PrintKind::Print, false) => false,
            (PrintKind::Println, false) => true,
            _ => {
                self.error(
                    Tag::StatMisuse,
                    span,
                    format!("`{}` cannot draw a histogram", p.name()),
                )
                .help("use print(@hist_log(x))");
                return None;
            }
        };
        let (global, keys) = self.statistic(operand)?;
        Some(ir::Print {
            hist: Some(ir::HistPrint {
                global,
                keys,
                println,
            }),
            ..ir::Print::default()
        })
    }

    fn printf(&mut self, p: &Print, format: &StrLit, span: Span) -> Option<ir::Print> {
        let pieces = match parse_format(&format.bytes) {
            Ok(pieces) => pieces,
            Err(e) => {
                self.error(Tag::FormatArgs, format.span, e.message)
                    .help("see the conversions of printf in stap(1)");
                return None;
            }
        };
        let wants = format_args(&format.bytes).unwrap_or_default();
        if wants.len() != p.args.len() {
            let message = format!(
                "the format takes {} arguments, {} are given",
                wants.len(),
                p.args.len()
            );
            self.error(Tag::FormatArgs, span, message)
                .help("give one argument for each conversion; %% prints a percent sign");
            return None;
        }
        let mut values = Vec::new();
        for (a, want) in p.args.iter().zip(&wants) {
            let v = self.expr(a, *want);
            values.push(v.and_then(|v| self.fits(v, *want)));
        }
        let values = values.into_iter().collect::<Option<Vec<_>>>()?;
        Some(ir::Print {
            format: plain(&pieces),
            args: memory_args(&pieces, values, span),
            to_string: p.to_string,
            ..ir::Print::default()
        })
    }

    fn fits(&mut self, v: ir::Expr, want: VTy) -> Option<ir::Expr> {
        let ty = if want == VTy::Str { Ty::Str } else { Ty::Long };
        if v.ty == ty {
            return Some(v);
        }
        let written = self.shared.map.text(v.span).to_string();
        let (conversion, is, use_) = match ty {
            Ty::Str => ("%s takes a string", "number", "%d"),
            Ty::Long => ("this conversion takes a number", "string", "%s"),
        };
        let help = match ty {
            Ty::Str if written.starts_with('$') => {
                let (reader, where_else) = self.reader_of_text();
                format!(
                    "use {use_}, or {reader}({written}) for the text that it points to{where_else}"
                )
            }
            _ => format!("use {use_}"),
        };
        self.error(
            Tag::FormatArgs,
            v.span,
            format!("{conversion}, this is a {is}"),
        )
        .help(help);
        None
    }
}

/// `%m` and `%M` take an address in the script; the runtime wants the bytes.
fn memory_args(pieces: &[Piece], values: Vec<ir::Expr>, span: Span) -> Vec<ir::Expr> {
    let mut values = values.into_iter();
    let mut out: Vec<ir::Expr> = Vec::new();
    for piece in pieces {
        let Piece::Conversion(c) = piece else {
            continue;
        };
        for size in [&c.width, &c.precision] {
            if matches!(size, Size::Arg) {
                out.extend(values.next());
            }
        }
        let Some(value) = values.next() else { continue };
        if !matches!(c.kind, Kind::Memory | Kind::MemoryHex) {
            out.push(value);
            continue;
        }
        let long = |n| ir::Expr {
            ty: Ty::Long,
            kind: ir::ExprKind::Long(n),
            span,
        };
        let size = match (&c.precision, out.last()) {
            (Size::Fixed(n), _) => long(i64::from(*n)),
            (Size::Arg, Some(last)) => last.clone(),
            _ => long(1),
        };
        out.push(ir::Expr {
            ty: Ty::Str,
            kind: ir::ExprKind::MemoryBytes(Box::new(value), Box::new(size)),
            span,
        });
    }
    out
}

/// The format as the runtime reads it.
fn plain(pieces: &[Piece]) -> Vec<u8> {
    let text = |piece: &Piece| match piece {
        Piece::Text(text) => escaped(text),
        Piece::Conversion(c) => c.text().into_bytes(),
    };
    let all: Vec<u8> = pieces.iter().flat_map(text).collect();
    up_to_nul(&all).to_vec()
}

/// Literal text inside a format.
fn escaped(text: &[u8]) -> Vec<u8> {
    text.iter()
        .flat_map(|b| {
            if *b == b'%' {
                vec![b'%', b'%']
            } else {
                vec![*b]
            }
        })
        .collect()
}
