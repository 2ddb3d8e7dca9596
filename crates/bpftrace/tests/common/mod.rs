// SPDX-License-Identifier: MIT
//! What the tests share.

use trapless_bpftrace::{translate, Error, Setting};

/// With `-c` or `-x`.
pub fn of_target(words: &[&str]) -> Setting {
    Setting {
        target: true,
        kernel: false,
        words: words.iter().map(|w| w.to_string()).collect(),
    }
}

pub fn whole(program: &str, setting: &Setting) -> String {
    match translate(program, setting) {
        Ok(script) => script.text,
        Err(e) => panic!("{program}: {}", e.shown(program)),
    }
}

/// The probes that the program itself has, without what is told of them.
pub fn probes(program: &str, setting: &Setting) -> String {
    let text = whole(program, setting);
    let parts = text.split("\n\n").skip(1);
    let own = parts.filter(|p| !p.starts_with("probe end(1000)"));
    let lines = own.flat_map(str::lines).filter(|l| !l.starts_with('#'));
    lines.collect::<Vec<_>>().join("\n")
}

pub fn error(program: &str, setting: &Setting) -> Error {
    match translate(program, setting) {
        Ok(script) => panic!("{program} was translated:\n{}", script.text),
        Err(e) => e,
    }
}
