// SPDX-License-Identifier: MIT
//! What must not outlive us: files that are not whole yet, folders for a while, compilers that run. Whoever hears a signal
//! clears it away before the process ends of it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Clone, PartialEq, Eq)]
enum Left {
    Path(PathBuf),
    Child(u32),
}

static LEFT: Mutex<Vec<Left>> = Mutex::new(Vec::new());

fn left() -> MutexGuard<'static, Vec<Left>> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Dropped: its file is whole or gone, its program has ended.
pub struct Mark(Left);

impl Drop for Mark {
    fn drop(&mut self) {
        left().retain(|l| *l != self.0);
    }
}

/// To be said before the file or folder is made.
pub fn path(path: &Path) -> Mark {
    let new = Left::Path(path.to_path_buf());
    left().push(new.clone());
    Mark(new)
}

/// A file that is there as a whole, or not at all: it is written beside, and gets its name then.
pub fn whole(to: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = to.with_extension(format!("{}.part", std::process::id()));
    let _part = path(&part);
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let written = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, to));
    if written.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    written
}

pub fn spawn(command: &mut Command) -> io::Result<(Child, Mark)> {
    // Held meanwhile: nobody is started behind `clear()`.
    let mut list = left();
    let child = command.spawn()?;
    let new = Left::Child(child.id());
    list.push(new.clone());
    Ok((child, Mark(new)))
}

/// Ends the programs by `kill` and removes the files. For good: who wants to leave something from now on waits for ever.
pub fn clear(kill: impl Fn(u32)) {
    let list = left();
    for l in &*list {
        if let Left::Child(pid) = l {
            kill(*pid);
        }
    }
    for l in &*list {
        if let Left::Path(path) = l {
            // One of both, or neither is there yet.
            let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
        }
    }
    std::mem::forget(list);
}
