// SPDX-License-Identifier: MIT
//! The scripts that come with trapless, by name.

use crate::paths::Paths;
use std::fs;
use std::path::PathBuf;

/// Their names, each with the first line of what it says of itself.
pub fn all() -> Vec<(String, String)> {
    let files = fs::read_dir(Paths::find().examples);
    let name = |path: &PathBuf| Some(path.file_name()?.to_str()?.to_string());
    let mut all: Vec<(String, String)> = files
        .into_iter()
        .flatten()
        .flatten()
        .map(|f| f.path())
        .filter(|path| path.extension().is_some_and(|e| e == "stp"))
        .filter_map(|path| Some((name(&path)?, heading(&fs::read_to_string(&path).ok()?))))
        .collect();
    all.sort();
    all
}

/// The first comment but for the licence.
fn heading(text: &str) -> String {
    let mut comments = text.lines().filter_map(|l| l.strip_prefix("# "));
    comments
        .find(|l| !l.starts_with("SPDX"))
        .unwrap_or_default()
        .to_string()
}

/// With or without `.stp`. Or what is wrong, and the next step.
pub fn find(name: &str) -> Result<PathBuf, (String, String)> {
    let all = all();
    let is = |known: &str| known == name || known.strip_suffix(".stp") == Some(name);
    match all.iter().find(|(known, _)| is(known)) {
        Some((known, _)) => Ok(Paths::find().examples.join(known)),
        None => {
            let names: Vec<&str> = all.iter().map(|(n, _)| n.as_str()).collect();
            Err((
                format!("there is no example `{name}`"),
                format!("take one of {}", names.join(", ")),
            ))
        }
    }
}
