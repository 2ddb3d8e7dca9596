// SPDX-License-Identifier: MIT
//! What a program is translated with, and to.

/// What else decides what a program means.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// a process is given: `-c`, `-x`
    pub target: bool,
    /// a kernel is given: `-r`
    pub kernel: bool,
    /// `$1` and the others
    pub words: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    pub text: String,
    /// how many of the words it names
    pub words: usize,
}
