// SPDX-License-Identifier: MIT
//! The units of the debug information and their entries, each read when first asked for.

use crate::elf::Elf;
use crate::error::{Error, Result};
use crate::function::SourcePos;
use crate::lines::{file_table, Lines};
use crate::storage::Storage;
use gimli::{
    constants as dw, AttributeValue, DebuggingInformationEntry, EndianSlice, Endianity, Reader,
    RunTimeEndian, Section, UnitHeader, UnitOffset,
};
use memchr::memmem;
use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};

pub(crate) type R = EndianSlice<'static, RunTimeEndian>;
pub(crate) type Unit = gimli::Unit<R>;
pub(crate) type Die<'u> = DebuggingInformationEntry<'u, 'u, R>;
pub(crate) type Value = AttributeValue<R>;

/// One entry: unit number and offset in the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DieRef {
    pub unit: u32,
    pub offset: usize,
}

const OFFSET_BITS: u32 = 38;

impl DieRef {
    pub fn key(self) -> u64 {
        (u64::from(self.unit) << OFFSET_BITS) | self.offset as u64
    }

    pub fn from_key(key: u64) -> DieRef {
        DieRef {
            unit: (key >> OFFSET_BITS) as u32,
            offset: (key & ((1 << OFFSET_BITS) - 1)) as usize,
        }
    }
}

/// The section that a unit stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Space {
    Info,
    Types,
    /// `.debug_info` of the file that `.gnu_debugaltlink` names (dwz).
    Sup,
}

struct Slot {
    header: UnitHeader<R>,
    space: Space,
    start: usize,
    end: usize,
    unit: OnceLock<Option<Unit>>,
    index: OnceLock<Vec<Entry>>,
    lines: OnceLock<Option<Lines>>,
    files: OnceLock<Vec<String>>,
}

/// A named entry at file, namespace or class scope, or a function with code.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub offset: usize,
    /// Index of the enclosing entry.
    parent: u32,
    pub tag: dw::DwTag,
    pub name: Option<&'static [u8]>,
    pub linkage: Option<&'static [u8]>,
    pub declaration: bool,
    pub low: Option<u64>,
    pub high: u64,
    pub has_ranges: bool,
    pub origin: Option<DieRef>,
}

const NO_PARENT: u32 = u32::MAX;

/// All debug information of one binary.
pub(crate) struct Dwarf {
    main: gimli::Dwarf<R>,
    units: Vec<Slot>,
    info_units: usize,
    type_units: usize,
    signatures: OnceLock<HashMap<u64, DieRef>>,
    addresses: OnceLock<Vec<(Range<u64>, u32)>>,
    pub me: Weak<Dwarf>,
    /// What the slices in `main` and `units` point into.
    _storage: Vec<Arc<Storage>>,
    /// In which file to say that something is wrong.
    pub path: PathBuf,
}

impl Dwarf {
    /// `None`: the file has no DWARF.
    pub fn load(path: PathBuf, elf: &Elf, sup: Option<&Elf>) -> Option<Arc<Dwarf>> {
        if elf.section(".debug_info").is_empty() {
            return None;
        }
        let endian = endian(elf);
        let load = |elf: &Elf, id: gimli::SectionId| -> std::result::Result<R, gimli::Error> {
            Ok(EndianSlice::new(elf.section(id.name()), endian))
        };
        let mut main = gimli::Dwarf::load(|id| load(elf, id)).ok()?;
        let mut storage = vec![elf.storage.clone()];
        if let Some(sup) = sup {
            storage.push(sup.storage.clone());
            main.set_sup(gimli::Dwarf::load(|id| load(sup, id)).ok()?);
        }
        let mut units = Vec::new();
        collect(&mut units, Space::Info, main.units());
        let info_units = units.len();
        let mut types = main.type_units();
        while let Ok(Some(h)) = types.next() {
            units.push(slot(h, Space::Types));
        }
        let type_units = units.len();
        if let Some(sup) = main.sup() {
            collect(&mut units, Space::Sup, sup.units());
        }
        Some(Arc::new_cyclic(|me| Dwarf {
            main,
            units,
            info_units,
            type_units,
            signatures: OnceLock::new(),
            addresses: OnceLock::new(),
            me: me.clone(),
            _storage: storage,
            path,
        }))
    }

    pub fn unit_count(&self) -> usize {
        self.units.len()
    }

    /// The gimli view that the unit's offsets refer to.
    pub fn dwarf_of(&self, unit: u32) -> &gimli::Dwarf<R> {
        match self.units.get(unit as usize).map(|s| s.space) {
            Some(Space::Sup) => self.main.sup().unwrap_or(&self.main),
            _ => &self.main,
        }
    }

    /// The parsed header, abbreviations and root of a unit.
    pub fn unit(&self, n: u32) -> Result<&Unit> {
        let slot = self
            .units
            .get(n as usize)
            .ok_or_else(|| self.corrupt("no such unit"))?;
        slot.unit
            .get_or_init(|| self.dwarf_of(n).unit(slot.header).ok())
            .as_ref()
            .ok_or_else(|| self.corrupt("a unit of .debug_info cannot be read"))
    }

    pub fn is_little(&self) -> bool {
        self.main.debug_info.reader().endian().is_little_endian()
    }

    pub fn corrupt(&self, what: &str) -> Error {
        Error::Corrupt {
            path: self.path.clone(),
            what: what.into(),
        }
    }

    pub fn die(&self, r: DieRef) -> Result<Die<'_>> {
        let unit = self.unit(r.unit)?;
        unit.entry(UnitOffset(r.offset))
            .map_err(|e| self.corrupt(&format!("DWARF entry: {e}")))
    }

    /// An attribute of this entry alone.
    pub fn own_attr(&self, r: DieRef, at: dw::DwAt) -> Option<Value> {
        self.die(r).ok()?.attr_value(at).ok()?
    }

    /// An attribute of the entry, or of what it is an instance or a definition of.
    pub fn attr(&self, r: DieRef, at: dw::DwAt) -> Option<(Value, DieRef)> {
        let mut r = r;
        for _ in 0..16 {
            let die = self.die(r).ok()?;
            if let Ok(Some(v)) = die.attr_value(at) {
                return Some((v, r));
            }
            r = self.origin_of(&die, r.unit)?;
        }
        None
    }

    /// What DW_AT_abstract_origin or DW_AT_specification lead to.
    pub fn origin(&self, r: DieRef) -> Option<DieRef> {
        self.origin_of(&self.die(r).ok()?, r.unit)
    }

    fn origin_of(&self, die: &Die<'_>, unit: u32) -> Option<DieRef> {
        let v = match die.attr_value(dw::DW_AT_abstract_origin) {
            Ok(Some(v)) => v,
            _ => die.attr_value(dw::DW_AT_specification).ok()??,
        };
        self.target(v, unit)
    }

    /// The entry an attribute of `unit` refers to.
    pub fn target(&self, v: Value, unit: u32) -> Option<DieRef> {
        match v {
            AttributeValue::UnitRef(o) => Some(DieRef { unit, offset: o.0 }),
            AttributeValue::DebugInfoRef(o) => {
                let sup = self.units.get(unit as usize)?.space == Space::Sup;
                self.in_space(o.0, if sup { Space::Sup } else { Space::Info })
            }
            AttributeValue::DebugInfoRefSup(o) => self.in_space(o.0, Space::Sup),
            AttributeValue::DebugTypesRef(sig) => self.signature(sig.0),
            _ => None,
        }
    }

    fn space_range(&self, space: Space) -> Range<usize> {
        match space {
            Space::Info => 0..self.info_units,
            Space::Types => self.info_units..self.type_units,
            Space::Sup => self.type_units..self.units.len(),
        }
    }

    fn in_space(&self, offset: usize, space: Space) -> Option<DieRef> {
        let range = self.space_range(space);
        let slots = &self.units[range.clone()];
        let i = slots
            .partition_point(|s| s.start <= offset)
            .checked_sub(1)?;
        let s = &slots[i];
        (offset < s.end).then(|| DieRef {
            unit: (range.start + i) as u32,
            offset: offset - s.start,
        })
    }

    /// The type that a type unit (DWARF 4 or 5) defines.
    fn signature(&self, sig: u64) -> Option<DieRef> {
        let all = self.signatures.get_or_init(|| {
            let mut all = HashMap::new();
            for (n, s) in self.units.iter().enumerate() {
                if let gimli::UnitType::Type {
                    type_signature,
                    type_offset,
                } = s.header.type_()
                {
                    all.insert(
                        type_signature.0,
                        DieRef {
                            unit: n as u32,
                            offset: type_offset.0,
                        },
                    );
                }
            }
            all
        });
        all.get(&sig).copied()
    }

    pub fn string(&self, v: Value, unit: u32) -> Option<&'static [u8]> {
        let u = self.unit(unit).ok()?;
        self.dwarf_of(unit)
            .attr_string(u, v)
            .ok()
            .map(|r| r.slice())
    }

    /// DW_AT_name, inherited.
    pub fn name(&self, r: DieRef) -> Option<&'static [u8]> {
        let (v, at) = self.attr(r, dw::DW_AT_name)?;
        self.string(v, at.unit)
    }

    /// DW_AT_linkage_name, inherited.
    pub fn linkage_name(&self, r: DieRef) -> Option<&'static [u8]> {
        let (v, at) = self
            .attr(r, dw::DW_AT_linkage_name)
            .or_else(|| self.attr(r, dw::DW_AT_MIPS_linkage_name))?;
        self.string(v, at.unit)
    }

    pub fn number(&self, r: DieRef, at: dw::DwAt) -> Option<u64> {
        self.attr(r, at)?.0.udata_value()
    }

    pub fn flag(&self, r: DieRef, at: dw::DwAt) -> bool {
        matches!(self.own_attr(r, at), Some(AttributeValue::Flag(true)))
    }

    /// The code of an entry: lexical block, function, inlined instance, unit.
    pub fn ranges(&self, r: DieRef) -> Vec<Range<u64>> {
        let Ok(unit) = self.unit(r.unit) else {
            return Vec::new();
        };
        let dwarf = self.dwarf_of(r.unit);
        let mut out = Vec::new();
        if let Some(v) = self.own_attr(r, dw::DW_AT_ranges) {
            let Ok(Some(mut list)) = dwarf.attr_ranges(unit, v) else {
                return out;
            };
            while let Ok(Some(range)) = list.next() {
                if range.begin < range.end && out.len() < 1 << 16 {
                    out.push(range.begin..range.end);
                }
            }
            return out;
        }
        let address = |v| dwarf.attr_address(unit, v).ok().flatten();
        let Some(low) = self.own_attr(r, dw::DW_AT_low_pc).and_then(address) else {
            return out;
        };
        let high = self
            .own_attr(r, dw::DW_AT_high_pc)
            .and_then(|v| match v.udata_value() {
                Some(size) => low.checked_add(size),
                None => address(v),
            });
        out.extend(high.filter(|high| low < *high).map(|high| low..high));
        out
    }

    /// DW_AT_entry_pc or the start of the first range.
    pub fn entry_pc(&self, r: DieRef) -> Option<u64> {
        let unit = self.unit(r.unit).ok()?;
        let low = |at| {
            let v = self.own_attr(r, at)?;
            match v {
                // DWARF 5 lets entry_pc be relative to the function's base address.
                AttributeValue::Udata(_)
                | AttributeValue::Data1(_)
                | AttributeValue::Data2(_)
                | AttributeValue::Data4(_)
                | AttributeValue::Data8(_) => {
                    Some(self.ranges(r).first()?.start.wrapping_add(v.udata_value()?))
                }
                v => self.dwarf_of(r.unit).attr_address(unit, v).ok()?,
            }
        };
        low(dw::DW_AT_entry_pc)
            .or_else(|| low(dw::DW_AT_low_pc))
            .or_else(|| self.ranges(r).first().map(|r| r.start))
    }

    /// Name of the `.dwo` file where the unit keeps its contents, if it does.
    pub fn dwo_name(&self, unit: u32) -> Option<String> {
        let u = self.unit(unit).ok()?;
        let v = u.dwo_name().ok()??;
        self.string(v, unit).map(text)
    }

    // Units by address.

    /// The unit whose code holds the address.
    pub fn unit_at(&self, addr: u64) -> Option<u32> {
        let map = self.addresses.get_or_init(|| self.address_map());
        let i = map.partition_point(|(r, _)| r.start <= addr);
        // Ranges rarely overlap; look back a few for a longer one.
        map[..i]
            .iter()
            .rev()
            .take(8)
            .find(|(r, _)| addr < r.end)
            .map(|&(_, u)| u)
    }

    fn address_map(&self) -> Vec<(Range<u64>, u32)> {
        let mut map = Vec::new();
        let mut covered = vec![false; self.info_units];
        let mut headers = self.main.debug_aranges.headers();
        while let Ok(Some(h)) = headers.next() {
            let Some(r) = self.in_space(h.debug_info_offset().0, Space::Info) else {
                continue;
            };
            covered[r.unit as usize] = true;
            let mut entries = h.entries();
            while let Ok(Some(e)) = entries.next() {
                let range = e.range();
                if range.begin < range.end && range.begin != 0 {
                    map.push((range.begin..range.end, r.unit));
                }
            }
        }
        // clang writes no .debug_aranges: ask the roots of the units that are not in it.
        for n in (0..self.info_units).filter(|n| !covered[*n]) {
            let n = n as u32;
            let Ok(unit) = self.unit(n) else { continue };
            let root = DieRef {
                unit: n,
                offset: unit.header.size_of_header(),
            };
            map.extend(
                self.ranges(root)
                    .into_iter()
                    .filter(|r| r.start != 0)
                    .map(|r| (r, n)),
            );
        }
        map.sort_by_key(|(r, _)| (r.start, r.end));
        map
    }

    // Units by name.

    /// The units that may hold an entry of that name: their bytes hold the name, or a reference to
    /// a string table entry that ends with it. Far quicker than reading the entries, and never
    /// misses one.
    pub fn units_naming(&self, name: &[u8]) -> Vec<u32> {
        let mut needle = name.to_vec();
        needle.push(0);
        let finder = memmem::Finder::new(&needle);
        let mut hit = vec![false; self.units.len()];
        let main = &self.main;
        let strings = |d: &gimli::Dwarf<R>| {
            let mut o: Vec<u32> = Vec::new();
            o.extend(
                finder
                    .find_iter(d.debug_str.reader().slice())
                    .map(|i| i as u32),
            );
            o.extend(
                finder
                    .find_iter(d.debug_line_str.reader().slice())
                    .map(|i| i as u32),
            );
            o.sort_unstable();
            o.dedup();
            o
        };
        let mut offsets = strings(main);
        if let Some(sup) = main.sup() {
            let of_sup = strings(sup);
            self.mark(
                Space::Sup,
                sup.debug_info.reader().slice(),
                &finder,
                &of_sup,
                &mut hit,
            );
            offsets.extend(of_sup);
            offsets.sort_unstable();
            offsets.dedup();
        }
        self.mark(
            Space::Info,
            main.debug_info.reader().slice(),
            &finder,
            &offsets,
            &mut hit,
        );
        if self.type_units > self.info_units {
            let bytes = main.debug_types.reader().slice();
            self.mark(Space::Types, bytes, &finder, &offsets, &mut hit);
        }
        self.mark_indexed(&offsets, &mut hit);
        (0..hit.len() as u32).filter(|&n| hit[n as usize]).collect()
    }

    fn mark(
        &self,
        space: Space,
        bytes: &[u8],
        inline: &memmem::Finder<'_>,
        offsets: &[u32],
        hit: &mut [bool],
    ) {
        let range = self.space_range(space);
        let slots = &self.units[range.clone()];
        let mut found = |at: usize| {
            if let Some(i) = slots.partition_point(|s| s.start <= at).checked_sub(1) {
                hit[range.start + i] = true;
            }
        };
        inline.find_iter(bytes).for_each(&mut found);
        self.find_words(bytes, offsets, found);
    }

    /// Every place where one of the numbers stands as four bytes.
    fn find_words(&self, bytes: &[u8], numbers: &[u32], mut found: impl FnMut(usize)) {
        let little = self.main.debug_info.reader().endian().is_little_endian();
        if numbers.len() <= 6 {
            for n in numbers {
                let pattern = if little {
                    n.to_le_bytes()
                } else {
                    n.to_be_bytes()
                };
                memmem::find_iter(bytes, &pattern).for_each(&mut found);
            }
            return;
        }
        let most = *numbers.last().unwrap_or(&0);
        let mut bitmap = vec![0u64; most as usize / 64 + 1];
        for &n in numbers {
            bitmap[n as usize / 64] |= 1 << (n % 64);
        }
        for (i, w) in bytes.windows(4).enumerate() {
            let w = [w[0], w[1], w[2], w[3]];
            let n = if little {
                u32::from_le_bytes(w)
            } else {
                u32::from_be_bytes(w)
            };
            if n <= most && bitmap[n as usize / 64] & (1 << (n % 64)) != 0 {
                found(i);
            }
        }
    }

    /// DWARF 5 units that name strings by their number in `.debug_str_offsets`.
    fn mark_indexed(&self, offsets: &[u32], hit: &mut [bool]) {
        let table = self.main.debug_str_offsets.reader().slice();
        if table.is_empty() {
            return;
        }
        let mut at = Vec::new();
        self.find_words(table, offsets, |i| at.push(i));
        if at.is_empty() {
            return;
        }
        at.sort_unstable();
        for (n, hit) in hit.iter_mut().enumerate().take(self.type_units) {
            if *hit || self.units[n].header.version() < 5 {
                continue;
            }
            let Ok(u) = self.unit(n as u32) else { continue };
            let base = u.str_offsets_base.0;
            let length = base
                .checked_sub(8)
                .and_then(|i| table.get(i..i + 4))
                .map(|w| {
                    let w = [w[0], w[1], w[2], w[3]];
                    u32::from_le_bytes(w).min(u32::from_be_bytes(w)) as usize
                });
            let end = base.saturating_add(length.unwrap_or(usize::MAX));
            let i = at.partition_point(|&p| p < base);
            *hit = at.get(i).is_some_and(|&p| p < end);
        }
    }

    /// The entries of that exact name (source or linkage) in the whole binary.
    pub fn named(&self, name: &[u8]) -> Vec<(u32, &Entry)> {
        let mut out = Vec::new();
        for n in self.units_naming(name) {
            for e in self.index(n) {
                if e.name == Some(name) || e.linkage == Some(name) {
                    out.push((n, e));
                }
            }
        }
        out
    }

    // The index of one unit.

    /// The named entries of a unit, by offset.
    pub fn index(&self, n: u32) -> &[Entry] {
        let Some(slot) = self.units.get(n as usize) else {
            return &[];
        };
        slot.index.get_or_init(|| {
            let mut index = Vec::new();
            // A damaged unit is indexed up to the damage.
            let _ = self.build_index(n, &mut index);
            self.inherit_names(n, &mut index);
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
            while stack.last().is_some_and(|s| s.0 >= depth) {
                stack.pop();
            }
            let tag = abbrev.tag();
            let parent = stack.last().map_or(NO_PARENT, |s| s.1);
            let keep = is_indexed(tag) || is_static_member(abbrev);
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
        let index = self.index(r.unit);
        let mut name = text(e.name?);
        let mut parent = e.parent;
        for _ in 0..64 {
            let Some(p) = index.get(parent as usize) else {
                break;
            };
            if p.tag == dw::DW_TAG_namespace || is_composite(p.tag) {
                let scope = p.name.map_or("(anonymous namespace)".into(), text);
                name = format!("{scope}::{name}");
            }
            parent = p.parent;
        }
        Some(name)
    }

    /// The out-of-line function whose code holds the address.
    pub fn subprogram_at(&self, pc: u64) -> Option<DieRef> {
        let unit = self.unit_at(pc)?;
        let mut inside = None;
        for e in self.index(unit) {
            if e.tag != dw::DW_TAG_subprogram {
                continue;
            }
            let r = DieRef {
                unit,
                offset: e.offset,
            };
            if e.low == Some(pc) && pc < e.high {
                return Some(r);
            }
            let holds = match (e.low, e.has_ranges) {
                (Some(low), false) => low <= pc && pc < e.high,
                (_, true) => self.ranges(r).iter().any(|r| r.contains(&pc)),
                _ => false,
            };
            if holds {
                inside = Some(r);
            }
        }
        inside
    }

    /// The out-of-line function that an inlined instance or a block stands in.
    pub fn enclosing_subprogram(&self, r: DieRef) -> Option<DieRef> {
        let index = self.index(r.unit);
        let i = index.partition_point(|e| e.offset <= r.offset);
        let e = index[..i]
            .iter()
            .rev()
            .find(|e| e.tag == dw::DW_TAG_subprogram)?;
        Some(DieRef {
            unit: r.unit,
            offset: e.offset,
        })
    }

    /// The inlined instances in a unit of the functions that `wanted` accepts by their abstract
    /// entry.
    pub fn inlined(&self, n: u32, mut wanted: impl FnMut(DieRef) -> bool) -> Vec<(DieRef, DieRef)> {
        let mut out = Vec::new();
        let _ = self.walk_inlined(n, &mut |at, origin| {
            if wanted(origin) {
                out.push((at, origin));
            }
        });
        out
    }

    fn walk_inlined(
        &self,
        n: u32,
        found: &mut dyn FnMut(DieRef, DieRef),
    ) -> std::result::Result<(), gimli::Error> {
        let Ok(unit) = self.unit(n) else {
            return Ok(());
        };
        let mut raw = unit.entries_raw(None)?;
        while !raw.is_empty() {
            let offset = raw.next_offset();
            let Some(abbrev) = raw.read_abbreviation()? else {
                continue;
            };
            if abbrev.tag() != dw::DW_TAG_inlined_subroutine {
                raw.skip_attributes(abbrev.attributes())?;
                continue;
            }
            for &spec in abbrev.attributes() {
                if spec.name() != dw::DW_AT_abstract_origin {
                    raw.skip_attributes(&[spec])?;
                } else if let Some(o) = self.target(raw.read_attribute(spec)?.value(), n) {
                    found(
                        DieRef {
                            unit: n,
                            offset: offset.0,
                        },
                        o,
                    );
                }
            }
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

    /// The line table of a unit.
    pub fn lines(&self, n: u32) -> Option<&Lines> {
        let slot = self.units.get(n as usize)?;
        let read = || Lines::read(self.unit(n).ok()?);
        slot.lines.get_or_init(read).as_ref()
    }

    /// Full paths of the unit's source files, by file number; only the table's header is read.
    pub fn files(&self, n: u32) -> &[String] {
        let Some(slot) = self.units.get(n as usize) else {
            return &[];
        };
        slot.files.get_or_init(|| {
            let Ok(unit) = self.unit(n) else {
                return Vec::new();
            };
            let Some(program) = &unit.line_program else {
                return Vec::new();
            };
            file_table(self.dwarf_of(n), unit, program.header())
        })
    }

    /// DW_AT_decl_file, _line and _column.
    pub fn declared_at(&self, r: DieRef) -> Option<SourcePos> {
        let (line, _) = self.attr(r, dw::DW_AT_decl_line)?;
        let (file, at) = self.attr(r, dw::DW_AT_decl_file)?;
        let number = match file {
            AttributeValue::FileIndex(n) => n,
            v => v.udata_value()?,
        };
        let file = self
            .files(at.unit)
            .get(usize::try_from(number).ok()?)?
            .clone();
        let column = self.number(r, dw::DW_AT_decl_column).unwrap_or(0);
        Some(SourcePos {
            file,
            line: line.udata_value()?,
            column,
        })
    }

    /// Which units refer to one of these entries from outside (LTO, dwz)?
    pub fn units_referring(&self, to: &[DieRef]) -> Vec<u32> {
        let absolute = |r: &DieRef| {
            let s = self.units.get(r.unit as usize)?;
            u32::try_from(s.start + r.offset)
                .ok()
                .filter(|_| s.space != Space::Types)
        };
        let mut numbers: Vec<u32> = to.iter().filter_map(absolute).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut hit = vec![false; self.units.len()];
        let slots = &self.units[..self.info_units];
        self.find_words(self.main.debug_info.reader().slice(), &numbers, |at| {
            if let Some(i) = slots.partition_point(|s| s.start <= at).checked_sub(1) {
                hit[i] = true;
            }
        });
        (0..hit.len() as u32).filter(|&n| hit[n as usize]).collect()
    }

    /// Language of the unit: DW_LANG_*.
    pub fn language(&self, n: u32) -> Option<dw::DwLang> {
        match self.root_attr(n, dw::DW_AT_language)? {
            AttributeValue::Language(l) => Some(l),
            v => Some(dw::DwLang(v.u16_value()?)),
        }
    }

    /// An attribute of the unit's root.
    pub fn root_attr(&self, n: u32, at: dw::DwAt) -> Option<Value> {
        let unit = self.unit(n).ok()?;
        let mut cursor = unit.entries();
        let (_, root) = cursor.next_dfs().ok()??;
        root.attr_value(at).ok()?
    }

    fn is_c(&self, n: u32) -> bool {
        self.language(n)
            .is_some_and(|l| matches!(l.0, 0x1 | 0x2 | 0xc | 0x1d | 0x2c | 0x8001))
    }

    /// Name of the unit's primary source file.
    pub fn unit_name(&self, n: u32) -> Option<String> {
        self.unit(n).ok()?.name.map(|r| text(r.slice()))
    }
}

fn collect(units: &mut Vec<Slot>, space: Space, mut headers: gimli::DebugInfoUnitHeadersIter<R>) {
    while let Ok(Some(h)) = headers.next() {
        units.push(slot(h, space));
    }
}

fn slot(header: UnitHeader<R>, space: Space) -> Slot {
    let start = match header.offset() {
        gimli::UnitSectionOffset::DebugInfoOffset(o) => o.0,
        gimli::UnitSectionOffset::DebugTypesOffset(o) => o.0,
    };
    Slot {
        header,
        space,
        start,
        end: start.saturating_add(header.length_including_self()),
        unit: OnceLock::new(),
        index: OnceLock::new(),
        lines: OnceLock::new(),
        files: OnceLock::new(),
    }
}

pub(crate) fn endian(elf: &Elf) -> RunTimeEndian {
    match elf.endian {
        object::Endianness::Little => RunTimeEndian::Little,
        object::Endianness::Big => RunTimeEndian::Big,
    }
}

fn unit_ref(v: Value) -> Option<UnitOffset> {
    match v {
        AttributeValue::UnitRef(o) => Some(o),
        _ => None,
    }
}

pub(crate) fn text(b: &[u8]) -> String {
    String::from_utf8_lossy(b).into_owned()
}

pub(crate) fn is_composite(tag: dw::DwTag) -> bool {
    matches!(
        tag,
        dw::DW_TAG_structure_type
            | dw::DW_TAG_union_type
            | dw::DW_TAG_class_type
            | dw::DW_TAG_interface_type
    )
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

/// Whether an entry's children can be named from outside.
fn is_scope(tag: dw::DwTag, plain_c: bool) -> bool {
    matches!(
        tag,
        dw::DW_TAG_compile_unit
            | dw::DW_TAG_partial_unit
            | dw::DW_TAG_type_unit
            | dw::DW_TAG_namespace
            | dw::DW_TAG_module
    ) || (!plain_c && (is_composite(tag) || tag == dw::DW_TAG_enumeration_type))
}
