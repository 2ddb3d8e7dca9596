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

/// Of this source.
fn of(name: &str, source: &str) -> Kernel {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(folder.join("lib/modules")).unwrap();
    std::fs::write(folder.join("kernel.c"), source).unwrap();
    let words = ["-target", "bpf", "-O1", "-g", "-c", "kernel.c", "-o"];
    run("clang", &[&words[..], &["vmlinux"]].concat(), &folder);
    let named = folder.to_str().unwrap();
    Kernel::open(Some(named), None, Default::default(), Types::new()).unwrap()
}

/// With a module `twins`.
fn with_twins() -> Kernel {
    let kernel = of("kernel-modules", KERNEL);
    let folder = kernel.path().parent().unwrap().to_path_buf();
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
    kernel
}

#[test]
fn functions_of_one_name_are_numbered() {
    let twins = with_twins().module("twins").unwrap();
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

/// Of a tracepoint, as far as systems are concerned.
const EVENT: &str = "struct trace_event_class { const char *system; };
    struct trace_event_call { long list[2]; struct trace_event_class *class; };
    struct trace_event_class shop_class = { \"shop\" };
    struct trace_event_call event_sold = { { 0, 0 }, &shop_class };";

#[test]
fn systems_of_tracepoints_are_read_before_a_module_is_linked() {
    let kernel = of("kernel-tracepoints", EVENT);
    let folder = kernel.path().parent().unwrap();
    let own = format!("{EVENT} int __traceiter_sold(void *data, int n) {{ return n; }}");
    compiled(folder, "shop", &own);
    std::fs::rename(folder.join("shop.o"), folder.join("lib/modules/shop.ko")).unwrap();
    let shop = kernel.module("shop").unwrap();
    assert_eq!(shop.system_of("sold"), Some("shop"));
    assert_eq!(shop.system_of("bought"), None);
    assert_eq!(kernel.modules_tracing("shop", "s*"), ["shop"]);
}
