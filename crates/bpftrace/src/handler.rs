// SPDX-License-Identifier: MIT
//! What the translation of a handler stands on.

use crate::helpers::Helper;
use crate::points::{Home, Resolved};
use crate::setting::Setting;
use crate::types::Types;
use std::collections::{BTreeMap, BTreeSet};

/// What the translation of one handler looks at, and leaves.
pub struct Handler<'a> {
    pub setting: &'a Setting,
    pub home: Home,
    pub point: &'a Resolved,
    /// number of the probe: variables are its own
    pub probe: usize,
    /// headers that the program includes
    pub includes: &'a [String],
    pub types: &'a mut Types,
    pub notes: &'a mut Notes,
    /// variables of `for ($kv : @map)`: the map
    pub walks: BTreeMap<String, String>,
    /// types are known: what is not is wrong
    pub last: bool,
    /// loops around
    pub loops: usize,
}

/// What the script needs beside its probes.
#[derive(Default)]
pub struct Notes {
    pub helpers: BTreeSet<Helper>,
    /// maps that are printed from handlers
    pub printed: BTreeSet<String>,
    pub words: usize,
}
