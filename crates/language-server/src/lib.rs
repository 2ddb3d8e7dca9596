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
mod settings;
mod symbols;
mod text;
mod wire;

pub use server::serve;
pub use settings::Settings;
