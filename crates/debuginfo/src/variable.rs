// SPDX-License-Identifier: MIT
//! Variables as data.

use crate::die::DieRef;
use crate::location::Location;
use crate::source::SourcePos;
use crate::types::TypeId;

/// What a variable is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VariableKind {
    Parameter,
    Local,
    /// File scope, or `static` inside a function.
    Global,
}

/// A variable or parameter. [`Binary::locate`](crate::Binary::locate) says where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub kind: VariableKind,
    pub ty: TypeId,
    pub decl: Option<SourcePos>,
    /// Made by the compiler (`this`).
    pub artificial: bool,
    pub(crate) die: DieRef,
    /// The function or inlined instance whose child it is lacks it: only the abstract one has it.
    pub(crate) dropped: bool,
}

/// A program counter together with the scopes that hold it.
#[derive(Debug, Clone)]
pub struct Context {
    pub pc: u64,
    /// The function (or inlined instance) asked for, by its source name.
    pub function: String,
    /// Innermost first: lexical blocks, inlined instances, the function itself.
    pub(crate) scopes: Vec<DieRef>,
    /// First instruction of the out-of-line function around `pc`.
    pub entry: Option<u64>,
}

/// `$return`: type and place, valid right after the call has returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnValue {
    pub ty: TypeId,
    pub location: Location,
}
