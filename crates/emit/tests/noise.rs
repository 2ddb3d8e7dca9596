// SPDX-License-Identifier: MIT
//! No script makes passes 2 and 3 panic or take long, no object file the linker.
//!
//! Every run draws the same inputs; `SEED=n` draws others, `FUZZ_SECONDS=n` more.

#[path = "../../../tests/fuzz/random.rs"]
mod random;

use random::{deadline, Random};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use trapless_sema::declare::loader::Loader;
use trapless_sema::declare::tapset::Tapset;
use trapless_sema::ir::Options;
use trapless_sema::world::{TargetSpec, World};
use trapless_sema::{analyse, Input};
use trapless_syntax::ast::NodeIds;
use trapless_syntax::{Diagnostics, Environment, MacroLibrary, SourceMap, Words};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn compile(source: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut cc = Command::new("cc");
    cc.args(flags).arg(source).arg("-o").arg(&out);
    assert!(cc.status().expect("a C compiler").success());
    out
}

fn target() -> PathBuf {
    let source = root().join("tests/scripts/sema/target.c");
    compile(&source, "noise-target", &["-O2", "-g"])
}

/// Scripts that pass 2 takes, and some that it refuses.
fn scripts() -> Vec<String> {
    let mut all = Vec::new();
    for folder in ["tests/scripts/sema", "tests/scripts/run", "examples"] {
        for entry in std::fs::read_dir(root().join(folder))
            .expect(folder)
            .flatten()
        {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".stp") && !name.starts_with("err.") {
                all.push(std::fs::read_to_string(entry.path()).expect("a script"));
            }
        }
    }
    all.sort();
    assert!(all.len() > 30, "scripts are missing");
    all
}

/// Pass 1 to 3; true when C came out.
fn try_it(text: &str, tapset: &Tapset, target: &str) -> bool {
    let (mut map, mut diags, ids) = (SourceMap::new(), Diagnostics::new(), NodeIds::new());
    let macros = MacroLibrary::with_prelude(&mut map);
    let env = Environment {
        args: Words::new(["7", "main"].map(String::from).to_vec()),
        ..Environment::default()
    };
    let file = map.add("input", text);
    let script = trapless_syntax::parse_file(&mut map, file, &env, &macros, &ids, &mut diags);
    let mut world = World::new(TargetSpec {
        program: Some(target.to_string()),
        pid: None,
        stands_in: None,
    });
    let input = Input {
        scripts: vec![script],
        made: Vec::new(),
        tapset,
        loader: Loader {
            map: &mut map,
            env: &env,
            macros: &macros,
            ids: &ids,
        },
        options: Options::default(),
    };
    let program = analyse(input, &mut world, &mut diags);
    let said = diags.render(&map, false);
    assert!(
        program.is_some() || said.contains("error["),
        "refused in silence:\n{text}"
    );
    program.is_some_and(|p| trapless_emit::emit(&p, &map).is_ok())
}

/// A word of one script in the place of a word of another, or nothing there.
fn damage(random: &mut Random, scripts: &[String]) -> String {
    let pieces = |s: &str| -> Vec<String> {
        s.split_inclusive([' ', '\t', '\n', '(', ')', ',', '.', '[', ']', ';'])
            .map(String::from)
            .collect()
    };
    let mut words = pieces(&scripts[random.below(scripts.len())]);
    let others = pieces(&scripts[random.below(scripts.len())]);
    for _ in 0..1 + random.below(2) {
        let (at, from) = (random.below(words.len()), random.below(others.len()));
        match random.below(4) {
            0 if words.len() > 1 => drop(words.remove(at)),
            1 => words.insert(at, others[from].clone()),
            2 => words[at] = others[from].clone(),
            _ => {
                let other = random.below(words.len());
                words.swap(at, other);
            }
        }
    }
    words.concat()
}

#[test]
fn damaged_scripts() {
    let (scripts, target) = (scripts(), target());
    let target = target.to_string_lossy();
    let tapset = Tapset::open(&[root().join("tapset")], &mut Diagnostics::new());
    let mut random = Random::new(5);
    let end = deadline(4);
    let (mut all, mut good) = (0, 0);
    while Instant::now() < end || all < 20 {
        let text = damage(&mut random, &scripts);
        let result = std::panic::catch_unwind(|| try_it(&text, &tapset, &target));
        all += 1;
        good += usize::from(result.unwrap_or_else(|_| panic!("the script was\n{text}")));
    }
    println!("{good} of {all} scripts gave C");
    assert!(good > 0 && good < all, "{good} of {all}");
}

#[test]
fn damaged_objects() {
    let source = root().join("crates/emit/tests/fixture.c");
    let flags = ["-O2", "-fPIC", "-fno-plt", "-ffreestanding", "-w", "-c"];
    let object = std::fs::read(compile(&source, "noise.o", &flags)).expect("an object");
    let mut random = Random::new(6);
    let end = deadline(2);
    let (mut all, mut good) = (0, 0);
    while Instant::now() < end || all < 20 {
        let mut bytes = object.clone();
        random.damage(&mut bytes);
        all += 1;
        good +=
            usize::from(trapless_emit::link::link(&bytes, trapless_machine::MACHINES[0]).is_ok());
    }
    println!("{good} of {all} objects were linked");
    assert!(good < all);
}
