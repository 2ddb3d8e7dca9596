// SPDX-License-Identifier: MIT
//! Compiled objects by content: the same C text, compiler words and runtime
//! headers give the same object.

use crate::options::Options;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use trapless_sema::leftover;

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
    /// What is there is not looked at.
    poisoned: bool,
}

/// `$XDG_CACHE_HOME/trapless`, `~/.cache/trapless`; none without a home.
fn folder() -> Option<PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|h| Path::new(&h).join(".cache"));
    let folder = base.filter(|b| b.is_absolute()).or_else(home)?;
    Some(folder.join("trapless"))
}

impl Cache {
    pub fn open(options: &Options) -> Cache {
        Cache {
            folder: folder().filter(|_| !options.no_cache),
            poisoned: options.poison_cache,
        }
    }

    /// Remove what is in it.
    pub fn clean() -> std::io::Result<()> {
        let files = match folder().map(std::fs::read_dir) {
            Some(Err(e)) if e.kind() != std::io::ErrorKind::NotFound => return Err(e),
            Some(Ok(files)) => files,
            _ => return Ok(()),
        };
        for file in files {
            let file = file?;
            if file.file_type()?.is_file() {
                std::fs::remove_file(file.path())?;
            }
        }
        Ok(())
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
        let path = self.path(key).filter(|_| !self.poisoned)?;
        std::fs::read(path).ok()
    }

    /// A cache that cannot be written is no error.
    pub fn put(&self, key: Key, bytes: &[u8]) {
        let Some(path) = self.path(key) else { return };
        let _ = leftover::whole(&path, bytes);
    }
}
