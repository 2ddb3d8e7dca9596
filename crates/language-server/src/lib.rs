// SPDX-License-Identifier: MIT
//! The language server: what an editor asks about a script, answered over a pair of streams.
//!
//! [`serve`] reads messages ([`wire`]) and answers them one after the other ([`server`]). A script is looked at in two
//! ways: as a tree, by the passes themselves ([`analysis`]), and as tokens ([`outline`]), which also understand what is
//! being typed. Debug information is kept between requests, as long as its files are what they were.

mod analysis;
mod comments;
mod completion;
mod cursor;
mod definition;
mod diagnostics;
mod hover;
mod library;
mod outline;
mod points;
mod server;
mod symbols;
mod text;
mod wire;

pub use server::serve;

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
