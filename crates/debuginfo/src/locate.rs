// SPDX-License-Identifier: MIT
//! Where a variable is at one place, and where else it is if it is not there.

use crate::binary::Binary;
use crate::die::{text, DieRef};
use crate::dwarf::Dwarf;
use crate::error::{Error, Result};
use crate::function::{LineSpec, Pattern};
use crate::location::{LocOp, Location, Piece, Pointed};
use crate::source::SourcePos;
use crate::symbol::SymbolKind;
use crate::variable::{Context, Variable, VariableKind};
use gimli::{constants as dw, AttributeValue};
use std::collections::BTreeMap;

impl Binary {
    pub(crate) fn find_location(&self, var: &Variable, cx: &Context) -> Result<Location> {
        let dwarf = self.dwarf()?;
        let entered = self.entered(dwarf, var, cx);
        if let Some(f) = entered.filter(|f| self.is_unstored(dwarf, *f, cx.pc)) {
            return match self.goes_on_at(cx.pc) {
                true => Err(gone(var, cx, false)),
                false => self.passed(dwarf, var, f),
            };
        }
        match self.described(dwarf, var, cx) {
            // A function that uses it elsewhere has it from its caller.
            Err(gone @ Error::OptimizedOut { .. }) => {
                let used = || self.has_places(dwarf, var);
                let convention = |f: &DieRef| self.is_called_from_outside(dwarf, *f, cx.pc);
                let caller = entered.filter(|f| used() && convention(f));
                let passed = caller.and_then(|f| self.passed(dwarf, var, f).ok());
                passed.ok_or(gone)
            }
            Ok(Location::Pointer(p)) if !self.leads_somewhere(&p, cx) => Err(gone(var, cx, false)),
            found => found,
        }
    }

    /// Where the debug information has it.
    fn described(&self, dwarf: &Dwarf, var: &Variable, cx: &Context) -> Result<Location> {
        let gone = || gone(var, cx, false);
        if var.dropped {
            return Err(gone());
        }
        let Some((v, at)) = dwarf.attr(var.die, dw::DW_AT_location) else {
            if let Some((v, at)) = dwarf.attr(var.die, dw::DW_AT_const_value) {
                return self.constant(dwarf, v, at, var);
            }
            if var.kind == VariableKind::Global {
                return self.defined_elsewhere(dwarf, var).ok_or_else(gone);
            }
            return Err(gone());
        };
        let function = cx.scopes.last().copied();
        match self.place(dwarf, at.unit, cx.pc, function).location(v)? {
            Some(Location::Pieces(mut pieces)) => {
                let unknown = cx.entry.is_none();
                for p in pieces
                    .iter_mut()
                    .filter(|p| unknown && p.place.needs_entry())
                {
                    p.place = Location::OptimizedOut;
                }
                Ok(Location::Pieces(fill(pieces, self.types().size(var.ty))))
            }
            Some(Location::OptimizedOut) | None => Err(gone()),
            Some(Location::Pointer(p)) => Ok(Location::Pointer(self.sized(dwarf, p))),
            Some(place) if place.needs_entry() && cx.entry.is_none() => {
                Err(self::gone(var, cx, true))
            }
            Some(place) => Ok(place),
        }
    }

    pub(crate) fn find_pointed(&self, p: &Pointed, cx: &Context) -> Result<Location> {
        let dwarf = self.dwarf()?;
        self.described(dwarf, &self.pointed_variable(dwarf, p), cx)
    }

    /// Some have no name: they were made for the pointer alone.
    fn pointed_variable(&self, dwarf: &Dwarf, p: &Pointed) -> Variable {
        let name = dwarf.name(p.die).map(text);
        Variable {
            name: name.unwrap_or_else(|| "(what it points to)".into()),
            kind: VariableKind::Local,
            ty: dwarf.type_of(p.die, self.types()),
            decl: None,
            artificial: true,
            die: p.die,
            dropped: false,
        }
    }

    fn sized(&self, dwarf: &Dwarf, p: Pointed) -> Pointed {
        let ty = self.pointed_variable(dwarf, &p).ty;
        let size = self.types().size(ty).unwrap_or(0);
        Pointed { size, ..p }
    }

    /// Whether what such a pointer points to, through others like it, is there.
    fn leads_somewhere(&self, p: &Pointed, cx: &Context) -> bool {
        let mut at = p.clone();
        for _ in 0..8 {
            match self.find_pointed(&at, cx) {
                Ok(Location::Pointer(next)) => at = next,
                found => return found.is_ok(),
            }
        }
        false
    }

    /// Whether a list of places has it anywhere.
    fn has_places(&self, dwarf: &Dwarf, var: &Variable) -> bool {
        let list = || {
            let (v, at) = dwarf.attr(var.die, dw::DW_AT_location)?;
            let unit = dwarf.unit(at.unit).ok()?;
            let mut list = dwarf.dwarf_of(at.unit).attr_locations(unit, v).ok()??;
            list.next().ok()?
        };
        list().is_some()
    }

    pub(crate) fn look_elsewhere(&self, e: Error, var: &Variable, cx: &Context) -> Error {
        match e {
            Error::OptimizedOut {
                name,
                function,
                pc,
                at_entry,
                ..
            } => Error::OptimizedOut {
                name,
                function,
                pc,
                at_entry,
                readable_at: self.readable_line(var, cx),
            },
            e => e,
        }
    }

    /// The nearest line with a statement of the same function where the variable can be read.
    fn readable_line(&self, var: &Variable, cx: &Context) -> Option<SourcePos> {
        let here = self.find_source(cx.pc)?;
        let every = Pattern {
            function: cx.function.clone(),
            parameters: None,
            file: Some(here.file.clone()),
            line: LineSpec::All,
        };
        let mut lines: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for s in self.find_statements(&every, false).ok()? {
            lines.entry(s.source.line).or_default().push(s.addr);
        }
        let mut lines: Vec<(u64, Vec<u64>)> = lines.into_iter().collect();
        lines.sort_by_key(|(line, _)| (line.abs_diff(here.line), *line < here.line));
        let readable = |pc: &u64| {
            let cx = self.make_context_at(*pc).ok()?;
            let found = self.find_variable(&cx, &var.name).ok()?;
            let whole = self.find_location(&found, &cx).ok()?;
            (found.kind == var.kind && whole.is_readable()).then_some(())
        };
        // A line may have several statements, in copies of the function: all are probed.
        let (line, _) = lines
            .into_iter()
            .find(|(_, all)| all.iter().all(|pc| readable(pc).is_some()))?;
        Some(SourcePos {
            line,
            column: 0,
            ..here
        })
    }

    fn constant(
        &self,
        dwarf: &Dwarf,
        v: crate::die::Value,
        at: DieRef,
        var: &Variable,
    ) -> Result<Location> {
        let signed = self.types().is_signed(var.ty);
        let word = match v {
            AttributeValue::Block(b) => return Ok(Location::Bytes(b.slice().to_vec())),
            AttributeValue::Sdata(n) => Some(n as u64),
            AttributeValue::Addr(a) => return Ok(Location::Value(vec![LocOp::Addr(a)])),
            v if signed => v.sdata_value().map(|n| n as u64),
            v => v.udata_value(),
        };
        if let Some(n) = word {
            return Ok(Location::Value(vec![LocOp::Const(n)]));
        }
        let mut bytes = dwarf
            .string(v, at.unit)
            .ok_or(Error::Unsupported {
                what: format!("the constant `{}`", var.name),
            })?
            .to_vec();
        bytes.push(0);
        Ok(Location::Bytes(bytes))
    }

    /// A variable that is only declared where it was found: its definition, or its symbol.
    fn defined_elsewhere(&self, dwarf: &Dwarf, var: &Variable) -> Option<Location> {
        let linkage = dwarf.linkage_name(var.die).map(text);
        let name = linkage.as_deref().unwrap_or(&var.name);
        let local = var.name.rsplit("::").next().unwrap_or(&var.name);
        for (n, e) in dwarf.named(local.as_bytes()) {
            let r = DieRef {
                unit: n,
                offset: e.offset,
            };
            let external = dwarf.attr(r, dw::DW_AT_external).is_some();
            let same = e.tag == dw::DW_TAG_variable
                && external
                && dwarf.linkage_name(r).map(text) == linkage;
            if let Some(v) = dwarf.own_attr(r, dw::DW_AT_location).filter(|_| same) {
                if let Ok(Some(place)) = self.place(dwarf, n, 0, None).location(v) {
                    return Some(place);
                }
            }
        }
        let symbol = self
            .symbols()
            .named(name)
            .find(|s| matches!(s.kind, SymbolKind::Data | SymbolKind::Tls))?;
        let op = match symbol.kind {
            SymbolKind::Tls => LocOp::Tls(symbol.addr),
            _ => LocOp::Addr(symbol.addr),
        };
        Some(Location::Memory(vec![op]))
    }
}

fn gone(var: &Variable, cx: &Context, at_entry: bool) -> Error {
    Error::OptimizedOut {
        name: var.name.clone(),
        function: cx.function.clone(),
        pc: cx.pc,
        at_entry,
        readable_at: None,
    }
}

/// Pieces may end before the variable does: the rest is missing.
fn fill(mut pieces: Vec<Piece>, size: Option<u64>) -> Vec<Piece> {
    let have: u64 = pieces.iter().map(|p| u64::from(p.bits)).sum();
    let missing = size.unwrap_or(0).saturating_mul(8).saturating_sub(have);
    if let Ok(bits @ 1..) = u32::try_from(missing) {
        pieces.push(Piece {
            bits,
            bit_offset: 0,
            place: Location::OptimizedOut,
        });
    }
    pieces
}
