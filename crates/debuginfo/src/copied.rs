// SPDX-License-Identifier: MIT
//! Code that its program copies elsewhere and runs there. What a probe has changed would be
//! copied too, and its jump lead nowhere.

use crate::Binary;

/// V8's builtins: copied next to what it compiles (`--short-builtin-calls`), where calls reach them.
const BUILTIN: &str = "Builtins_";
/// In whatever namespace: V8's word for where they lie.
const BLOB: &str = "embedded_blob_code";

impl Binary {
    /// Whether the program may run a copy of the code at this address instead.
    pub fn is_copied(&self, addr: u64) -> bool {
        let builtin = |s: crate::Symbol<'_>| s.name.starts_with(BUILTIN);
        self.symbols().at(addr).is_some_and(builtin) && self.has_blob()
    }

    fn has_blob(&self) -> bool {
        let blob = || self.symbols().iter().any(|s| s.name.contains(BLOB));
        *self.blob.get_or_init(blob)
    }
}
