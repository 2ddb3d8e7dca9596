// SPDX-License-Identifier: MIT
//! Where programs, libraries and debug files are looked for.

use crate::binary::Binary;
use crate::debuginfod::Servers;
use crate::demangle::nearest;
use crate::elf::Elf;
use crate::error::{Error, Result};
use crate::glob;
use crate::process::{mapped_name, mapped_outside, name_inside, Process};
use std::collections::HashSet;
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
    fn by_path(&self, path: &Path) -> Option<PathBuf> {
        let there = self.host_path(path);
        if self.exists(&there) {
            return Some(there);
        }
        let pid = self.process.filter(|_| self.root != Path::new("/"))?;
        let name = mapped_name(pid, path).unwrap_or_else(|| name_inside(pid, path));
        let inside = Some(self.host_path(&name)).filter(|p| self.exists(p));
        inside.or_else(|| mapped_outside(pid, path))
    }

    fn elf(&self, path: &Path) -> Result<Elf> {
        Elf::open_as(path, self.readable(path))
    }

    /// The whole path of a file, without links, as the kernel and SystemTap show it.
    fn resolved(&self, path: PathBuf) -> PathBuf {
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

    /// The files of the libraries that match: a path, or a name with or without wildcards, held
    /// against soname, file name and path of everything that `program` needs, directly or not.
    /// A name that the program does not need is looked for among what its process has mapped (so are
    /// wildcards), then in the standard folders (it may be opened by `dlopen`).
    pub fn libraries(&self, program: &Binary, pattern: &str) -> Result<Vec<PathBuf>> {
        if pattern.contains('/') {
            if let Some(path) = self.by_path(Path::new(pattern)) {
                return Ok(vec![self.resolved(path)]);
            }
        }
        let closure = self.closure(program);
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        for lib in &closure {
            if lib.is_called(pattern) && seen.insert(lib.path.clone()) {
                found.push(lib.path.clone());
            }
        }
        if found.is_empty() || glob::is_glob(pattern) {
            let opened = self.mapped_libraries(program, pattern).into_iter();
            found.extend(opened.filter(|p| seen.insert(p.clone())));
        }
        if found.is_empty() && !glob::is_glob(pattern) && !pattern.contains('/') {
            let file = self.find_library(pattern, &[], &self.cache());
            found.extend(file.map(|p| self.resolved(p)));
        }
        if found.is_empty() {
            return Err(Error::NoLibrary {
                pattern: pattern.into(),
                program: program.path().into(),
                known: closure.into_iter().map(|l| l.name).collect(),
            });
        }
        Ok(found)
    }

    /// The libraries that match of those that the program's process has mapped.
    fn mapped_libraries(&self, program: &Binary, pattern: &str) -> Vec<PathBuf> {
        let process = self.process.and_then(|pid| Process::read(pid).ok());
        let Some(process) = process else {
            return Vec::new();
        };
        let real = |p: &Path| p.canonicalize().unwrap_or_else(|_| p.into());
        let exe = self.by_path(&process.exe);
        if exe.is_none_or(|e| real(&e) != real(program.path())) {
            return Vec::new();
        }
        let mapped = process.matching(pattern).into_iter();
        let libraries = mapped.filter(|i| i.path != process.exe);
        let files = libraries.filter_map(|i| self.by_path(&i.path));
        files.map(|p| self.resolved(p)).collect()
    }

    /// Everything that the program needs, breadth first, as the dynamic linker does; the dynamic
    /// linker itself included.
    pub fn closure(&self, program: &Binary) -> Vec<Library> {
        let cache = self.cache();
        let mut seen = HashSet::new();
        let mut libs: Vec<Library> = Vec::new();
        if let Some(interp) = program.interpreter() {
            let path = self.host_path(Path::new(interp));
            let name = self.elf(&path).ok().and_then(|e| e.soname);
            let name = name.unwrap_or_else(|| file_name(&path));
            seen.insert(name.clone());
            libs.push(self.library(name, path));
        }
        let own = &program.elf;
        let mut queue: Vec<(String, Vec<PathBuf>)> = own
            .needed
            .iter()
            .map(|n| (n.clone(), self.runpath(own)))
            .collect();
        let inherited = self.runpath(own);
        let mut next = 0;
        while next < queue.len() && libs.len() < 4096 {
            let (name, dirs) = queue[next].clone();
            next += 1;
            if !seen.insert(name.clone()) {
                continue;
            }
            let Some(path) = self.find_library(&name, &dirs, &cache) else {
                continue;
            };
            if let Ok(elf) = self.elf(&path) {
                let mut dirs = self.runpath(&elf);
                dirs.extend(inherited.iter().cloned());
                queue.extend(elf.needed.iter().map(|n| (n.clone(), dirs.clone())));
            }
            libs.push(self.library(name, path));
        }
        libs
    }

    fn library(&self, name: String, found: PathBuf) -> Library {
        let path = self.resolved(found.clone());
        Library { name, path, found }
    }

    fn runpath(&self, elf: &Elf) -> Vec<PathBuf> {
        let origin = elf.path.canonicalize().unwrap_or_else(|_| elf.path.clone());
        let origin = origin
            .parent()
            .unwrap_or(Path::new("/"))
            .to_string_lossy()
            .into_owned();
        let expand = |d: &String| {
            d.replace("$ORIGIN", &origin)
                .replace("${ORIGIN}", &origin)
                .replace("$LIB", self.machine.libraries.lib)
                .into()
        };
        elf.runpath.iter().map(expand).collect()
    }

    fn find_library(
        &self,
        name: &str,
        runpath: &[PathBuf],
        cache: &[(String, String)],
    ) -> Option<PathBuf> {
        if name.contains('/') {
            return Some(self.host_path(Path::new(name))).filter(|p| self.exists(p));
        }
        let right = |p: PathBuf| match self.elf(&p).and_then(|e| e.check_loadable().map(drop)) {
            Ok(()) | Err(Error::Removed { .. }) => Some(p),
            Err(_) => None,
        };
        let in_dir = |d: &PathBuf| {
            let p = self.host_path(&d.join(name));
            if self.exists(&p) {
                right(p)
            } else {
                None
            }
        };
        let first = self.libraries.iter().chain(runpath).find_map(in_dir);
        if first.is_some() {
            return first;
        }
        let cached = cache.iter().filter(|c| c.0 == name);
        let cached = cached
            .map(|c| self.host_path(Path::new(&c.1)))
            .filter(|p| self.exists(p));
        if let Some(p) = cached.filter_map(right).next() {
            return Some(p);
        }
        let folders = self.machine.libraries.folders.iter();
        folders.map(PathBuf::from).find_map(|d| in_dir(&d))
    }

    /// `/etc/ld.so.cache` as (name, path); empty where there is none (musl).
    fn cache(&self) -> Vec<(String, String)> {
        let path = self.host_path(Path::new("/etc/ld.so.cache"));
        std::fs::read(path)
            .ok()
            .and_then(|b| parse_cache(&b, self.machine))
            .unwrap_or_default()
    }
}

/// A library that a program needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// As it is asked for (normally the soname).
    pub name: String,
    /// Without links, as its mappings are called.
    pub path: PathBuf,
    /// As the dynamic linker comes to it.
    found: PathBuf,
}

impl Library {
    /// By soname, or by a name or a whole path of its file.
    fn is_called(&self, pattern: &str) -> bool {
        let paths = [&self.path, &self.found];
        let whole = |p: &PathBuf| glob::matches(pattern, &p.to_string_lossy());
        let named = |p: &PathBuf| glob::matches(pattern, &file_name(p));
        glob::matches(pattern, &self.name)
            || paths.into_iter().any(named)
            || (pattern.contains('/') && paths.into_iter().any(whole))
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

fn file_name(path: &Path) -> String {
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

/// The newer format (`glibc-ld.so.cache1.1`), which may stand behind an older one.
fn parse_cache(file: &[u8], machine: &Machine) -> Option<Vec<(String, String)>> {
    const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
    const ELF_LIBC6: u32 = 3;
    let b = &file[memchr::memmem::find(file, MAGIC)?..];
    let word = |at: usize| Some(u32::from_ne_bytes(b.get(at..at + 4)?.try_into().ok()?));
    let text = |at: u32| {
        let s = b.get(at as usize..)?;
        let end = memchr::memchr(0, s)?;
        std::str::from_utf8(&s[..end]).ok().map(str::to_owned)
    };
    let count = word(20)? as usize;
    let mut out = Vec::new();
    for i in 0..count.min(b.len() / 24) {
        let at = 48 + i * 24;
        if word(at)? & 0xff0f == machine.libraries.cache | ELF_LIBC6 {
            if let (Some(name), Some(path)) = (text(word(at + 4)?), text(word(at + 8)?)) {
                out.push((name, path));
            }
        }
    }
    Some(out)
}
