// SPDX-License-Identifier: MIT
//! The passes, one after the other, with the times that `-v` shows.

use crate::cache::{self, Cache};
use crate::command::{self, Command};
use crate::list;
use crate::options::Options;
use crate::paths::Paths;
use crate::progress::Progress;
use crate::run::Run;
use crate::running;
use std::path::{Path, PathBuf};
use std::time::Instant;
use trapless_emit::compile::{CompileError, Compiler};
use trapless_emit::{link, module, EmitError, Emitted};
use trapless_sema::collect::Loader;
use trapless_sema::ir::{self, ProbeKind, Program};
use trapless_sema::tapset::Tapset;
use trapless_sema::world::{TargetSpec, World};
use trapless_sema::Input;
use trapless_syntax::ast::{Item, Literal, NodeIds, NumLit, Script, StrLit};
use trapless_syntax::diag::{Diagnostics, Tag};
use trapless_syntax::{Environment, MacroLibrary, SourceMap};

/// Passes 1 to 4. `None`: stopped where `-p` says, or errors were reported.
pub fn run(options: &Options, map: &mut SourceMap, diags: &mut Diagnostics) -> Option<Run> {
    let clock = Clock {
        on: options.verbose > 0,
        start: Instant::now(),
        progress: Progress::start(&["parsing", "analysing", "translating", "compiling"]),
    };
    let paths = Paths::find();
    check_module_name(options, diags);
    let command = options.command.as_deref().map(command::parse);
    let ids = NodeIds::new();
    let macros = MacroLibrary::with_prelude(map);
    let (text, name, args) = script_text(options, diags)?;
    let env = environment(options, args);
    let file = map.add(name, text);
    let script = trapless_syntax::parse_file(map, file, &env, &macros, &ids, diags);
    let clock = clock.done("Pass 1: parsed the script");
    if diags.has_errors() {
        return None;
    }
    if options.last_pass == 1 {
        drop(clock);
        print!("{script}");
        return None;
    }
    let target = target(options, command.as_ref(), diags)?;
    let tapset = open_tapset(options, &paths, diags);
    let mut world = World::new(target);
    let loader = Loader {
        map,
        env: &env,
        macros: &macros,
        ids: &ids,
    };
    if options.list.is_some() || options.list_vars.is_some() {
        let variables = options.list_vars.is_some();
        let lines = list::list(script, &tapset, loader, &mut world, variables, diags);
        drop(clock);
        for line in lines {
            println!("{line}");
        }
        return None;
    }
    let program = analyse(options, script, &tapset, loader, &mut world, diags)?;
    let clock = clock.done(&format!(
        "Pass 2: analysed {} probes, {} functions, {} globals",
        program.probes.len(),
        program.functions.len(),
        program.globals.len()
    ));
    if options.last_pass == 2 {
        drop(clock);
        print_program(&program);
        return None;
    }
    let pids = match options.last_pass {
        5 => processes(options, command.as_ref(), &program, diags)?,
        _ => Vec::new(),
    };
    let emitted = match trapless_emit::emit(&program, map) {
        Ok(e) => e,
        Err(e) => {
            report_emit(&e, diags);
            return None;
        }
    };
    let clock = clock.done("Pass 3: translated to C");
    if options.last_pass == 3 {
        drop(clock);
        print!("{}", emitted.c);
        return None;
    }
    let tap = compile(options, &program, &emitted, &paths, diags)?;
    clock.done("Pass 4: compiled the module");
    let module = finish(options, tap, diags)?;
    Some(Run {
        runner: paths.runner,
        module,
        command: command.map(|c| c.line),
        pids,
    })
}

/// `-m NAME` is a file name without its ending.
fn check_module_name(options: &Options, diags: &mut Diagnostics) {
    let Some(name) = &options.module else { return };
    let good = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if name.is_empty() || name.len() > 64 || !name.bytes().all(good) || name.starts_with('-') {
        diags
            .error(
                Tag::Usage,
                None,
                format!("-m {name}: not a name for a module"),
            )
            .help("use at most 64 letters, digits, _ and -; the module becomes NAME.tap");
    }
}

/// What the runner attaches to. `None`: reported.
fn processes(
    options: &Options,
    command: Option<&Command>,
    program: &Program,
    diags: &mut Diagnostics,
) -> Option<Vec<u32>> {
    if let Some(pid) = options.pid {
        return Some(vec![pid]);
    }
    let Some(command) = command else {
        let pids = running::find(program, diags).unwrap_or_default();
        return (!diags.has_errors()).then_some(pids);
    };
    let probes_process = program
        .probes
        .iter()
        .any(|p| matches!(p.kind, ProbeKind::Site { .. } | ProbeKind::Return { .. }));
    if command.several && probes_process {
        diags
            .warn(
                Tag::ProcessLater,
                None,
                "-c: this is work for a shell; the shell is traced, the programs that it starts are not yet",
            )
            .help("give one program, or put `exec` before the last one");
    }
    Some(Vec::new())
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

/// The script's text, its name for messages, and its arguments.
fn script_text(
    options: &Options,
    diags: &mut Diagnostics,
) -> Option<(String, String, Vec<String>)> {
    if let Some(pattern) = options.list.as_ref().or(options.list_vars.as_ref()) {
        let text = format!("probe {pattern} {{ }}\n");
        return Some((text, "<pattern>".to_string(), options.words.clone()));
    }
    if let Some(text) = &options.script {
        return Some((text.clone(), "<input>".to_string(), options.words.clone()));
    }
    let Some((file, args)) = options.words.split_first() else {
        diags
            .error(Tag::Usage, None, "no script is given")
            .help("trapless -e 'SCRIPT', or trapless FILE.stp; trapless --help shows examples");
        return None;
    };
    let bytes = match file.as_str() {
        "-" => {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut std::io::stdin(), &mut bytes).map(|_| bytes)
        }
        path => std::fs::read(path),
    };
    match bytes {
        Ok(b) => Some((
            String::from_utf8_lossy(&b).into_owned(),
            if file == "-" {
                "<stdin>".to_string()
            } else {
                file.clone()
            },
            args.to_vec(),
        )),
        Err(e) => {
            diags
                .error(Tag::FileMissing, None, format!("{file}: {}", plain(&e)))
                .help("give the path of a script file, or its text with -e");
            None
        }
    }
}

/// The system's words without its number.
fn plain(e: &std::io::Error) -> String {
    let text = e.to_string();
    text.split(" (os error").next().unwrap_or("").to_string()
}

fn environment(options: &Options, args: Vec<String>) -> Environment {
    let release = || std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Environment {
        kernel_release: options
            .release
            .clone()
            .unwrap_or_else(|| release().trim().to_string()),
        arch: options
            .arch
            .clone()
            .unwrap_or_else(|| std::env::consts::ARCH.to_string()),
        guru: options.guru,
        args,
        ..Environment::default()
    }
}

fn open_tapset(options: &Options, paths: &Paths, diags: &mut Diagnostics) -> Tapset {
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
    set_globals(options, &mut script, diags);
    let mut scripts = vec![script];
    if let Some(seconds) = options.time_limit {
        scripts.push(time_limit(seconds, &mut loader, diags));
    }
    let input = Input {
        scripts,
        tapset,
        loader,
        options: limits(options, diags),
    };
    trapless_sema::analyse(input, world, diags)
}

/// `-T SECONDS`, in the script's own words: it also holds for a module.
fn time_limit(seconds: u32, loader: &mut Loader, diags: &mut Diagnostics) -> Script {
    let text = format!("probe timer.s({seconds}) {{ exit() }}\n");
    let file = loader.map.add("<-T>".to_string(), text);
    trapless_syntax::parse_file(
        loader.map,
        file,
        loader.env,
        loader.macros,
        loader.ids,
        diags,
    )
}

/// `-G VAR=VALUE`: as if the script's declaration said so.
fn set_globals(options: &Options, script: &mut Script, diags: &mut Diagnostics) {
    for word in &options.globals {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let mut found = script.items.iter_mut().filter_map(|i| match i {
            Item::Global(g) if g.name.name == name => Some(g),
            _ => None,
        });
        let Some(g) = found.next() else {
            diags
                .error(
                    Tag::Usage,
                    None,
                    format!("-G {word}: the script has no global `{name}`"),
                )
                .help("-G NAME=VALUE sets a global that the script declares");
            continue;
        };
        let span = g.span;
        g.init = Some(match parse_number(value) {
            Some(value) => Literal::Number(NumLit { value, span }),
            None => Literal::String(StrLit {
                bytes: value.as_bytes().to_vec(),
                span,
            }),
        });
    }
}

fn parse_number(text: &str) -> Option<i64> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |d| (-1, d));
    let n = match digits.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16),
        None => digits.parse::<i64>(),
    };
    n.ok().map(|n: i64| n.wrapping_mul(sign))
}

fn limits(options: &Options, diags: &mut Diagnostics) -> ir::Options {
    let mut out = ir::Options {
        guru: options.guru,
        ..ir::Options::default()
    };
    for word in &options.limits {
        let (name, value) = word.split_once('=').unwrap_or((word, "1"));
        let field = match name {
            "MAXSTRINGLEN" => &mut out.max_string,
            "MAXACTION" => &mut out.max_action,
            "MAXNESTING" => &mut out.max_nesting,
            "MAXERRORS" => &mut out.max_errors,
            "MAXSKIPPED" => &mut out.max_skipped,
            "MAXMAPENTRIES" => &mut out.max_map_entries,
            _ => {
                diags
                    .warn(
                        Tag::Usage,
                        None,
                        format!("-D {name}: not a limit of trapless; ignored"),
                    )
                    .help("the limits are listed under -D in trapless --help");
                continue;
            }
        };
        match value.parse::<u32>() {
            Ok(n) if name != "MAXSTRINGLEN" || (16..=8192).contains(&n) => *field = n,
            _ => {
                let range = if name == "MAXSTRINGLEN" {
                    "16 to 8192"
                } else {
                    "0 to 4294967295"
                };
                diags
                    .error(
                        Tag::Usage,
                        None,
                        format!("-D {word}: the value is a number, {range}"),
                    )
                    .help("e.g. -D MAXSTRINGLEN=1024");
            }
        }
    }
    out
}

/// The program that `process` without a name means.
fn target(
    options: &Options,
    command: Option<&Command>,
    diags: &mut Diagnostics,
) -> Option<TargetSpec> {
    let mut spec = TargetSpec {
        pid: options.pid,
        program: None,
    };
    if let Some(pid) = options.pid {
        let link = format!("/proc/{pid}/exe");
        match std::fs::read_link(&link) {
            Ok(path) => {
                // As the process itself would say it, where its root is not ours.
                let root = std::fs::read_link(format!("/proc/{pid}/root")).unwrap_or_default();
                let path = match path.strip_prefix(&root) {
                    Ok(inside) => Path::new("/").join(inside),
                    Err(_) => path,
                };
                spec.program = Some(path.to_string_lossy().into_owned());
            }
            Err(e) => {
                let gone = e.kind() == std::io::ErrorKind::NotFound;
                let there = Path::new("/proc").join(pid.to_string()).exists();
                let (what, next) = match gone {
                    true if there => (
                        "this process has no program: it is a zombie or a kernel thread",
                        "a zombie goes away when its parent waits for it",
                    ),
                    true => (
                        "there is no such process",
                        "check the number with ps or pgrep",
                    ),
                    false => (
                        "this process may not be traced by you",
                        "run as its user, or as root",
                    ),
                };
                diags
                    .error(Tag::TargetMissing, None, format!("-x {pid}: {what}"))
                    .help(next);
                return None;
            }
        }
    }
    if let Some(command) = command {
        spec.program = Some(program_of(command, diags)?);
    }
    Some(spec)
}

/// The file that the process we start will run.
fn program_of(command: &Command, diags: &mut Diagnostics) -> Option<String> {
    let name = match &command.program {
        Some(name) => name,
        None => "/bin/sh",
    };
    let Some(path) = command::find(name) else {
        let (what, next) = match name.contains('/') {
            true => (
                format!("-c: {name} is no program"),
                "check the path and its permissions",
            ),
            false => (
                format!("-c: no program `{name}` in PATH"),
                "check the spelling, or give its path",
            ),
        };
        diags.error(Tag::ProgramUnknown, None, what).help(next);
        return None;
    };
    Some(path.to_string_lossy().into_owned())
}

fn print_program(program: &Program) {
    let mut last = "";
    for p in &program.probes {
        if p.point != last && !p.script.is_empty() {
            println!("{}", p.point);
            last = &p.point;
        }
    }
}

fn report_emit(e: &EmitError, diags: &mut Diagnostics) {
    let (span, help) = match e {
        EmitError::GlobalsTooLarge(_) => (
            None,
            "lower MAXMAPENTRIES or MAXSTRINGLEN (-D), or the arrays' sizes",
        ),
        EmitError::StackTooLarge { span, .. } => {
            (Some(*span), "lower MAXSTRINGLEN (-D), or use fewer strings")
        }
        EmitError::CallDataTooLarge { span, .. } => {
            (Some(*span), "save numbers, or fewer strings, with @entry")
        }
    };
    diags
        .error(Tag::ModuleBuild, span, e.to_string())
        .help(help);
}

fn compile(
    options: &Options,
    program: &Program,
    emitted: &Emitted,
    paths: &Paths,
    diags: &mut Diagnostics,
) -> Option<Vec<u8>> {
    let compiler = Compiler {
        command: options.cc.split_whitespace().map(str::to_string).collect(),
        include: paths.headers.clone(),
        max_string: program.options.max_string,
    };
    let words = compiler.words().join("\0");
    let headers = header_text(&paths.headers);
    let version = env!("CARGO_PKG_VERSION");
    let key = cache::key(&[
        emitted.c.as_bytes(),
        words.as_bytes(),
        &headers,
        version.as_bytes(),
    ]);
    let cache = Cache::open(!options.no_cache);
    let object = match cache.get(key) {
        Some(o) => o,
        None => {
            let o = compile_object(options, &compiler, &emitted.c, diags)?;
            cache.put(key, &o);
            o
        }
    };
    let linked = match link::link(&object) {
        Ok(l) => l,
        Err(e) => {
            diags.error(Tag::ModuleBuild, None, e.to_string()).help(
                "this is a fault of trapless or of the compiler: please report it with the script",
            );
            return None;
        }
    };
    let name = options.module.as_deref().unwrap_or("script");
    let tap = module::assemble(program, emitted, &linked, name, key);
    Some(tap.encode(trapless_wire::Machine::X86_64))
}

/// The text of the headers that the C includes.
fn header_text(folders: &[PathBuf]) -> Vec<u8> {
    let names = [
        "script.h",
        "trapless/probe.h",
        "trapless/regs.h",
        "trapless/wire.h",
    ];
    let read = |(folder, name): (&PathBuf, &str)| std::fs::read(folder.join(name)).ok();
    let all = folders
        .iter()
        .flat_map(|f| names.iter().map(move |n| (f, *n)));
    all.filter_map(read).flatten().collect()
}

fn compile_object(
    options: &Options,
    compiler: &Compiler,
    c: &str,
    diags: &mut Diagnostics,
) -> Option<Vec<u8>> {
    let folder = std::env::temp_dir();
    let object = folder.join(format!("trapless-{}.o", std::process::id()));
    let result = compiler.run(c, &object, false);
    let bytes = std::fs::read(&object);
    if options.keep {
        let source = object.with_extension("c");
        let _ = std::fs::write(&source, c);
        eprintln!("kept {} and {}", source.display(), object.display());
    } else {
        let _ = std::fs::remove_file(&object);
    }
    match (result, bytes) {
        (Ok(()), Ok(bytes)) => Some(bytes),
        (Err(e @ CompileError::Missing(_)), _) => {
            diags.error(Tag::CompilerMissing, None, e.to_string()).help(
                "install gcc (Debian: apt-get install gcc libc6-dev), or name a compiler with --cc; a target needs none: \
                 compile elsewhere with -p4 -m NAME and run NAME.tap with trapless-run",
            );
            None
        }
        (Err(e), _) => {
            diags
                .error(Tag::ModuleBuild, None, e.to_string())
                .help("this is a fault of trapless: please report it with the script");
            None
        }
        (_, Err(e)) => {
            diags
                .error(
                    Tag::FileMissing,
                    None,
                    format!("{}: {}", object.display(), plain(&e)),
                )
                .help("set TMPDIR to a folder that can be written");
            None
        }
    }
}

/// Write the module; gives its path, unless it is what was asked for.
fn finish(options: &Options, tap: Vec<u8>, diags: &mut Diagnostics) -> Option<PathBuf> {
    let name = options.module.as_deref().unwrap_or("script");
    let keep_module = options.last_pass == 4;
    let path = match keep_module {
        true => PathBuf::from(format!("{name}.tap")),
        false => std::env::temp_dir().join(format!("trapless-{}.tap", std::process::id())),
    };
    if let Err(e) = std::fs::write(&path, tap) {
        diags
            .error(
                Tag::FileMissing,
                None,
                format!("{}: {}", path.display(), plain(&e)),
            )
            .help("the module is written here: choose a folder that can be written");
        return None;
    }
    if keep_module {
        println!("{}", path.display());
        return None;
    }
    Some(path)
}
