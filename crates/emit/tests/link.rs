// SPDX-License-Identifier: MIT
//! Links a fixture, maps it as the module loader does, and calls it.
#![cfg(target_arch = "x86_64")]

use std::ffi::{c_char, CStr};
use std::path::PathBuf;
use std::process::Command;
use trapless_emit::link::{link, LinkError, Linked};
use trapless_machine::MACHINES;

fn object(name: &str, text: &str, flags: &[&str]) -> Vec<u8> {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let source = out.join(format!("{name}.c"));
    let object = out.join(format!("{name}.o"));
    std::fs::write(&source, text).expect("write the source");
    let status = Command::new("cc")
        .args([
            "-O2",
            "-fPIC",
            "-fno-plt",
            "-fvisibility=hidden",
            "-ffreestanding",
            "-w",
            "-c",
        ])
        .args([
            "-fno-asynchronous-unwind-tables",
            "-fno-stack-protector",
            "-fcf-protection=none",
        ])
        .args(flags)
        .arg(&source)
        .arg("-o")
        .arg(&object)
        .status()
        .expect("run the compiler");
    assert!(status.success());
    std::fs::read(object).expect("read the object")
}

extern "C" fn imported(text: *const c_char, n: i64) -> i64 {
    // SAFETY: the fixture passes its own literals.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_bytes().len() as i64 * 1000 + n
}

struct Loaded {
    base: *mut u8,
    linked: Linked,
}

impl Loaded {
    fn new(linked: Linked) -> Loaded {
        let size = linked.code.len() + linked.data.len();
        // SAFETY: a fresh anonymous mapping of our own, written within its size.
        let base = unsafe {
            let prot = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let base = libc::mmap(std::ptr::null_mut(), size, prot, flags, -1, 0) as *mut u8;
            base.copy_from(linked.code.as_ptr(), linked.code.len());
            let data = base.add(linked.code.len());
            data.copy_from(linked.data.as_ptr(), linked.data.len());
            for at in &linked.relocs {
                let word = data.add(*at as usize) as *mut u64;
                *word = word.read_unaligned() + base as u64;
            }
            for (name, at) in &linked.imports {
                let address = match name.as_str() {
                    "imported" => imported as *const () as u64,
                    "memcpy" => libc::memcpy as *const () as u64,
                    other => panic!("unexpected import {other}"),
                };
                *(data.add(*at as usize) as *mut u64) = address;
            }
            base
        };
        Loaded { base, linked }
    }

    fn call(&self, name: &str, a: u64, b: u64) -> i64 {
        let at = self.linked.functions[name] as usize;
        // SAFETY: a function of the fixture with at most two word arguments.
        unsafe {
            let f: extern "C" fn(u64, u64) -> i64 = std::mem::transmute(self.base.add(at));
            f(a, b)
        }
    }
}

#[test]
fn linked_code_runs_where_it_is_loaded() {
    let text = include_str!("fixture.c");
    let m = Loaded::new(link(&object("fixture", text, &[]), MACHINES[0]).expect("link"));
    assert_eq!(m.call("h_names", 1, 0), 3000 + 2);
    assert_eq!(m.call("h_names", 3, 0), 4000 + 6);
    assert_eq!(m.call("h_address", 4, 0), 9);
    let from = [7u8; 600];
    let mut to = [0u8; 600];
    let got = m.call("h_copy", to.as_mut_ptr() as u64, from.as_ptr() as u64);
    assert_eq!((got, to), (7, from));
}

#[test]
fn direct_calls_to_imports_go_through_stubs() {
    let text = include_str!("fixture.c");
    let bytes = object("fixture-plt", text, &["-fplt"]);
    let m = Loaded::new(link(&bytes, MACHINES[0]).expect("link"));
    assert_eq!(m.call("h_names", 2, 0), 3000 + 4);
}

#[test]
fn an_absolute_address_in_text_is_refused() {
    let text = "extern int x; asm(\".text; .quad f; .globl f; f: ret\");";
    match link(&object("absolute", text, &[]), MACHINES[0]) {
        Err(LinkError::AbsoluteInCode { section }) => assert_eq!(section, ".text"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn cut_objects_are_no_panic() {
    let good = object("damaged", include_str!("fixture.c"), &[]);
    for cut in (0..good.len()).step_by(7) {
        let _ = link(&good[..cut], MACHINES[0]);
    }
}
