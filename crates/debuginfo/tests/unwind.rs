// SPDX-License-Identifier: MIT
//! Unwind tables against what `readelf` reads out of the same files.

mod common;

use common::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use trapless_debuginfo::*;
use trapless_machine::FRAME_REGISTERS;

const NAMES: [&str; FRAME_REGISTERS] = [
    "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13",
    "r14", "r15", "ra",
];

fn open(path: &Path) -> UnwindTable {
    let binary = Binary::open(path, &SearchPath::host()).unwrap();
    binary.unwind_table()
}

fn library(name: &str) -> PathBuf {
    let path = run("gcc", &[&format!("-print-file-name={name}")]);
    Path::new(path.trim()).canonicalize().unwrap()
}

fn cfa_text(f: &Frame) -> String {
    format!("{}+{}", NAMES[f.register as usize], f.offset)
}

/// In readelf's words.
fn saved_text(s: Saved) -> String {
    match s {
        Saved::Same | Saved::Lost => "u".to_string(),
        Saved::AtCfa(n) => format!("c{n:+}"),
        Saved::AtBase(_) => "exp".to_string(),
    }
}

/// Rows that say the same; panics at the first that does not.
fn compare(path: &Path) -> (usize, usize) {
    let table = open(path);
    // It complains of parts of libc, and fails then.
    let readelf = Command::new("readelf")
        .arg("--debug-dump=frames-interp")
        .arg(path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&readelf.stdout);
    let (mut rows, mut expressions, mut header, mut in_fde) = (0, 0, Vec::new(), false);
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.contains(" FDE ") || line.contains(" CIE ") {
            in_fde = line.contains(" FDE ");
        } else if words.first() == Some(&"LOC") {
            header = words;
        } else if in_fde && words.len() == header.len() && words[0].len() == 16 {
            let addr = u64::from_str_radix(words[0], 16).unwrap();
            if words[1] == "exp" {
                expressions += 1;
                continue;
            }
            let frame = table.frame(addr);
            let frame = frame.unwrap_or_else(|| panic!("{path:?} {addr:#x}: no rule, {line}"));
            assert_eq!(cfa_text(frame), words[1], "{path:?} {addr:#x}");
            for (name, want) in header.iter().zip(&words).skip(2) {
                let Some(n) = NAMES.iter().position(|r| r == name) else {
                    continue;
                };
                let want = if *want == "s" { "u" } else { want };
                assert_eq!(
                    saved_text(frame.saved[n]),
                    want,
                    "{path:?} {addr:#x} {name}"
                );
            }
            rows += 1;
        }
    }
    (rows, expressions)
}

#[test]
fn tables_agree_with_readelf() {
    for (name, least) in [
        ("libc.so.6", 10_000),
        ("libstdc++.so.6", 10_000),
        ("libm.so.6", 1_000),
    ] {
        let (rows, expressions) = compare(&library(name));
        assert!(rows > least, "{name}: {rows}");
        assert!(expressions * 100 < rows, "{name}: {expressions}");
    }
}

/// The frame of a signal: everything lies in what the kernel has pushed.
#[test]
fn a_signal_frame_has_all_registers() {
    let libc = library("libc.so.6");
    let table = open(&libc);
    let signals: Vec<&Frame> = table.frames.iter().filter(|f| f.signal).collect();
    assert_eq!(signals.len(), 1);
    let f = signals[0];
    assert!(f.deref);
    assert_eq!((f.register, f.base, f.offset), (7, 7, 160)); // ucontext's rsp
    assert_eq!(f.saved[16], Saved::AtBase(168));
    assert_eq!(f.saved[3], Saved::AtBase(128));
    assert!(f.saved.iter().all(|s| matches!(s, Saved::AtBase(_))));
}

/// One expression describes all entries of a linkage table: they push in their middle.
#[test]
fn linkage_tables_by_address() {
    let path = build(
        "unwind-plt",
        "gcc",
        &["-O2", "-Wl,-z,lazy", "-fcf-protection=none"],
    );
    let table = open(&path);
    let text = run("objdump", &["-d", "-j", ".plt", path.to_str().unwrap()]);
    let mut pushes = 0;
    for line in text.lines().filter(|l| l.contains("\tpush")).skip(1) {
        let addr = u64::from_str_radix(line.split(':').next().unwrap().trim(), 16).unwrap();
        let depth = |addr| table.frame(addr).map(|f| (f.register, f.offset));
        assert_eq!(depth(addr - 6), Some((7, 8)), "{line}");
        assert_eq!(depth(addr), Some((7, 8)), "{line}");
        assert_eq!(depth(addr + 5), Some((7, 16)), "{line}");
        pushes += 1;
    }
    assert!(pushes > 0, "{text}");
}

/// A stack that is aligned anew finds its caller through a saved word.
#[test]
fn realigned_stacks() {
    let path = source_of("unwind-align", ALIGNED);
    let table = open(&path);
    let saved = table.frames.iter().filter(|f| f.deref && !f.signal);
    assert!(saved.count() > 0);
    compare(&path);
}

const ALIGNED: &str = "
#include <alloca.h>
void use(void *, void *);
int f(int n) { char a[64] __attribute__((aligned(64))); use(a, alloca(n)); return a[n]; }
void use(void *a, void *b) { __asm__ volatile(\"\" :: \"r\"(a), \"r\"(b) : \"memory\"); }
int main(int argc, char **argv) { (void)argv; return f(argc); }
";

fn source_of(name: &str, text: &str) -> PathBuf {
    let c = dir("fixtures").join(format!("{name}.c"));
    std::fs::write(&c, text).unwrap();
    let out = dir("fixtures").join(name);
    run(
        "gcc",
        &[
            "-O2",
            "-g",
            "-w",
            "-o",
            out.to_str().unwrap(),
            c.to_str().unwrap(),
        ],
    );
    out
}

#[test]
fn functions_without_rules_are_known_at_their_entry() {
    let c = dir("fixtures").join("unwind-bare.s");
    let text = ".text\n.globl main\n.type main, @function\nmain: push %rbp\n pop %rbp\n xor %eax, %eax\n ret\n.size main, . - main\n";
    std::fs::write(&c, text).unwrap();
    let out = dir("fixtures").join("unwind-bare");
    run("gcc", &["-o", out.to_str().unwrap(), c.to_str().unwrap()]);
    let binary = Binary::open(&out, &SearchPath::host()).unwrap();
    let table = binary.unwind_table();
    let main = binary.symbols().iter().find(|s| s.name == "main").unwrap();
    assert_eq!(table.frame(main.addr).unwrap().offset, 8);
    assert!(table.frame(main.addr + 1).is_none());
}
