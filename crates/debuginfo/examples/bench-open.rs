// SPDX-License-Identifier: MIT
//! How long one function and its parameters take in a program with much debug information.
//!
//! `bench-open [PROGRAM FUNCTION]`; without arguments it generates a program of about 10 MB of
//! DWARF (many units, as real programs have) and one with the same in a single unit.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use trapless_debuginfo::*;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [program, function] = &args[..] {
        return report(Path::new(program), function);
    }
    let dir = std::env::temp_dir().join(format!("bench-open-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a temporary folder");
    for units in [50, 1] {
        let program = generate(&dir, units, 6000 / units);
        println!("{units} unit(s), {:.1} MB of DWARF", dwarf_size(&program));
        report(&program, "work_0_50");
    }
    let _ = std::fs::remove_dir_all(&dir);
}

fn report(program: &Path, function: &str) {
    let mut times: Vec<[f64; 3]> = (0..10).map(|_| once(program, function)).collect();
    times.sort_by(|a, b| a[2].total_cmp(&b[2]));
    let [found, called, inlines] = times[times.len() / 2];
    println!("  {function}: found {found:.2} ms, with parameters {called:.2} ms");
    println!(
        "  with its inlined instances {inlines:.2} ms (median of {})",
        times.len()
    );
    for (inlines, what) in [(Inlines::No, ""), (Inlines::Also, " and inlined instances")] {
        let start = Instant::now();
        let bin = Binary::open(program, &SearchPath::host()).expect("opens");
        let all = bin
            .functions(&Pattern::parse("*").expect("parses"), inlines)
            .map_or(0, |f| f.len());
        let ms = start.elapsed().as_secs_f64() * 1e3;
        println!("  `*`: {all} functions{what} {ms:.2} ms");
    }
}

/// Milliseconds until the function is found, its parameters are placed, its inlines are known.
fn once(program: &Path, function: &str) -> [f64; 3] {
    let start = Instant::now();
    let ms = || start.elapsed().as_secs_f64() * 1e3;
    let bin = Binary::open(program, &SearchPath::host()).expect("opens");
    let pattern = Pattern::parse(function).expect("parses");
    let f = bin
        .functions(&pattern, Inlines::No)
        .expect("found")
        .remove(0);
    let found = ms();
    let site = bin.probe_site(&f).expect("a site");
    let cx = bin.context_of(&f, site.pc).expect("a context");
    for v in bin.variables(&cx).expect("variables") {
        let _ = (bin.locate(&v, &cx), bin.types().name(v.ty));
    }
    let called = ms();
    let _ = bin.functions(&pattern, Inlines::Also).expect("found");
    [found, called, ms()]
}

fn generate(dir: &Path, units: usize, functions: usize) -> PathBuf {
    let mut objects = Vec::new();
    for u in 0..units {
        let source = dir.join(format!("u{u}.c"));
        std::fs::write(&source, text(u, functions)).expect("written");
        let object = dir.join(format!("u{u}.o"));
        run(Command::new("gcc")
            .args(["-O1", "-g", "-w", "-c", "-o"])
            .arg(&object)
            .arg(&source));
        objects.push(object);
    }
    let main = dir.join("main.c");
    std::fs::write(&main, "int main(void) { return 0; }").expect("written");
    let program = dir.join(format!("program{units}"));
    run(Command::new("gcc")
        .args(["-g", "-o"])
        .arg(&program)
        .arg(main)
        .args(objects));
    program
}

fn text(unit: usize, functions: usize) -> String {
    let mut s = String::from("static volatile int sink;\n");
    for f in 0..functions {
        let n = format!("{unit}_{f}");
        let _ = write!(
            s,
            "struct item_{n} {{ struct item_{n} *next_{n}; long count_{n}; char name_{n}[{}]; \
             union {{ int i; double d; }} value_{n}; unsigned a : 3, b : 7; }};\n\
             static inline int helper_{n}(struct item_{n} *p, int k) \
             {{ int sum = k; for (int i = 0; i < k; i++) sum += p->value_{n}.i + i; return sum; }}\n\
             int work_{n}(struct item_{n} *p, long q, const char *text, int r) {{ \
             int first = helper_{n}(p, r); long second = q * first; \
             if (second > 7) {{ int third = helper_{n}(p->next_{n}, first); sink = third; }} \
             return second + text[r] + sink; }}\n",
            f % 60 + 1
        );
    }
    s
}

fn dwarf_size(program: &Path) -> f64 {
    let out = Command::new("size")
        .arg("-A")
        .arg(program)
        .output()
        .expect("size runs");
    let bytes: u64 = String::from_utf8_lossy(&out.stdout)
        .lines()
        .filter(|l| l.starts_with(".debug_"))
        .filter_map(|l| l.split_whitespace().nth(1)?.parse::<u64>().ok())
        .sum();
    bytes as f64 / 1e6
}

fn run(command: &mut Command) {
    let status = command.status().expect("gcc runs");
    assert!(status.success(), "{:?} failed", command.get_program());
}
