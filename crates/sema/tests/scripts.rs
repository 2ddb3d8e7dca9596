// SPDX-License-Identifier: MIT
//! The scripts of tests/scripts/sema: what pass 2 takes and what it refuses,
//! with tag, line and column.

use std::path::{Path, PathBuf};
use trapless_sema::declare::loader::Loader;
use trapless_sema::declare::tapset::Tapset;
use trapless_sema::world::{TargetSpec, World};
use trapless_sema::{analyse, ir, Input};
use trapless_syntax::ast::NodeIds;
use trapless_syntax::diag::{Diagnostics, Severity};
use trapless_syntax::expect::{read_case, Case};
use trapless_syntax::{Environment, MacroLibrary, SourceMap, Words};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A program with debug information for the scripts that need one.
fn target() -> PathBuf {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("sema-target");
    let source = root().join("tests/scripts/sema/target.c");
    let status = std::process::Command::new("cc")
        .args(["-O2", "-g", "-o"])
        .arg(&out)
        .arg(source)
        .status()
        .expect("a C compiler");
    assert!(status.success());
    out
}

/// A folder with a kernel, as `-r` takes it.
fn kernel() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("sema-kernel");
    std::fs::create_dir_all(&folder).expect("a folder");
    let status = std::process::Command::new("clang")
        .args(["-target", "bpf", "-O1", "-g", "-w", "-c", "-o"])
        .arg(folder.join("vmlinux"))
        .arg(root().join("tests/scripts/sema/kernel.c"))
        .status()
        .expect("clang");
    assert!(status.success());
    let modules = folder.join("lib/modules");
    std::fs::create_dir_all(&modules).expect("a folder");
    for (name, debug, source) in [
        ("sample.ko", "-g0", "module.c"),
        ("two-words.ko", "-g0", "module.c"),
        ("lines.ko", "-g", "lines.c"),
    ] {
        let status = std::process::Command::new("cc")
            .args(["-O1", "-c", debug, "-o"])
            .arg(modules.join(name))
            .arg(root().join("tests/scripts/sema").join(source))
            .status()
            .expect("a C compiler");
        assert!(status.success());
    }
    folder
}

fn check(name: &str, case: &Case, target: &Path, kernel: &Path) -> Result<(), String> {
    let (mut map, mut diags, ids) = (SourceMap::new(), Diagnostics::new(), NodeIds::new());
    let macros = MacroLibrary::with_prelude(&mut map);
    let env = Environment {
        args: Words::new(case.args.clone()),
        ..Environment::default()
    };
    let file = map.add(name, case.text.clone());
    let script = trapless_syntax::parse_file(&mut map, file, &env, &macros, &ids, &mut diags);
    let tapset = Tapset::open(&[root().join("tapset")], &mut diags);
    let mut world = World::new(TargetSpec {
        program: Some(target.to_string_lossy().into_owned()),
        pid: None,
        stands_in: None,
    });
    world.release = Some(kernel.to_string_lossy().into_owned());
    let input = Input {
        scripts: vec![script],
        made: Vec::new(),
        tapset: &tapset,
        loader: Loader {
            map: &mut map,
            env: &env,
            macros: &macros,
            ids: &ids,
        },
        options: ir::Options::default(),
    };
    let program = analyse(input, &mut world, &mut diags);
    let shown = diags.render(&map, false);
    let errors = diags.iter().filter(|d| d.severity == Severity::Error);
    let mut found: Vec<_> = errors
        .map(|d| {
            let at = d.span.map(|s| map.line_col(s));
            (d.tag, at.map_or(0, |a| a.line), at.map_or(0, |a| a.col))
        })
        .collect();
    found.sort_by_key(|f| (f.1, f.2));
    if found != case.errors {
        return Err(format!(
            "expected {:?}\nfound {found:?}\n{shown}",
            case.errors
        ));
    }
    if program.is_some() != case.errors.is_empty() {
        return Err(format!(
            "a program came out: {}\n{shown}",
            program.is_some()
        ));
    }
    for text in &case.says {
        if !shown.contains(text) {
            return Err(format!("it does not say `{text}`:\n{shown}"));
        }
    }
    Ok(())
}

#[test]
fn scripts_pass_or_fail_as_they_say() {
    let folder = root().join("tests/scripts/sema");
    let (target, kernel) = (target(), kernel());
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("tests/scripts/sema")
        .map(|e| e.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "stp"))
        .collect();
    files.sort();
    assert!(files.len() > 30, "scripts are missing");
    let mut bad = Vec::new();
    for path in &files {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let source = std::fs::read_to_string(path).expect("a script");
        let result =
            read_case(&name, &source).and_then(|case| check(&name, &case, &target, &kernel));
        if let Err(why) = result {
            bad.push(format!("{name}: {why}"));
        }
    }
    assert!(
        bad.is_empty(),
        "{} of {}:\n{}",
        bad.len(),
        files.len(),
        bad.join("\n")
    );
}
