// SPDX-License-Identifier: MIT
//! What is known of the thing under the cursor.

use crate::analysis::Analysis;
use crate::cursor::{self, Thing, Under};
use crate::library::{self, Declared, Kind};
use crate::points;
use crate::text::Columns;
use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind};
use std::collections::BTreeSet;
use trapless_sema::ir::ProbeKind;
use trapless_sema::points::Place;
use trapless_sema::world::World;

/// Places that are shown of a point.
const SHOWN: usize = 5;

pub fn hover(
    analysis: &mut Analysis,
    text: &str,
    offset: usize,
    columns: Columns,
) -> Option<Hover> {
    let under = cursor::under(text, offset)?;
    let value = match &under.thing {
        Thing::Variable(names) => variable(analysis, text, &under, names),
        Thing::Point { bytes, .. } => Some(point(analysis, text, bytes.clone())),
        Thing::Name(name) => {
            given(analysis, text, &under, name).or_else(|| named(analysis, text, name))
        }
        Thing::Operator(name) => described(analysis, text, name, &[Kind::Macro]),
    };
    Some(Hover {
        contents: HoverContents::Markup(MarkupContent {
            kind: MarkupKind::Markdown,
            value: value?,
        }),
        range: Some(columns.range(text, under.bytes.start, under.bytes.end)),
    })
}

fn code(language: &str, text: &str) -> String {
    format!("```{language}\n{text}\n```")
}

/// Its type as C has it, and where it is.
fn variable(
    analysis: &mut Analysis,
    text: &str,
    under: &Under,
    names: &[String],
) -> Option<String> {
    let item = under.item.as_ref();
    let (world, readable) = points::readable(analysis, text, &under.tokens, item)?;
    let types = world.info().types();
    // `$x$` shows what `$x` is.
    let name = names[0].trim_end_matches('$');
    let found = readable.iter().find(|r| r.name == name)?;
    let Some(ty) = found.ty else {
        return Some(code("c", &format!("long {name}")));
    };
    let ty = points::member_type(types, ty, &names[1..])?;
    let last = names.last().map_or(name, |n| n.trim_matches('$'));
    let mut out = code("c", &types.declaration(ty, last));
    if names.len() == 1 {
        out.extend(found.location.iter().map(|l| format!("\n{l}")));
        let declared = found.declared.iter();
        out.extend(declared.map(|d| format!("\n\ndeclared at {}:{}", d.file, d.line)));
    }
    Some(out)
}

/// How many places it has, and the first of them.
fn point(analysis: &mut Analysis, text: &str, bytes: std::ops::Range<usize>) -> String {
    let found = points::places(analysis, text, bytes);
    if found.places.is_empty() {
        let said = found.diags.iter().next();
        let why = said.map_or("it is optional".to_string(), |d| {
            let next = d.help.iter().map(|h| format!("\n\n{h}"));
            d.message.clone() + &next.collect::<String>()
        });
        return format!("no place: {why}");
    }
    let count = found.places.len();
    let mut out = match count {
        1 => "1 place".to_string(),
        n => format!("{n} places"),
    };
    for place in found.places.iter().take(SHOWN) {
        out += &format!("\n- `{}`", place.point);
        out.extend(address(place, &found.world));
    }
    if count > SHOWN {
        out += &format!("\n- and {} more", count - SHOWN);
    }
    out
}

fn address(place: &Place, world: &World) -> Option<String> {
    let (ProbeKind::Site { image, addr, .. } | ProbeKind::Return { image, addr, .. }) = &place.kind
    else {
        return None;
    };
    // In a kernel `addr` counts from the function's entry.
    let pc = place.context.as_ref().map_or(*addr, |c| c.pc);
    let source = world.binary(*image).and_then(|b| b.source_at(pc));
    let source = source.map_or(String::new(), |s| format!(", {}:{}", s.file, s.line));
    Some(format!(" at {addr:#x}{source}"))
}

/// A variable that an alias sets.
fn given(analysis: &mut Analysis, text: &str, under: &Under, name: &str) -> Option<String> {
    let set = points::set_by_aliases(analysis, text, &under.tokens, under.item.as_ref());
    let found = set.into_iter().find(|s| s.name == name)?;
    Some(code("systemtap", &format!("{name}:{}", found.type_name())) + "\n\nset by the alias")
}

fn named(analysis: &mut Analysis, text: &str, name: &str) -> Option<String> {
    let described = described(analysis, text, name, &[Kind::Function, Kind::Global])?;
    Some(match analysis.global_type(text, name) {
        Some(ty) => format!("{described}\n\n{ty}"),
        None => described,
    })
}

/// All declarations of a name: of a function each form.
fn described(analysis: &Analysis, text: &str, name: &str, kinds: &[Kind]) -> Option<String> {
    let is = |d: &&Declared| d.name == name && kinds.contains(&d.kind);
    let script = analysis.parse(text).script;
    let document = library::declared(&script, text);
    let mut found: Vec<&Declared> = document.iter().filter(is).collect();
    if found.is_empty() {
        let library = analysis.library().iter();
        found = library.flat_map(|f| &f.declared).filter(is).collect();
    }
    let details: BTreeSet<&str> = found.iter().map(|d| d.detail.as_str()).collect();
    let details: Vec<&str> = details.into_iter().collect();
    let words = found.iter().find_map(|d| d.words.clone());
    let words = words.map_or(String::new(), |w| format!("\n\n{w}"));
    (!found.is_empty()).then(|| code("systemtap", &details.join("\n")) + &words)
}
