// SPDX-License-Identifier: MIT
//! Where a function will keep a parameter that comes in a register: the address, as the registers at the
//! function's first instruction give it.

use crate::binary::Binary;
use crate::cfi::Cfa;
use crate::die::DieRef;
use crate::dwarf::Dwarf;
use crate::error::{Error, Result};
use crate::location::{LocOp, Location};
use crate::variable::{Context, Variable};
use gimli::constants as dw;

impl Binary {
    pub(crate) fn find_home(&self, var: &Variable, cx: &Context) -> Result<Location> {
        let dwarf = self.dwarf()?;
        let none = || Error::Unsupported {
            what: format!("the address of `{}`, which has none", var.name),
        };
        let function = self.entered(dwarf, var, cx).ok_or_else(none)?;
        let mut homes: Vec<Vec<LocOp>> = self
            .places_behind(dwarf, var, function, cx.pc)
            .into_iter()
            .filter_map(|pc| self.home_at(dwarf, var, function, pc))
            .collect();
        homes.dedup();
        match homes.pop() {
            // In several places one after the other it has no one address.
            Some(home) if homes.is_empty() => Ok(Location::Memory(home)),
            _ => Err(none()),
        }
    }

    /// Places in the function that between them have each of the variable's locations.
    fn places_behind(
        &self,
        dwarf: &Dwarf,
        var: &Variable,
        function: DieRef,
        entry: u64,
    ) -> Vec<u64> {
        let list = || {
            let (v, at) = dwarf.attr(var.die, dw::DW_AT_location)?;
            let unit = dwarf.unit(at.unit).ok()?;
            dwarf.dwarf_of(at.unit).attr_locations(unit, v).ok()?
        };
        let Some(mut list) = list() else {
            let range = dwarf.ranges(function).into_iter();
            let range = range.into_iter().find(|r| r.contains(&entry));
            let lines = dwarf.lines(function.unit);
            let end = range.and_then(|r| lines.and_then(|l| l.prologue_end(&r)));
            return vec![end.unwrap_or(entry)];
        };
        let mut found = Vec::new();
        while let Ok(Some(e)) = list.next() {
            if e.range.begin < e.range.end {
                found.push(e.range.begin);
            }
        }
        found
    }

    /// The address that it has at `pc`, seen from the entry.
    fn home_at(
        &self,
        dwarf: &Dwarf,
        var: &Variable,
        function: DieRef,
        pc: u64,
    ) -> Option<Vec<LocOp>> {
        let (v, at) = dwarf.attr(var.die, dw::DW_AT_location)?;
        let place = self.place(dwarf, at.unit, pc, Some(function));
        let Location::Memory(ops) = place.location(v).ok()?? else {
            return None;
        };
        let Cfa::Register(base, above) = self.cfi().cfa(pc)? else {
            return None;
        };
        let LocOp::Reg(register) = *ops.first()? else {
            return None;
        };
        let abi = &self.machine.abi;
        let mut offset = i64::from(abi.pushed_by_call()) - above;
        for op in &ops[1..] {
            let LocOp::PlusConst(n) = op else { return None };
            offset = offset.wrapping_add(*n as i64);
        }
        let home = vec![
            LocOp::Reg(abi.registers.stack_pointer),
            LocOp::PlusConst(offset as u64),
        ];
        (register == base).then_some(home)
    }
}
