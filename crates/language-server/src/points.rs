// SPDX-License-Identifier: MIT
//! From what is written of a probe to the program: its file, its places, what can be read there.

use crate::analysis::Analysis;
use crate::cursor::{Argument, Part};
use crate::outline::{Item, Kind};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use trapless_debuginfo::{Binary, Type, TypeId, Types};
use trapless_sema::declare::loader::Loader;
use trapless_sema::declare::tapset::Tapset;
use trapless_sema::points::listing::{self, Readable, Set};
use trapless_sema::points::Place;
use trapless_sema::running_program;
use trapless_sema::world::World;
use trapless_syntax::ast;
use trapless_syntax::diag::Diagnostics;
use trapless_syntax::lexer::Token;

/// Of a point with more places these are asked for what can be read.
const MOST_PLACES: usize = 64;

/// Places of points, with the files they are in.
pub struct Found {
    pub world: World,
    pub places: Vec<Place>,
    /// Why there is none.
    pub diags: Diagnostics,
}

/// The places of the points that are written in these bytes.
pub fn places(analysis: &mut Analysis, text: &str, points: Range<usize>) -> Found {
    let mut world = analysis.world();
    let mut diags = Diagnostics::new();
    let places = with_probe(
        analysis,
        text,
        points,
        &mut diags,
        |script, tapset, loader, diags| listing::places(script, tapset, loader, &mut world, diags),
    );
    let places = places.into_iter().map(|l| l.place).collect();
    Found {
        world,
        places,
        diags,
    }
}

/// Asks for something about a script of these points alone, with the aliases of the text; nothing where it has errors.
fn with_probe<T>(
    analysis: &mut Analysis,
    text: &str,
    points: Range<usize>,
    diags: &mut Diagnostics,
    ask: impl FnOnce(ast::Script, &Tapset, Loader, &mut Diagnostics) -> Vec<T>,
) -> Vec<T> {
    let mut parsed = analysis.parse(text);
    let mut loader = analysis.loader(&mut parsed.map);
    let probe = format!("probe {} {{ }}", text.get(points).unwrap_or(""));
    let mut script = loader.parse("", probe, diags);
    let aliases = parsed.script.items.into_iter();
    let aliases = aliases.filter(|i| matches!(i, ast::Item::Alias(_)));
    script.items.extend(aliases);
    match diags.has_errors() {
        true => Vec::new(),
        false => ask(script, &analysis.tapset, loader, diags),
    }
}

/// The points of a probe or alias.
pub fn head(tokens: &[Token], item: &Item) -> Option<Range<usize>> {
    let head = tokens.get(item.head.clone())?;
    let (first, last) = (head.first()?, head.last()?);
    let probe = item.kind == Kind::Probe;
    probe.then_some(first.span.lo as usize..last.span.hi as usize)
}

/// What the handler around the cursor can read, each name once.
pub fn readable(
    analysis: &mut Analysis,
    text: &str,
    tokens: &[Token],
    item: Option<&Item>,
) -> Option<(World, Vec<Readable>)> {
    let points = head(tokens, item?)?;
    let found = places(analysis, text, points);
    let places = found.places.iter().take(MOST_PLACES);
    let mut seen = HashSet::new();
    let all = places.flat_map(|p| described(p, &found.world));
    let all = all.filter(|r| seen.insert(r.name.clone())).collect();
    Some((found.world, all))
}

/// A hook's table only names structures.
fn described(place: &Place, world: &World) -> Vec<Readable> {
    let mut all = listing::readable(place, world);
    let context = place.context.as_ref();
    if let Some(binary) = context.and_then(|c| world.binary(c.image)) {
        for r in &mut all {
            r.ty = r.ty.map(|ty| binary.with_described(ty));
        }
    }
    all
}

/// The variables that the aliases around the cursor set, each name once.
pub fn set_by_aliases(
    analysis: &mut Analysis,
    text: &str,
    tokens: &[Token],
    item: Option<&Item>,
) -> Vec<Set> {
    let Some(points) = item.and_then(|i| head(tokens, i)) else {
        return Vec::new();
    };
    let mut diags = Diagnostics::new(); // the text's own pass tells them
    let mut all = with_probe(analysis, text, points, &mut diags, listing::set);
    let mut seen = HashSet::new();
    all.retain(|s| seen.insert(s.name.clone()));
    all
}

/// The type of `$x->a->b`, from that of `$x`.
pub fn member_type(types: &Types, ty: TypeId, names: &[String]) -> Option<TypeId> {
    names.iter().try_fold(ty, |ty, name| {
        let found = types.member(aggregate(types, ty)?, name);
        found.ok().map(|m| m.ty)
    })
}

/// What pointers and arrays lead to at last, where that has members.
pub fn aggregate(types: &Types, ty: TypeId) -> Option<TypeId> {
    let mut ty = types.strip_refs(ty);
    for _ in 0..8 {
        if let Type::Composite(_) = &*types.get(ty) {
            return Some(ty);
        }
        ty = types.strip_refs(types.target(ty)?);
    }
    None
}

/// The file that a point's parts name, without the last one's argument.
pub fn file(world: &mut World, parts: &[Part]) -> Option<Arc<Binary>> {
    let process = parts.first().filter(|p| p.word == "process")?;
    let program = match &process.arg {
        Some(Argument::Text(name)) => name.clone(),
        Some(Argument::Number(pid)) => process_of(world, *pid)?,
        None => world.target.program.clone()?,
    };
    let mut binary = world.info().open_program(&program).ok()?;
    for part in &parts[1..] {
        let (true, Some(Argument::Text(name))) = (is_library(part), &part.arg) else {
            break;
        };
        let found = world.info().open_libraries(&binary, name).ok()?;
        binary = found.into_iter().next()?;
    }
    Some(binary)
}

pub fn is_library(part: &Part) -> bool {
    part.word == "library" || part.word == "plugin"
}

fn process_of(world: &mut World, pid: i64) -> Option<String> {
    let pid = u32::try_from(pid).ok()?;
    let program = running_program(pid, "", None, &mut Diagnostics::new())?;
    world.attach(pid, program.clone());
    Some(program)
}
