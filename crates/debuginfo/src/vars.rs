// SPDX-License-Identifier: MIT
//! Scopes, variables, and where they are.

use crate::abi;
use crate::abi_rust;
use crate::binary::Binary;
use crate::demangle::nearest;
use crate::die::{text, DieRef};
use crate::dwarf::Dwarf;
use crate::error::{Error, Result};
use crate::find::file_matches;
use crate::function::{Function, FunctionKind, Language};
use crate::lower::Place;
use crate::symbol::SymbolKind;
use crate::type_name::{clang_name, TypeName};
use crate::types::TypeId;
use crate::variable::{Context, ReturnValue, Variable, VariableKind};
use gimli::{constants as dw, AttributeValue};
use std::collections::HashSet;

impl Binary {
    pub(crate) fn place<'a>(
        &'a self,
        dwarf: &'a Dwarf,
        unit: u32,
        pc: u64,
        function: Option<DieRef>,
    ) -> Place<'a> {
        let entry = function.and_then(|f| self.entry_of(dwarf, f));
        Place {
            dwarf,
            cfi: self.cfi(),
            unit,
            pc,
            function,
            at_entry: entry == Some(pc),
        }
    }

    pub(crate) fn make_context(&self, f: &Function, pc: u64) -> Result<Context> {
        let dwarf = self.dwarf()?;
        let die = self.function_die(f)?;
        let mut outer = match f.kind {
            FunctionKind::Inlined => {
                let sub = dwarf.enclosing_subprogram(die).unwrap_or(die);
                path_to(dwarf, sub, die)
            }
            _ => vec![die],
        };
        let entry = outer.first().and_then(|&sub| self.entry_of(dwarf, sub));
        descend(dwarf, &mut outer, pc, false);
        outer.reverse();
        Ok(Context {
            pc,
            function: f.name.to_string(),
            scopes: outer,
            entry,
        })
    }

    pub(crate) fn make_context_at(&self, pc: u64) -> Result<Context> {
        let dwarf = self.dwarf()?;
        let Some(sub) = dwarf.subprogram_at(pc) else {
            self.check_split(dwarf, pc)?;
            return Err(Error::NoDebugInfoAt {
                path: self.path().into(),
                pc,
            });
        };
        let mut scopes = vec![sub];
        descend(dwarf, &mut scopes, pc, true);
        scopes.reverse();
        let function = scopes
            .iter()
            .find(|&&s| is_function(dwarf, s))
            .copied()
            .unwrap_or(sub);
        let function = dwarf.qualified(function).unwrap_or_default();
        Ok(Context {
            pc,
            function,
            scopes,
            entry: self.entry_of(dwarf, sub),
        })
    }

    pub(crate) fn list_variables(&self, cx: &Context) -> Result<Vec<Variable>> {
        let dwarf = self.dwarf()?;
        let mut seen = HashSet::new();
        let mut params = Vec::new();
        let mut locals = Vec::new();
        for &scope in &cx.scopes {
            for v in self.scope_variables(dwarf, scope) {
                if seen.insert(v.name.clone()) {
                    match v.kind {
                        VariableKind::Parameter => params.push(v),
                        _ => locals.push(v),
                    }
                }
            }
        }
        params.extend(locals);
        Ok(params)
    }

    /// The variables that a scope declares itself; those that only its abstract original has are
    /// there too, as dropped.
    pub(crate) fn scope_variables(&self, dwarf: &Dwarf, scope: DieRef) -> Vec<Variable> {
        let mut out = Vec::new();
        let mut present = HashSet::new();
        for (r, tag) in dwarf.children(scope) {
            if !is_variable(tag) {
                continue;
            }
            present.extend(dwarf.origin(r));
            out.extend(self.read_variable(dwarf, r, tag, false));
        }
        let mut original = dwarf.origin(scope);
        while let Some(o) = original {
            for (r, tag) in dwarf.children(o) {
                if is_variable(tag) && present.insert(r) {
                    let v = self.read_variable(dwarf, r, tag, true);
                    out.extend(v.filter(|v| !out.iter().any(|w| w.name == v.name)));
                }
            }
            original = dwarf.origin(o);
        }
        out
    }

    fn read_variable(
        &self,
        dwarf: &Dwarf,
        r: DieRef,
        tag: dw::DwTag,
        from_abstract: bool,
    ) -> Option<Variable> {
        let name = dwarf.name(r).map(text).filter(|n| !n.is_empty())?;
        let location = dwarf.attr(r, dw::DW_AT_location).map(|a| a.0);
        let is_static = match location {
            // DW_OP_addr, DW_OP_addrx
            Some(AttributeValue::Exprloc(e)) => matches!(e.0.slice().first(), Some(0x03 | 0xa1)),
            _ => dwarf.flag(r, dw::DW_AT_declaration) || dwarf.flag(r, dw::DW_AT_external),
        };
        let artificial = dwarf
            .attr(r, dw::DW_AT_artificial)
            .is_some_and(|a| a.0 == AttributeValue::Flag(true));
        let kind = match tag {
            dw::DW_TAG_formal_parameter => VariableKind::Parameter,
            _ if is_static => VariableKind::Global,
            _ => VariableKind::Local,
        };
        let known = location.is_some()
            || kind == VariableKind::Global
            || dwarf.attr(r, dw::DW_AT_const_value).is_some();
        let dropped = from_abstract && !known;
        if dropped && artificial {
            // Of one that has no virtual bases, such as `__in_chrg`: nothing is passed there.
            return None;
        }
        Some(Variable {
            name,
            kind,
            ty: dwarf.type_of(r, self.types()),
            decl: dwarf.declared_at(r),
            artificial,
            die: r,
            dropped,
        })
    }

    pub(crate) fn find_variable(&self, cx: &Context, name: &str) -> Result<Variable> {
        let dwarf = self.dwarf()?;
        for &scope in &cx.scopes {
            let found = self
                .scope_variables(dwarf, scope)
                .into_iter()
                .find(|v| v.name == name);
            if let Some(v) = found {
                return Ok(v);
            }
        }
        let own = cx.scopes.first().map(|s| s.unit);
        if let Some(v) = self
            .globals_named(dwarf, name, None, own)
            .into_iter()
            .next()
        {
            return Ok(v);
        }
        let visible = self
            .list_variables(cx)?
            .into_iter()
            .map(|v| v.name)
            .collect();
        Err(Error::NoVariable {
            name: name.into(),
            visible,
        })
    }

    pub(crate) fn find_global(&self, name: &str, file: Option<&str>) -> Result<Variable> {
        let dwarf = self.dwarf()?;
        if let Some(v) = self
            .globals_named(dwarf, name, file, None)
            .into_iter()
            .next()
        {
            return Ok(v);
        }
        let data = self
            .symbols()
            .iter()
            .filter(|s| s.kind == SymbolKind::Data)
            .map(|s| s.name);
        Err(Error::NoVariable {
            name: name.into(),
            visible: nearest(name, data, 5),
        })
    }

    /// Variables of that (possibly qualified) name, the best first: of `unit`, then definitions.
    fn globals_named(
        &self,
        dwarf: &Dwarf,
        name: &str,
        file: Option<&str>,
        unit: Option<u32>,
    ) -> Vec<Variable> {
        let parts = crate::demangle::components(name);
        let pattern = crate::pattern::NamePattern::new(name);
        let last = parts.last().copied().unwrap_or(name);
        let mut found = Vec::new();
        for (n, e) in dwarf.named(last.as_bytes()) {
            let r = DieRef {
                unit: n,
                offset: e.offset,
            };
            if e.tag != dw::DW_TAG_variable {
                continue;
            }
            if parts.len() > 1 && !dwarf.qualified(r).is_some_and(|q| pattern.matches(&q)) {
                continue;
            }
            if let Some(file) = file {
                let of_unit = dwarf.unit_name(n).is_some_and(|u| file_matches(file, &u));
                let declared = dwarf.declared_at(r);
                if !of_unit && !declared.is_some_and(|d| file_matches(file, &d.file)) {
                    continue;
                }
            }
            let defined = dwarf.own_attr(r, dw::DW_AT_location).is_some()
                || dwarf.own_attr(r, dw::DW_AT_const_value).is_some();
            let external = dwarf.attr(r, dw::DW_AT_external).is_some();
            // A static of another file is somebody else's variable.
            let foreign = unit.is_some_and(|u| u != n);
            let rank = (foreign, !defined, foreign && !external);
            if let Some(mut v) = self.read_variable(dwarf, r, e.tag, false) {
                v.kind = VariableKind::Global;
                found.push((rank, v));
            }
        }
        found.sort_by_key(|f| f.0);
        found.into_iter().map(|f| f.1).collect()
    }

    pub(crate) fn find_return(&self, f: &Function) -> Result<ReturnValue> {
        let dwarf = self.dwarf()?;
        let die = self.function_die(f)?;
        let types = self.types();
        let ty = dwarf.type_of(die, types);
        if dwarf.attr(die, dw::DW_AT_type).is_none() || self.goes_on_at(f.entry) {
            return Err(Error::ReturnsVoid {
                function: f.name.to_string(),
            });
        }
        if result_is_taken(dwarf, die, f) {
            return Err(Error::ResultTaken {
                function: f.linkage_name.as_ref().unwrap_or(&f.name).to_string(),
            });
        }
        let abi = &self.machine.abi;
        let location = match self.is_called_as_rust(die, f) {
            true => abi_rust::return_location(types, ty, abi)?,
            false => abi::return_location(types, ty, passes_by_reference(dwarf, die), abi)?,
        };
        Ok(ReturnValue { ty, location })
    }

    /// What is `extern "C"` mostly has its plain name.
    fn is_called_as_rust(&self, die: DieRef, f: &Function) -> bool {
        let linkage = f.linkage_name.as_deref().unwrap_or_default();
        let mangled = linkage.starts_with("_ZN") || linkage.starts_with("_R");
        mangled && self.language_of(die.unit) == Some(Language::Rust)
    }

    pub(crate) fn find_named_type(&self, name: &str) -> Result<TypeId> {
        let dwarf = self.dwarf()?;
        let none = || Error::NoType {
            name: name.into(),
            path: self.path().into(),
        };
        let wanted = TypeName::parse(name).ok_or_else(none)?;
        let types = self.types();
        let (tag, plain) = (wanted.tag, &wanted.name);
        let mut id = match (tag, plain.as_str()) {
            (None, "void") => types.void(),
            _ => self
                .type_named(dwarf, tag, plain)
                .or_else(|| self.type_named(dwarf, tag, &clang_name(plain)))
                .ok_or_else(none)?,
        };
        for _ in 0..wanted.stars {
            id = types.pointer_to(id, self.machine.abi.word);
        }
        Ok(id)
    }

    fn type_named(&self, dwarf: &Dwarf, tag: Option<&str>, name: &str) -> Option<TypeId> {
        let parts = crate::demangle::components(name);
        let pattern = crate::pattern::NamePattern::new(name);
        let last = *parts.last()?;
        let mut best: Option<(u32, DieRef)> = None;
        for (unit, e) in dwarf.named(last.as_bytes()) {
            let kind = match e.tag {
                dw::DW_TAG_structure_type | dw::DW_TAG_class_type => "struct",
                dw::DW_TAG_union_type => "union",
                dw::DW_TAG_enumeration_type => "enum",
                dw::DW_TAG_typedef => "typedef",
                dw::DW_TAG_base_type => "base",
                _ => continue,
            };
            let right = match tag {
                Some("class") => kind == "struct",
                Some(t) => kind == t,
                None => true,
            };
            let r = DieRef {
                unit,
                offset: e.offset,
            };
            let scoped =
                parts.len() == 1 || dwarf.qualified(r).is_some_and(|q| pattern.matches(&q));
            if !right || !scoped {
                continue;
            }
            let rank = match (e.declaration, kind) {
                (true, _) => 9,
                (_, "typedef" | "base") => 0,
                _ if dwarf.is_in_function(r) => 2,
                _ => 1,
            };
            if best.is_none_or(|b| rank < b.0) {
                best = Some((rank, r));
            }
        }
        best.map(|(_, r)| dwarf.type_id(r, self.types()))
    }
}

fn is_variable(tag: dw::DwTag) -> bool {
    tag == dw::DW_TAG_formal_parameter || tag == dw::DW_TAG_variable
}

pub(crate) fn is_function(dwarf: &Dwarf, r: DieRef) -> bool {
    dwarf.die(r).is_ok_and(|d| {
        matches!(
            d.tag(),
            dw::DW_TAG_subprogram | dw::DW_TAG_inlined_subroutine
        )
    })
}

/// Extend a path of scopes (outermost first) down to the innermost that holds `pc`.
fn descend(dwarf: &Dwarf, path: &mut Vec<DieRef>, pc: u64, inlines: bool) {
    while let Some(&at) = path.last() {
        if path.len() > 256 {
            return;
        }
        let next = dwarf.children(at).into_iter().find(|&(r, tag)| {
            let kind = match tag {
                dw::DW_TAG_lexical_block | dw::DW_TAG_try_block | dw::DW_TAG_catch_block => true,
                dw::DW_TAG_inlined_subroutine => inlines,
                _ => false,
            };
            kind && dwarf.ranges(r).iter().any(|range| range.contains(&pc))
        });
        match next {
            Some((r, _)) => path.push(r),
            None => return,
        }
    }
}

/// The scopes from `from` down to `to`, both included.
fn path_to(dwarf: &Dwarf, from: DieRef, to: DieRef) -> Vec<DieRef> {
    let mut path = vec![from];
    while path.len() < 256 {
        let at = path[path.len() - 1];
        if at == to {
            return path;
        }
        let mut before = dwarf.children(at).into_iter().filter(|(r, tag)| {
            r.offset <= to.offset && !is_variable(*tag) && *tag != dw::DW_TAG_label
        });
        match before.next_back() {
            Some((r, _)) => path.push(r),
            None => break,
        }
    }
    vec![from, to]
}

/// A function whose callers are all known need not return what its source says. Some compilers tell
/// so; of gcc's scalar replacement only the symbol tells that something was taken.
fn result_is_taken(dwarf: &Dwarf, die: DieRef, f: &Function) -> bool {
    let convention = dwarf.own_attr(die, dw::DW_AT_calling_convention);
    let own = convention == Some(AttributeValue::CallingConvention(dw::DW_CC_nocall));
    own || f
        .linkage_name
        .as_ref()
        .is_some_and(|l| l.contains(".isra."))
}

/// C++ classes that are not trivial to copy are returned through memory, whatever their size.
pub(crate) fn passes_by_reference(dwarf: &Dwarf, function: DieRef) -> bool {
    type_behind(dwarf, function).is_some_and(|class| is_nontrivial(dwarf, class, 0))
}

/// The entry of the type of `r`, typedefs and qualifiers looked through.
fn type_behind(dwarf: &Dwarf, r: DieRef) -> Option<DieRef> {
    let mut at = r;
    for _ in 0..16 {
        let (v, from) = dwarf.attr(at, dw::DW_AT_type)?;
        at = dwarf.target(v, from.unit)?;
        let wraps = matches!(
            dwarf.die(at).ok()?.tag(),
            dw::DW_TAG_typedef | dw::DW_TAG_const_type | dw::DW_TAG_volatile_type
        );
        if !wraps {
            return Some(at);
        }
    }
    None
}

/// Whether a class has a copy constructor, a destructor or virtual functions of its own, or a
/// member or base that has. clang says so in an attribute, gcc does not.
fn is_nontrivial(dwarf: &Dwarf, class: DieRef, depth: u32) -> bool {
    let composite = dwarf
        .die(class)
        .is_ok_and(|d| crate::die::is_composite(d.tag()));
    if !composite || depth > 8 {
        return false;
    }
    match dwarf.own_attr(class, dw::DW_AT_calling_convention) {
        Some(AttributeValue::CallingConvention(dw::DW_CC_pass_by_reference)) => return true,
        Some(AttributeValue::CallingConvention(dw::DW_CC_pass_by_value)) => return false,
        _ => {}
    }
    let name = dwarf.name(class).unwrap_or_default();
    let plain = name.split(|b| *b == b'<').next().unwrap_or_default();
    dwarf.children(class).into_iter().any(|(m, tag)| match tag {
        dw::DW_TAG_subprogram => {
            let own = !dwarf.flag(m, dw::DW_AT_artificial)
                && dwarf.own_attr(m, dw::DW_AT_defaulted).is_none();
            let name = dwarf.name(m).unwrap_or_default();
            dwarf.own_attr(m, dw::DW_AT_virtuality).is_some()
                || (own && name.first() == Some(&b'~'))
                || (own && name == plain && copies(dwarf, m, class))
        }
        dw::DW_TAG_inheritance if dwarf.own_attr(m, dw::DW_AT_virtuality).is_some() => true,
        dw::DW_TAG_member | dw::DW_TAG_inheritance => {
            type_behind(dwarf, m).is_some_and(|t| is_nontrivial(dwarf, t, depth + 1))
        }
        _ => false,
    })
}

/// A constructor whose one parameter is a reference to its own class.
fn copies(dwarf: &Dwarf, constructor: DieRef, class: DieRef) -> bool {
    let mut params = dwarf.children(constructor).into_iter().filter(|(p, tag)| {
        *tag == dw::DW_TAG_formal_parameter && !dwarf.flag(*p, dw::DW_AT_artificial)
    });
    let (Some((p, _)), None) = (params.next(), params.next()) else {
        return false;
    };
    let Some(reference) = type_behind(dwarf, p) else {
        return false;
    };
    let is_reference = dwarf.die(reference).is_ok_and(|d| {
        matches!(
            d.tag(),
            dw::DW_TAG_reference_type | dw::DW_TAG_rvalue_reference_type
        )
    });
    is_reference && type_behind(dwarf, reference) == Some(class)
}
