// SPDX-License-Identifier: MIT
//! Pass 1 alone: `cargo run --example p1 -- FILE [ARGS...]` prints the tree.

use trapless_syntax::{
    ast::NodeIds, parse_file, Diagnostics, Environment, MacroLibrary, SourceMap, Words,
};

fn main() -> std::process::ExitCode {
    let mut words = std::env::args().skip(1);
    let Some(name) = words.next() else {
        eprintln!("usage: p1 FILE [ARGS...]");
        return std::process::ExitCode::from(2);
    };
    let text = match std::fs::read(&name) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{name}: {error}");
            return std::process::ExitCode::FAILURE;
        }
    };
    let env = Environment {
        args: Words::new(words.collect()),
        guru: true,
        ..Environment::default()
    };
    let mut map = SourceMap::new();
    let library = MacroLibrary::with_prelude(&mut map);
    let file = map.add_bytes(name, &text);
    let mut diags = Diagnostics::new();
    let script = parse_file(&mut map, file, &env, &library, &NodeIds::new(), &mut diags);
    eprint!("{}", diags.render(&map, false));
    if diags.has_errors() {
        return std::process::ExitCode::FAILURE;
    }
    print!("{script}");
    std::process::ExitCode::SUCCESS
}
