// SPDX-License-Identifier: MIT
//! The libraries of a program, as its dynamic linker finds them.

use crate::binary::Binary;
use crate::elf::Elf;
use crate::error::{Error, Result};
use crate::glob;
use crate::process::Process;
use crate::search::{file_name, SearchPath};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use trapless_machine::Machine;

impl SearchPath {
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
