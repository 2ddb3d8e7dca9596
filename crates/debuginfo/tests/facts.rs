// SPDX-License-Identifier: MIT
//! What the reader says about the fixture programs, against what they say of themselves, what
//! they do under gdb, and what addr2line says.

mod common;
use common::*;
use std::collections::HashMap;
use std::path::Path;
use trapless_debuginfo::*;

/// `kind name value` lines of the program's own output.
fn told(program: &Path, kind: &str) -> HashMap<String, String> {
    run(program.to_str().unwrap(), &[])
        .lines()
        .filter_map(|l| {
            let mut w = l.split(' ');
            (w.next()? == kind).then_some(())?;
            Some((w.next()?.to_owned(), w.next()?.to_owned()))
        })
        .collect()
}

fn hex(s: &str) -> u64 {
    u64::from_str_radix(s.trim_start_matches("0x"), 16).unwrap()
}

/// Line of the marker comment in the fixture.
fn line_of(marker: &str) -> u64 {
    let text = std::fs::read_to_string(source("facts.c")).unwrap();
    let at = text
        .lines()
        .position(|l| l.contains(&format!("/* LINE {marker} */")))
        .unwrap();
    at as u64 + 1
}

#[test]
fn functions_are_where_the_program_says() {
    for (name, program) in variants("where") {
        let bin = open(&program);
        let addrs = told(&program, "addr");
        for f in ["main", "ints", "floats", "loop"] {
            assert_eq!(function(&bin, f).entry, hex(&addrs[f]), "{name} {f}");
        }
        let both = bin
            .functions(&Pattern::parse("only_here").unwrap(), Inlines::No)
            .unwrap();
        assert!(
            both.iter().any(|f| f.entry == hex(&addrs["only_here"])),
            "{name}"
        );
        let here = Pattern::parse("only_here@facts.c").unwrap();
        let here = bin.functions(&here, Inlines::No).unwrap();
        assert_eq!(here.len(), 1, "{name}: the one of facts.c");
        assert_eq!(here[0].entry, hex(&addrs["only_here"]), "{name}");
        let globs = bin
            .functions(&Pattern::parse("make_*").unwrap(), Inlines::No)
            .unwrap();
        let mut names: Vec<_> = globs.iter().map(|f| &*f.name).collect();
        names.sort();
        assert_eq!(names, ["make_large", "make_mixed", "make_pair"], "{name}");
        assert_eq!(
            bin.language(&function(&bin, "ints")),
            Some(Language::C),
            "{name}"
        );
        let decl = bin.declared_at(&function(&bin, "ints")).unwrap();
        assert!(decl.file.ends_with("debuginfo/facts.c"), "{name} {decl:?}");
        let ifunc = bin
            .functions(&Pattern::parse("indirect").unwrap(), Inlines::No)
            .unwrap();
        assert_eq!(ifunc[0].kind, FunctionKind::Ifunc, "{name}");
        let none = bin.functions(&Pattern::parse("printf").unwrap(), Inlines::Also);
        assert_eq!(
            none.unwrap_err().tag(),
            "FUNCTION_UNKNOWN",
            "{name}: undefined here"
        );
    }
}

#[test]
fn inlined_instances_and_cold_parts_are_found() {
    for (name, program) in variants("inline") {
        let bin = open(&program);
        let p = Pattern::parse("twice").unwrap();
        let all = bin.functions(&p, Inlines::Only).unwrap();
        assert_eq!(all.len(), 2, "{name}: two calls");
        let caller = function(&bin, "uses_twice");
        for f in &all {
            assert_eq!(
                (&*f.name, f.kind),
                ("twice", FunctionKind::Inlined),
                "{name}"
            );
            assert!(caller.ranges[0].contains(&f.entry), "{name}");
            let cx = bin.context_of(f, f.entry).unwrap();
            let names: Vec<_> = bin
                .variables(&cx)
                .unwrap()
                .into_iter()
                .map(|v| v.name)
                .collect();
            for v in ["value", "doubled", "start"] {
                assert!(names.iter().any(|n| n == v), "{name}: {v} in {names:?}");
            }
        }
        assert_eq!(
            bin.functions(&p, Inlines::No).unwrap_err().tag(),
            "POINT_NO_MATCH",
            "{name}: no code of its own"
        );
        let f = function(&bin, "cold_part");
        let split = run("nm", &[program.to_str().unwrap()]).contains("cold_part.cold");
        assert_eq!(f.ranges.len(), if split { 2 } else { 1 }, "{name}: {f:x?}");
    }
}

/// How many places of `f` the program has.
fn places(bin: &Binary, f: &str) -> usize {
    let p = Pattern::parse(f).unwrap();
    bin.functions(&p, Inlines::Also).unwrap().len()
}

#[test]
fn the_rest_of_a_split_function_is_no_call() {
    for dwarf in ["-gdwarf-4", "-gdwarf-5"] {
        let program = build_of(
            &format!("split{dwarf}"),
            "gcc",
            &["-O2", dwarf],
            &["split.c"],
        );
        let symbols = run("nm", &[program.to_str().unwrap()]);
        assert!(symbols.contains("again.part.0"), "{dwarf}: not split");
        let bin = open(&program);
        assert_eq!(places(&bin, "whole"), 1, "{dwarf}: the rest taken back");
        assert_eq!(places(&bin, "taken"), 2, "{dwarf}: one for each caller");
        assert_eq!(places(&bin, "again.part.0"), 1, "{dwarf}: by its symbol");
        let again = Pattern::parse("again").unwrap();
        let own = bin.functions(&again, Inlines::No).unwrap();
        assert_eq!(own.len(), 1, "{dwarf}: not the rest");
        assert!(places(&bin, "again") > 3, "{dwarf}: calls within itself");
    }
}

#[test]
fn parameters_are_what_the_caller_passed() {
    if !have("gdb") {
        println!("skip parameters_are_what_the_caller_passed: no gdb");
        return;
    }
    let ints: &[(&str, &str, &str)] = &[
        ("a", "int", "11"),
        ("b", "long", "-22"),
        ("c", "char", "99"),
        ("d", "unsigned short", "44"),
        ("f", "int", "66"),
        ("g", "int", "-77"),
        ("h", "int", "88"),
    ];
    for (name, program) in variants("parameters") {
        let bin = open(&program);
        let mut stops = Vec::new();
        let mut expected = Vec::new();
        let place = |f: &str, var: &str| {
            let f = function(&bin, f);
            let site = bin.probe_site(&f).unwrap();
            let cx = bin.context_of(&f, site.pc).unwrap();
            let v = bin.variable(&cx, var).unwrap();
            (
                site.pc,
                v.ty,
                bin.locate(&v, &cx)
                    .unwrap_or_else(|e| panic!("{name} {var}: {e}")),
            )
        };
        let mut print = Vec::new();
        for (var, c, value) in ints {
            let (_, ty, at) = place("ints", var);
            assert_eq!(bin.types().size(ty), Some(size_of_c(c)), "{name} {var}");
            print.push((
                format!("ints.{var}"),
                "%ld",
                format!("(long){}", expression(&at, c)),
            ));
            expected.push(format!("ints.{var}={value}"));
        }
        stops.push(Stop {
            pc: place("ints", "a").0,
            returned: false,
            print,
        });
        let mut print = Vec::new();
        for (var, c, format, value) in [
            ("f", "float", "%g", "1.5"),
            ("d", "double", "%g", "2.25"),
            ("i", "int", "%d", "33"),
        ] {
            let (_, _, at) = place("floats", var);
            print.push((format!("floats.{var}"), format, expression(&at, c)));
            expected.push(format!("floats.{var}={value}"));
        }
        stops.push(Stop {
            pc: place("floats", "f").0,
            returned: false,
            print,
        });
        let (pc, ty, at) = place("node_sum", "n");
        let node = bin.types().target(ty).unwrap();
        let y = bin.types().member(node, "at").unwrap();
        let y = y.offset + bin.types().member(y.ty, "y").unwrap().offset;
        let pointer = expression(&at, "unsigned long");
        let (_, _, at) = place("node_sum", "p");
        stops.push(Stop {
            pc,
            returned: false,
            print: vec![
                ("node.y".into(), "%d", format!("*(int *)({pointer} + {y})")),
                ("p.x".into(), "%d", expression(&at, "int")),
            ],
        });
        expected.extend(["node.y=4".into(), "p.x=30".into()]);
        // Results, where the caller finds them.
        for (f, c, values) in [
            ("make_pair", ["long", "long"], ["1001", "1002"]),
            ("make_mixed", ["double", "long"], ["6.5", "1004"]),
            ("make_large", ["long", "long"], ["2000", "2001"]),
        ] {
            let f = function(&bin, f);
            let r = bin.return_value(&f).unwrap();
            let mut print = Vec::new();
            for (i, (c, value)) in c.iter().zip(values).enumerate() {
                let format = if *c == "double" { "%g" } else { "%ld" };
                let e = match &r.location {
                    Location::Pieces(p) => expression(&p[i].place, c),
                    Location::Memory(_) => {
                        format!(
                            "*({c} *)((unsigned long)&{} + {})",
                            expression(&r.location, "long"),
                            8 * i
                        )
                    }
                    other => panic!("{name} {}: {other:?}", f.name),
                };
                print.push((format!("{}.{i}", f.name), format, e));
                expected.push(format!("{}.{i}={value}", f.name));
            }
            stops.push(Stop {
                pc: f.entry,
                returned: true,
                print,
            });
        }
        assert_eq!(gdb(&program, &stops), expected, "{name}");
    }
}

fn size_of_c(c: &str) -> u64 {
    match c {
        "char" => 1,
        "unsigned short" => 2,
        "int" => 4,
        _ => 8,
    }
}

#[test]
fn types_are_laid_out_as_the_program_says() {
    for (name, program) in variants("types") {
        let bin = open(&program);
        let types = bin.types();
        let node = bin.find_type("struct node").unwrap();
        let sizes = told(&program, "size");
        assert_eq!(
            types.size(node).unwrap().to_string(),
            sizes["node"],
            "{name}"
        );
        for (path, offset) in told(&program, "offset") {
            let (mut ty, mut at) = (node, 0);
            for part in path.split('.').skip(1) {
                let m = types.member(ty, part).unwrap();
                (ty, at) = (m.ty, at + m.offset);
            }
            assert_eq!(at.to_string(), offset, "{name} {path}");
        }
        let shown = |m: &str| types.declaration(types.member(node, m).unwrap().ty, m);
        assert_eq!(shown("next"), "struct node *next", "{name}");
        assert_eq!(shown("name"), "const char *name", "{name}");
        assert_eq!(shown("grid"), "struct point grid[3][2]", "{name}");
        assert_eq!(shown("call"), "int (*call)(int, ...)", "{name}");
        assert_eq!(shown("w"), "word w", "{name}");
        assert_eq!(shown("color"), "enum color color", "{name}");
        let bits = |m: &str| types.member(node, m).unwrap().bits.unwrap();
        assert_eq!(
            (bits("flag").width, bits("level").width, bits("wide").width),
            (3, 7, 40)
        );
        let color = types.get(bin.find_type("enum color").unwrap());
        let Type::Enum {
            values,
            signed,
            size,
            ..
        } = &*color
        else {
            panic!("{name} {color:?}")
        };
        let values: Vec<_> = values.iter().map(|v| (v.name.as_str(), v.value)).collect();
        assert_eq!(values, [("RED", 0), ("GREEN", 5), ("BLUE", -7)], "{name}");
        assert_eq!((*signed, *size), (true, 4), "{name}");
        let wrong = types.member(node, "nmae").unwrap_err();
        assert_eq!(wrong.tag(), "MEMBER_UNKNOWN");
        assert!(wrong.help().unwrap().contains("name"));
        // Declared in facts.c, defined in other.c.
        let hidden = types.member(node, "hidden").unwrap().ty;
        let opaque = types.target(hidden).unwrap();
        assert_eq!(types.member(opaque, "secret").unwrap().offset, 0, "{name}");
        assert_eq!(types.member(opaque, "self").unwrap().offset, 8, "{name}");
        for (t, size) in [
            ("unsigned long", 8),
            ("word", 8),
            ("struct point*", 8),
            ("int", 4),
        ] {
            let found = bin.find_type(t).unwrap_or_else(|e| panic!("{name} {e}"));
            assert_eq!(types.size(found), Some(size), "{name} {t}");
        }
        assert_eq!(
            bin.find_type("struct nodes").unwrap_err().tag(),
            "TYPE_UNKNOWN"
        );
    }
}

#[test]
fn bit_fields_read_as_written() {
    // The fixture's node: flag 6, level -5, wide 0x123456789a, as static data and code set them.
    if !have("gdb") {
        println!("skip bit_fields_read_as_written: no gdb");
        return;
    }
    for (name, program) in variants("bits") {
        let bin = open(&program);
        let f = function(&bin, "node_sum");
        let site = bin.probe_site(&f).unwrap();
        let cx = bin.context_of(&f, site.pc).unwrap();
        let n = bin.variable(&cx, "n").unwrap();
        let pointer = expression(&bin.locate(&n, &cx).unwrap(), "unsigned long");
        let node = bin.types().target(n.ty).unwrap();
        let mut print = Vec::new();
        for m in ["flag", "level", "wide"] {
            let found = bin.types().member(node, m).unwrap();
            let b = found.bits.unwrap();
            let c = [
                "unsigned char",
                "unsigned short",
                "",
                "unsigned int",
                "",
                "",
                "",
                "unsigned long",
            ][b.storage as usize - 1];
            let mask = (1u64 << b.width) - 1;
            let e = format!(
                "(*({c} *)({pointer} + {}) >> {}) & {mask}ul",
                found.offset, b.shift
            );
            print.push((m.to_owned(), "%lu", format!("(unsigned long)({e})")));
        }
        let lines = gdb(
            &program,
            &[Stop {
                pc: site.pc,
                returned: false,
                print,
            }],
        );
        assert_eq!(lines, ["flag=6", "level=123", "wide=78187493530"], "{name}");
    }
}

#[test]
fn globals_are_where_the_program_says() {
    for (name, program) in variants("globals") {
        let bin = open(&program);
        let addrs = told(&program, "addr");
        let cx = bin
            .context_of(&function(&bin, "nothing"), function(&bin, "nothing").entry)
            .unwrap();
        for v in ["global_number", "file_number", "other_number"] {
            let var = bin.variable(&cx, v).unwrap();
            assert_eq!(var.kind, VariableKind::Global);
            let at = Location::Memory(vec![LocOp::Addr(hex(&addrs[&format!("&{v}")]))]);
            assert_eq!(bin.locate(&var, &cx).unwrap(), at, "{name} {v}");
        }
        let tls = bin.variable(&cx, "thread_number").unwrap();
        let at = bin.locate(&tls, &cx).unwrap();
        assert!(
            matches!(&at, Location::Memory(o) if matches!(o[..], [LocOp::Tls(_)])),
            "{name} {at:?}"
        );
        let calls = bin.variable(&cx, "calls").unwrap();
        assert_eq!(
            calls.kind,
            VariableKind::Global,
            "{name}: static inside a function"
        );
        let of = |file| {
            let v = bin.global("file_number", Some(file)).unwrap();
            bin.locate(&v, &cx).unwrap()
        };
        assert_ne!(of("facts.c"), of("other.c"), "{name}");
        let none = bin.variable(&cx, "nosuch").unwrap_err();
        assert_eq!(none.tag(), "CTX_VAR_UNKNOWN");
        assert!(none.help().unwrap().contains("calls"), "{none:?}");
    }
}

#[test]
fn lines_agree_with_addr2line() {
    for (name, program) in variants("lines") {
        let bin = open(&program);
        let p = program.to_str().unwrap();
        for f in ["ints", "loop", "main", "cold_part", "other_entry"] {
            let f = function(&bin, f);
            let addrs: Vec<u64> = f.ranges[0].clone().step_by(3).collect();
            let text: Vec<String> = addrs.iter().map(|a| format!("{a:#x}")).collect();
            let mut args = vec!["-e", p];
            args.extend(text.iter().map(String::as_str));
            let theirs = run("addr2line", &args);
            for (addr, line) in addrs.iter().zip(theirs.lines()) {
                let (file, number) = line.rsplit_once(':').unwrap();
                let number = number.split(' ').next().unwrap();
                if number == "?" {
                    continue; // line 0: no source
                }
                let ours = bin
                    .source_at(*addr)
                    .unwrap_or_else(|| panic!("{name} {addr:#x} {line}"));
                assert_eq!(ours.line.to_string(), number, "{name} {addr:#x}");
                assert_eq!(
                    ours.file.rsplit('/').next(),
                    file.rsplit('/').next(),
                    "{name}"
                );
            }
        }
    }
}

#[test]
fn statements_are_found_by_line() {
    for (name, program) in variants("statements") {
        let bin = open(&program);
        let at = |text: String| bin.statements(&Pattern::parse(&text).unwrap(), false);
        let n = line_of("loop");
        let s = at(format!("loop@facts.c:{n}")).unwrap();
        assert_eq!(s.len(), 1, "{name}: {s:x?}");
        assert!(
            function(&bin, "loop").ranges[0].contains(&s[0].addr),
            "{name}"
        );
        assert_eq!(
            (s[0].source.line, s[0].function.as_str()),
            (n, "loop"),
            "{name}"
        );
        assert_eq!(
            at(format!("*@debuginfo/facts.c:{n}")).unwrap(),
            s,
            "{name}: by file alone"
        );
        let twice = at(format!("*@facts.c:{}", line_of("twice"))).unwrap();
        assert_eq!(
            twice.len(),
            2,
            "{name}: once in each inlined instance: {twice:x?}"
        );
        assert!(
            twice.iter().all(|s| s.function == "twice"),
            "{name}: {twice:?}"
        );
        let all = at("loop@facts.c:*".into()).unwrap();
        assert!(
            all.len() >= 3 && all.iter().any(|x| x.addr == s[0].addr),
            "{name}: {all:x?}"
        );
        let start = bin.declared_at(&function(&bin, "loop")).unwrap().line;
        let same = at(format!("loop@facts.c+{}", n - start)).unwrap();
        assert_eq!(same, s, "{name}: relative");
        let none = at("loop@facts.c:3".into()).unwrap_err();
        assert_eq!(none.tag(), "SOURCE_LINE_NO_CODE");
        let near = bin
            .statements(&Pattern::parse("loop@facts.c:3").unwrap(), true)
            .unwrap();
        assert!(near[0].source.line >= start, "{name}: {near:?}");
        let file = at("*@fatcs.c:3".into()).unwrap_err();
        assert_eq!(file.tag(), "SOURCE_FILE_UNKNOWN");
        assert!(file.help().unwrap().contains("facts.c"), "{file:?}");
    }
}

#[test]
fn probe_sites_follow_the_optimisation() {
    for (name, program) in variants("sites") {
        let bin = open(&program);
        let f = function(&bin, "ints");
        let site = bin.probe_site(&f).unwrap();
        assert_eq!(site.entry, f.entry);
        if name.contains("-O0") {
            assert!(
                site.parameters_need_prologue && site.pc > f.entry,
                "{name} {site:x?}"
            );
            assert_eq!(Some(site.pc), site.prologue_end);
        } else {
            assert_eq!(site.pc, f.entry, "{name}");
        }
        let none = function(&bin, "nothing");
        assert_eq!(
            bin.probe_site(&none).unwrap().pc,
            none.entry,
            "{name}: no parameters"
        );
        assert_eq!(bin.return_value(&none).unwrap_err().tag(), "RETURN_VOID");
    }
}

#[test]
fn cxx_names_and_types() {
    for compiler in ["g++", "clang++"] {
        if !have(compiler) {
            println!("skip cxx_names_and_types, {compiler}: not installed");
            continue;
        }
        for (level, dwarf) in [
            ("-O0", "-gdwarf-5"),
            ("-O2", "-gdwarf-4"),
            ("-O2", "-gdwarf-5"),
        ] {
            let name = format!("cxx-{compiler}{level}{dwarf}");
            let program = build(&name, compiler, &[level, dwarf, "-no-pie"]);
            let bin = open(&program);
            let named = |p: &str| {
                let all = bin.functions(&Pattern::parse(p).unwrap(), Inlines::No);
                all.unwrap_or_else(|e| panic!("{name} {e}"))
            };
            for p in ["ns::Shape::get", "Shape::get", "ns::*::get", "get"] {
                let all = named(p);
                assert_eq!(all.len(), 2, "{name} {p}: both overloads, {all:?}");
                assert!(
                    all.iter().all(|f| *f.name == *"ns::Shape::get"),
                    "{name} {all:?}"
                );
            }
            let overloads = [
                ("ns::Shape::get(int)", "_ZNK2ns5Shape3getEi"),
                ("ns::S*::get(double) const", "_ZNK2ns5Shape3getEd"),
                ("deep(const ns::Shape&, int &)", ""),
                ("ns::inner::deep(*)", ""),
            ];
            for (p, symbol) in overloads {
                let all = named(p);
                let linkage = all[0].linkage_name.clone().unwrap();
                assert!(all.len() == 1 && linkage.ends_with(symbol), "{p} {all:?}");
            }
            assert_eq!(named("get(*)").len(), 2, "{name}");
            let wrong = Pattern::parse("get(char*)").unwrap();
            let e = bin.functions(&wrong, Inlines::Also).unwrap_err();
            assert_eq!(e.tag(), "FUNCTION_OVERLOAD", "{name}");
            let there = "there are: ns::Shape::get(double) const; ns::Shape::get(int) const";
            assert_eq!(e.help().unwrap(), there, "{name}");
            assert_eq!(named("_ZNK2ns5Shape3getEi").len(), 1, "{name}");
            assert_eq!(
                &*named("ns::inner::deep")[0].name,
                "ns::inner::deep",
                "{name}"
            );
            assert_eq!(named("deep").len(), 1, "{name}");
            assert_eq!(
                named("ns::biggest").len(),
                2,
                "{name}: both instances of the template"
            );
            assert_eq!(named("ns::biggest<int>").len(), 1, "{name}");
            assert!(named("hidden")[0].name.ends_with("::hidden"), "{name}");
            assert!(bin
                .functions(&Pattern::parse("ns::deep").unwrap(), Inlines::No)
                .is_err());
            let f = &named("ns::inner::deep")[0];
            let site = bin.probe_site(f).unwrap();
            let cx = bin.context_of(f, site.pc).unwrap();
            let shape = bin.variable(&cx, "shape").unwrap();
            assert!(
                bin.types().name(shape.ty).ends_with("ns::Shape &"),
                "{name}"
            );
            let size = bin.types().member(shape.ty, "size").unwrap();
            assert_eq!(bin.types().size(size.ty), Some(4), "{name}");
            let inherited = bin.types().member(shape.ty, "base_value").unwrap();
            assert_eq!(inherited.offset, 8, "{name}: behind the vtable pointer");
            let class = bin.find_type("ns::Shape").unwrap();
            let told = told(&program, "size");
            assert_eq!(
                bin.types().size(class).unwrap().to_string(),
                told["ns::Shape"],
                "{name}"
            );
            let this = bin
                .variables(
                    &bin.context_of(
                        &named("_ZNK2ns5Shape3getEi")[0],
                        named("_ZNK2ns5Shape3getEi")[0].entry,
                    )
                    .unwrap(),
                )
                .unwrap();
            assert!(
                this[0].artificial && this[0].name == "this",
                "{name}: {this:?}"
            );
            let count = bin.global("ns::Shape::count", None).unwrap();
            assert!(
                matches!(bin.locate(&count, &cx).unwrap(), Location::Memory(_)),
                "{name}"
            );
            let r = bin.return_value(&named("make_not_trivial")[0]).unwrap();
            let memory = Location::Memory(vec![LocOp::Reg(0)]);
            assert_eq!(r.location, memory, "{name}: has a copy constructor");
        }
    }
}
