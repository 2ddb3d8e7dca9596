// SPDX-License-Identifier: MIT
//! The front end: text to syntax tree, and the diagnostics model of the host.
//!
//! Pass 1 of the host: [`lexer`] cuts a source into tokens, [`preprocess`]
//! resolves conditionals, macros and script arguments, [`parser`] builds the
//! [`ast`]. Nothing here looks at types, names or the traced program.

pub mod ast;
pub mod diag;
pub mod expect;
pub mod foreign;
pub mod format;
pub mod lexer;
pub mod parser;
pub mod preprocess;
pub mod print;
pub mod span;
pub mod visit;

pub use diag::{nearest, Diagnostic, Diagnostics, Severity, Tag};
pub use lexer::Words;
pub use parser::parse_file;
pub use preprocess::{Environment, MacroLibrary};
pub use span::{FileId, SourceMap, Span};
