// SPDX-License-Identifier: MIT
//! The named entries of one unit, and the walks over its tree.

use crate::die::{is_composite, text, DieRef, Entry, Unit, Value, R};
use crate::dwarf::Dwarf;
use gimli::{constants as dw, AttributeValue, UnitOffset};
use std::ops::Range;

const NO_PARENT: u32 = u32::MAX;

impl Dwarf {
    /// The named entries of a unit, by offset.
    pub fn index(&self, n: u32) -> &[Entry] {
        let slot = self.units.get(n as usize).map(|s| &s.index);
        let Some(index) = slot.or_else(|| Some(&self.type_unit(n)?.index)) else {
            return &[];
        };
        index.get_or_init(|| {
            let mut index = Vec::new();
            // A damaged unit is indexed up to the damage.
            let _ = self.build_index(n, &mut index);
            self.inherit_names(n, &mut index);
            index.shrink_to_fit();
            index
        })
    }

    fn build_index(&self, n: u32, index: &mut Vec<Entry>) -> std::result::Result<(), gimli::Error> {
        let Ok(unit) = self.unit(n) else {
            return Ok(());
        };
        let plain_c = self.is_c(n);
        // (depth, index of the entry) of the scopes around.
        let mut stack: Vec<(isize, u32)> = Vec::new();
        let mut raw = unit.entries_raw(None)?;
        let mut base = 0; // depth at which `raw` began
        let mut skip_below = isize::MAX;
        while !raw.is_empty() {
            let offset = raw.next_offset();
            let depth = base + raw.next_depth();
            let Some(abbrev) = raw.read_abbreviation()? else {
                continue;
            };
            if depth > skip_below {
                raw.skip_attributes(abbrev.attributes())?;
                continue;
            }
            skip_below = isize::MAX;
            while let Some(&(_, own)) = stack.last().filter(|s| s.0 >= depth) {
                if let Some(e) = index.get_mut(own as usize) {
                    e.end = offset.0;
                }
                stack.pop();
            }
            let tag = abbrev.tag();
            let parent = stack.last().map_or(NO_PARENT, |s| s.1);
            let keep = match is_local(index, parent) {
                true => tag == dw::DW_TAG_subprogram || (!plain_c && is_composite(tag)),
                false => is_indexed(tag) || is_static_member(abbrev),
            };
            let enter = abbrev.has_children() && is_scope(tag, plain_c);
            let mut sibling = None;
            if keep {
                let e = self.read_entry(n, unit, &mut raw, abbrev, &mut sibling)?;
                index.push(Entry {
                    offset: offset.0,
                    parent,
                    ..e
                });
            } else if !abbrev.has_children() {
                raw.skip_attributes(abbrev.attributes())?;
            } else {
                for &spec in abbrev.attributes() {
                    if spec.name() == dw::DW_AT_sibling {
                        sibling = unit_ref(raw.read_attribute(spec)?.value());
                    } else {
                        raw.skip_attributes(&[spec])?;
                    }
                }
            }
            if enter {
                let own = if keep { index.len() as u32 - 1 } else { parent };
                if let Some(e) = index.get_mut(own as usize) {
                    e.end = usize::MAX;
                }
                stack.push((depth, own));
            } else if abbrev.has_children() {
                match sibling {
                    Some(to) if to > offset => {
                        raw = unit.entries_raw(Some(to))?;
                        base = depth;
                    }
                    _ => skip_below = depth,
                }
            }
        }
        Ok(())
    }

    fn read_entry(
        &self,
        n: u32,
        unit: &Unit,
        raw: &mut gimli::EntriesRaw<'_, '_, R>,
        abbrev: &gimli::Abbreviation,
        sibling: &mut Option<UnitOffset>,
    ) -> std::result::Result<Entry, gimli::Error> {
        let dwarf = self.dwarf_of(n);
        let mut high = None;
        let mut e = Entry {
            offset: 0,
            end: 0,
            parent: NO_PARENT,
            tag: abbrev.tag(),
            name: None,
            linkage: None,
            declaration: false,
            low: None,
            high: 0,
            has_ranges: false,
            origin: None,
        };
        for &spec in abbrev.attributes() {
            let v = match spec.name() {
                dw::DW_AT_sibling
                | dw::DW_AT_low_pc
                | dw::DW_AT_high_pc
                | dw::DW_AT_ranges
                | dw::DW_AT_name
                | dw::DW_AT_linkage_name
                | dw::DW_AT_MIPS_linkage_name
                | dw::DW_AT_declaration
                | dw::DW_AT_abstract_origin
                | dw::DW_AT_specification => raw.read_attribute(spec)?.value(),
                _ => {
                    raw.skip_attributes(&[spec])?;
                    continue;
                }
            };
            match spec.name() {
                dw::DW_AT_sibling => *sibling = unit_ref(v),
                dw::DW_AT_low_pc => e.low = dwarf.attr_address(unit, v).unwrap_or(None),
                dw::DW_AT_high_pc => high = Some(v),
                dw::DW_AT_ranges => e.has_ranges = true,
                dw::DW_AT_name => e.name = self.string(v, n),
                dw::DW_AT_declaration => e.declaration = v == AttributeValue::Flag(true),
                dw::DW_AT_abstract_origin | dw::DW_AT_specification => {
                    e.origin = self.target(v, n);
                }
                _ => e.linkage = self.string(v, n),
            }
        }
        e.high = match (e.low, high) {
            (Some(_), Some(v @ (AttributeValue::Addr(_) | AttributeValue::DebugAddrIndex(_)))) => {
                dwarf.attr_address(unit, v).unwrap_or(None).unwrap_or(0)
            }
            (Some(low), Some(v)) => low.saturating_add(v.udata_value().unwrap_or(0)),
            _ => 0,
        };
        Ok(e)
    }

    /// Definitions and instances are named by what they refer to.
    fn inherit_names(&self, n: u32, index: &mut [Entry]) {
        for i in 0..index.len() {
            let (Some(origin), None) = (index[i].origin, index[i].name) else {
                continue;
            };
            let own = (origin.unit == n)
                .then(|| {
                    index
                        .binary_search_by_key(&origin.offset, |e| e.offset)
                        .ok()
                })
                .flatten()
                .map(|j| (index[j].name, index[j].linkage));
            let (name, linkage) = match own {
                Some((Some(name), linkage)) => (Some(name), linkage),
                _ => (self.name(origin), self.linkage_name(origin)),
            };
            index[i].name = name;
            index[i].linkage = index[i].linkage.or(linkage);
        }
    }

    /// The index entry of a DIE.
    pub fn entry(&self, r: DieRef) -> Option<&Entry> {
        let index = self.index(r.unit);
        index
            .binary_search_by_key(&r.offset, |e| e.offset)
            .ok()
            .map(|i| &index[i])
    }

    /// `ns::C::f` of an entry, by its declaration.
    pub fn qualified(&self, r: DieRef) -> Option<String> {
        self.qualified_up(r, 64)
    }

    /// With at most `depth` scopes: those of a damaged file may stand in each other.
    fn qualified_up(&self, r: DieRef, depth: u32) -> Option<String> {
        let mut r = r;
        let mut e = self.entry(r);
        for _ in 0..16 {
            let Some(to) = e.map_or_else(|| self.origin(r), |e| e.origin) else {
                break;
            };
            r = to;
            e = self.entry(r);
        }
        let Some(e) = e else {
            return self.name(r).map(text);
        };
        Some(match self.scope(r.unit, e, depth) {
            Some(scope) => format!("{scope}::{}", text(e.name?)),
            None => text(e.name?),
        })
    }

    /// The name of what an entry stands in. C++ alone has functions as scopes.
    fn scope(&self, unit: u32, e: &Entry, depth: u32) -> Option<String> {
        let p = self.index(unit).get(e.parent as usize)?;
        let (offset, depth) = (p.offset, depth.checked_sub(1)?);
        let name = match p.tag {
            dw::DW_TAG_subprogram if self.is_cxx(unit) => {
                return self.qualified_up(DieRef { unit, offset }, depth);
            }
            dw::DW_TAG_namespace => p.name.map_or("(anonymous namespace)".into(), text),
            tag if is_composite(tag) => p.name.map_or("(anonymous type)".into(), text),
            _ => return self.scope(unit, p, depth),
        };
        Some(match self.scope(unit, p, depth) {
            Some(scope) => format!("{scope}::{name}"),
            None => name,
        })
    }

    /// Whether an entry stands inside a function.
    pub fn is_in_function(&self, r: DieRef) -> bool {
        let parent = self.entry(r).map_or(NO_PARENT, |e| e.parent);
        is_local(self.index(r.unit), parent)
    }

    /// The out-of-line function whose code holds the address.
    pub fn subprogram_at(&self, pc: u64) -> Option<DieRef> {
        let unit = self.unit_at(pc)?;
        let parts = self.code(unit);
        let end = parts.partition_point(|(r, _)| r.start <= pc);
        // A function that begins here comes before one that merely reaches here.
        let near = parts[..end].iter().rev().take(8);
        let (_, offset) = near.clone().find(|(r, _)| r.start == pc).or_else(|| {
            let mut near = near;
            near.find(|(r, _)| r.contains(&pc))
        })?;
        Some(DieRef {
            unit,
            offset: *offset,
        })
    }

    /// The parts of a unit's functions, by address.
    fn code(&self, n: u32) -> &[(Range<u64>, usize)] {
        let Some(slot) = self.units.get(n as usize) else {
            return &[];
        };
        slot.code.get_or_init(|| {
            let mut parts = Vec::new();
            for e in self
                .index(n)
                .iter()
                .filter(|e| e.tag == dw::DW_TAG_subprogram)
            {
                match (e.low, e.has_ranges) {
                    (Some(low), false) if low < e.high => parts.push((low..e.high, e.offset)),
                    (_, true) => {
                        let r = DieRef {
                            unit: n,
                            offset: e.offset,
                        };
                        parts.extend(self.ranges(r).into_iter().map(|r| (r, e.offset)));
                    }
                    _ => {}
                }
            }
            parts.sort_by_key(|(r, _)| r.start);
            parts
        })
    }

    /// The out-of-line function that an inlined instance or a block stands in.
    pub fn enclosing_subprogram(&self, r: DieRef) -> Option<DieRef> {
        let index = self.index(r.unit);
        let i = index.partition_point(|e| e.offset <= r.offset);
        let e = index[..i]
            .iter()
            .rev()
            .find(|e| e.tag == dw::DW_TAG_subprogram && r.offset < e.end)?;
        Some(DieRef {
            unit: r.unit,
            offset: e.offset,
        })
    }

    /// The inlined calls in a unit of the functions that `wanted` accepts by their abstract entry.
    pub fn inlined(&self, n: u32, mut wanted: impl FnMut(DieRef) -> bool) -> Vec<(DieRef, DieRef)> {
        let mut out = Vec::new();
        let _ = self.walk_inlined(n, &mut |at, origin, within| {
            if wanted(origin) && !(within == Some(origin) && self.is_rest(at, origin)) {
                out.push((at, origin));
            }
        });
        out
    }

    /// Of what is inlined somewhere the unit says so; one of gcc's that was written before it was
    /// known what is (-flto) has no code.
    pub fn may_be_inlined(&self, r: DieRef) -> bool {
        let has = |at| self.root_attr(r.unit, at).is_some();
        self.own_attr(r, dw::DW_AT_inline).is_some()
            || !(has(dw::DW_AT_low_pc) || has(dw::DW_AT_ranges))
    }

    /// Whether an instance within its own function is no call, but the function's rest: gcc splits
    /// a function (`f.part.0`), and where it takes the rest back, the call stands at the
    /// declaration.
    fn is_rest(&self, at: DieRef, origin: DieRef) -> bool {
        let same = |call, declared| self.number(at, call) == self.number(origin, declared);
        same(dw::DW_AT_call_line, dw::DW_AT_decl_line)
            && same(dw::DW_AT_call_column, dw::DW_AT_decl_column)
    }

    /// Each inlined instance, the abstract entry of its function, and that of the function or
    /// instance which it stands in.
    fn walk_inlined(
        &self,
        n: u32,
        found: &mut dyn FnMut(DieRef, DieRef, Option<DieRef>),
    ) -> std::result::Result<(), gimli::Error> {
        let Ok(unit) = self.unit(n) else {
            return Ok(());
        };
        let mut within: Vec<(isize, DieRef)> = Vec::new();
        let mut raw = unit.entries_raw(None)?;
        while !raw.is_empty() {
            let (offset, depth) = (raw.next_offset().0, raw.next_depth());
            let Some(abbrev) = raw.read_abbreviation()? else {
                continue;
            };
            let tag = abbrev.tag();
            if tag != dw::DW_TAG_inlined_subroutine && tag != dw::DW_TAG_subprogram {
                raw.skip_attributes(abbrev.attributes())?;
                continue;
            }
            let mut origin = None;
            for &spec in abbrev.attributes() {
                if spec.name() != dw::DW_AT_abstract_origin {
                    raw.skip_attributes(&[spec])?;
                } else {
                    origin = self.target(raw.read_attribute(spec)?.value(), n);
                }
            }
            while within.last().is_some_and(|w| w.0 >= depth) {
                within.pop();
            }
            let at = DieRef { unit: n, offset };
            if let (dw::DW_TAG_inlined_subroutine, Some(o)) = (tag, origin) {
                found(at, o, within.last().map(|w| w.1));
            }
            within.push((depth, origin.unwrap_or(at)));
        }
        Ok(())
    }

    /// The direct children of an entry, with their tags.
    pub fn children(&self, r: DieRef) -> Vec<(DieRef, dw::DwTag)> {
        let mut out = Vec::new();
        let Ok(unit) = self.unit(r.unit) else {
            return out;
        };
        let Ok(mut cursor) = unit.entries_at_offset(UnitOffset(r.offset)) else {
            return out;
        };
        let mut first = || {
            let (_, die) = cursor.next_dfs().ok()??;
            if !die.has_children() {
                return None;
            }
            match cursor.next_dfs().ok()? {
                Some((1, _)) => Some(cursor.clone()),
                _ => None,
            }
        };
        let Some(mut cursor) = first() else {
            return out;
        };
        while let Some(die) = cursor.current() {
            out.push((
                DieRef {
                    unit: r.unit,
                    offset: die.offset().0,
                },
                die.tag(),
            ));
            if !matches!(cursor.next_sibling(), Ok(Some(_))) {
                break;
            }
        }
        out
    }
}

fn unit_ref(v: Value) -> Option<UnitOffset> {
    match v {
        AttributeValue::UnitRef(o) => Some(o),
        _ => None,
    }
}
fn is_indexed(tag: dw::DwTag) -> bool {
    is_composite(tag)
        || matches!(
            tag,
            dw::DW_TAG_subprogram
                | dw::DW_TAG_namespace
                | dw::DW_TAG_enumeration_type
                | dw::DW_TAG_typedef
                | dw::DW_TAG_base_type
                | dw::DW_TAG_variable
                | dw::DW_TAG_unspecified_type
        )
}

/// A static member, as DWARF 4 declares it.
fn is_static_member(abbrev: &gimli::Abbreviation) -> bool {
    abbrev.tag() == dw::DW_TAG_member
        && abbrev
            .attributes()
            .iter()
            .any(|a| a.name() == dw::DW_AT_external)
}

/// Whether `at`, or what that stands in, is a function.
fn is_local(index: &[Entry], at: u32) -> bool {
    let mut at = at;
    while let Some(e) = index.get(at as usize) {
        if e.tag == dw::DW_TAG_subprogram {
            return true;
        }
        at = e.parent;
    }
    false
}

/// Whether an entry's children can be named from outside, or functions stand among them.
fn is_scope(tag: dw::DwTag, plain_c: bool) -> bool {
    matches!(
        tag,
        dw::DW_TAG_compile_unit
            | dw::DW_TAG_partial_unit
            | dw::DW_TAG_type_unit
            | dw::DW_TAG_namespace
            | dw::DW_TAG_module
            | dw::DW_TAG_subprogram
            | dw::DW_TAG_inlined_subroutine
            | dw::DW_TAG_lexical_block
            | dw::DW_TAG_try_block
            | dw::DW_TAG_catch_block
    ) || (!plain_c && (is_composite(tag) || tag == dw::DW_TAG_enumeration_type))
}
