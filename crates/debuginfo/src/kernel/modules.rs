// SPDX-License-Identifier: MIT
//! A kernel's modules: their functions are in the symbol tables of their files, the types in BTF that goes on from the
//! kernel's.

use super::addresses::Addresses;
use super::btf::{described, Btf};
use super::find::Told;
use super::once::Once;
use super::systems::Systems;
use super::types::Source;
use super::{find, Kernel};
use crate::demangle;
use crate::elf::{Elf, RawSymbol, STT_FUNC};
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
    pub functions: Vec<OwnFunction>,
}

pub struct OwnFunction {
    /// In BTF; 0: that does not describe it.
    pub id: u32,
    pub name: String,
    /// See [`super::KernelFunction`].
    pub nth: u32,
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

    /// Names and files, by name; of those that may be asked for by a pattern.
    pub fn module_files(&self) -> Vec<(&str, &Path)> {
        let names = self.modules("*").into_iter();
        let found = names.filter_map(|name| self.modules.files().get_key_value(&name));
        found.map(|(name, path)| (&**name, &**path)).collect()
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
            Some(elf) => listed(elf, &btf),
            None => listed_in_btf(&btf),
        };
        let build_id = elf.as_ref().and_then(|e| e.build_id.clone());
        let systems = match elf {
            Some(elf) => Systems::in_module(elf, &btf),
            None => self.systems().clone(),
        };
        let name = name.into();
        Ok(Kernel {
            build_id: build_id.unwrap_or_default(),
            machine: self.machine,
            source: Source::new(btf, Some(self.source.clone()), self.machine.abi.word),
            types: self.types.clone(),
            modules: Modules::default(),
            own: Some(Own { name, functions }),
            told: Told {
                systems,
                once: Once::default(),
            }
            .into(),
            traced: OnceLock::new(),
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

/// Those that stay, in the order of its symbols, each with its name, and which of those that have it.
pub fn functions_in(elf: &Elf) -> Vec<(RawSymbol, &'static str, u32)> {
    let mut of_name: HashMap<&str, u32> = HashMap::new();
    let symbols = elf.symbols(".symtab").into_iter();
    let functions = symbols.filter(|s| s.kind == STT_FUNC && !elf.stands_in(s, ONCE));
    let numbered = functions.filter_map(|s| {
        let name = std::str::from_utf8(s.name).ok()?;
        let before = of_name.entry(name).or_default();
        *before += 1;
        Some((s, name, *before - 1))
    });
    numbered.collect()
}

/// What the compiler made of a part of a function has a name with a point, and is none.
fn listed(elf: &Elf, btf: &Btf) -> Vec<OwnFunction> {
    let numbers: HashMap<&str, u32> = described(btf).map(|(id, name)| (name, id)).collect();
    let functions = functions_in(elf).into_iter();
    let function = |(_, name, nth): (RawSymbol, &str, u32)| OwnFunction {
        id: numbers.get(name).copied().unwrap_or(0),
        name: name.into(),
        nth,
    };
    let functions = functions.filter(|(_, name, _)| !name.contains('.'));
    functions.map(function).collect()
}

/// Nobody tells how many have a name.
fn listed_in_btf(btf: &Btf) -> Vec<OwnFunction> {
    let function = |(id, name): (u32, &str)| OwnFunction {
        id,
        name: name.into(),
        nth: 0,
    };
    described(btf).map(function).collect()
}
