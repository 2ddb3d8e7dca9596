// SPDX-License-Identifier: MIT
//! What a kernel, or a module, exports to modules: its own file lists the names.

use super::{find, Kernel};
use crate::elf::Elf;
use crate::error::{Error, Result};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Names one behind the other; those of namespaces, too, which are no functions.
const NAMES: &str = "__ksymtab_strings";

impl Kernel {
    /// Read when it is asked for.
    pub fn exported(&self) -> Result<&HashSet<String>> {
        let read = || {
            let looked = self.own_files();
            let mut files = looked.iter().filter_map(|path| self.own_file(path));
            let elf = files.next().ok_or_else(|| Error::NoKernelExports {
                of: self.title(),
                looked: looked.clone(),
            })?;
            let names = elf.section(NAMES).split(|b| *b == 0);
            Ok(names
                .map(|n| String::from_utf8_lossy(n).into_owned())
                .collect())
        };
        self.exported
            .get_or_init(read)
            .as_ref()
            .map_err(Error::clone)
    }

    fn own_files(&self) -> Vec<PathBuf> {
        let mut all = vec![self.path.clone()];
        if self.module_name().is_none() {
            all.extend(find::images(self.named.as_deref()));
        }
        all
    }

    /// `None`: it is not there, or of another kernel.
    fn own_file(&self, path: &Path) -> Option<Elf> {
        self.opened_at(path).ok().filter(|elf| self.is_of(elf))
    }
}
