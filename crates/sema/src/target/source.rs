// SPDX-License-Identifier: MIT
//! What tells the types of what is read: a file's debug information, or a kernel's BTF.

use std::sync::Arc;
use trapless_debuginfo::{Binary, Kernel, Result, TypeId, Types};

#[derive(Clone)]
pub enum Source {
    File(Arc<Binary>),
    Kernel(Arc<Kernel>),
}

impl Source {
    pub fn types(&self) -> &Types {
        match self {
            Source::File(binary) => binary.types(),
            Source::Kernel(kernel) => kernel.types(),
        }
    }

    pub fn find_type(&self, name: &str) -> Result<TypeId> {
        match self {
            Source::File(binary) => binary.find_type(name),
            Source::Kernel(kernel) => kernel.find_type(name),
        }
    }

    /// The value of an enumeration's constant.
    pub fn enumerator(&self, name: &str) -> Option<i64> {
        match self {
            Source::File(binary) => binary.enumerator(name).ok(),
            Source::Kernel(kernel) => kernel.enumerator(name),
        }
    }

    pub fn is(&self, other: &Source) -> bool {
        match (self, other) {
            (Source::File(a), Source::File(b)) => Arc::ptr_eq(a, b),
            (Source::Kernel(a), Source::Kernel(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}
