// SPDX-License-Identifier: MIT
//! Parameters at a function's first instruction, by the calling convention: unoptimised code has not
//! stored them yet where the debug information says, and optimised code may leave the entry out.

use crate::abi::{self, Arguments};
use crate::binary::Binary;
use crate::demangle::strip_clone;
use crate::die::DieRef;
use crate::dwarf::Dwarf;
use crate::error::{Error, Result};
use crate::function::Language;
use crate::location::Location;
use crate::variable::{Context, Variable, VariableKind};
use crate::vars::{is_function, passes_by_reference};
use gimli::{constants as dw, AttributeValue};

impl Binary {
    /// The function whose first instruction this is, if `var` is its parameter.
    pub(crate) fn entered(&self, dwarf: &Dwarf, var: &Variable, cx: &Context) -> Option<DieRef> {
        let function = *cx.scopes.last()?;
        let of_this = || dwarf.children(function).iter().any(|c| c.0 == var.die);
        let at_entry = var.kind == VariableKind::Parameter && cx.entry == Some(cx.pc);
        (at_entry && is_function(dwarf, function) && of_this()).then_some(function)
    }

    /// Are the parameters stored by a prologue, and only described behind it?
    pub(crate) fn is_unstored(&self, dwarf: &Dwarf, function: DieRef, entry: u64) -> bool {
        let range = dwarf.ranges(function).into_iter();
        let range = range.into_iter().find(|r| r.contains(&entry));
        let lines = dwarf.lines(function.unit);
        let end = range.and_then(|r| lines.and_then(|l| l.prologue_end(&r)));
        end.is_some_and(|end| end > entry) && self.stores_parameters(dwarf, function, entry)
    }

    /// Others call the function by its name: so its parameters are passed by the convention.
    pub(crate) fn is_called_from_outside(&self, dwarf: &Dwarf, at: DieRef, entry: u64) -> bool {
        let own = AttributeValue::CallingConvention(dw::DW_CC_nocall);
        let global = |s: &crate::symbol::Entry| {
            s.kind.is_code() && s.is_global() && strip_clone(s.name) == Some(s.name)
        };
        let by_convention = dwarf.own_attr(at, dw::DW_AT_calling_convention) != Some(own);
        by_convention
            && matches!(self.language_of(at.unit), Some(Language::C | Language::Cxx))
            && self.symbols().entries_at(entry).any(global)
    }

    /// Where the caller has put `var`, which is a parameter of `function`.
    pub(crate) fn passed(
        &self,
        dwarf: &Dwarf,
        var: &Variable,
        function: DieRef,
    ) -> Result<Location> {
        let types = self.types();
        let unknown = || Error::Unsupported {
            what: format!("how `{}`, a `{}`, is passed", var.name, types.name(var.ty)),
        };
        let has_result = dwarf.attr(function, dw::DW_AT_type).is_some();
        let result = has_result.then(|| dwarf.type_of(function, types));
        let hidden = result.is_some_and(|ty| {
            let by_reference = passes_by_reference(dwarf, function);
            let place = abi::return_location(types, ty, by_reference, &self.machine.abi);
            matches!(place, Ok(Location::Memory(_)))
        });
        let is_c = matches!(
            self.language_of(function.unit),
            Some(Language::C | Language::Cxx)
        );
        let mut arguments = Arguments::new(hidden, &self.machine.abi);
        for p in self.scope_variables(dwarf, function) {
            if p.kind != VariableKind::Parameter {
                continue;
            }
            // Other languages have rules of their own for what is no single word.
            if p.dropped || !(is_c || abi::is_word(types, p.ty, &self.machine.abi)) {
                return Err(unknown());
            }
            let by_reference = passes_by_reference(dwarf, p.die);
            let place = arguments.next(types, p.ty, by_reference);
            if p.die == var.die {
                return place.ok_or_else(unknown);
            }
            place.ok_or_else(unknown)?;
        }
        Err(unknown())
    }
}
