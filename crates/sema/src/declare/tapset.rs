// SPDX-License-Identifier: MIT
//! The script library: folders of `.stp` files, parsed only when needed, and of
//! `.stpm` files, whose macros are there for every script.

use crate::declare::declarations::Origin;
use crate::declare::loader::Loader;
use crate::declare::names::Names;
use crate::points::wildcards::is_wild;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use trapless_debuginfo::glob;
use trapless_syntax::ast::Script;
use trapless_syntax::diag::{Diagnostics, Tag};
use trapless_syntax::{Environment, MacroLibrary, SourceMap, Words};

/// Which file defines which function or alias, found by a look at the first
/// words of lines: cheap, and right for files in the tapset's style.
#[derive(Debug, Default)]
pub struct Tapset {
    /// The first folder.
    own: PathBuf,
    functions: HashMap<String, PathBuf>,
    /// But for private ones.
    globals: HashMap<String, PathBuf>,
    /// By first component.
    aliases: HashMap<String, Vec<PathBuf>>,
    texts: HashMap<PathBuf, String>,
    /// Files of macros, in the order of the folders and their names.
    macros: Vec<(PathBuf, String)>,
}

impl Tapset {
    /// Read folders, our own first; later ones first in authority (`-I` over our own).
    pub fn open(folders: &[PathBuf], diags: &mut Diagnostics) -> Tapset {
        let mut tapset = Tapset {
            own: folders.first().cloned().unwrap_or_default(),
            ..Tapset::default()
        };
        for folder in folders {
            if let Err(e) = tapset.add_folder(folder, 0) {
                diags
                    .warn(
                        Tag::FileMissing,
                        None,
                        format!("tapset folder {}: {e}", folder.display()),
                    )
                    .help("check -I and the installation");
            }
        }
        tapset
    }

    fn add_folder(&mut self, folder: &Path, depth: u32) -> std::io::Result<()> {
        let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)?
            .map(|e| e.map(|e| e.path()))
            .collect::<Result<_, _>>()?;
        entries.sort();
        for path in entries {
            if path.extension().is_some_and(|e| e == "stp") {
                let text = std::fs::read_to_string(&path)?;
                self.index(&path, &text);
                self.texts.insert(path, text);
            } else if path.extension().is_some_and(|e| e == "stpm") {
                let text = std::fs::read_to_string(&path)?;
                self.macros.push((path, text));
            } else if depth < 4 && path.is_dir() {
                self.add_folder(&path, depth + 1)?;
            }
        }
        Ok(())
    }

    fn index(&mut self, path: &Path, text: &str) {
        for line in text.lines() {
            let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            match (words.next(), words.next()) {
                (Some("function"), Some(name)) => {
                    self.functions.insert(name.to_string(), path.to_path_buf());
                }
                (Some("probe"), Some(name)) => {
                    let head = line.split('{').next().unwrap_or(line);
                    if head.contains(" =") || head.contains(" +=") {
                        self.index_alias(path, name, head);
                    }
                }
                (Some("global"), Some(name)) => {
                    self.globals.insert(name.to_string(), path.to_path_buf());
                }
                _ => {}
            }
        }
    }

    /// Of an alias with several names (`probe a.x = b.x = POINT`) all count; the point does not, where it stands
    /// on this line: a file would be parsed for whoever probes the like.
    fn index_alias(&mut self, path: &Path, first: &str, line: &str) {
        let names = match line.trim_end().ends_with('=') {
            true => line,
            false => line.rsplit_once(" = ").map_or("", |l| l.0),
        };
        let more = names
            .split(" = ")
            .skip(1)
            .filter_map(|n| n.split('.').next());
        for name in std::iter::once(first).chain(more) {
            let files = self.aliases.entry(name.to_string()).or_default();
            if files.last().is_none_or(|f| f != path) {
                files.push(path.to_path_buf());
            }
        }
    }

    /// Files that define something wanted. A function of the user's hides one of
    /// the same name only where it does not say `next`, so that both are needed.
    pub fn files_for(&self, wanted: &Names) -> Vec<PathBuf> {
        let functions = wanted.calls.iter().filter_map(|c| self.functions.get(c));
        let globals = wanted.variables.iter();
        let globals = globals.filter_map(|v| self.globals.get(v));
        let (wild, named): (Vec<_>, Vec<_>) = wanted.points.iter().partition(|p| is_wild(p));
        let matching = |first: &str| wild.iter().any(|w| glob::matches(w, first));
        let matched = self.aliases.iter().filter(|(first, _)| matching(first));
        let named = named.into_iter().filter_map(|p| self.aliases.get(p));
        let aliases = named.chain(matched.map(|a| a.1)).flatten();
        let all = functions.chain(globals).chain(aliases);
        let mut files: Vec<PathBuf> = all.cloned().collect();
        files.sort();
        files.dedup();
        files
    }

    pub fn parse(
        &self,
        path: &Path,
        loader: &mut Loader,
        diags: &mut Diagnostics,
    ) -> Option<Script> {
        let text = self.texts.get(path)?;
        Some(loader.parse(path.to_string_lossy(), text.clone(), diags))
    }

    pub fn origin(&self, path: &Path) -> Origin {
        match path.starts_with(&self.own) {
            true => Origin::Own,
            false => Origin::Folder,
        }
    }

    /// Every file, in order of their paths.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = self.texts.keys().cloned().collect();
        files.sort();
        files
    }

    /// The macros that are there for every script; what a file has wrong is told.
    pub fn macros(
        &self,
        map: &mut SourceMap,
        env: &Environment,
        diags: &mut Diagnostics,
    ) -> MacroLibrary {
        let mut library = MacroLibrary::with_prelude(map);
        // Arguments belong to the script.
        let env = Environment {
            args: Words::default(),
            ..env.clone()
        };
        for (path, text) in &self.macros {
            let file = map.add(path.to_string_lossy(), text.clone());
            library.load(map, file, &env, diags);
        }
        library
    }

    /// Files of macros with their texts.
    pub fn macro_files(&self) -> &[(PathBuf, String)] {
        &self.macros
    }

    pub fn function_names(&self) -> impl Iterator<Item = &str> {
        self.functions.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_that_an_alias_stands_for_needs_no_file() {
        let mut tapset = Tapset::default();
        let text = "probe a.x = b.x = process.begin {\n}\nprobe c.x =\n\tprocess.end {\n}\n\
                    probe d.x = e.x =\n\ttimer.s(1) {\n}\nprobe procfs(\"f\").write { a = $value }\n";
        tapset.index(Path::new("f.stp"), text);
        let files = |point: &str| {
            let mut wanted = Names::default();
            wanted.points.insert(point.to_string());
            tapset.files_for(&wanted).len()
        };
        for alias in ["a", "b", "c", "d", "e"] {
            assert_eq!(files(alias), 1, "{alias}");
        }
        assert_eq!(files("process") + files("timer") + files("procfs"), 0);
    }
}
