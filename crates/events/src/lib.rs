// SPDX-License-Identifier: MIT
//! What a session has recorded: read, put together to events, and written in
//! formats that other tools read.
//!
//! [`raw::Stream`] reads the raw stream of `trapless-run --raw`, live or from a
//! file, in the byte order of the machine that wrote it. [`assemble::Assembler`]
//! makes events of its records. A [`writer::Writer`] writes them; [`convert`]
//! does all of it. docs/events.md describes the stream and the formats.

pub mod assemble;
pub mod calls;
pub mod convert;
pub mod event;
pub mod module;
pub mod raw;
pub mod stacks;
pub mod time;
pub mod write;
pub mod writer;

mod format;
