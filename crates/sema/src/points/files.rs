// SPDX-License-Identifier: MIT
//! Files by pattern.

use std::path::{Path, PathBuf};
use trapless_debuginfo::glob;

/// What a script may mean at most by one pattern.
const MOST: usize = 1000;

/// The files whose path matches; wildcards stop at a slash.
pub fn matching(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for part in pattern.components() {
        let part = part.as_os_str().to_string_lossy();
        found = match glob::is_glob(&part) {
            true => found.iter().flat_map(|dir| inside(dir, &part)).collect(),
            false => found.into_iter().map(|dir| dir.join(&*part)).collect(),
        };
        found.truncate(MOST);
    }
    found.retain(|p| p.is_file());
    found.sort();
    found
}

fn inside(dir: &Path, pattern: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let matches = |name: &str| {
        glob::matches(pattern, name) && (pattern.starts_with('.') || !name.starts_with('.'))
    };
    entries
        .filter(|e| matches(&e.file_name().to_string_lossy()))
        .map(|e| e.path())
        .collect()
}
