// SPDX-License-Identifier: MIT
//! Debian packages of files.

use std::path::Path;

/// The Debian package whose debug package would help: who owns the file, according to dpkg.
pub(crate) fn package_of(path: &Path) -> Option<String> {
    let real = path.canonicalize().ok()?;
    let names = [path.to_str()?.to_owned(), real.to_str()?.to_owned()];
    let mut wanted: Vec<String> = Vec::new();
    for n in &names {
        wanted.push(format!("{n}\n"));
        // With merged /usr, packages may still list the shorter name.
        wanted.extend(n.strip_prefix("/usr").map(|s| format!("{s}\n")));
    }
    if !["/usr", "/lib", "/bin", "/sbin", "/opt"]
        .iter()
        .any(|d| real.starts_with(d))
    {
        return None;
    }
    for entry in std::fs::read_dir("/var/lib/dpkg/info").ok()?.flatten() {
        let list = entry.path();
        if list.extension().is_none_or(|e| e != "list") {
            continue;
        }
        let Ok(text) = std::fs::read(&list) else {
            continue;
        };
        let lists = |w: &String| {
            memchr::memmem::find_iter(&text, w.as_bytes()).any(|i| i == 0 || text[i - 1] == b'\n')
        };
        if wanted.iter().any(lists) {
            let package = list.file_stem()?.to_str()?.split(':').next()?.to_owned();
            return Some(match package.as_str() {
                "libc6" | "libc-bin" => "libc6-dbg".into(),
                "python3.11-minimal" => "python3.11-dbg".into(),
                p => format!("{p}-dbgsym"),
            });
        }
    }
    None
}
