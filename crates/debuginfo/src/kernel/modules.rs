// SPDX-License-Identifier: MIT
//! A kernel's modules: their functions are in the symbol tables of their files, the types in BTF that goes on from the
//! kernel's.

use super::addresses::Addresses;
use super::btf::{described, Btf};
use super::systems::Systems;
use super::types::Source;
use super::{find, Kernel};
use crate::demangle;
use crate::elf::{Elf, STT_FUNC};
use crate::error::{Error, Result};
use crate::glob;
use crate::unpack::unpack;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Of those that run, even where no file is left.
const LIVE: &str = "/sys/kernel/btf";
const LOADED: &str = "/sys/module";
/// How files are called that are not packed, or packed.
const ENDS: [&str; 4] = [".ko", ".ko.xz", ".ko.zst", ".ko.gz"];
/// What runs once, while the module is loaded, and is gone then.
const ONCE: &str = ".init.text";

/// By name; looked for when they are asked for. A module has none.
#[derive(Default)]
pub struct Modules {
    folders: Vec<PathBuf>,
    running: bool,
    files: OnceLock<BTreeMap<String, PathBuf>>,
}

/// What only a module has.
pub struct Own {
    pub name: Arc<str>,
    /// With the numbers of those that BTF describes, else 0.
    pub functions: Vec<(u32, String)>,
}

impl Modules {
    pub fn of(named: Option<&str>) -> Modules {
        Modules {
            folders: find::module_folders(named),
            running: find::is_running(named),
            files: OnceLock::new(),
        }
    }

    fn files(&self) -> &BTreeMap<String, PathBuf> {
        self.files.get_or_init(|| {
            let mut all = BTreeMap::new();
            if self.running {
                collect(Path::new(LIVE), &mut all, |name| {
                    (name != "vmlinux").then(|| name.to_string())
                });
            }
            for folder in &self.folders {
                collect(folder, &mut all, module_of);
            }
            all
        })
    }
}

/// Those with a name, in the folder and below it; links lead out of it.
fn collect(folder: &Path, to: &mut BTreeMap<String, PathBuf>, name: fn(&str) -> Option<String>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type());
        if kind.is_ok_and(|k| k.is_dir()) {
            collect(&path, to, name);
        } else if let Some(name) = entry.file_name().to_str().and_then(name) {
            to.insert(name, path);
        }
    }
}

/// As the kernel writes it.
fn module_of(file: &str) -> Option<String> {
    let mut ends = ENDS.iter().filter_map(|end| file.strip_suffix(end));
    ends.next().map(|name| name.replace('-', "_"))
}

impl Kernel {
    /// Of a module: its name.
    pub fn module_name(&self) -> Option<&Arc<str>> {
        self.own.as_ref().map(|own| &own.name)
    }

    /// Names of its modules that the pattern matches. Of the kernel that runs here a pattern of several means those that
    /// are loaded.
    pub fn modules(&self, pattern: &str) -> Vec<String> {
        let of_loaded = self.modules.running && glob::is_glob(pattern);
        let is_meant = |name: &String| {
            glob::matches(pattern, name) && (!of_loaded || Path::new(LOADED).join(name).exists())
        };
        let names = self.modules.files().keys();
        names.filter(|name| is_meant(name)).cloned().collect()
    }

    /// The names most like one that is not there.
    pub fn nearest_modules(&self, name: &str) -> Vec<String> {
        demangle::nearest(name, self.modules.files().keys().map(String::as_str), 5)
    }

    /// One of them.
    pub fn module(&self, name: &str) -> Result<Kernel> {
        let path = self.modules.files().get(name);
        let path = path.cloned().unwrap_or_default();
        let bytes = std::fs::read(&path).map_err(|e| Error::Io {
            path: path.clone(),
            why: e.to_string(),
        })?;
        let is_btf = path.starts_with(LIVE);
        let elf = match is_btf {
            true => None,
            false => Some(opened(&path, &bytes)?),
        };
        let btf = match &elf {
            Some(elf) => elf.section(".BTF").to_vec(),
            None => bytes,
        };
        let btf = self.own_btf(&path, btf)?;
        let functions = match &elf {
            Some(elf) => with_numbers(functions_of(elf), &btf),
            None => described(&btf).map(|f| (f.0, f.1.to_string())).collect(),
        };
        let name = name.into();
        Ok(Kernel {
            build_id: elf.and_then(|e| e.build_id).unwrap_or_default(),
            machine: self.machine,
            source: Source::new(btf, Some(self.source.clone()), self.machine.abi.word),
            types: self.types.clone(),
            modules: Modules::default(),
            own: Some(Own { name, functions }),
            systems: Systems::default().into(),
            addresses: Addresses::new(),
            exported: OnceLock::new(),
            named: self.named.clone(),
            cache: None,
            path,
        })
    }

    fn own_btf(&self, path: &Path, btf: Vec<u8>) -> Result<Btf> {
        let base = self.source.btf.clone();
        if btf.is_empty() {
            return Ok(Btf::nothing_behind(base));
        }
        Btf::behind(btf, Some(base)).map_err(|what| Error::Corrupt {
            path: path.into(),
            what: what.into(),
        })
    }
}

pub fn opened(path: &Path, bytes: &[u8]) -> Result<Elf> {
    let elf = unpack(bytes).map_err(|what| Error::Corrupt {
        path: path.into(),
        what,
    })?;
    Elf::from_vec(path, elf)
}

/// What the compiler made of a part of a function has a name with a point, and is none.
fn functions_of(elf: &Elf) -> Vec<String> {
    let symbols = elf.symbols(".symtab").into_iter();
    let functions = symbols.filter(|s| s.kind == STT_FUNC && !elf.stands_in(s, ONCE));
    let names = functions.filter_map(|s| std::str::from_utf8(s.name).ok());
    let names = names.filter(|name| !name.contains('.'));
    names.map(str::to_string).collect()
}

fn with_numbers(names: Vec<String>, btf: &Btf) -> Vec<(u32, String)> {
    let numbers: HashMap<&str, u32> = described(btf).map(|(id, name)| (name, id)).collect();
    let number = |name: &String| numbers.get(name.as_str()).copied().unwrap_or(0);
    names.into_iter().map(|n| (number(&n), n)).collect()
}
