// SPDX-License-Identifier: MIT
//! The formats, each with its writer.

mod csv;
mod ctf;
mod folded;
mod indented;
mod json;
mod perfetto;
mod pprof;
mod sampled;
mod svg;
mod text;

use crate::calls::Limits;
use crate::module::Module;
use crate::raw::Head;
use crate::writer::Writer;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Text,
    Json,
    Csv,
    Ctf,
    Perfetto,
    Folded,
    Svg,
    Pprof,
    /// Calls, indented.
    Calls,
}

/// Name, format, and whether it is a folder of files.
const FORMATS: [(&str, Format, bool); 9] = [
    ("text", Format::Text, false),
    ("json", Format::Json, false),
    ("csv", Format::Csv, false),
    ("ctf", Format::Ctf, true),
    ("perfetto", Format::Perfetto, false),
    ("calls", Format::Calls, false),
    ("folded", Format::Folded, false),
    ("svg", Format::Svg, false),
    ("pprof", Format::Pprof, false),
];

impl Format {
    pub fn names() -> impl Iterator<Item = &'static str> {
        FORMATS.iter().map(|f| f.0)
    }

    pub fn named(name: &str) -> Option<Format> {
        let found = FORMATS.iter().find(|f| f.0 == name)?;
        Some(found.1)
    }

    /// It shows calls, and may leave some out.
    pub fn has_calls(self) -> bool {
        matches!(self, Format::Calls | Format::Perfetto)
    }

    /// Its output is a folder, which must be named.
    pub fn is_folder(self) -> bool {
        FORMATS.iter().any(|f| f.1 == self && f.2)
    }
}

/// Where the output goes: it is there.
pub enum Output {
    Stream(Box<dyn Write>),
    /// An empty one.
    Folder(PathBuf),
}

const BUFFER: usize = 1 << 18;

impl Output {
    /// `None`: the standard output.
    pub fn open(format: Format, path: Option<&Path>) -> io::Result<Output> {
        if format.is_folder() {
            let path = path.ok_or(io::ErrorKind::NotADirectory)?;
            return empty_folder(path).map(|()| Output::Folder(path.to_path_buf()));
        }
        let to: Box<dyn Write> = match path {
            None => Box::new(io::stdout()),
            Some(path) => Box::new(std::fs::File::create(path)?),
        };
        Ok(Output::Stream(Box::new(io::BufWriter::with_capacity(
            BUFFER, to,
        ))))
    }
}

fn empty_folder(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)?;
    match std::fs::read_dir(path)?.next() {
        None => Ok(()),
        Some(_) => Err(io::ErrorKind::DirectoryNotEmpty.into()),
    }
}

/// A writer that has begun. `limits` are of those that have calls.
pub fn writer(
    format: Format,
    limits: Limits,
    output: Output,
    head: &Head,
    module: &Module,
) -> io::Result<Box<dyn Writer>> {
    Ok(match (format, output) {
        (Format::Text, Output::Stream(out)) => Box::new(text::Text::new(out)),
        (Format::Json, Output::Stream(out)) => Box::new(json::Json::new(out, head, module)?),
        (Format::Csv, Output::Stream(out)) => Box::new(csv::Csv::new(out, head, module)?),
        (Format::Perfetto, Output::Stream(out)) => {
            Box::new(perfetto::Perfetto::new(out, head, module, limits)?)
        }
        (Format::Calls, Output::Stream(out)) => {
            Box::new(indented::Indented::new(out, module, limits)?)
        }
        (Format::Folded, Output::Stream(out)) => Box::new(sampled::Sampled::new(out, folded::put)),
        (Format::Svg, Output::Stream(out)) => Box::new(sampled::Sampled::new(out, svg::put)),
        (Format::Pprof, Output::Stream(out)) => Box::new(sampled::Sampled::new(out, pprof::put)),
        (Format::Ctf, Output::Folder(path)) => Box::new(ctf::Ctf::new(&path, head, module)?),
        _ => return Err(io::ErrorKind::NotADirectory.into()),
    })
}
