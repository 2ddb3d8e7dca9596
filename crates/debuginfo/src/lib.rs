// SPDX-License-Identifier: MIT
//! ELF and DWARF turned into plain data for the semantic passes: functions, lines, variables,
//! types and symbols of a program, a shared library or a live process.
//!
//! ```no_run
//! use trapless_debuginfo::*;
//! # fn main() -> Result<()> {
//! let session = DebugInfo::new(SearchPath::host());
//! let bin = session.open("/usr/bin/git")?;
//! for f in bin.functions(&Pattern::parse("cmd_main")?, Inlines::Also)? {
//!     let site = bin.probe_site(&f)?;                    // where `.function` puts the probe
//!     let cx = bin.context_of(&f, site.pc)?;             // what is visible there
//!     let argc = bin.variable(&cx, "argc")?;             // name and type
//!     let place = bin.locate(&argc, &cx)?;               // registers and memory, no DWARF
//!     println!("{} {:?}", session.types().declaration(argc.ty, &argc.name), place);
//! }
//! # Ok(()) }
//! ```
//!
//! All addresses are *file addresses* (the `vaddr` of the ELF file); the run-time address is the
//! file address plus the load bias ([`Image::bias`]). Nothing is read before it is asked for: a
//! function is found by its symbol, and only the compilation units concerned are parsed.
//!
//! Libraries neither panic nor print: damaged files give [`Error::Corrupt`] or are read as far as
//! they make sense.

mod abi;
mod abi_rust;
mod binary;
mod bitfield;
mod cfi;
mod copied;
mod debugfile;
mod debuginfod;
mod demangle;
mod die;
mod dwarf;
mod elf;
mod entry;
mod enums;
mod error;
mod find;
mod function;
pub mod glob;
mod home;
mod hook_types;
mod hooks;
mod index;
mod inside;
mod kernel;
mod layout;
pub mod leftover;
mod libraries;
mod line_table;
mod lines;
mod locate;
mod location;
mod lower;
mod marks;
mod names;
mod notes;
mod owners;
mod package;
mod parameters;
mod passed;
mod pattern;
mod plt;
mod process;
mod search;
mod source;
mod split;
mod split_types;
mod storage;
mod symbol;
mod syscalls;
mod tls;
mod type_layout;
mod type_name;
mod typeread;
mod types;
mod unpack;
mod unwind;
mod variable;
mod vars;

pub use binary::{Binary, DebugInfo, DebugSource, ElfKind, Segment};
pub use debuginfod::Servers;
pub use demangle::shown_name;
pub use error::{Error, Result};
pub use function::{
    Function, FunctionKind, Inlines, Language, LineSpec, Pattern, ProbeSite, Statement,
};
pub use hooks::{DamagedHook, Hook, HookClass, HookParameter, HookTable};
pub use inside::{CallKind, Callee, Label};
pub use kernel::debug::KernelDebug;
pub use kernel::{release_of, running, Kernel, KernelAddress, KernelFunction, KernelParameter};
pub use libraries::Library;
pub use line_table::{LineRow, LineTable};
pub use location::{LocOp, Location, Piece, Pointed};
pub use marks::{Mark, MarkArg, Operand};
pub use parameters::Parameters;
pub use plt::PltEntry;
pub use process::{
    name_inside, proc_folder, processes_running, programless, running_programs, Image, Mapping,
    Process, Programless,
};
pub use search::{script_interpreter, SearchPath};
pub use source::SourcePos;
pub use symbol::{Symbol, SymbolKind, SymbolTable};
pub use tls::{TlsSlot, TlsWay};
pub use types::{
    BitField, Composite, CompositeKind, Encoding, Enumerator, FoundMember, Hop, Member, Qualifier,
    Type, TypeId, Types, Variant, Variants,
};
pub use unwind::{Frame, Row, Saved, UnwindTable};
pub use variable::{Context, ReturnValue, Variable, VariableKind};
