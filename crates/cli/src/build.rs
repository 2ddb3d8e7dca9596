// SPDX-License-Identifier: MIT
//! Passes 3 and 4: from the program to a module file.

use crate::cache::{self, Cache};
use crate::input::plain;
use crate::options::Options;
use crate::output;
use crate::paths::Paths;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use trapless_emit::compile::{CompileError, Compiler};
use trapless_emit::{embedded, link, module, EmitError, Emitted};
use trapless_sema::ir::Program;
use trapless_sema::leftover;
use trapless_syntax::diag::{Diagnostics, Tag};

/// `-m NAME` is a file name without its ending.
pub fn check_module_name(options: &Options, diags: &mut Diagnostics) {
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

pub fn report_emit(e: &EmitError, diags: &mut Diagnostics) {
    let (span, help) = match e {
        EmitError::GlobalsTooLarge(_) => (
            None,
            "lower MAXMAPENTRIES, MAPMEMORY or MAXSTRINGLEN (-D), or the arrays' sizes",
        ),
        EmitError::TooManyPrints(_) => (
            None,
            "use fewer printf, print and println; those of one place, format and arguments count once",
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

pub fn compile(
    options: &Options,
    program: &Program,
    emitted: &Emitted,
    paths: &Paths,
    diags: &mut Diagnostics,
) -> Option<Vec<u8>> {
    let compiler = Compiler {
        command: options.cc.split_whitespace().map(str::to_string).collect(),
        machine: program.options.machine,
        kernel: program.options.kernel,
        include: paths.headers.clone(),
        max_string: program.options.max_string,
        max_backtrace: program.options.max_backtrace,
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
    let cache = Cache::open(options);
    let object = match cache.get(key) {
        Some(o) => o,
        None => {
            let o = compile_object(options, &compiler, &emitted.c, diags)?;
            cache.put(key, &o);
            o
        }
    };
    let linked = match link::link(&object, program.options.machine) {
        Ok(l) => l,
        Err(e) => {
            let (span, help) = match &e {
                link::LinkError::Variable(name) => (
                    embedded::place_of(program, name),
                    "keep it in a global of the script: STAP_GLOBAL_GET_x, STAP_GLOBAL_SET_x",
                ),
                _ => (
                    None,
                    "this is a fault of trapless or of the compiler: please report it with the script",
                ),
            };
            diags
                .error(Tag::ModuleBuild, span, e.to_string())
                .help(help);
            return None;
        }
    };
    let tap = module::assemble(program, emitted, &linked, &session_name(options), key);
    Some(tap.encode(&program.options.machine.abi))
}

/// What `--sessions` calls it: the module's name, or that of the script's file.
fn session_name(options: &Options) -> String {
    let given = match (&options.module, &options.script, options.words.first()) {
        (Some(module), _, _) => module,
        (_, None, Some(file)) => file,
        _ => "-e",
    };
    let stem = Path::new(given).file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// The text of the headers that the C includes.
fn header_text(folders: &[PathBuf]) -> Vec<u8> {
    let names = [
        "script.h",
        "embedded.h",
        "trapless/probe.h",
        "trapless/regs.h",
        "trapless/wire.h",
    ];
    let all = folders.iter().flat_map(|folder| {
        let named = names.iter().map(|name| folder.join(name));
        let parts = ["script", "machine"].iter();
        named.chain(parts.flat_map(|part| headers_in(&folder.join(part))))
    });
    all.filter_map(|path| std::fs::read(path).ok())
        .flatten()
        .collect()
}

/// In an order that is always the same.
fn headers_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|e| e.path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "h"));
    paths.sort();
    paths
}

fn compile_object(
    options: &Options,
    compiler: &Compiler,
    c: &str,
    diags: &mut Diagnostics,
) -> Option<Vec<u8>> {
    // The compiler would say it in words of its own.
    let mut folder = match tempfile::Builder::new().prefix("trapless-").tempdir() {
        Ok(folder) => folder,
        Err(e) => return no_file(&std::env::temp_dir(), &e, OTHER_FOLDER, diags),
    };
    let _made = (!options.keep).then(|| leftover::path(folder.path()));
    let object = folder.path().join("script.o");
    let result = compiler.run(c, &object, false);
    let bytes = std::fs::read(&object);
    if options.keep {
        folder.disable_cleanup(true);
        let source = object.with_extension("c");
        let _ = std::fs::write(&source, c);
        eprintln!("kept {} and {}", source.display(), object.display());
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
                .help(after_failure(&e, folder.path(), c.contains("embedded.h")));
            None
        }
        (_, Err(e)) => no_file(
            &object,
            &e,
            "check that --cc or CC names a C compiler",
            diags,
        ),
    }
}

const OTHER_FOLDER: &str = "set TMPDIR to a folder that can be written";
const LARGER_FILES: &str = "raise the limit of file sizes (ulimit -f)";

fn after_failure(e: &CompileError, folder: &Path, embedded: bool) -> String {
    const EAGAIN: i32 = 11;
    const EMFILE: i32 = 24;
    let room = no_room(folder);
    match e {
        CompileError::Io(e) if e.raw_os_error() == Some(EMFILE) => {
            "raise the limit of open files (ulimit -n)".into()
        }
        CompileError::Io(e) if e.raw_os_error() == Some(EAGAIN) => {
            "raise the limit of the user's processes (ulimit -u, --rlimit-nproc), or end others".into()
        }
        _ if room == Some(ErrorKind::FileTooLarge) => {
            LARGER_FILES.into()
        }
        _ if room.is_some() => format!(
            "make room in {}, or set TMPDIR to a folder that has some",
            std::env::temp_dir().display()
        ),
        _ if embedded => {
            "embedded C has no library and no kernel: docs/embedded-c.md has what it may use".into()
        }
        _ => "where --cc or CC names gcc or clang this is a fault of trapless: please report it with the script".into(),
    }
}

/// Has the compiler failed for want of room, and why is there none? It says so in the user's language.
fn no_room(folder: &Path) -> Option<ErrorKind> {
    use ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    const ENOUGH: usize = 1 << 20;
    let written = std::fs::write(folder.join("room"), vec![1; ENOUGH]);
    let why = written.err()?.kind();
    matches!(why, StorageFull | QuotaExceeded | FileTooLarge).then_some(why)
}

fn no_file<T>(path: &Path, e: &std::io::Error, next: &str, diags: &mut Diagnostics) -> Option<T> {
    let what = format!("{}: {}", path.display(), plain(e));
    let next = match e.kind() {
        ErrorKind::FileTooLarge => LARGER_FILES,
        _ => next,
    };
    diags.error(Tag::FileMissing, None, what).help(next);
    None
}

/// Write the module; gives it as an open file, unless a file is what was asked for.
pub fn finish(options: &Options, tap: &[u8], diags: &mut Diagnostics) -> Option<File> {
    if options.last_pass == 4 {
        let name = options.module.as_deref().unwrap_or("script");
        let path = PathBuf::from(format!("{name}.tap"));
        if let Err(e) = std::fs::write(&path, tap) {
            let next = "the module is written here: choose a folder that can be written";
            return no_file(&path, &e, next, diags);
        }
        output::print(&format!("{}\n", path.display()), diags);
        return None;
    }
    match unnamed(tap) {
        Ok(module) => Some(module),
        Err(e) => no_file(&std::env::temp_dir(), &e, OTHER_FOLDER, diags),
    }
}

/// Whatever ends the session, nothing is left to remove.
fn unnamed(tap: &[u8]) -> std::io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(tap)?;
    Ok(file)
}
