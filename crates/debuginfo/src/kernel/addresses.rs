// SPDX-License-Identifier: MIT
//! Addresses in a kernel's text, or a module's, as their symbol files have them: which function is there. Where it lies in
//! memory the kernel alone knows.

use super::modules::functions_in;
use super::{find, Kernel};
use crate::elf::{Elf, RawSymbol, STT_FUNC};
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// What a module's addresses count from.
const TEXT: &str = ".text";

/// Read when an address is asked for.
pub type Addresses = OnceLock<Result<Functions>>;

/// By address.
pub struct Functions {
    path: PathBuf,
    all: Vec<Function>,
}

struct Function {
    start: u64,
    end: u64,
    name: Arc<str>,
    nth: u32,
    /// Others have this name, too, and which one is meant cannot be told.
    of_several: bool,
}

/// An instruction by what a kernel finds: a function's name, and the bytes from its first one on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelAddress {
    pub function: Arc<str>,
    /// See [`super::KernelFunction`].
    pub nth: u32,
    pub offset: u64,
}

impl Functions {
    /// Where no size is told (0) a function ends at the next one.
    pub fn new(path: PathBuf, mut all: Vec<(u64, u64, Arc<str>)>) -> Functions {
        all.sort();
        let mut of_name: HashMap<Arc<str>, u32> = HashMap::new();
        for (_, _, name) in &all {
            *of_name.entry(name.clone()).or_default() += 1;
        }
        let next = |i: usize| {
            let mut behind = all[i..].iter().map(|f| f.0);
            behind.find(|start| *start > all[i].0).unwrap_or(all[i].0)
        };
        let function = |(i, (start, size, name)): (usize, &(u64, u64, Arc<str>))| Function {
            start: *start,
            end: match size {
                0 => next(i),
                size => start.saturating_add(*size),
            },
            of_several: of_name[name] > 1,
            nth: 0,
            name: name.clone(),
        };
        let all = all.iter().enumerate().map(function).collect();
        Functions { path, all }
    }

    /// Of a module: which one is meant of those that have a name is known.
    pub fn numbered(path: PathBuf, there: Vec<(RawSymbol, &str, u32)>) -> Functions {
        let function = |(s, name, nth): (RawSymbol, &str, u32)| Function {
            start: s.value,
            end: s.value.saturating_add(s.size),
            name: name.into(),
            nth,
            of_several: false,
        };
        let mut all: Vec<Function> = there.into_iter().map(function).collect();
        all.sort_by_key(|f| f.start);
        Functions { path, all }
    }

    /// Of several names of one function one that no other has.
    pub fn at(&self, addr: u64) -> Result<KernelAddress> {
        let last = self.all.partition_point(|f| f.start <= addr);
        let start = self.all[..last].last().map_or(0, |f| f.start);
        let first = self.all.partition_point(|f| f.start < start);
        let there = self.all[first..last].iter().filter(|f| addr < f.end);
        let Some(found) = there.min_by_key(|f| f.of_several) else {
            let path = self.path.clone();
            return Err(Error::NoFunctionAt { path, addr });
        };
        match found.of_several {
            true => Err(Error::NameOfSeveral {
                path: self.path.clone(),
                addr,
                function: found.name.to_string(),
            }),
            false => Ok(KernelAddress {
                function: found.name.clone(),
                nth: found.nth,
                offset: addr - found.start,
            }),
        }
    }
}

impl Kernel {
    /// What is at an address of its text; of a module's, one of its `.text`.
    pub fn at(&self, addr: u64) -> Result<KernelAddress> {
        let read = || match self.module_name() {
            Some(_) => self.of_module(),
            None => self.of_kernel(),
        };
        let functions = self.addresses.get_or_init(read);
        functions.as_ref().map_err(Error::clone)?.at(addr)
    }

    fn of_kernel(&self) -> Result<Functions> {
        let mut looked = vec![self.path.clone()];
        looked.extend(find::symbol_files(self.named.as_deref()));
        let mut read = looked.iter().filter_map(|path| self.listed_in(path));
        read.next().ok_or_else(|| Error::NoKernelSymbols {
            release: self.release(),
            looked: looked.clone(),
        })
    }

    fn of_module(&self) -> Result<Functions> {
        let elf = self.opened_at(&self.path)?;
        // Before it is linked each section begins at 0: addresses are those of one.
        let mut there = functions_in(&elf);
        there.retain(|(s, _, _)| elf.stands_in(s, TEXT));
        Ok(Functions::numbered(self.path.clone(), there))
    }

    pub(super) fn release(&self) -> String {
        let named = self.named.as_deref();
        named.map_or_else(find::running, find::release_of)
    }

    /// `None`: it tells nothing, or of another kernel.
    fn listed_in(&self, path: &Path) -> Option<Functions> {
        let listed = match find::is_system_map(path) {
            true => in_text(&std::fs::read_to_string(path).ok()?),
            false => in_elf(&Elf::open(path).ok().filter(|elf| self.is_of(elf))?),
        };
        (!listed.is_empty()).then(|| Functions::new(path.into(), listed))
    }

    pub(super) fn is_of(&self, elf: &Elf) -> bool {
        elf.build_id.as_deref().unwrap_or_default() == self.build_id
    }
}

pub fn in_elf(elf: &Elf) -> Vec<(u64, u64, Arc<str>)> {
    let symbols = elf.symbols(".symtab").into_iter();
    let meant = symbols.filter(|s| s.kind == STT_FUNC);
    let named = meant.filter_map(|s| Some((s.value, s.size, std::str::from_utf8(s.name).ok()?)));
    named
        .map(|(at, size, name)| (at, size, name.into()))
        .collect()
}

/// Lines of `ADDRESS KIND NAME`.
fn in_text(text: &str) -> Vec<(u64, u64, Arc<str>)> {
    let function = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let addr = u64::from_str_radix(words.next()?, 16).ok()?;
        let is_text = matches!(words.next()?, "t" | "T" | "w" | "W");
        is_text.then_some((addr, 0, words.next()?.into()))
    };
    text.lines().filter_map(function).collect()
}

#[cfg(test)]
mod tests {
    use super::{in_text, Functions};

    const MAP: &str = "0000000000000000 D data\n\
        ffffffff81000000 T first\nffffffff81000010 t twice\nffffffff81000010 T also\n\
        ffffffff81000020 t twice\nffffffff81000030 T last\nnothing\n";

    #[test]
    fn a_function_reaches_to_the_next() {
        let all = Functions::new("System.map".into(), in_text(MAP));
        let at = |low: u64| {
            let found = all.at(0xffff_ffff_8100_0000 + low);
            found.map_or_else(
                |e| e.tag().to_string(),
                |a| format!("{}+{:#x}", a.function, a.offset),
            )
        };
        assert_eq!(
            [0, 0xf, 0x12, 0x2f].map(at),
            ["first+0x0", "first+0xf", "also+0x2", "KERNEL_ADDRESS"]
        );
        assert_eq!(at(0x30), "KERNEL_ADDRESS", "nobody tells where it ends");
        assert!(all.at(0).is_err());
    }
}
