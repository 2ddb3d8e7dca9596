// SPDX-License-Identifier: MIT
//! One test for each script in tests/scripts/parse.

mod common;

use common::{check_round_trip, parse, root};
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::Path;
use trapless_syntax::expect::read_case;
use trapless_syntax::{Environment, Words};

fn main() {
    let args = Arguments::from_args();
    let folder = root().join("tests/scripts/parse");
    let mut trials = Vec::new();
    for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|e| e == "stp") {
            let name = entry.file_name().to_string_lossy().into_owned();
            trials.push(Trial::test(format!("parse/{name}"), move || run(&path)));
        }
    }
    trials.sort_by(|a, b| a.name().cmp(b.name()));
    let count = trials.len();
    trials.push(Trial::test(
        "parse/there_are_scripts",
        move || match count {
            0 => Err(format!("no scripts in {}", folder.display()).into()),
            _ => Ok(()),
        },
    ));
    libtest_mimic::run(&args, trials).exit();
}

fn run(path: &Path) -> Result<(), Failed> {
    let source = std::fs::read_to_string(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let case = read_case(&name, &source)?;
    let env = Environment {
        args: Words::new(case.args.clone()),
        kernel_release: "6.1.0-18-amd64".to_string(),
        ..Environment::default()
    };
    let parsed = parse(&case.text, &env);
    case.check(&parsed.map, parsed.file, &parsed.diags)?;
    if !case.errors.is_empty() {
        return Ok(());
    }
    check_round_trip(&parsed.script)?;
    // NAME.out, where there is one, holds the tree as printed.
    let wanted = path.with_extension("out");
    if std::env::var_os("FIX").is_some() && wanted.exists() {
        std::fs::write(&wanted, parsed.script.to_string())?;
    }
    match std::fs::read_to_string(&wanted) {
        Ok(text) if text != parsed.script.to_string() => {
            Err(format!("printed:\n{}\nexpected:\n{text}", parsed.script).into())
        }
        _ => Ok(()),
    }
}
