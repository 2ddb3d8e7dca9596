// SPDX-License-Identifier: MIT
//! Which of a kernel's modules have which tracepoints. All of their files are read for that, which takes seconds where
//! they are packed; so what they tell is kept.

use super::systems::{Traced, TRACER};
use super::Kernel;
use crate::binary::stamp;
use crate::unpack::unpack;
use crate::{glob, leftover};
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

impl Kernel {
    /// Names of its modules that have a tracepoint that the pattern matches, of such a system.
    pub fn modules_tracing(&self, system: &str, pattern: &str) -> Vec<String> {
        // Most systems have their module's name.
        let same = system.replace('-', "_");
        let exact = !glob::is_glob(system) && !glob::is_glob(pattern);
        if exact && self.tracepoints_in(&same).iter().any(|t| t.name == pattern) {
            return vec![same];
        }
        let is_of = |t: &Traced| t.system.is_empty() || glob::matches(system, &t.system);
        let wanted = |t: &&Traced| glob::matches(pattern, &t.name) && is_of(t);
        let all = self.traced.get_or_init(|| self.all_traced());
        let mut names: Vec<String> = all
            .iter()
            .filter(wanted)
            .map(|t| t.module.clone())
            .collect();
        names.dedup();
        names
    }

    /// The names most like one that is not there, of those that have been read: for a hint no file is.
    pub fn nearest_traced(&self, name: &str) -> Vec<String> {
        let all = self.traced.get().into_iter().flatten();
        crate::demangle::nearest(name, all.map(|t| t.name.as_str()), 5)
    }

    fn tracepoints_in(&self, module: &str) -> Vec<Traced> {
        let Ok(opened) = self.module(module) else {
            return Vec::new();
        };
        let traced = |f: super::KernelFunction| Traced {
            module: module.into(),
            name: f.name.to_string(),
            system: opened.system_of(&f.name).unwrap_or_default().into(),
        };
        opened.tracepoints("*").into_iter().map(traced).collect()
    }

    /// In the order of modules' names.
    fn all_traced(&self) -> Vec<Traced> {
        let kept = self.cache.as_deref().map(|folder| self.kept_at(folder));
        let text = kept
            .as_ref()
            .and_then(|at| std::fs::read_to_string(at).ok());
        if let Some(text) = text {
            return text.lines().filter_map(Traced::of_line).collect();
        }
        let files = self.module_files().into_iter();
        let tracing = files.filter(|(_, path)| may_trace(path));
        let all: Vec<Traced> = tracing
            .flat_map(|(name, _)| self.tracepoints_in(name))
            .collect();
        let text = || all.iter().map(Traced::line).collect::<String>();
        // That it cannot be kept is no error.
        kept.and_then(|at| leftover::whole(&at, text().as_bytes()).ok());
        all
    }

    /// Other files, or such that were written since, have another.
    fn kept_at(&self, folder: &Path) -> PathBuf {
        let mut hash = std::hash::DefaultHasher::new();
        for (_, path) in self.module_files() {
            (path, stamp(path)).hash(&mut hash);
        }
        folder.join(format!("traced-{:016x}.kept", hash.finish()))
    }
}

/// Without reading more of it than is needed.
fn may_trace(path: &Path) -> bool {
    let bytes = std::fs::read(path).unwrap_or_default();
    // Types of those that run lie there as they are.
    let open = unpack(&bytes).unwrap_or(bytes);
    memchr::memmem::find(&open, TRACER.as_bytes()).is_some()
}
