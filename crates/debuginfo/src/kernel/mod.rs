// SPDX-License-Identifier: MIT
//! A kernel by its own files: functions with their parameters and results, and types, from BTF. Addresses are the
//! kernel's business: it finds functions by name.

mod addresses;
mod btf;
pub(crate) mod debug;
mod exported;
mod find;
mod kallsyms;
mod kept;
mod modules;
mod once;
mod systems;
mod traced;
mod types;

pub use addresses::KernelAddress;
pub use find::{release_of, running};

use crate::abi::{self, Arguments};
use crate::demangle;
use crate::elf::Elf;
use crate::error::{Error, Result};
use crate::glob;
use crate::location::Location;
use crate::type_name::{clang_name, TypeName};
use crate::types::{TypeId, Types};
use crate::variable::ReturnValue;
use addresses::Addresses;
use btf::{described, Btf, Kind};
use find::Told;
use modules::{Modules, Own};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use systems::{Systems, Traced, TRACER};
use trapless_machine::Machine;
use types::Source;

/// Or one module of it.
pub struct Kernel {
    path: PathBuf,
    build_id: Vec<u8>,
    machine: &'static Machine,
    source: Arc<Source>,
    types: Arc<Types>,
    modules: Modules,
    own: Option<Own>,
    /// Its own, or its kernel's.
    told: OnceLock<Told>,
    /// Its modules' tracepoints, once they are asked for.
    traced: OnceLock<Vec<Traced>>,
    addresses: Addresses,
    /// See [`Kernel::exported`].
    exported: OnceLock<Result<HashSet<String>>>,
    /// As [`Kernel::open`] was told.
    named: Option<String>,
    /// Where what was unpacked is kept.
    cache: Option<PathBuf>,
}

/// A function that BTF describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelFunction {
    pub name: Arc<str>,
    /// `None`: it is the kernel's own.
    pub module: Option<Arc<str>>,
    /// Of a module: which of those that have the name, from 0 on, in the order of its symbols.
    pub nth: u32,
    id: u32,
    /// Its first parameter is the kernel's own: this is what calls a tracepoint's listeners.
    traces: bool,
}

/// A parameter, and where it is as the function is entered.
#[derive(Debug, Clone)]
pub struct KernelParameter {
    pub name: String,
    pub ty: TypeId,
    /// `None`: how it is passed is not known.
    pub location: Option<Location>,
}

impl Kernel {
    /// That of a release, or in a folder; `None`: the one that runs here. `cache`: where what was unpacked is kept.
    pub fn open(
        named: Option<&str>,
        cache: Option<&Path>,
        machine: &'static Machine,
        types: Arc<Types>,
    ) -> Result<Kernel> {
        let files = find::find(named, cache, machine)?;
        let btf = Btf::new(files.btf).map_err(|what| Error::Corrupt {
            path: files.path.clone(),
            what: what.into(),
        })?;
        Ok(Kernel {
            path: files.path,
            build_id: files.build_id,
            machine,
            source: Source::new(btf, None, machine.abi.word),
            types,
            modules: Modules::of(named),
            own: None,
            told: files.told.map(OnceLock::from).unwrap_or_default(),
            traced: OnceLock::new(),
            addresses: Addresses::new(),
            exported: OnceLock::new(),
            named: named.map(String::from),
            cache: cache.map(PathBuf::from),
        })
    }

    /// One of its files, packed or not.
    fn opened_at(&self, path: &Path) -> Result<Elf> {
        let bytes = || {
            std::fs::read(path).map_err(|e| Error::Io {
                path: path.into(),
                why: e.to_string(),
            })
        };
        match self.module_name() {
            Some(_) => modules::opened(path, &bytes()?),
            None => Ok(find::unpacked(path, self.machine)?.0),
        }
    }

    /// What was read.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn build_id(&self) -> &[u8] {
        &self.build_id
    }

    pub fn types(&self) -> &Types {
        &self.types
    }

    pub fn machine(&self) -> &'static Machine {
        self.machine
    }
}

impl Kernel {
    /// Numbers in BTF, names, and which of those that have the name.
    fn all(&self) -> Box<dyn Iterator<Item = (u32, &str, u32)> + '_> {
        match &self.own {
            Some(own) => Box::new(own.functions.iter().map(|f| (f.id, &*f.name, f.nth))),
            None => Box::new(described(&self.source.btf).map(|(id, name)| (id, name, 0))),
        }
    }

    /// Those whose name the pattern matches, by name; what has run once is there no more. The kernel's own have each name
    /// once: it finds all that have it.
    pub fn functions(&self, pattern: &str) -> Vec<KernelFunction> {
        let mut found = self.named(pattern, "");
        found.retain(|f| !self.runs_once(&f.name));
        found
    }

    /// Is it a function that only runs while the kernel starts?
    pub fn runs_once(&self, function: &str) -> bool {
        self.told().once.has(function)
    }

    /// The same of tracepoints.
    pub fn tracepoints(&self, pattern: &str) -> Vec<KernelFunction> {
        self.named(pattern, TRACER)
    }

    fn behind<'a>(&'a self, before: &'a str) -> impl Iterator<Item = (u32, &'a str, u32)> {
        self.all()
            .filter_map(move |(id, name, nth)| Some((id, name.strip_prefix(before)?, nth)))
    }

    fn named(&self, pattern: &str, before: &str) -> Vec<KernelFunction> {
        let found = self.behind(before);
        let found = found.filter(|(_, name, _)| glob::matches(pattern, name));
        let mut found: Vec<KernelFunction> = found
            .map(|(id, name, nth)| KernelFunction {
                name: name.into(),
                module: self.module_name().cloned(),
                nth,
                id,
                traces: !before.is_empty(),
            })
            .collect();
        found.sort_by(|a, b| (&a.name, a.nth).cmp(&(&b.name, b.nth)));
        found.dedup_by(|a, b| (&a.name, a.nth) == (&b.name, b.nth));
        found
    }

    fn told(&self) -> &Told {
        let of_this_one = || find::told_here(self.cache.as_deref(), self.machine, &self.build_id);
        self.told.get_or_init(of_this_one)
    }

    /// The tracepoints' systems; none: nobody tells them.
    fn systems(&self) -> &Systems {
        &self.told().systems
    }

    /// That of a tracepoint.
    pub fn system_of(&self, tracepoint: &str) -> Option<&str> {
        self.systems().of(tracepoint)
    }

    /// Names of its systems; none: nobody tells them.
    pub fn trace_systems(&self) -> Vec<&str> {
        self.systems().names()
    }

    /// Is it a variable that each processor has for itself?
    pub fn is_per_processor(&self, name: &str) -> bool {
        // BTF describes no others.
        self.source.btf.named(name, &[Kind::Variable]).is_some()
    }

    /// The names most like one that is not there.
    pub fn nearest(&self, name: &str) -> Vec<String> {
        let staying = self.all().map(|f| f.1).filter(|name| !self.runs_once(name));
        demangle::nearest(name, staying, 5)
    }

    pub fn nearest_tracepoints(&self, name: &str) -> Vec<String> {
        demangle::nearest(name, self.behind(TRACER).map(|f| f.1), 5)
    }

    /// Numbers of the result's type, and of each parameter's name and type.
    fn prototype(&self, f: &KernelFunction) -> Option<(u32, Vec<(u32, u32)>)> {
        let btf = &self.source.btf;
        let proto = btf.entry(btf.entry(f.id)?.value)?;
        let word = |n| btf.word_of(&proto, n);
        let parameters = (0..proto.count).map(|n| (word(2 * n), word(2 * n + 1)));
        // A last one without a type stands for any number of them.
        Some((proto.value, parameters.filter(|p| p.1 != 0).collect()))
    }

    pub fn parameters(&self, f: &KernelFunction) -> Vec<KernelParameter> {
        let Some((result, parameters)) = self.prototype(f) else {
            return Vec::new();
        };
        let hidden = matches!(self.result(result), Some(Ok(Location::Memory(_))));
        let mut places = Some(Arguments::new(hidden, &self.machine.abi));
        let parameter = |(name, ty): (u32, u32)| {
            let ty = self.source.id(ty, &self.types);
            // Behind one of unknown size nothing is known.
            let location = places.as_mut().and_then(|p| p.next(&self.types, ty, false));
            places.take_if(|_| location.is_none());
            KernelParameter {
                name: self.source.btf.text(name).to_string(),
                ty,
                location,
            }
        };
        let all = parameters.into_iter().map(parameter);
        all.skip(usize::from(f.traces)).collect()
    }

    /// `None`: it returns nothing.
    fn result(&self, number: u32) -> Option<Result<Location>> {
        let ty = self.source.id(number, &self.types);
        (number != 0).then(|| abi::return_location(&self.types, ty, false, &self.machine.abi))
    }

    pub fn return_value(&self, f: &KernelFunction) -> Result<ReturnValue> {
        let (number, _) = self.prototype(f).ok_or_else(|| Error::Unsupported {
            what: format!("the result of `{}`, which BTF does not describe", f.name),
        })?;
        let location = self.result(number).ok_or_else(|| Error::ReturnsVoid {
            function: f.name.to_string(),
        })?;
        Ok(ReturnValue {
            ty: self.source.id(number, &self.types),
            location: location?,
        })
    }
}

impl Kernel {
    /// As C writes it: `struct file`, `pid_t`, `struct list_head *`.
    pub fn find_type(&self, name: &str) -> Result<TypeId> {
        let none = || Error::NoType {
            name: name.into(),
            path: self.path.clone(),
        };
        let wanted = TypeName::parse(name).ok_or_else(none)?;
        let kinds: &[Kind] = match wanted.tag {
            Some("union") => &[Kind::Union],
            Some("enum") => &[Kind::Enum, Kind::Enum64],
            Some(_) => &[Kind::Struct],
            None => &[
                Kind::Typedef,
                Kind::Int,
                Kind::Struct,
                Kind::Union,
                Kind::Enum,
                Kind::Enum64,
                Kind::Float,
            ],
        };
        let mut id = match (wanted.tag, wanted.name.as_str()) {
            (None, "void") => self.types.void(),
            (_, name) => {
                let named = |name: &str| self.source.btf.named(name, kinds);
                let number = named(name).or_else(|| named(&clang_name(name)));
                let number = number.ok_or_else(none)?;
                self.source.id(number, &self.types)
            }
        };
        for _ in 0..wanted.stars {
            id = self.types.pointer_to(id, self.machine.abi.word);
        }
        Ok(id)
    }

    /// The value of an enumeration's name.
    pub fn enumerator(&self, name: &str) -> Option<i64> {
        let enums = self.source.btf.entries();
        let enums = enums.filter(|(_, e)| matches!(e.kind, Kind::Enum | Kind::Enum64));
        enums
            .flat_map(|(_, e)| self.source.enumerators(&e))
            .find(|v| v.name == name)
            .map(|v| v.value)
    }
}
