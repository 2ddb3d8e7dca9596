// SPDX-License-Identifier: MIT
//! Pass 2: from syntax trees to a typed program.
//!
//! The passes, in order; each reads what the ones before it made:
//!
//! 1. [`collect`]: declarations of the script and of the tapset files it needs
//! 2. [`expand`]: aliases in probe points
//! 3. [`infer`]: types of variables, arrays and functions
//! 4. [`points`]: probe points to files and addresses
//! 5. [`lower`]: bodies to the [`ir`], one for each kind of place; complains
//! 6. [`display`]: globals that are shown at the end
//! 7. [`share`]: which globals are kept per thread, which locks are taken

pub mod collect;
mod components;
pub mod declarations;
pub mod display;
pub mod expand;
mod files;
pub mod infer;
pub mod ir;
mod later;
pub mod loader;
pub mod lower;
pub mod points;
pub mod process_points;
pub mod session_points;
pub mod share;
pub mod tapset;
pub mod target;
pub mod walk;
pub mod world;

use ir::{Handler, HandlerId, Options, Probe, ProbeKind, Program};
use loader::Loader;
use lower::{Lowered, Shared};
use points::Place;
use std::collections::HashMap;
use trapless_syntax::ast::Script;
use trapless_syntax::diag::{Diagnostics, Tag};
use world::World;

/// What pass 2 works on.
pub struct Input<'a> {
    pub scripts: Vec<Script>,
    pub tapset: &'a tapset::Tapset,
    pub loader: Loader<'a>,
    pub options: Options,
}

/// Run the passes. `None`: errors have been reported.
pub fn analyse(input: Input, world: &mut World, diags: &mut Diagnostics) -> Option<Program> {
    let mut loader = input.loader;
    let all = collect::collect(input.scripts, input.tapset, &mut loader, diags);
    let units = expand::expand(&all, loader.ids, diags);
    if all.probes.is_empty() && !diags.has_errors() {
        diags
            .error(Tag::ProbesNone, None, "the script has no probe")
            .help("e.g. probe begin { println(\"hello\") }");
    }
    let types = infer::infer(&all, &units);
    let mut program = Program {
        globals: lower::lower_globals(&all, &types, input.options.max_map_entries, diags),
        ..Program::default()
    };
    let places: Vec<Vec<Place>> = units.iter().map(|u| resolve(u, world, diags)).collect();
    let mut shared = Shared::new(&all, &types, loader.map, world, diags, input.options.guru);
    shared.known_functions = input.tapset.function_names().map(str::to_string).collect();
    let mut handlers = Handlers::default();
    for (n, places) in places.iter().enumerate() {
        lower_places(&mut shared, &units, n, places, &mut handlers, &mut program);
    }
    program.functions = lower::lower_functions(&mut shared);
    program.handlers = handlers.list;
    program.options = input.options;
    if diags.has_errors() {
        return None;
    }
    if uses_symbols(&program) {
        program.symbols = world.symbols();
    }
    program.images = world.images.clone();
    display::add_display(&mut program);
    share::share(&mut program);
    Some(program)
}

/// The places of a unit's points; a point behind one that has `!` and
/// resolved is left out.
fn resolve(unit: &expand::Unit, world: &mut World, diags: &mut Diagnostics) -> Vec<Place> {
    let mut all = Vec::new();
    for p in &unit.points {
        let found = points::resolve(p, world, diags);
        let done = p.sufficient && !found.is_empty();
        all.extend(found);
        if done {
            break;
        }
    }
    all
}

/// Handlers, each once however many places share it.
#[derive(Default)]
struct Handlers {
    list: Vec<Handler>,
    known: HashMap<String, HandlerId>,
}

impl Handlers {
    fn add(&mut self, h: Handler, extra: &str) -> HandlerId {
        let text = format!("{h:?}{extra}");
        let next = HandlerId(self.list.len() as u32);
        let list = &mut self.list;
        *self.known.entry(text).or_insert_with(|| {
            list.push(h);
            next
        })
    }
}

/// Lower the unit's body for each of its places. Bodies that use no variable
/// of the program are lowered once for all.
fn lower_places(
    shared: &mut Shared,
    units: &[expand::Unit],
    n: usize,
    places: &[Place],
    handlers: &mut Handlers,
    program: &mut Program,
) {
    let uses_context = uses_context(&units[n]);
    let mut done: HashMap<
        std::mem::Discriminant<ProbeKind>,
        (HandlerId, Option<HandlerId>, Vec<ir::Ty>),
    > = HashMap::new();
    for place in places {
        let kind = std::mem::discriminant(&place.kind);
        let known = done.get(&kind).filter(|_| !uses_context).cloned();
        let (handler, on_entry, call_data) = match known {
            Some(k) => k,
            None => {
                let Some(l) = lower::lower_unit(shared, units, n, place) else {
                    // One place shows the mistake; a thousand more would hide it.
                    return;
                };
                let ids = add_handlers(l, handlers);
                done.insert(kind, ids.clone());
                ids
            }
        };
        program.probes.push(Probe {
            point: place.point.clone(),
            func: place.func.clone(),
            script: shared.map.locate(units[n].span),
            kind: probe_kind(&place.kind, on_entry, call_data),
            handler,
            refusal: place.refusal,
            never: place.never,
        });
    }
    if places.is_empty() {
        // Nothing to attach to: the body's own mistakes are worth telling.
        let nowhere = Place {
            point: String::new(),
            func: String::new(),
            kind: ProbeKind::Begin { order: 0 },
            context: None,
            refusal: ir::Refusal::Nothing,
            never: true,
        };
        if !uses_context {
            lower::lower_unit(shared, units, n, &nowhere);
        }
    }
}

fn add_handlers(
    l: Lowered,
    handlers: &mut Handlers,
) -> (HandlerId, Option<HandlerId>, Vec<ir::Ty>) {
    // The offsets of saved values are part of a handler.
    let extra = format!("{:?}", l.call_data);
    let on_entry = l.on_entry.map(|h| handlers.add(h, &extra));
    (handlers.add(l.handler, &extra), on_entry, l.call_data)
}

fn probe_kind(place: &ProbeKind, entry: Option<HandlerId>, saved: Vec<ir::Ty>) -> ProbeKind {
    let mut kind = place.clone();
    if let ProbeKind::Return {
        on_entry,
        call_data,
        ..
    } = &mut kind
    {
        (*on_entry, *call_data) = (entry, saved);
    }
    kind
}

/// Does the body name anything of the traced program?
fn uses_context(unit: &expand::Unit) -> bool {
    use trapless_syntax::ast::{Expr, ExprKind};
    use trapless_syntax::visit::{self, Visit};
    struct Look(bool);
    impl Visit for Look {
        fn visit_expr(&mut self, e: &Expr) {
            self.0 |= matches!(
                e.kind,
                ExprKind::Target(_)
                    | ExprKind::Entry(_)
                    | ExprKind::Defined(_)
                    | ExprKind::Register { .. }
            );
            visit::walk_expr(self, e);
        }
    }
    let mut look = Look(false);
    visit::walk_block(&mut look, &unit.body);
    look.0
}

/// Do the tapset's functions that name symbols occur?
fn uses_symbols(program: &Program) -> bool {
    program.functions.iter().any(|f| match &f.body {
        ir::FunctionBody::C(code) => code.contains("/* symbols */"),
        ir::FunctionBody::Script(_) => false,
    })
}
