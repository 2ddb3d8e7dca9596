// SPDX-License-Identifier: MIT
//! The file that runs for a program's name.

use std::path::{Path, PathBuf};
use trapless_debuginfo::script_interpreter;

/// Interpreters that are scripts themselves.
const MAX_DEPTH: usize = 4;

/// Found in PATH, links followed,
/// and of a script its interpreter.
pub fn find(name: &str) -> Option<PathBuf> {
    let mut name = name.to_string();
    for _ in 0..MAX_DEPTH {
        let path = in_path(&name)?;
        match script_interpreter(&path) {
            Some(next) => name = next,
            None => return Some(path),
        }
    }
    None
}

/// Whether an interpreter runs for it.
pub fn is_script(name: &str) -> bool {
    in_path(name).is_some_and(|path| script_interpreter(&path).is_some())
}

fn in_path(name: &str) -> Option<PathBuf> {
    let found = match name.contains('/') {
        true => PathBuf::from(name),
        false => std::env::split_paths(&std::env::var_os("PATH")?)
            .map(|d| d.join(name))
            .find(|p| is_executable(p))?,
    };
    found.canonicalize().ok().filter(|p| p.is_file())
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path).map(|m| (m.is_file(), m.permissions().mode()));
    mode.is_ok_and(|(file, mode)| file && mode & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn programs_are_found() {
        assert!(find("sh").is_some_and(|p| p.is_absolute()));
        assert_eq!(find("no-such-program"), None);
        let script = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&script, "#!/usr/bin/env -S sh -e\n").unwrap();
        assert_eq!(find(script.path().to_str().unwrap()), find("sh"));
    }
}
