// SPDX-License-Identifier: MIT
//! The script library: folders of `.stp` files, parsed only when needed.

use crate::loader::Loader;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use trapless_syntax::ast::Script;
use trapless_syntax::diag::{Diagnostics, Tag};

/// Which file defines which function or alias, found by a look at the first
/// words of lines: cheap, and right for files in the tapset's style.
#[derive(Debug, Default)]
pub struct Tapset {
    functions: HashMap<String, PathBuf>,
    /// By first component.
    aliases: HashMap<String, Vec<PathBuf>>,
    texts: HashMap<PathBuf, String>,
}

impl Tapset {
    /// Read folders, later ones first in authority (`-I` over our own).
    pub fn open(folders: &[PathBuf], diags: &mut Diagnostics) -> Tapset {
        let mut tapset = Tapset::default();
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
                    self.aliases
                        .entry(name.to_string())
                        .or_default()
                        .push(path.to_path_buf());
                }
                _ => {}
            }
        }
    }

    /// Files that define something wanted and not found so far.
    pub fn files_for(
        &self,
        calls: &HashSet<String>,
        points: &HashSet<String>,
        found: &HashSet<&str>,
    ) -> Vec<PathBuf> {
        let functions = calls
            .iter()
            .filter(|c| !found.contains(c.as_str()))
            .filter_map(|c| self.functions.get(c));
        let aliases = points.iter().filter_map(|p| self.aliases.get(p)).flatten();
        let mut files: Vec<PathBuf> = functions.chain(aliases).cloned().collect();
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

    pub fn function_names(&self) -> impl Iterator<Item = &str> {
        self.functions.keys().map(String::as_str)
    }
}
