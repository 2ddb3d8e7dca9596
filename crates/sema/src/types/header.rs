// SPDX-License-Identifier: MIT
//! Types of C headers: `@cast(p, "struct x", "<header.h>")` has the header compiled for its debug
//! information, once for each content.

use std::hash::{Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;
use trapless_debuginfo::leftover::{self, Mark};

/// Is this module a header's name?
pub fn is_header(module: &str) -> bool {
    module.starts_with('<') && module.ends_with('>')
}

/// Dropped: removed.
pub struct Folder {
    path: TempDir,
    _gone: Mark,
}

/// A file with the debug information of `<one.h>`, or of several: `<one.h><two.h>`; one that is not
/// in the cache goes with its folder. The error is the compiler's.
pub fn compiled(headers: &str, cache: Option<&Path>) -> Result<(PathBuf, Option<Folder>), String> {
    let list = headers
        .trim_matches(['<', '>'])
        .replace("><", ">\n#include <");
    let source = format!("#include <{list}>\n");
    let text = cc(&["-E", "-P"], &source)?;
    // The same text, the same file.
    let mut hash = std::hash::DefaultHasher::new();
    text.hash(&mut hash);
    let name = format!("header-{:016x}.so", hash.finish());
    let kept = cache.map(|folder| folder.join(&name));
    if let Some(kept) = kept.as_ref().filter(|k| k.exists()) {
        return Ok((kept.clone(), None));
    }
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let folder = Folder {
        _gone: leftover::path(folder.path()),
        path: folder,
    };
    let made = folder.path.path().join(&name);
    let flags = ["-g", "-fPIC", "-shared", "-nostdlib", "-o"];
    let mut words: Vec<&str> = flags.to_vec();
    let path = made.to_string_lossy();
    words.extend([&*path, "-fno-eliminate-unused-debug-types"]);
    cc(&words, &source)?;
    let stored = |kept: &PathBuf| {
        let bytes = std::fs::read(&made).ok()?;
        leftover::whole(kept, &bytes).ok()
    };
    match kept.filter(|k| stored(k).is_some()) {
        Some(kept) => Ok((kept, None)),
        None => Ok((made, Some(folder))),
    }
}

fn cc(words: &[&str], source: &str) -> Result<Vec<u8>, String> {
    let mut command = Command::new("cc");
    command
        .args(words)
        .args(["-x", "c", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let (mut child, _running) = leftover::spawn(&mut command).map_err(|e| format!("cc: {e}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A compiler that has given up does not read: its words are the error.
        let _ = stdin.write_all(source.as_bytes());
    }
    let done = child.wait_with_output().map_err(|e| format!("cc: {e}"))?;
    match done.status.success() {
        true => Ok(done.stdout),
        false => {
            let said = String::from_utf8_lossy(&done.stderr);
            let why = said.lines().find(|l| l.contains("error")).unwrap_or(&said);
            Err(why.trim().to_string())
        }
    }
}
