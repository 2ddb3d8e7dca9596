// SPDX-License-Identifier: MIT
//! A kernel's modules, out of files that compilers have made.

use std::path::{Path, PathBuf};
use std::process::Command;
use trapless_debuginfo::*;

const KERNEL: &str = "int kernel_own(int n) { return n; }";
/// Two files of one module, and what runs as it starts.
const ONCE: &str =
    "__attribute__((section(\".init.text\"), noinline)) static int twin(int n) { return n; }
    __attribute__((section(\".init.text\"))) int init_module(void) { return twin(1); }";
const PART: &str = "__attribute__((noinline)) static int twin(int n) { asm(\"nop\"); return n; }
    int NAME(void) { return twin(3); }";

fn run(program: &str, words: &[&str], folder: &Path) {
    let mut command = Command::new(program);
    let status = command.args(words).current_dir(folder).status();
    assert!(status.expect(program).success(), "{program} {words:?}");
}

fn compiled(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name).with_extension("c"), text).unwrap();
    let source = format!("{name}.c");
    run("cc", &["-O1", "-c", &source], folder);
}

/// With a module `twins`.
fn kernel() -> Kernel {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kernel-modules");
    let modules = folder.join("lib/modules");
    std::fs::create_dir_all(&modules).unwrap();
    std::fs::write(folder.join("kernel.c"), KERNEL).unwrap();
    let words = ["-target", "bpf", "-O1", "-g", "-c", "kernel.c", "-o"];
    run("clang", &[&words[..], &["vmlinux"]].concat(), &folder);
    compiled(&folder, "once", ONCE);
    compiled(&folder, "first", &PART.replace("NAME", "first"));
    compiled(&folder, "second", &PART.replace("NAME", "second"));
    let words = [
        "-r",
        "once.o",
        "first.o",
        "second.o",
        "-o",
        "lib/modules/twins.ko",
    ];
    run("ld", &words, &folder);
    let named = folder.to_str().unwrap();
    Kernel::open(Some(named), None, Default::default(), Types::new()).unwrap()
}

#[test]
fn functions_of_one_name_are_numbered() {
    let twins = kernel().module("twins").unwrap();
    let found = twins.functions("twi*");
    let numbers: Vec<_> = found.iter().map(|f| (&*f.name, f.nth)).collect();
    assert_eq!(numbers, [("twin", 0), ("twin", 1)]);
    assert_eq!(twins.functions("first")[0].nth, 0);
    assert!(twins.functions("init_module").is_empty(), "it runs once");
    let first = twins.at(0).unwrap();
    assert_eq!((&*first.function, first.nth, first.offset), ("twin", 0, 0));
    let all = (0..0x40).filter_map(|at| twins.at(at).ok());
    let second = all.filter(|a| &*a.function == "twin" && a.nth == 1);
    assert!(second.count() > 1);
}
