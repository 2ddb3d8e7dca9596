// SPDX-License-Identifier: MIT
//! Where programs, libraries and debug files are looked for.

use crate::debuginfod::Servers;
use crate::demangle::nearest;
use crate::elf::Elf;
use crate::error::{Error, Result};
use crate::process::{mapped_name, mapped_outside, name_inside};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use trapless_machine::Machine;

/// The folders to search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchPath {
    /// Everything below is looked up under this folder: `/`, or `/proc/PID/root`.
    pub root: PathBuf,
    /// PATH.
    pub programs: Vec<PathBuf>,
    /// LD_LIBRARY_PATH.
    pub libraries: Vec<PathBuf>,
    /// Separate debug files: `/usr/lib/debug`.
    pub debug: Vec<PathBuf>,
    /// Where debug files come from that are not here.
    pub servers: Servers,
    /// Files that the target runs and that have been removed or replaced since: their names, and
    /// where those who may can still read them.
    pub removed: Vec<(PathBuf, PathBuf)>,
    /// The process whose files these are.
    pub process: Option<u32>,
    /// Of the programs that run there.
    pub machine: &'static Machine,
}

/// So many interpreters that are scripts themselves.
const SCRIPTS: usize = 4;

impl SearchPath {
    /// As this process sees the machine: PATH, LD_LIBRARY_PATH, DEBUGINFOD_URLS.
    pub fn host() -> SearchPath {
        let dirs = |name: &str| {
            let value = std::env::var_os(name).unwrap_or_default();
            std::env::split_paths(&value)
                .filter(|d| !d.as_os_str().is_empty())
                .collect()
        };
        SearchPath {
            root: "/".into(),
            programs: dirs("PATH"),
            libraries: dirs("LD_LIBRARY_PATH"),
            debug: vec!["/usr/lib/debug".into()],
            servers: Servers::from_env(),
            removed: Vec::new(),
            process: None,
            machine: Default::default(),
        }
    }

    /// The same, inside another root (a container's `/proc/PID/root`, a board's file system).
    pub fn in_root(root: impl Into<PathBuf>) -> SearchPath {
        SearchPath {
            root: root.into(),
            libraries: Vec::new(),
            ..SearchPath::host()
        }
    }

    /// `path` as the target sees it, as this process can open it.
    pub fn host_path(&self, path: &Path) -> PathBuf {
        if self.root == Path::new("/") {
            return path.into();
        }
        if path.starts_with(&self.root) {
            return path.into();
        }
        self.follow(path)
    }

    /// The same files as a process has them mapped.
    pub fn of_process(mut self, pid: u32) -> SearchPath {
        self.process = Some(pid);
        let removed = crate::process::removed_files(pid);
        self.removed = removed
            .into_iter()
            .map(|(name, file)| (self.host_path(&name), file))
            .collect();
        self
    }

    /// Where to read a file that `host_path` names.
    pub fn readable<'a>(&'a self, path: &'a Path) -> &'a Path {
        let of = |(name, _): &&(PathBuf, PathBuf)| name == path;
        self.removed.iter().find(of).map_or(path, |r| &r.1)
    }

    /// Is there a file that `host_path` names? One that is mapped is, whoever may read it.
    pub fn exists(&self, path: &Path) -> bool {
        self.readable(path) != path || path.exists()
    }

    /// A file by its name in the target, or by ours for one that the target has mapped.
    pub(crate) fn by_path(&self, path: &Path) -> Option<PathBuf> {
        let there = self.host_path(path);
        if self.exists(&there) {
            return Some(there);
        }
        let pid = self.process.filter(|_| self.root != Path::new("/"))?;
        let name = mapped_name(pid, path).unwrap_or_else(|| name_inside(pid, path));
        let inside = Some(self.host_path(&name)).filter(|p| self.exists(p));
        inside.or_else(|| mapped_outside(pid, path))
    }

    pub(crate) fn elf(&self, path: &Path) -> Result<Elf> {
        Elf::open_as(path, self.readable(path))
    }

    /// The whole path of a file, without links, as the kernel and SystemTap show it.
    pub(crate) fn resolved(&self, path: PathBuf) -> PathBuf {
        if self.root != Path::new("/") {
            return path; // followed already
        }
        let same = |p: &PathBuf| {
            let file = |p: &Path| std::fs::metadata(p).map(|m| (m.dev(), m.ino())).ok();
            // what a link of /proc says may mean another file here
            file(p).is_some() && file(p) == file(&path)
        };
        let whole = std::fs::canonicalize(&path).ok().filter(same);
        whole.unwrap_or(path)
    }

    /// Absolute links inside another root would lead out of it: follow them by hand.
    fn follow(&self, path: &Path) -> PathBuf {
        let mut at = self.root.clone();
        let mut depth = 0;
        let mut todo: Vec<PathBuf> = parts(path);
        while let Some(part) = todo.pop() {
            if part == Path::new("..") {
                if at != self.root {
                    at.pop();
                }
                continue;
            }
            let next = at.join(&part);
            match std::fs::read_link(&next) {
                Ok(to) if depth < 40 => {
                    depth += 1;
                    if to.is_absolute() {
                        at = self.root.clone();
                    }
                    todo.extend(parts(&to));
                }
                _ => at = next,
            }
        }
        at
    }

    /// A program by path, or by name through PATH; of a script its interpreter.
    pub fn program(&self, name: &str) -> Result<PathBuf> {
        let mut path = self.program_file(name)?;
        for _ in 0..SCRIPTS {
            match script_interpreter(self.readable(&path)) {
                Some(next) => path = self.program_file(&next)?,
                None => break,
            }
        }
        Ok(path)
    }

    fn program_file(&self, name: &str) -> Result<PathBuf> {
        if name.contains('/') {
            return self
                .by_path(Path::new(name))
                .map(|p| self.resolved(p))
                .ok_or_else(|| Error::NoProgram {
                    name: name.into(),
                    looked: Vec::new(),
                    nearest: self.nearest_programs(name),
                });
        }
        for dir in &self.programs {
            let path = self.host_path(&dir.join(name));
            if is_executable(&path) {
                return Ok(self.resolved(path));
            }
        }
        Err(Error::NoProgram {
            name: name.into(),
            looked: self.programs.clone(),
            nearest: self.nearest_programs(name),
        })
    }

    /// Every program in PATH.
    pub fn all_programs(&self) -> Vec<PathBuf> {
        let folders = self.programs.iter().map(|f| self.host_path(f));
        let files = folders.flat_map(|f| std::fs::read_dir(f).into_iter().flatten().flatten());
        let files = files.map(|f| f.path());
        files.filter(|f| is_executable(f)).collect()
    }

    /// The programs of that folder, or of those in PATH, that have the most similar names.
    pub fn nearest_programs(&self, name: &str) -> Vec<String> {
        let (folder, file) = match name.rfind('/') {
            Some(i) => (&name[..=i], &name[i + 1..]),
            None => ("", name),
        };
        let folders = match folder {
            "" => self.programs.clone(),
            own => vec![own.into()],
        };
        let mut names = Vec::new();
        for there in folders.iter().map(|f| self.host_path(f)) {
            let Ok(files) = std::fs::read_dir(there) else {
                continue;
            };
            let programs = files.flatten().filter(|f| is_executable(&f.path()));
            names.extend(programs.filter_map(|f| f.file_name().into_string().ok()));
        }
        let near = nearest(file, names.iter().map(String::as_str), 3);
        near.iter().map(|n| format!("{folder}{n}")).collect()
    }
}

fn parts(path: &Path) -> Vec<PathBuf> {
    let mut v: Vec<PathBuf> = path
        .components()
        .filter(|c| matches!(c, Component::Normal(_) | Component::ParentDir))
        .map(|c| PathBuf::from(c.as_os_str()))
        .collect();
    v.reverse();
    v
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// The program in the `#!` line; with `env`, the one that env looks for.
pub fn script_interpreter(path: &Path) -> Option<String> {
    use std::io::Read;
    if !path.is_file() {
        return None; // a pipe would be waited for
    }
    let mut head = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(256).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace();
    let program = words.next()?;
    if Path::new(program).file_name()? == "env" {
        let real = words.find(|w| !w.starts_with('-') && !w.contains('='));
        return Some(real.unwrap_or(program).to_string());
    }
    Some(program.to_string())
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}
