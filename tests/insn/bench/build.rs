// SPDX-License-Identifier: MIT
//! Compiles the decoder under test into the bench.
use std::{env, path::PathBuf};

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let dir = here.join("../../../engine/insn/x86");
    println!("cargo:rerun-if-changed={}", dir.display());
    cc::Build::new()
        .file(dir.join("decode.c"))
        .file(dir.join("attr.c"))
        .flag("-std=c11")
        .flag("-ffreestanding")
        .opt_level(2)
        .warnings_into_errors(true)
        .compile("tlinsn");
}
