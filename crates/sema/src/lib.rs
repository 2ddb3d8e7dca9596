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
//! 6. [`walked`]: complains of loops that change the array they walk
//! 7. [`display`]: globals that are shown at the end
//! 8. [`share`]: which globals are kept per thread, which locks are taken

pub mod arguments;
pub mod collect;
pub mod components;
pub mod declarations;
pub mod display;
pub mod expand;
mod files;
pub mod header;
pub mod infer;
pub mod ir;
mod later;
pub mod listing;
pub mod loader;
pub mod lower;
pub mod points;
pub mod process_points;
mod reached;
pub mod regex;
mod registers;
mod running;
pub mod session_points;
pub mod share;
pub mod tapset;
pub mod target;
pub mod walk;
mod walked;
pub mod world;
mod written;

pub use running::program as running_program;

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
    /// What the command line stands for, beside the user's own words.
    pub made: Vec<Script>,
    pub tapset: &'a tapset::Tapset,
    pub loader: Loader<'a>,
    pub options: Options,
}

/// Run the passes. `None`: errors have been reported.
pub fn analyse(input: Input, world: &mut World, diags: &mut Diagnostics) -> Option<Program> {
    let mut program = check(input, world, diags)?;
    let (symbols, stacks) = (uses(&program, "symbols"), uses(&program, "unwind"));
    if symbols || stacks {
        if program.probes.iter().any(|p| p.kind.is_profile()) {
            world.add_target();
        }
        world.add_libraries();
    }
    if symbols {
        program.symbols = world.symbols();
    }
    if stacks {
        program.unwind = world.unwind_tables();
    }
    program.images = world.images.clone();
    if !program.options.no_display {
        display::add_display(&mut program);
    }
    share::share(&mut program);
    Some(program)
}

/// The passes that complain; what no script can have wrong is left out.
pub fn check(input: Input, world: &mut World, diags: &mut Diagnostics) -> Option<Program> {
    let mut loader = input.loader;
    let all = collect::collect(input.scripts, input.made, input.tapset, &mut loader, diags);
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
    let mut places: Vec<Vec<Place>> = units.iter().map(|u| resolve(u, world, diags)).collect();
    session_points::check_samples(&units, &mut places, &world.target, diags);
    let mut shared = Shared::new(&all, &types, loader.map, world, diags, input.options.guru);
    shared.skip_badvars = input.options.skip_badvars;
    shared.known_functions = input.tapset.function_names().map(str::to_string).collect();
    let mut handlers = Handlers::default();
    for (n, places) in places.iter().enumerate() {
        lower_places(&mut shared, &units, n, places, &mut handlers, &mut program);
    }
    program.functions = lower::lower_functions(&mut shared);
    program.c_blocks = lower::embedded::blocks(&mut shared);
    program.regexes = std::mem::take(&mut shared.regexes);
    for (g, pointer) in std::mem::take(&mut shared.pointers) {
        program.globals[g.0 as usize].pointer = pointer;
    }
    program.handlers = handlers.list;
    registers::mark(&mut program);
    program.options = input.options;
    walked::check(&program, diags);
    if diags.has_errors() {
        return None;
    }
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
    let condition = lower::lower_condition(shared, units, n).map(|h| handlers.add(h, ""));
    let mut done: HashMap<
        std::mem::Discriminant<ProbeKind>,
        (HandlerId, Option<HandlerId>, Vec<ir::Ty>),
    > = HashMap::new();
    for place in places {
        let kind = std::mem::discriminant(&place.kind);
        let shares = !uses_context && !place.is_callee();
        let known = done.get(&kind).filter(|_| shares).cloned();
        let (handler, on_entry, call_data) = match known {
            Some(k) => k,
            None => {
                let Some(l) = lower::lower_unit(shared, units, n, place) else {
                    // One place shows the mistake; a thousand more would hide it.
                    return;
                };
                let ids = add_handlers(l, handlers);
                if shares {
                    done.insert(kind, ids.clone());
                }
                ids
            }
        };
        program.probes.push(Probe {
            point: place.point.clone(),
            func: place.func.clone(),
            script: shared.map.locate(units[n].span),
            name: units[n].name.clone().unwrap_or_default(),
            kind: probe_kind(&place.kind, on_entry, call_data),
            handler,
            condition: condition.filter(|_| lower::can_be_armed(&place.kind)),
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

/// Do functions of the tapset occur that say of themselves that they need this?
fn uses(program: &Program, what: &str) -> bool {
    let pragma = format!("/* {what} */");
    program.functions.iter().any(|f| match &f.body {
        ir::FunctionBody::C(code) => code.contains(&pragma),
        ir::FunctionBody::Script(_) | ir::FunctionBody::Embedded(_) => false,
    })
}
