// SPDX-License-Identifier: MIT
//! The passes, one after the other, with the times that `-v` shows.

use crate::cache::Cache;
use crate::command;
use crate::options::Options;
use crate::paths::Paths;
use crate::progress::Progress;
use crate::run::Run;
use crate::{bpftrace, build, dump, events, input, list, output, settings, target};
use std::path::Path;
use std::time::Instant;
use trapless_bpftrace::is_listing;
use trapless_sema::declare::arguments;
use trapless_sema::declare::loader::Loader;
use trapless_sema::declare::tapset::Tapset;
use trapless_sema::ir::Program;
use trapless_sema::world::World;
use trapless_sema::Input;
use trapless_syntax::ast::{NodeIds, Script};
use trapless_syntax::diag::Diagnostics;
use trapless_syntax::SourceMap;

/// Passes 1 to 4. `None`: stopped where `-p` says, or errors were reported.
pub fn run(options: &Options, map: &mut SourceMap, diags: &mut Diagnostics) -> Option<Run> {
    let clock = Clock {
        on: options.verbose > 0,
        start: Instant::now(),
        progress: Progress::start(&["parsing", "analysing", "translating", "compiling"]),
    };
    let paths = Paths::find();
    paths.check(diags)?;
    build::check_module_name(options, diags);
    output::check_file(options, diags);
    input::check_built(options, diags);
    let command = target::command(options, diags)?;
    if dump::asked(options) {
        dump::dump(options, &paths, map, diags);
        return None;
    }
    let ids = NodeIds::new();
    let (text, name, args) = match (&options.bpftrace, &options.trace_events) {
        (Some(program), _) => bpftrace::script(program, options, map, diags)?,
        (None, Some(list)) => events::script(list, options, command.as_ref(), diags)?,
        (None, None) => input::script_text(options, diags)?,
    };
    let env = input::environment(options, args);
    let tapset = open_tapset(options, &paths, diags);
    let macros = tapset.macros(map, &env, diags);
    let mut loader = Loader {
        map,
        env: &env,
        macros: &macros,
        ids: &ids,
    };
    let is_made = options.trace_events.is_some() || options.bpftrace.is_some();
    let made = is_made.then(|| text.clone());
    let script = loader.parse(name, text, diags);
    let clock = clock.done("Pass 1: parsed the script");
    if diags.has_errors() {
        return None;
    }
    if options.last_pass == 1 {
        drop(clock);
        output::print(&made.unwrap_or_else(|| script.to_string()), diags);
        return None;
    }
    let target = target::of(options, command.as_ref(), diags)?;
    let mut world = World::new(target);
    world.machine = input::machine(options);
    world.release = options.release.clone();
    world.arch = options.arch.clone();
    world.pretty = settings::is_pretty(options);
    world.cache = Cache::open(options).folder().map(Path::to_path_buf);
    world.started = options
        .command
        .as_deref()
        .map_or_else(Vec::new, command::programs);
    let points_alone = options.bpftrace.as_deref().is_some_and(is_listing);
    if options.list.is_some() || options.list_vars.is_some() || points_alone {
        let variables = options.list_vars.is_some();
        let lines = list::list(script, &tapset, loader, &mut world, variables, diags);
        drop(clock);
        output::print(&text_of(lines), diags);
        return None;
    }
    let program = analyse(options, script, &tapset, loader, &mut world, diags);
    input::warn_unnamed(&env.args, diags);
    let program = program?;
    if let Some(list) = &options.trace_events {
        events::check_found(list, options, &program, diags)?;
    }
    let clock = clock.done(&format!(
        "Pass 2: analysed {} probes, {} functions, {} globals",
        program.probes.len(),
        program.functions.len(),
        program.globals.len()
    ));
    if options.last_pass == 2 {
        drop(clock);
        output::print(&text_of(points_of(&program)), diags);
        return None;
    }
    let (pids, later) = match options.last_pass {
        5 => target::processes(
            world.target.pid,
            command.as_ref(),
            !options.no_follow,
            &program,
            diags,
        )?,
        _ => (Vec::new(), false),
    };
    // Debug information takes room, which what follows can use.
    drop(world);
    let emitted = match trapless_emit::emit(&program, map) {
        Ok(e) => e,
        Err(e) => {
            build::report_emit(&e, diags);
            return None;
        }
    };
    let clock = clock.done("Pass 3: translated to C");
    if options.last_pass == 3 {
        drop(clock);
        output::print(&emitted.c, diags);
        return None;
    }
    let tap = build::compile(options, &program, &emitted, &paths, diags)?;
    clock.done("Pass 4: compiled the module");
    let module = build::finish(options, &tap, diags)?;
    Some(Run {
        runner: paths.runner,
        module,
        command: command.map(|c| c.words),
        pids,
        later,
    })
}

/// What has been done since, on standard error.
struct Clock {
    on: bool,
    start: Instant,
    progress: Progress,
}

impl Clock {
    fn done(self, what: &str) -> Clock {
        let now = Instant::now();
        self.progress.next();
        if self.on {
            eprintln!(
                "{what} in {:.1} ms.",
                (now - self.start).as_secs_f64() * 1e3
            );
        }
        Clock { start: now, ..self }
    }
}

pub fn open_tapset(options: &Options, paths: &Paths, diags: &mut Diagnostics) -> Tapset {
    let mut folders = vec![paths.tapset.clone()];
    folders.extend(options.include.iter().cloned());
    Tapset::open(&folders, diags)
}

fn analyse(
    options: &Options,
    mut script: Script,
    tapset: &Tapset,
    mut loader: Loader,
    world: &mut World,
    diags: &mut Diagnostics,
) -> Option<Program> {
    settings::set_globals(options, &mut script, diags);
    for file in &options.symbols_of {
        world.know(file, diags);
    }
    let mut scripts = vec![script];
    let more = options.more.iter().zip(1..);
    scripts.extend(more.map(|(text, n)| loader.parse(format!("<-E {n}>"), text.clone(), diags)));
    let mut made = Vec::new();
    if let Some(seconds) = options.time_limit {
        made.push(settings::time_limit(seconds, &mut loader, diags));
    }
    made.extend(arguments::script(&scripts, &mut loader, diags));
    let input = Input {
        scripts,
        made,
        tapset,
        loader,
        options: settings::limits(options, diags),
    };
    trapless_sema::analyse(input, world, diags)
}

fn points_of(program: &Program) -> Vec<String> {
    let scripts = program.probes.iter().filter(|p| !p.script.is_empty());
    let mut points: Vec<String> = scripts.map(|p| p.point.to_string()).collect();
    points.dedup();
    points
}

fn text_of(lines: Vec<String>) -> String {
    lines.into_iter().map(|line| line + "\n").collect()
}
