// SPDX-License-Identifier: MIT
//! Where the thing under the cursor is declared: in the document, the script library, or the program's source.

use crate::analysis::Analysis;
use crate::cursor::{self, Thing, Under};
use crate::library::{self, Kind};
use crate::points;
use crate::text::{location, Columns};
use lsp_types::{Location, Position, Range, Uri};
use std::path::Path;
use trapless_debuginfo::SourcePos;
use trapless_sema::points::Place;
use trapless_sema::world::World;

/// No list is longer.
const MOST: usize = 20;

pub fn definition(
    analysis: &mut Analysis,
    uri: &Uri,
    text: &str,
    offset: usize,
    columns: Columns,
) -> Vec<Location> {
    let Some(under) = cursor::under(text, offset) else {
        return Vec::new();
    };
    let find = |name: &str, kinds: &[Kind], analysis: &Analysis| {
        declared(analysis, uri, text, name, kinds, columns)
    };
    match &under.thing {
        Thing::Name(name) => find(name, &[Kind::Function, Kind::Global], analysis),
        Thing::Operator(name) => find(name, &[Kind::Macro], analysis),
        Thing::Variable(_) => variable(analysis, text, &under),
        Thing::Point { bytes, .. } => {
            let point = text.get(bytes.clone()).unwrap_or("");
            let found = find(point, &[Kind::Alias], analysis);
            match found.is_empty() {
                true => sources(analysis, text, bytes.clone()),
                false => found,
            }
        }
    }
}

fn declared(
    analysis: &Analysis,
    uri: &Uri,
    text: &str,
    name: &str,
    kinds: &[Kind],
    columns: Columns,
) -> Vec<Location> {
    let is = |d: &&library::Declared| kinds.contains(&d.kind) && names(&d.name, name, d.kind);
    let script = analysis.parse(text).script;
    let document = library::declared(&script, text);
    let range = |text: &str, at: (usize, usize)| columns.range(text, at.0, at.1);
    let found = document.iter().filter(is);
    let found: Vec<Location> = found
        .map(|d| Location::new(uri.clone(), range(text, d.at)))
        .collect();
    if !found.is_empty() {
        return found;
    }
    let files = analysis.library().iter();
    let found = files.flat_map(|f| {
        let declared = f.declared.iter().filter(is);
        declared.filter_map(|d| location(&f.path, range(&f.text, d.at)))
    });
    found.take(MOST).collect()
}

/// A point may go on behind an alias's name.
fn names(declared: &str, written: &str, kind: Kind) -> bool {
    let rest = written.strip_prefix(declared);
    rest.is_some_and(|r| r.is_empty() || kind == Kind::Alias && r.starts_with(['.', '?', '!', ' ']))
}

fn variable(analysis: &mut Analysis, text: &str, under: &Under) -> Vec<Location> {
    let Thing::Variable(names) = &under.thing else {
        return Vec::new();
    };
    let item = under.item.as_ref();
    let found = points::readable(analysis, text, &under.tokens, item);
    let readable = found.map_or(Vec::new(), |f| f.1);
    let name = names[0].trim_end_matches('$');
    let found = readable.into_iter().filter(|r| r.name == name);
    found.filter_map(|r| source(&r.declared?)).collect()
}

/// Where the point's places are in the program's source, as far as that is here.
fn sources(analysis: &mut Analysis, text: &str, bytes: std::ops::Range<usize>) -> Vec<Location> {
    let found = points::places(analysis, text, bytes);
    let places = found.places.iter();
    let mut all: Vec<Location> = Vec::new();
    for at in places.filter_map(|p| source_of(p, &found.world)) {
        if !all.contains(&at) && all.len() < MOST {
            all.push(at);
        }
    }
    all
}

/// A function where it is declared, other places by their addresses.
fn source_of(place: &Place, world: &World) -> Option<Location> {
    let context = place.context.as_ref()?;
    let binary = world.binary(context.image)?;
    let declared = context
        .function
        .as_ref()
        .and_then(|f| binary.declared_at(f));
    source(&declared.or_else(|| binary.source_at(context.pc))?)
}

fn source(at: &SourcePos) -> Option<Location> {
    let line = u32::try_from(at.line.checked_sub(1)?).ok()?;
    let start = Position::new(line, at.column.saturating_sub(1) as u32);
    let path = Path::new(&at.file);
    location(path, Range::new(start, start)).filter(|_| path.is_file())
}
