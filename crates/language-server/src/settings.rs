// SPDX-License-Identifier: MIT
//! What the command line says to the server.

use std::path::PathBuf;
use trapless_sema::ir::Options;
use trapless_sema::world::TargetSpec;
use trapless_syntax::Environment;

/// What the command line says, for all scripts.
#[derive(Debug)]
pub struct Settings {
    /// Folders of the script library, our own first.
    pub tapsets: Vec<PathBuf>,
    pub environment: Environment,
    /// The program that `process` without a name means.
    pub target: TargetSpec,
    pub options: Options,
    /// Where compiled headers are kept.
    pub cache: Option<PathBuf>,
}
