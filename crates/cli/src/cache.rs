// SPDX-License-Identifier: MIT
//! Compiled objects by content: the same C text, compiler words and runtime
//! headers give the same object.

use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

/// 128 bits of everything that decides what a compilation gives.
pub type Key = [u64; 2];

pub fn key(parts: &[&[u8]]) -> Key {
    let half = |seed: u64| {
        // SipHash with fixed keys: the same in every run of one build of ours.
        let mut h = std::hash::DefaultHasher::new();
        seed.hash(&mut h);
        for p in parts {
            p.hash(&mut h);
        }
        h.finish()
    };
    [half(1), half(2)]
}

#[derive(Debug)]
pub struct Cache {
    folder: Option<PathBuf>,
}

impl Cache {
    /// `$XDG_CACHE_HOME/trapless`, `~/.cache/trapless`; none without a home.
    pub fn open(wanted: bool) -> Cache {
        let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let home = || std::env::var_os("HOME").map(|h| Path::new(&h).join(".cache"));
        let folder = base.filter(|b| b.is_absolute()).or_else(home);
        Cache {
            folder: folder.filter(|_| wanted).map(|f| f.join("trapless")),
        }
    }

    /// Where it is, if there is one.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    fn path(&self, key: Key) -> Option<PathBuf> {
        let name = format!("{:016x}{:016x}.o", key[0], key[1]);
        self.folder.as_ref().map(|f| f.join(name))
    }

    pub fn get(&self, key: Key) -> Option<Vec<u8>> {
        std::fs::read(self.path(key)?).ok()
    }

    /// A cache that cannot be written is no error.
    pub fn put(&self, key: Key, bytes: &[u8]) {
        let Some(path) = self.path(key) else { return };
        let Some(folder) = path.parent() else { return };
        let part = path.with_extension(format!("{}.part", std::process::id()));
        let stored = std::fs::create_dir_all(folder)
            .and_then(|_| std::fs::write(&part, bytes))
            .and_then(|_| std::fs::rename(&part, &path));
        if stored.is_err() {
            let _ = std::fs::remove_file(&part);
        }
    }
}
