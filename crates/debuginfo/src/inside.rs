// SPDX-License-Identifier: MIT
//! What lies inside a function: its labels, and the calls that it makes itself.

use crate::binary::Binary;
use crate::die::{text, DieRef};
use crate::dwarf::Dwarf;
use crate::error::Result;
use crate::find::is_among;
use crate::function::{Function, FunctionKind, Inlines, Pattern};
use crate::source::SourcePos;
use gimli::constants as dw;
use trapless_machine::{Branch, Machine};

/// A label of C.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    pub name: String,
    pub addr: u64,
    pub source: Option<SourcePos>,
}

/// How a function comes to another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallKind {
    /// It holds a copy.
    Inlined,
    /// It calls, and goes on at these addresses.
    Call(Vec<u64>),
    /// It jumps there at its end, at this address, with registers and stack as the other one finds them.
    Jump(u64),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callee {
    pub function: Function,
    pub kind: CallKind,
}

/// As the code has it.
#[derive(Default)]
struct Inside {
    labels: Vec<(DieRef, u64)>,
    copies: Vec<DieRef>,
    /// Target and return address.
    calls: Vec<(u64, u64)>,
    /// Target and the jump's own address.
    jumps: Vec<(u64, u64)>,
}

impl Binary {
    /// Whether the pattern names the label's line, or none.
    pub fn names_line(&self, p: &Pattern, f: &Function, l: &Label) -> bool {
        let spans = self.spans(p, std::slice::from_ref(f));
        is_among(l.source.as_ref().map_or(0, |s| s.line), spans.as_deref())
    }

    /// The labels of `f` that code was made for.
    pub fn labels(&self, f: &Function) -> Result<Vec<Label>> {
        let dwarf = self.dwarf()?;
        let mut inside = Inside::default();
        self.look_inside(dwarf, self.function_die(f)?, &mut inside);
        let label = |(die, addr): (DieRef, u64)| {
            Some(Label {
                name: text(dwarf.name(die)?),
                addr,
                source: dwarf.declared_at(die),
            })
        };
        let coded = inside.labels.into_iter().filter(|l| self.is_code(l.1));
        Ok(coded.filter_map(label).collect())
    }

    /// The functions of this file that `f` calls, of those that match. Calls by pointers and to other files are not
    /// among them, nor those made by what is inlined into `f`.
    pub fn callees(&self, f: &Function, pattern: &Pattern) -> Result<Vec<Callee>> {
        let dwarf = self.dwarf()?;
        let mut inside = Inside::default();
        self.look_inside(dwarf, self.function_die(f)?, &mut inside);
        let mut found = Vec::new();
        for function in self.find_functions(pattern, Inlines::Also)? {
            let add = |kind| {
                let function = function.clone();
                found.push(Callee { function, kind });
            };
            inside.kinds(&function).into_iter().for_each(add);
        }
        Ok(found)
    }

    fn look_inside(&self, dwarf: &Dwarf, die: DieRef, out: &mut Inside) {
        for (child, tag) in dwarf.children(die) {
            match tag {
                dw::DW_TAG_label => {
                    out.labels
                        .extend(self.entry_of(dwarf, child).map(|pc| (child, pc)));
                }
                dw::DW_TAG_inlined_subroutine => out.copies.push(child),
                dw::DW_TAG_call_site | dw::DW_TAG_GNU_call_site => self.call(dwarf, child, out),
                dw::DW_TAG_lexical_block | dw::DW_TAG_try_block | dw::DW_TAG_catch_block => {
                    self.look_inside(dwarf, child, out);
                }
                _ => {}
            }
        }
    }

    /// Where it leads to tells the instruction: functions have clones.
    fn call(&self, dwarf: &Dwarf, site: DieRef, out: &mut Inside) {
        let tail =
            dwarf.flag(site, dw::DW_AT_call_tail_call) || dwarf.flag(site, dw::DW_AT_GNU_tail_call);
        let at = |name| match dwarf.own_attr(site, name) {
            Some(gimli::AttributeValue::Addr(a)) => Some(a),
            Some(gimli::AttributeValue::DebugAddrIndex(i)) => {
                let unit = dwarf.unit(site.unit).ok()?;
                dwarf.dwarf_of(site.unit).address(unit, i).ok()
            }
            _ => None,
        };
        let behind = at(dw::DW_AT_call_return_pc).or_else(|| at(dw::DW_AT_low_pc));
        let Machine { calls, jumps, .. } = self.machine;
        if !tail {
            let call = |b: &Branch| self.led_to(behind?.checked_sub(b.size)?, b);
            let target = calls.iter().find_map(call);
            out.calls.extend(target.zip(behind));
            return;
        }
        let before = jumps.iter().map(|b| Some(behind?.wrapping_sub(b.size)));
        let mut starts = std::iter::once(at(dw::DW_AT_call_pc))
            .chain(before)
            .flatten();
        let jump = starts.find_map(|at| {
            let target = jumps.iter().find_map(|b| self.led_to(at, b))?;
            Some((target, at))
        });
        out.jumps.extend(jump);
    }

    /// Where the direct call or jump at `at` leads, if it is one of those.
    fn led_to(&self, at: u64, branch: &Branch) -> Option<u64> {
        (branch.target)(at, self.bytes(at, branch.size as usize)?)
    }
}

impl Inside {
    fn kinds(&self, f: &Function) -> Vec<CallKind> {
        if f.kind == FunctionKind::Inlined {
            let here = f.die.is_some_and(|d| self.copies.contains(&d));
            return if here {
                vec![CallKind::Inlined]
            } else {
                vec![]
            };
        }
        let to = |list: &[(u64, u64)]| -> Vec<u64> {
            let here = list.iter().filter(|c| c.0 == f.entry);
            here.map(|c| c.1).collect()
        };
        let mut kinds: Vec<CallKind> = to(&self.jumps).into_iter().map(CallKind::Jump).collect();
        let calls = to(&self.calls);
        if !calls.is_empty() {
            kinds.push(CallKind::Call(calls));
        }
        kinds
    }
}
