// SPDX-License-Identifier: MIT
//! docs/diagnostics.md lists every tag and code. `TRAPLESS_FIX=1 cargo test -p trapless-cli --test diagnostics`
//! (part of `make fix`) writes it anew.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use trapless_syntax::diag::Tag;

const HEAD: &str = "\
<!-- SPDX-License-Identifier: MIT -->
<!-- Made by crates/cli/tests/diagnostics.rs from the lists in crates/syntax/src/diag.rs and
     include/trapless/error.def: `make fix` writes it anew. -->
# Diagnostics

Every message has a tag that does not change, so that scripts and tests can match on it. Beside it stand what happened
here, the cause, and the next step.

    error[NAME_UNKNOWN]: ...                        from trapless: the script, its programs, the command line
    ERROR: PROBE: probe refused [NOT_BOUNDARY]: ...   from trapless-run: a place in the target

An error ends with exit status 1, and nothing has been changed in the target. A probe that is refused in a process ends
the session with it (`-x`), or leaves the others in place (`-c`: CMD has begun). Of those that a wildcard matched some
may be refused: a warning for each reason, and for returns how many functions of how many have none. A probe point with `?` behind it may fail silently.

";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `TL_ERROR(NAME, "what", "next")` lines.
fn errors(text: &str) -> Vec<[String; 3]> {
    let entries = text.split("\nTL_ERROR(").skip(1);
    entries
        .map(|e| {
            let name = e.split(',').next().unwrap_or("").trim().to_string();
            let mut strings = e.split('"');
            let mut next = || {
                strings.next();
                strings.next().unwrap_or("").to_string()
            };
            [name, next(), next()]
        })
        .collect()
}

fn page() -> String {
    let mut out = HEAD.to_string();
    out += "## trapless\n\n| tag | cause |\n|---|---|\n";
    for tag in Tag::all() {
        let cause = tag.cause().replace('|', "\\|");
        writeln!(out, "| `{tag}` | {cause} |").unwrap();
    }
    out += "\n## trapless-run and the engine\n\n\
            Where no next step stands, the code only says why a place is on a lower rung of the placement ladder.\n\n\
            | code | what happened | what to do next |\n|---|---|---|\n";
    let list = std::fs::read_to_string(root().join("include/trapless/error.def")).unwrap();
    for [name, what, next] in errors(&list) {
        writeln!(out, "| `{name}` | {what} | {next} |").unwrap();
    }
    out
}

#[test]
fn the_page_is_current() {
    let path = root().join("docs/diagnostics.md");
    let want = page();
    if std::env::var_os("TRAPLESS_FIX").is_some() {
        std::fs::write(&path, &want).unwrap();
    }
    let have = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        have == want,
        "docs/diagnostics.md is not what the lists say: run `make fix`"
    );
    assert!(want.matches("| `").count() > 80, "the lists were not read");
}
