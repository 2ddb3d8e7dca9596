// SPDX-License-Identifier: MIT
//! Files: separate debug information, libraries, and everything that is wrong with a file.

mod common;
#[path = "../../../tests/fuzz/random.rs"]
mod random;
use common::*;
use random::{deadline, Random};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trapless_debuginfo::*;

fn copy(from: &Path, name: &str) -> PathBuf {
    let to = from.with_file_name(name);
    std::fs::copy(from, &to).unwrap();
    to
}

/// Answers requests with that file, or that there is none; says how many there were.
fn serve(file: &Path) -> (String, std::sync::Arc<std::sync::atomic::AtomicU32>) {
    use std::io::{BufRead, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let count = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let (counted, file) = (count.clone(), file.to_owned());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut line = String::new();
            let mut reader = std::io::BufReader::new(stream.try_clone().unwrap());
            reader.read_line(&mut line).unwrap();
            reader.lines().find(|l| l.as_ref().unwrap().is_empty());
            counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let id = build_id_of(&file);
            let right = line.starts_with(&format!("GET /buildid/{id}/debuginfo "));
            let body = std::fs::read(&file).unwrap();
            let (state, body) = if right {
                ("200 OK", &body[..])
            } else {
                ("404 Not Found", &b"none"[..])
            };
            let head = format!(
                "HTTP/1.1 {state}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(body).unwrap();
        }
    });
    (url, count)
}

fn build_id_of(file: &Path) -> String {
    let notes = run("readelf", &["-n", file.to_str().unwrap()]);
    let id = notes.split("Build ID: ").nth(1).unwrap();
    id.split_whitespace().next().unwrap().to_owned()
}

#[test]
fn debug_files_are_fetched_from_servers() {
    if !have("curl") {
        println!("skip debug_files_are_fetched_from_servers: no curl");
        return;
    }
    let asked = |n: &std::sync::Arc<std::sync::atomic::AtomicU32>| {
        n.load(std::sync::atomic::Ordering::SeqCst)
    };
    let (program, debug) = split("fetched");
    let other_debug = build("not-fetched", "gcc", &["-O1", "-g"]);
    let other = copy(&other_debug, "not-fetched-stripped");
    run("strip", &["--strip-all", other.to_str().unwrap()]);
    let cache = dir("fixtures/debuginfod");
    let _ = std::fs::remove_dir_all(&cache);
    let (url, count) = serve(&debug);
    let mut search = SearchPath::host();
    search.servers = Servers {
        urls: vec!["http://127.0.0.1:9/nobody".into(), url.clone()],
        cache: cache.clone(),
        patience: 5,
    };
    let bin = Binary::open(&program, &search).unwrap();
    assert_eq!(bin.symbols().named("ints").count(), 0);
    assert_eq!(asked(&count), 0, "symbols alone are worth no request");
    understands(&bin).unwrap();
    let kept = cache.join(build_id_of(&program)).join("debuginfo");
    assert_eq!(bin.debug_source(), DebugSource::File(kept.clone()));
    assert_eq!(
        std::fs::read(&kept).unwrap(),
        std::fs::read(&debug).unwrap()
    );
    assert_eq!(
        std::fs::read_dir(kept.parent().unwrap()).unwrap().count(),
        1
    );
    // The next time nobody is asked, nor where there was nothing a moment ago.
    understands(&Binary::open(&program, &search).unwrap()).unwrap();
    assert_eq!(asked(&count), 1);
    search.servers.urls = vec![url];
    for _ in 0..2 {
        assert!(understands(&Binary::open(&other, &search).unwrap()).is_err());
        assert_eq!(asked(&count), 2);
    }
    // What is no debug file of this program is not believed.
    std::fs::write(&kept, std::fs::read(&other_debug).unwrap()).unwrap();
    assert!(understands(&Binary::open(&program, &search).unwrap()).is_err());
}

/// Parameters of `ints` can be placed: the debug information was found and understood.
fn understands(bin: &Binary) -> Result<()> {
    let f = bin
        .functions(&Pattern::parse("ints")?, Inlines::No)?
        .remove(0);
    let cx = bin.context_of(&f, bin.probe_site(&f)?.pc)?;
    bin.locate(&bin.variable(&cx, "h")?, &cx).map(|_| ())
}

/// A program and its debug file, split as distributions do.
fn split(name: &str) -> (PathBuf, PathBuf) {
    let whole = build(name, "gcc", &["-O2", "-g"]);
    let stripped = copy(&whole, &format!("{name}-stripped"));
    let debug = whole.with_file_name(format!("{name}-stripped.debug"));
    let (w, s, d) = (
        whole.to_str().unwrap(),
        stripped.to_str().unwrap(),
        debug.to_str().unwrap(),
    );
    run(
        "objcopy",
        &["--only-keep-debug", "--compress-debug-sections=zlib", w, d],
    );
    run("strip", &["--strip-all", s]);
    (stripped, debug)
}

#[test]
fn debug_files_are_found_by_link_and_checksum() {
    let (program, debug) = split("link");
    let (p, d) = (program.to_str().unwrap(), debug.to_str().unwrap());
    let none = understands(&open(&program)).unwrap_err();
    assert_eq!(none.tag(), "FUNCTION_NOT_EXPORTED", "{none}");
    run("objcopy", &[&format!("--add-gnu-debuglink={d}"), p]);
    let bin = open(&program);
    understands(&bin).unwrap();
    assert!(
        matches!(bin.debug_source(), DebugSource::File(f) if f.ends_with("link-stripped.debug"))
    );
    assert!(
        bin.symbols().named("ints").next().is_some(),
        "symbols come from the debug file"
    );
    // In the folder .debug as well.
    let hidden = debug.parent().unwrap().join(".debug");
    std::fs::create_dir_all(&hidden).unwrap();
    let moved = hidden.join(debug.file_name().unwrap());
    std::fs::rename(&debug, &moved).unwrap();
    understands(&open(&program)).unwrap();
    // A file that is not the one linked to is not believed.
    let mut bytes = std::fs::read(&moved).unwrap();
    bytes.push(0);
    std::fs::write(&moved, bytes).unwrap();
    assert_eq!(open(&program).debug_source(), DebugSource::None);
    std::fs::remove_file(&moved).unwrap();
}

#[test]
fn debug_files_are_found_by_build_id() {
    let (program, debug) = split("build-id");
    let id = open(&program).build_id().unwrap();
    let top = dir("build-id-folder");
    let dir = top.join(".build-id").join(&id[..2]);
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::rename(&debug, dir.join(format!("{}.debug", &id[2..]))).unwrap();
    let search = SearchPath {
        debug: vec![top],
        ..SearchPath::host()
    };
    understands(&Binary::open(&program, &search).unwrap()).unwrap();
    assert_eq!(open(&program).debug_source(), DebugSource::None);
}

#[test]
fn gnu_debugdata_has_the_symbols() {
    if !have("xz") {
        println!("skip gnu_debugdata_has_the_symbols: no xz");
        return;
    }
    let whole = build("debugdata", "gcc", &["-O2", "-no-pie"]);
    let mini = copy(&whole, "debugdata.mini");
    let stripped = copy(&whole, "debugdata-stripped");
    let (m, s) = (mini.to_str().unwrap(), stripped.to_str().unwrap());
    run("strip", &["--strip-all", s]);
    assert!(open(&stripped).symbols().named("ints").next().is_none());
    run("objcopy", &["--only-keep-debug", m]);
    run("xz", &["-f", m]);
    run(
        "objcopy",
        &["--add-section", &format!(".gnu_debugdata={m}.xz"), s],
    );
    let bin = open(&stripped);
    assert_eq!(
        function(&bin, "ints").entry,
        function(&open(&whole), "ints").entry
    );
    let f = function(&bin, "ints");
    assert_eq!(
        bin.context_of(&f, f.entry).unwrap_err().tag(),
        "DEBUGINFO_NONE"
    );
}

#[test]
fn positions_and_links_are_read() {
    let pie = open(&build("kinds-pie", "gcc", &["-O2", "-g"]));
    assert_eq!((pie.kind(), pie.is_static()), (ElfKind::Dynamic, false));
    assert!(pie.interpreter().unwrap().contains("ld-linux"));
    assert!(
        pie.needed().iter().any(|n| n == "libc.so.6"),
        "{:?}",
        pie.needed()
    );
    let f = function(&pie, "ints");
    let offset = pie.addr_to_offset(f.entry).unwrap();
    assert_eq!(pie.offset_to_addr(offset), Some(f.entry));
    assert!(pie.is_code(f.entry) && !pie.is_code(1 << 40));
    assert_eq!(pie.bytes(f.entry, 4).unwrap().len(), 4);
    let fixed = open(&build("kinds-static", "gcc", &["-O2", "-g", "-static"]));
    assert_eq!((fixed.kind(), fixed.is_static()), (ElfKind::Fixed, true));
    understands(&fixed).unwrap();
    // A library may need nothing and have no name, too: musl's does.
    for (name, flags, is_static) in [
        (
            "kinds-static-pie",
            ["-fPIC", "-static-pie"].as_slice(),
            true,
        ),
        ("kinds-lone", &["-fPIC", "-shared", "-nostdlib"], false),
    ] {
        let bin = open(&build(name, "gcc", flags));
        let found = (bin.kind(), bin.is_static(), bin.needed().len());
        assert_eq!(found, (ElfKind::Dynamic, is_static, 0), "{name}");
    }
    let session = DebugInfo::new(SearchPath::host());
    for pattern in ["libc.so.6", "libc.so*", "libc*"] {
        let libs = session.open_libraries(&pie, pattern).unwrap();
        assert_eq!(libs.len(), 1, "{pattern}");
        assert_eq!(libs[0].soname(), Some("libc.so.6"));
    }
    let none = session.open_libraries(&pie, "libnosuch*").unwrap_err();
    assert_eq!(none.tag(), "LIBRARY_UNKNOWN");
    assert!(none.help().unwrap().contains("libc.so.6"));
    let sh = session.open_program("sh").unwrap();
    assert!(sh.machine().abi.name == "x86_64" && !sh.needed().is_empty());
    assert_eq!(
        session.open_program("no-such-program").unwrap_err().tag(),
        "PROGRAM_UNKNOWN"
    );
}

#[test]
fn mapped_files_that_are_gone_are_refused_alone() {
    let pie = open(&build("kinds", "gcc", &["-O2", "-g"]));
    let all = DebugInfo::new(SearchPath::host());
    let libc = all.open_libraries(&pie, "libc.so.6").unwrap()[0].clone();
    let mut search = SearchPath::host();
    search.removed = vec![(libc.path().into(), "/proc/self/none".into())];
    let session = DebugInfo::new(search);
    let gone = session.open_libraries(&pie, "libc.so.6").unwrap_err();
    assert_eq!(gone.tag(), "FILE_REMOVED");
    assert!(gone.help().unwrap().contains("root"));
    let with = all.open_libraries(&pie, "*").unwrap().len();
    assert_eq!(session.open_libraries(&pie, "*").unwrap().len(), with - 1);
}

#[test]
fn versioned_names_fold_into_one_address_each() {
    let session = DebugInfo::new(SearchPath::host());
    let sh = session.open_program("sh").unwrap();
    let libc = &session.open_libraries(&sh, "libc.so.6").unwrap()[0];
    for name in ["malloc", "memcpy", "pthread_cond_wait", "open"] {
        let all = libc
            .functions(&Pattern::parse(name).unwrap(), Inlines::No)
            .unwrap();
        let mut entries: Vec<u64> = all.iter().map(|f| f.entry).collect();
        entries.dedup();
        assert_eq!(entries.len(), all.len(), "{name}");
        assert!(all.iter().all(|f| f.exported), "{name}");
    }
    let memcpy = libc
        .functions(&Pattern::parse("memcpy").unwrap(), Inlines::No)
        .unwrap();
    assert!(
        memcpy.iter().any(|f| f.kind == FunctionKind::Ifunc),
        "{memcpy:x?}"
    );
    let symbol = libc.symbols().named("malloc").next().unwrap();
    assert_eq!(
        libc.symbols().at(symbol.addr + 1).unwrap().addr,
        symbol.addr
    );
}

#[test]
fn unsuitable_files_are_refused_with_the_reason() {
    let good = build("refused", "gcc", &["-O2", "-g"]);
    let bytes = std::fs::read(&good).unwrap();
    let with = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let mut b = bytes.clone();
        change(&mut b);
        let path = good.with_file_name(name);
        std::fs::write(&path, b).unwrap();
        path
    };
    let refused = |path: &Path| Binary::open(path, &SearchPath::host()).unwrap_err();
    for (path, tag) in [
        (
            with("refused-script", &|b| *b = b"#!/bin/sh\necho\n".to_vec()),
            "FILE_NOT_ELF",
        ),
        (with("refused-empty", &|b| b.clear()), "FILE_NOT_ELF"),
        (with("refused-x32", &|b| b[18] = 8), "FILE_WRONG_ARCH"),
        (with("refused-object", &|b| b[16] = 1), "FILE_NOT_PROGRAM"),
        (with("refused-core", &|b| b[16] = 4), "FILE_NOT_PROGRAM"),
        (
            with("refused-cut", &|b| b.truncate(b.len() / 2)),
            "FILE_CORRUPT",
        ),
        (with("refused-short", &|b| b.truncate(60)), "FILE_CORRUPT"),
        (good.with_file_name("refused-absent"), "FILE_UNREADABLE"),
        (dir("fixtures"), "FILE_UNREADABLE"),
    ] {
        let e = refused(&path);
        assert_eq!(e.tag(), tag, "{}: {e}", path.display());
        assert!(!e.to_string().is_empty());
    }
    // A 32-bit header: 52 bytes of ELF32 for the i386.
    let ia32 = with("refused-ia32", &|b| {
        b.truncate(52);
        b[4..].fill(0);
        (b[4], b[5], b[6], b[16], b[18], b[20], b[40]) = (1, 1, 1, 2, 3, 1, 52);
    });
    assert_eq!(refused(&ia32).tag(), "FILE_32BIT");
}

#[test]
fn missing_debug_information_says_what_to_do() {
    let plain = build("plain", "gcc", &["-O2"]);
    let f = function(&open(&plain), "ints");
    assert_eq!(
        f.linkage_name.as_deref(),
        Some("ints"),
        "symbols are enough to find it"
    );
    let wrong = open(&plain).functions(&Pattern::parse("intz").unwrap(), Inlines::Also);
    let wrong = wrong.unwrap_err();
    assert_eq!(wrong.tag(), "FUNCTION_UNKNOWN");
    assert!(wrong.help().unwrap().contains("ints"), "{wrong:?}");
    let e = open(&plain).context_of(&f, f.entry).unwrap_err();
    assert_eq!(e.tag(), "DEBUGINFO_NONE");
    let help = e.help().unwrap();
    assert!(help.contains("-g") && help.contains("int_arg(n)"), "{help}");
    // A program of Debian's: the package that would help.
    let sh = DebugInfo::new(SearchPath::host())
        .open_program("sh")
        .unwrap();
    if let (DebugSource::None, true) = (sh.debug_source(), Path::new("/var/lib/dpkg").exists()) {
        let e = sh.context_at(0x1000).unwrap_err();
        let help = e.help().unwrap();
        assert!(
            help.contains("-dbgsym") && help.contains("DEBUGINFOD_URLS"),
            "{e} {help}"
        );
    }
}

/// What every encoding of the debug information must give for the C fixture.
fn check_all(name: &str, bin: &Binary) {
    understands(bin).unwrap_or_else(|e| panic!("{name}: {e}"));
    let twice = bin
        .functions(&Pattern::parse("twice").unwrap(), Inlines::Only)
        .unwrap();
    assert_eq!(twice.len(), 2, "{name}: {twice:x?}");
    let node = bin.find_type("struct node").unwrap();
    let hidden = bin.types().member(node, "hidden").unwrap().ty;
    let opaque = bin.types().target(hidden).unwrap();
    assert_eq!(
        bin.types().member(opaque, "self").unwrap().offset,
        8,
        "{name}"
    );
    let f = function(bin, "node_sum");
    let cx = bin.context_of(&f, f.entry).unwrap();
    let n = bin.variable(&cx, "n").unwrap();
    assert_eq!(
        bin.types().declaration(n.ty, "n"),
        "struct node *n",
        "{name}"
    );
    let decl = bin.declared_at(&f).unwrap();
    assert!(decl.file.ends_with("facts.c"), "{name}");
    assert!(bin.source_at(f.entry).unwrap().line >= decl.line, "{name}");
    let line = decl.line + 1; // the opening brace
    let p = Pattern::parse(&format!("node_sum@facts.c:{line}")).unwrap();
    assert!(
        bin.statements(&p, false)
            .unwrap()
            .iter()
            .any(|s| s.addr == f.entry),
        "{name}"
    );
}

#[test]
fn every_encoding_is_understood() {
    for (name, compiler, options) in [
        (
            "types-4",
            "gcc",
            &["-O2", "-gdwarf-4", "-fdebug-types-section"][..],
        ),
        (
            "types-5",
            "gcc",
            &["-O2", "-gdwarf-5", "-fdebug-types-section"],
        ),
        (
            "types-clang",
            "clang",
            &["-O2", "-gdwarf-5", "-fdebug-types-section"],
        ),
        ("dwarf64", "gcc", &["-O2", "-gdwarf-5", "-gdwarf64"]),
        ("dwarf-3", "gcc", &["-O2", "-gdwarf-3", "-gstrict-dwarf"]),
        ("zlib", "gcc", &["-O2", "-g", "-gz=zlib"]),
        ("zlib-gnu", "gcc", &["-O2", "-g", "-gz=zlib-gnu"]),
        (
            "lto",
            "gcc",
            &["-O2", "-g", "-flto", "-flto-partition=none"],
        ),
        (
            "sections",
            "gcc",
            &["-O2", "-g", "-ffunction-sections", "-Wl,--gc-sections"],
        ),
    ] {
        if !have(compiler) {
            println!("skip every_encoding_is_understood, {name}: no {compiler}");
            continue;
        }
        check_all(
            name,
            &open(&build(&format!("encoding-{name}"), compiler, options)),
        );
    }
}

/// A program whose debug information is in .dwo files beside it.
fn split_dwarf(name: &str, compiler: &str, version: &[&str]) -> (PathBuf, Vec<PathBuf>) {
    let folder = dir(&format!("fixtures/{name}"));
    let s = |p: &Path| p.to_str().unwrap().to_owned();
    let mut objects = Vec::new();
    for file in ["facts.c", "other.c"] {
        let object = folder.join(file).with_extension("o");
        let options = ["-w", "-O2", "-gsplit-dwarf", "-c", "-o"];
        let files = [&*s(&object), &*s(&source(file))];
        run(compiler, &[&options[..], &files, version].concat());
        objects.push(object);
    }
    let program = folder.join("program");
    run(
        compiler,
        &["-o", &s(&program), &s(&objects[0]), &s(&objects[1])],
    );
    let contents = objects.iter().map(|o| o.with_extension("dwo")).collect();
    (program, contents)
}

#[test]
fn split_units_are_read() {
    for compiler in ["gcc", "clang"] {
        if !have(compiler) {
            println!("skip split_units_are_read: no {compiler}");
            continue;
        }
        for version in [
            &["-gdwarf-4"][..],
            &["-gdwarf-5"],
            &["-gdwarf-4", "-fdebug-types-section"],
            &["-gdwarf-5", "-fdebug-types-section"],
        ] {
            let name = format!("split-{compiler}{}", version.concat());
            let (program, contents) = split_dwarf(&name, compiler, version);
            check_all(&name, &open(&program));
            let package = program.with_file_name("program.dwp");
            let tool = if version[0] == "-gdwarf-4" {
                "dwp"
            } else {
                "llvm-dwp"
            };
            let _ = std::fs::remove_file(&package);
            if have(tool) {
                let s = |p: &Path| p.to_str().unwrap().to_owned();
                let names: Vec<String> = contents.iter().map(|c| s(c)).collect();
                let mut options = vec!["-o".to_owned(), s(&package)];
                options.extend(names);
                run(
                    tool,
                    &options.iter().map(String::as_str).collect::<Vec<_>>(),
                );
            } else {
                println!("skip split_units_are_read, packages: no {tool}");
            }
            contents
                .iter()
                .for_each(|c| std::fs::remove_file(c).unwrap());
            if package.exists() {
                check_all(&format!("{name}, package"), &open(&program));
                std::fs::remove_file(&package).unwrap();
            }
            let bin = open(&program);
            let f = function(&bin, "ints");
            let e = bin.context_of(&f, f.entry).unwrap_err();
            assert_eq!(e.tag(), "DEBUGINFO_SPLIT");
            assert!(e.to_string().contains("facts.dwo"), "{e}");
        }
    }
}

#[test]
fn shared_entries_of_dwz_are_followed() {
    if !have("dwz") {
        println!("skip shared_entries_of_dwz_are_followed: no dwz");
        return;
    }
    let one = build("dwz-one", "gcc", &["-O2", "-g"]);
    let two = build("dwz-two", "gcc", &["-O1", "-g"]);
    let shared = one.with_file_name("dwz-shared");
    let _ = std::fs::remove_file(&shared);
    let s = |p: &PathBuf| p.to_str().unwrap().to_owned();
    run("dwz", &["-m", &s(&shared), &s(&one), &s(&two)]);
    let linked = run("readelf", &["-SW", &s(&one)]).contains(".gnu_debugaltlink");
    assert!(linked, "dwz shared nothing");
    check_all("dwz", &open(&one));
}

/// Ask a damaged file everything; only panics and hangs count.
fn ask_all(path: &Path) {
    let Ok(bin) = Binary::open(
        path,
        &SearchPath {
            debug: Vec::new(),
            ..SearchPath::host()
        },
    ) else {
        return;
    };
    let _ = (bin.build_id(), bin.is_static(), bin.debug_source());
    let _ = (bin.hooks(), bin.marks());
    let _ = bin
        .global("file_number", None)
        .map(|v| bin.types().name(v.ty));
    let _ = bin.statements(&Pattern::parse("*@facts.c:60-140").unwrap(), true);
    for name in ["struct node", "enum color", "struct opaque", "word"] {
        if let Ok(t) = bin.find_type(name) {
            let _ = (
                bin.types().size(t),
                bin.types().member_names(t),
                bin.types().name(t),
            );
        }
    }
    for p in ["ints", "node_sum", "twice", "*"] {
        let all = bin.functions(&Pattern::parse(p).unwrap(), Inlines::Also);
        for f in all.into_iter().flatten().take(40) {
            let Ok(site) = bin.probe_site(&f) else {
                continue;
            };
            let Ok(cx) = bin.context_of(&f, site.pc) else {
                continue;
            };
            for v in bin.variables(&cx).into_iter().flatten().take(40) {
                let _ = (bin.locate(&v, &cx), bin.types().declaration(v.ty, &v.name));
                let _ = bin
                    .types()
                    .target(v.ty)
                    .map(|t| bin.types().member(t, "at"));
            }
            let _ = (
                bin.return_value(&f),
                bin.declared_at(&f),
                bin.source_at(site.pc),
            );
            let _ = (bin.context_at(f.entry + 5), bin.symbols().at(f.entry));
        }
    }
}

#[test]
fn damaged_files_never_panic() {
    let mut random = Random::new(4);
    let kinds: [(&str, &[&str]); 4] = [
        ("gcc", &["-O2", "-gdwarf-5"]),
        ("gcc", &["-O0", "-gdwarf-4"]),
        ("gcc", &["-O2", "-g", "-gz=zlib"]),
        ("g++", &["-O2", "-g"]),
    ];
    let originals: Vec<Vec<u8>> = kinds
        .into_iter()
        .enumerate()
        .map(|(n, (compiler, flags))| build(&format!("damaged{n}"), compiler, flags))
        .map(|p| std::fs::read(p).unwrap())
        .collect();
    let path = dir("fixtures").join("damaged.bin");
    let end = deadline(4);
    let (mut rounds, mut slowest) = (0, Duration::ZERO);
    while Instant::now() < end || rounds < 20 {
        let mut b = originals[rounds % originals.len()].clone();
        random.damage(&mut b);
        std::fs::write(&path, &b).unwrap();
        let start = Instant::now();
        ask_all(&path);
        slowest = slowest.max(start.elapsed());
        rounds += 1;
    }
    println!("{rounds} damaged files, slowest {slowest:?}");
}
