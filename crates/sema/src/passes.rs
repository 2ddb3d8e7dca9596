// SPDX-License-Identifier: MIT
//! The passes, and what they work on.

use crate::declare::declarations::Declarations;
use crate::declare::expand::{self, Unused};
use crate::declare::loader::Loader;
use crate::declare::tapset::Tapset;
use crate::declare::unit::Unit;
use crate::declare::{alternatives, call_entries, calls, collect, foreach_globals};
use crate::finish::{display, early, entered, nesting, registers, rows, share, walked};
use crate::ir::{self, Options, Program};
use crate::lower::{self, Handlers, Shared};
use crate::points::{self, conditions, home, session, Place};
use crate::types::infer::{self, Types};
use crate::world::World;
use trapless_syntax::ast::Script;
use trapless_syntax::diag::{Diagnostics, Tag};

/// What pass 2 works on.
pub struct Input<'a> {
    pub scripts: Vec<Script>,
    /// What the command line stands for, beside the user's own words.
    pub made: Vec<Script>,
    pub tapset: &'a Tapset,
    pub loader: Loader<'a>,
    pub options: Options,
}

/// What the passes have made so far; each reads what the ones before it made.
pub struct Analysis<'a, 'w> {
    scripts: Vec<Script>,
    made: Vec<Script>,
    tapset: &'a Tapset,
    loader: Loader<'a>,
    world: &'w mut World,
    diags: &'w mut Diagnostics,
    all: Declarations,
    units: Vec<Unit>,
    types: Types,
    /// For each unit the one that stands for it.
    leaders: Vec<usize>,
    /// Of each unit.
    places: Vec<Vec<Place>>,
    program: Program,
}

pub struct Pass {
    pub name: &'static str,
    pub does: &'static str,
    run: fn(&mut Analysis),
}

const fn pass(name: &'static str, does: &'static str, run: fn(&mut Analysis)) -> Pass {
    Pass { name, does, run }
}

/// In this order. What a script can have wrong is told by these.
#[rustfmt::skip]
pub const CHECKING: &[Pass] = &[
    pass("collect", "declarations of the script and of the tapset files that it needs", collect),
    pass("expand", "probes whose points are no aliases any more", expand),
    pass("call_entries", "probes of system calls' entries, for what their returns ask of them", add_call_entries),
    pass("foreach_globals", "locals for globals that `foreach` and `catch` set", set_foreach_globals),
    pass("some_probe", "complains of a script without probes", ask_for_probe),
    pass("infer", "types of variables, arrays and functions", infer),
    pass("globals", "the program's globals", lower_globals),
    pass("resolve", "probe points to files and addresses", resolve),
    pass("home", "whether handlers run in a kernel, or in processes", choose_home),
    pass("conditions", "complains of conditions that name what is not declared", check_conditions),
    pass("samples", "complains of samples of no process", check_samples),
    pass("lower", "bodies to the program, one for each kind of place; complains", lower_bodies),
    pass("entered", "probes of functions' entries that keep what variables ask for", add_entered),
    pass("registers", "handlers that need all registers", mark_registers),
    pass("nesting", "how deep calls are nested", limit_nesting),
    pass("walked", "complains of loops that change the array they walk", check_walked),
    pass("call_returns", "complains of arguments set where the call has been made", check_call_returns),
];

/// Then what no script can have wrong.
#[rustfmt::skip]
pub const FINISHING: &[Pass] = &[
    pass("tables", "symbols, unwind tables and lines of all files, where functions ask for them", add_tables),
    pass("display", "globals that are shown at the end, or while the session runs", add_displays),
    pass("share", "which globals are kept per thread, which locks are taken", share_globals),
    pass("early", "what is read before locks are taken", read_early),
];

/// Run all passes. `None`: errors have been reported.
pub fn analyse(input: Input, world: &mut World, diags: &mut Diagnostics) -> Option<Program> {
    let mut a = Analysis::new(input, world, diags);
    a.check()?;
    FINISHING.iter().for_each(|p| (p.run)(&mut a));
    Some(a.program)
}

/// Those that complain.
pub fn check(input: Input, world: &mut World, diags: &mut Diagnostics) -> Option<Program> {
    let mut a = Analysis::new(input, world, diags);
    a.check()?;
    Some(a.program)
}

impl<'a, 'w> Analysis<'a, 'w> {
    fn new(input: Input<'a>, world: &'w mut World, diags: &'w mut Diagnostics) -> Analysis<'a, 'w> {
        let options = input.options;
        Analysis {
            scripts: input.scripts,
            made: input.made,
            tapset: input.tapset,
            loader: input.loader,
            world,
            diags,
            all: Declarations::default(),
            units: Vec::new(),
            types: Types::default(),
            leaders: Vec::new(),
            places: Vec::new(),
            program: Program {
                options,
                ..Program::default()
            },
        }
    }

    fn check(&mut self) -> Option<()> {
        CHECKING.iter().for_each(|p| (p.run)(self));
        (!self.diags.has_errors()).then_some(())
    }
}

fn collect(a: &mut Analysis) {
    let scripts = std::mem::take(&mut a.scripts);
    let made = std::mem::take(&mut a.made);
    a.all = collect::collect(scripts, made, a.tapset, &mut a.loader, a.diags);
}

fn expand(a: &mut Analysis) {
    a.units = expand::expand(&a.all, Unused::Out, a.loader.ids, a.diags);
}

fn add_call_entries(a: &mut Analysis) {
    let of_system = a.world.calls_are_of_system();
    call_entries::add(&mut a.all, &mut a.units, of_system, a.loader.ids, a.diags);
}

fn set_foreach_globals(a: &mut Analysis) {
    foreach_globals::rewrite(&mut a.all, &mut a.units, a.loader.ids);
}

fn ask_for_probe(a: &mut Analysis) {
    if a.all.probes.is_empty() && !a.diags.has_errors() {
        a.diags
            .error(Tag::ProbesNone, None, "the script has no probe")
            .help("e.g. probe begin { println(\"hello\") }");
    }
}

fn infer(a: &mut Analysis) {
    a.types = infer::infer(&a.all, &a.units);
}

fn lower_globals(a: &mut Analysis) {
    let most = a.program.options.max_map_entries;
    a.program.globals = lower::lower_globals(&a.all, &a.types, most, a.diags);
}

fn resolve(a: &mut Analysis) {
    a.world.own_globals = a.program.globals.len() as u32;
    a.world.entered.clear();
    a.leaders = calls::leaders(&a.units);
    let (world, diags) = (&mut *a.world, &mut *a.diags);
    let find = |p: &_| points::resolve(p, world, diags);
    a.places = alternatives::resolve(&a.units, &a.leaders, find);
}

fn choose_home(a: &mut Analysis) {
    let asked = a.program.options.kernel;
    let kernel = home::is_kernel(asked, &a.units, &a.places, &a.world.images, a.diags);
    a.program.options.kernel = kernel;
    a.world.in_kernel = kernel;
}

fn check_conditions(a: &mut Analysis) {
    conditions::check(&a.all, &a.units, a.diags);
}

fn check_samples(a: &mut Analysis) {
    let (target, kernel) = (&a.world.target, a.world.in_kernel);
    session::check_samples(&a.units, &mut a.places, target, kernel, a.diags);
}

fn lower_bodies(a: &mut Analysis) {
    let (guru, skip_badvars) = (a.program.options.guru, a.program.options.skip_badvars);
    let program = &mut a.program;
    let map = &*a.loader.map;
    let mut shared = Shared::new(&a.all, &a.types, map, a.world, a.diags, guru);
    shared.skip_badvars = skip_badvars;
    shared.known_functions = a.tapset.function_names().map(str::to_string).collect();
    let (units, leaders) = (&a.units, &a.leaders);
    let mut handlers = Handlers::default();
    let places = std::mem::take(&mut a.places).into_iter().enumerate();
    for (n, places) in places.filter(|(n, _)| leaders[*n] == *n) {
        let group: Vec<usize> = (n..units.len()).filter(|m| leaders[*m] == n).collect();
        lower::lower_places(&mut shared, units, &group, places, &mut handlers, program);
    }
    program.functions = lower::lower_functions(&mut shared);
    program.c_blocks = lower::embedded::blocks(&mut shared);
    program.regexes = std::mem::take(&mut shared.regexes);
    for (g, pointer) in std::mem::take(&mut shared.pointers) {
        program.globals[g.0 as usize].pointer = pointer;
    }
    program.handlers = handlers.list;
}

fn add_entered(a: &mut Analysis) {
    let most = a.program.options.max_map_entries;
    entered::add(&mut a.program, a.world, most);
}

fn mark_registers(a: &mut Analysis) {
    registers::mark(&mut a.program);
}

fn limit_nesting(a: &mut Analysis) {
    let p = &mut a.program;
    let nesting = nesting::default(&p.functions, &p.handlers);
    p.options.max_nesting.get_or_insert(nesting);
}

fn check_walked(a: &mut Analysis) {
    walked::check(&a.program, a.diags);
}

fn check_call_returns(a: &mut Analysis) {
    calls::check_returns(&a.program, a.diags);
}

fn add_tables(a: &mut Analysis) {
    let (program, world) = (&mut a.program, &mut *a.world);
    if world.in_kernel {
        // It knows its names itself.
        program.images = world.images.clone();
        return;
    }
    let (symbols, stacks) = (uses(program, "symbols"), uses(program, "unwind"));
    let lines = uses(program, "lines");
    if symbols || stacks || lines {
        if program.probes.iter().any(|p| p.kind.is_profile()) {
            world.add_target();
        }
        world.mention_commands();
        world.add_libraries();
    }
    if symbols {
        program.symbols = world.symbols(uses(program, "variables"));
    }
    if stacks {
        program.unwind = world.unwind_tables();
    }
    if lines {
        program.lines = world.line_tables();
    }
    program.images = world.images.clone();
}

fn add_displays(a: &mut Analysis) {
    if !a.program.options.no_display {
        display::add_display(&mut a.program);
    }
    if a.program.options.monitor {
        display::add_monitor(&mut a.program);
    }
    if a.program.options.rows {
        rows::add(&mut a.program);
    }
}

fn share_globals(a: &mut Analysis) {
    share::share(&mut a.program);
}

fn read_early(a: &mut Analysis) {
    early::read(&mut a.program);
}

/// Do functions of the tapset occur that say of themselves that they need this?
fn uses(program: &Program, what: &str) -> bool {
    let pragma = format!("/* {what} */");
    program.functions.iter().any(|f| match &f.body {
        ir::FunctionBody::C(code) => code.contains(&pragma),
        ir::FunctionBody::Script(_) | ir::FunctionBody::Embedded(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pass_says_what_it_does() {
        let all: Vec<&Pass> = CHECKING.iter().chain(FINISHING).collect();
        for (n, p) in all.iter().enumerate() {
            assert!(all[..n].iter().all(|o| o.name != p.name), "{}", p.name);
            assert!(!p.does.is_empty());
        }
    }
}
