// SPDX-License-Identifier: MIT
//! Text is made by the formatter that runner and handlers use.

fn main() {
    let root = "../..";
    cc::Build::new()
        .file(format!("{root}/runtime/format.c"))
        .include(format!("{root}/include"))
        .std("gnu11")
        .opt_level(2)
        .compile("trapless_format");
    println!("cargo::rerun-if-changed={root}/runtime/format.c");
    println!("cargo::rerun-if-changed={root}/runtime/session.h");
}
