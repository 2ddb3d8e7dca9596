// SPDX-License-Identifier: MIT
//! Debug information of a kernel, or of a module of it, where somebody has put it: in its own file, or in one beside.

use super::addresses::{in_elf, Functions, KernelAddress};
use super::modules::functions_in;
use super::{find, Kernel};
use crate::binary::{Binary, DebugInfo};
use crate::debugfile;
use crate::elf::Elf;
use crate::error::{Error, Result};
use crate::layout::{self, TEXT_AT};
use crate::search::SearchPath;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Its addresses are those of the file; the kernel finds what is there by functions' names.
pub struct KernelDebug {
    pub binary: Arc<Binary>,
    functions: Functions,
}

impl KernelDebug {
    fn new(elf: Elf, kernel: &Kernel, info: &DebugInfo) -> Result<KernelDebug> {
        let functions = match kernel.module_name().is_some() {
            true => Functions::numbered(elf.path.clone(), functions_in(&elf)),
            false => Functions::new(elf.path.clone(), in_elf(&elf)),
        };
        let binary = Binary::of(elf, info.search(), info.shared_types())?;
        Ok(KernelDebug {
            binary: Arc::new(binary),
            functions,
        })
    }

    /// What is at an address of the file.
    pub fn at(&self, addr: u64) -> Result<KernelAddress> {
        self.functions.at(addr)
    }
}

impl DebugInfo {
    /// That of a kernel or a module.
    pub fn of_kernel(&self, kernel: &Kernel) -> Result<KernelDebug> {
        if let Some(here) = self.of_kernel_here(kernel) {
            return here;
        }
        let none = || Error::NoKernelDebug {
            of: kernel.title(),
            release: kernel.release(),
            looked: kernel.debug_files(),
        };
        let fetched = kernel.fetched(self.search()).ok_or_else(none)?;
        KernelDebug::new(fetched, kernel, self)
    }

    /// The same, where no server has to be asked.
    pub fn of_kernel_here(&self, kernel: &Kernel) -> Option<Result<KernelDebug>> {
        let files = kernel.debug_files();
        let elf = files.iter().find_map(|path| kernel.with_debug(path))?;
        Some(KernelDebug::new(elf, kernel, self))
    }
}

impl Kernel {
    /// What an address of its symbol file is where its debug information is: see [`KernelDebug`].
    pub fn address_in_debug(&self, addr: u64) -> u64 {
        match self.module_name() {
            Some(_) => TEXT_AT.wrapping_add(addr),
            None => addr,
        }
    }

    pub(super) fn title(&self) -> String {
        let module = self.module_name();
        module.map_or("the kernel".into(), |name| format!("module `{name}`"))
    }

    fn debug_files(&self) -> Vec<PathBuf> {
        let named = self.named.as_deref();
        let mut all = vec![self.path.clone()];
        match self.module_name() {
            Some(_) => all.extend(find::debug_files_of_module(named, &self.path)),
            None => all.extend(find::symbol_files(named)),
        }
        all.extend(find::debug_file_by_id(named, &self.build_id));
        all.retain(|path| !find::is_system_map(path) && !find::is_boot_image(path));
        all
    }

    fn with_debug(&self, path: &Path) -> Option<Elf> {
        if !path.is_file() {
            return None;
        }
        self.debug_in(self.opened_at(path).ok()?)
    }

    fn fetched(&self, search: &SearchPath) -> Option<Elf> {
        self.debug_in(debugfile::fetch(&self.build_id, search)?)
    }

    /// A module's own build-id is not known where there is no file of it.
    fn debug_in(&self, mut elf: Elf) -> Option<Elf> {
        let own = self.build_id.is_empty() || self.is_of(&elf);
        if !own || !elf.has_section(".debug_info") {
            return None;
        }
        if elf.is_relocatable() {
            elf.lay_out(&layout::DEBUG);
        }
        elf.check_loadable().is_ok().then_some(elf)
    }
}
