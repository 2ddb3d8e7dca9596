// SPDX-License-Identifier: MIT
//! Places in source files.

/// A place in a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePos {
    /// Full path as the compiler recorded it.
    pub file: String,
    pub line: u64,
    /// 0: not known.
    pub column: u64,
}
