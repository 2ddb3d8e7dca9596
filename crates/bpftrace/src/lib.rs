// SPDX-License-Identifier: MIT
//! Programs of bpftrace to scripts: text in, text out.
//!
//! `lex` and `parse` make a program (`ast`) of the text. `translate` makes a script of it: its points by `points`,
//! `syscalls` and `tracepoints`, what bpftrace has by name by `functions`, types by `types`.

mod ast;
mod error;
mod functions;
mod handler;
mod helpers;
mod lex;
mod maps;
mod parse;
mod points;
mod setting;
mod syscalls;
mod tracepoints;
mod translate;
mod types;
mod value;

pub use error::{At, Error, Kind};
pub use setting::{Script, Setting};

pub fn translate(program: &str, setting: &Setting) -> Result<Script, Error> {
    let parsed = parse::parse(program)?;
    translate::translate(program, &parsed, setting)
}

/// Points without a handler: they are to be listed.
pub fn is_listing(program: &str) -> bool {
    parse::parse(program).is_ok_and(|p| p.probes.iter().any(|probe| probe.body.is_none()))
}
