// SPDX-License-Identifier: MIT
//! Fixture programs, and gdb as the machine on which a `Location` is evaluated.
#![allow(dead_code)] // each test file uses its part

use std::path::{Path, PathBuf};
use std::process::Command;
use trapless_debuginfo::*;

pub fn dir(name: &str) -> PathBuf {
    let d = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&d).unwrap();
    d
}

pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/debuginfo")
        .join(name)
}

pub fn run(program: &str, args: &[&str]) -> String {
    let out = Command::new(program)
        .args(args)
        .output()
        .unwrap_or_else(|e| panic!("{program}: {e}"));
    assert!(
        out.status.success(),
        "{program} {args:?}: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    String::from_utf8_lossy(&out.stdout).into_owned()
}

pub fn have(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|o| o.status.success())
}

/// The C fixture, built with these options into `name`.
pub fn build(name: &str, compiler: &str, options: &[&str]) -> PathBuf {
    match compiler.contains("++") {
        true => build_of(name, compiler, options, &["facts.cc"]),
        false => build_of(name, compiler, options, &["facts.c", "other.c"]),
    }
}

pub fn build_of(name: &str, compiler: &str, options: &[&str], sources: &[&str]) -> PathBuf {
    let out = dir("fixtures").join(name);
    let sources: Vec<PathBuf> = sources.iter().map(|s| source(s)).collect();
    let mut args: Vec<&str> = options.to_vec();
    args.extend(["-w", "-o", out.to_str().unwrap()]);
    args.extend(sources.iter().map(|s| s.to_str().unwrap()));
    run(compiler, &args);
    out
}

/// Every compiler here, at -O0 and -O2, with DWARF 4 and 5; linked to a fixed address so that
/// file addresses are run-time addresses.
pub fn variants(test: &str) -> Vec<(String, PathBuf)> {
    let mut all = Vec::new();
    for compiler in ["gcc", "clang"] {
        if !have(compiler) {
            println!("skip {test}, {compiler}: not installed");
            continue;
        }
        for level in ["-O0", "-O2"] {
            for dwarf in ["-gdwarf-4", "-gdwarf-5"] {
                let name = format!("{test}-{compiler}{level}{dwarf}");
                let program = build(&name, compiler, &[level, dwarf, "-no-pie"]);
                all.push((name, program));
            }
        }
    }
    assert!(!all.is_empty(), "no C compiler");
    all
}

pub fn open(path: &Path) -> Binary {
    Binary::open(path, &SearchPath::host()).unwrap()
}

/// The one out-of-line function of that name.
pub fn function(bin: &Binary, name: &str) -> Function {
    let mut all = bin
        .functions(&Pattern::parse(name).unwrap(), Inlines::No)
        .unwrap();
    assert_eq!(all.len(), 1, "{name}: {all:?}");
    all.remove(0)
}

// Locations as gdb expressions.

const REGISTERS: [&str; 16] = [
    "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13",
    "r14", "r15",
];

fn ops(ops: &[LocOp]) -> String {
    let mut stack: Vec<String> = Vec::new();
    for op in ops {
        let mut binary = |sign: &str| {
            let (b, a) = (stack.pop().unwrap(), stack.pop().unwrap());
            format!("({a} {sign} {b})")
        };
        let value = match op {
            LocOp::Reg(r) => format!("(unsigned long)${}", REGISTERS[*r as usize]),
            LocOp::Const(n) | LocOp::Addr(n) => format!("{n}ul"),
            LocOp::PlusConst(n) => format!("({} + {n}ul)", stack.pop().unwrap()),
            LocOp::Plus => binary("+"),
            LocOp::Minus => binary("-"),
            LocOp::Mul => binary("*"),
            LocOp::And => binary("&"),
            LocOp::Shl => binary("<<"),
            LocOp::Shr => binary(">>"),
            LocOp::Deref(8) => format!("*(unsigned long *)({})", stack.pop().unwrap()),
            op => panic!("{op:?} is not in the fixture"),
        };
        stack.push(value);
    }
    assert_eq!(stack.len(), 1);
    stack.pop().unwrap()
}

/// A gdb expression for the scalar of type `c` at the start of the location.
pub fn expression(place: &Location, c: &str) -> String {
    match place {
        Location::Memory(o) => format!("*({c} *)({})", ops(o)),
        Location::Value(o) => format!("({c})({})", ops(o)),
        Location::Register(r @ 17..=32) => match c {
            "float" => format!("$xmm{}.v4_float[0]", r - 17),
            _ => format!("$xmm{}.v2_double[0]", r - 17),
        },
        Location::Register(r) => format!("({c})${}", REGISTERS[*r as usize]),
        Location::Pieces(p) => expression(&p[0].place, c),
        other => panic!("{other:?}"),
    }
}

/// A stop of the program: where, and what to print there.
pub struct Stop {
    pub pc: u64,
    /// Print after the function has returned (`pc` must be its entry).
    pub returned: bool,
    /// (label, printf format, expression)
    pub print: Vec<(String, &'static str, String)>,
}

/// Run to each stop in turn; the lines `label=value`.
pub fn gdb(program: &Path, stops: &[Stop]) -> Vec<String> {
    let mut script = String::from("set confirm off\nset language c\nset width 0\n");
    script.push_str("set startup-with-shell off\n");
    for (i, s) in stops.iter().enumerate() {
        script.push_str(&format!("tbreak *{:#x}\n", s.pc));
        script.push_str(if i == 0 {
            "run >/dev/null\n"
        } else {
            "continue\n"
        });
        if s.returned {
            script.push_str("tbreak *(*(unsigned long *)$rsp)\ncontinue\n");
        }
        for (label, format, e) in &s.print {
            script.push_str(&format!("printf \"{label}={format}\\n\", {e}\n"));
        }
    }
    script.push_str("kill\n");
    let script = script.replace("run >/dev/null", "run");
    let file = program.with_extension("gdb");
    std::fs::write(&file, script).unwrap();
    let out = run(
        "gdb",
        &[
            "-batch",
            "-nx",
            "-x",
            file.to_str().unwrap(),
            program.to_str().unwrap(),
        ],
    );
    out.lines()
        .filter(|l| l.contains('=') && !l.contains(' '))
        .map(str::to_owned)
        .collect()
}
