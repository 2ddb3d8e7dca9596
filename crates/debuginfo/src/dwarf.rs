// SPDX-License-Identifier: MIT
//! The units of the debug information and their entries, each read when first asked for.

use crate::die::Entry;
use crate::die::{endian, text, Die, DieRef, Unit, Value, R};
use crate::elf::Elf;
use crate::error::{Error, Result};
use crate::lines::{file_table, Lines};
use crate::search::SearchPath;
use crate::source::SourcePos;
use crate::split::{Package, Split};
use crate::split_types::SplitTypes;
use crate::storage::Storage;
use gimli::{
    constants as dw, AttributeValue, EndianSlice, Reader, RunTimeEndian, Section, UnitHeader,
    UnitOffset,
};
use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};
use trapless_machine::ByteOrder;

/// The section that a unit stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Space {
    Info,
    Types,
    /// `.debug_info` of the file that `.gnu_debugaltlink` names (dwz).
    Sup,
}

pub(crate) struct Slot {
    pub header: UnitHeader<R>,
    pub space: Space,
    pub start: usize,
    end: usize,
    unit: OnceLock<Option<Unit>>,
    pub split: OnceLock<Option<Split>>,
    pub index: OnceLock<Vec<Entry>>,
    pub code: OnceLock<Vec<(Range<u64>, usize)>>,
    lines: OnceLock<Option<Lines>>,
    files: OnceLock<Vec<String>>,
}

/// All debug information of one binary.
pub(crate) struct Dwarf {
    pub main: gimli::Dwarf<R>,
    pub units: Vec<Slot>,
    pub info_units: usize,
    pub type_units: usize,
    signatures: OnceLock<HashMap<u64, DieRef>>,
    addresses: OnceLock<Vec<(Range<u64>, u32)>>,
    pub me: Weak<Dwarf>,
    pub package: OnceLock<Option<Package>>,
    pub split_types: OnceLock<SplitTypes>,
    pub search: SearchPath,
    /// What the slices in `main` and `units` point into.
    _storage: Vec<Arc<Storage>>,
    /// In which file to say that something is wrong.
    pub path: PathBuf,
}

impl Dwarf {
    /// `None`: the file has no DWARF.
    pub fn load(
        path: PathBuf,
        elf: &Elf,
        sup: Option<&Elf>,
        search: SearchPath,
    ) -> Option<Arc<Dwarf>> {
        elf.unpack_dwarf();
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
            package: OnceLock::new(),
            split_types: OnceLock::new(),
            search,
            _storage: storage,
            path,
        }))
    }

    pub fn unit_count(&self) -> usize {
        self.units.len()
    }

    /// The gimli view that the unit's offsets refer to.
    pub fn dwarf_of(&self, unit: u32) -> &gimli::Dwarf<R> {
        if let Some(dwarf) = self.dwarf_of_type_unit(unit) {
            return dwarf;
        }
        match self.split(unit) {
            Some(split) => &split.dwarf,
            None => self.file_of(unit),
        }
    }

    /// That of the unit itself, which may be a skeleton.
    pub fn file_of(&self, unit: u32) -> &gimli::Dwarf<R> {
        match self.units.get(unit as usize).map(|s| s.space) {
            Some(Space::Sup) => self.main.sup().unwrap_or(&self.main),
            _ => &self.main,
        }
    }

    /// The parsed header, abbreviations and root of a unit.
    pub fn unit(&self, n: u32) -> Result<&Unit> {
        if let Some(types) = self.type_unit(n) {
            return Ok(&types.unit);
        }
        match self.split(n) {
            Some(split) => Ok(&split.unit),
            None => self.skeleton(n),
        }
    }

    /// The same of a unit as it stands here: with its addresses and lines.
    pub fn skeleton(&self, n: u32) -> Result<&Unit> {
        let slot = self
            .units
            .get(n as usize)
            .ok_or_else(|| self.corrupt("no such unit"))?;
        slot.unit
            .get_or_init(|| self.file_of(n).unit(slot.header).ok())
            .as_ref()
            .ok_or_else(|| self.corrupt("a unit of .debug_info cannot be read"))
    }

    pub fn order(&self) -> ByteOrder {
        match self.main.debug_info.reader().endian() {
            RunTimeEndian::Little => ByteOrder::Little,
            RunTimeEndian::Big => ByteOrder::Big,
        }
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
            AttributeValue::DebugInfoRef(o) => self.in_info(unit, o.0),
            AttributeValue::DebugInfoRefSup(o) => self.in_space(o.0, Space::Sup),
            AttributeValue::DebugTypesRef(sig) => self.signature(sig.0),
            _ => None,
        }
    }

    /// The entry at an offset in the section that `unit` itself is in.
    pub fn in_info(&self, unit: u32, offset: usize) -> Option<DieRef> {
        if let Some(split) = self.split(unit) {
            let gimli::UnitSectionOffset::DebugInfoOffset(start) = split.unit.header.offset()
            else {
                return None;
            };
            let start = start.0;
            let offset = offset.checked_sub(start)?;
            return Some(DieRef { unit, offset });
        }
        let sup = self.units.get(unit as usize)?.space == Space::Sup;
        self.in_space(offset, if sup { Space::Sup } else { Space::Info })
    }

    pub fn space_range(&self, space: Space) -> Range<usize> {
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
        let own = all.get(&sig).copied();
        own.or_else(|| self.split_signature(sig))
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

    /// DW_AT_entry_pc or DW_AT_low_pc.
    pub fn entry_told(&self, r: DieRef) -> Option<u64> {
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
        low(dw::DW_AT_entry_pc).or_else(|| low(dw::DW_AT_low_pc))
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
            let Ok(unit) = self.skeleton(n) else { continue };
            let Ok(mut ranges) = self.file_of(n).unit_ranges(unit) else {
                continue;
            };
            while let Ok(Some(r)) = ranges.next() {
                if 0 < r.begin && r.begin < r.end {
                    map.push((r.begin..r.end, n));
                }
            }
        }
        map.sort_by_key(|(r, _)| (r.start, r.end));
        map
    }

    /// The line table of a unit.
    pub fn lines(&self, n: u32) -> Option<&Lines> {
        let slot = self.units.get(n as usize)?;
        let read = || Lines::read(self.skeleton(n).ok()?);
        slot.lines.get_or_init(read).as_ref()
    }

    /// Full paths of the unit's source files, by file number; only the table's header is read.
    pub fn files(&self, n: u32) -> &[String] {
        let Some(slot) = self.units.get(n as usize) else {
            return &[];
        };
        slot.files.get_or_init(|| {
            let Ok(unit) = self.skeleton(n) else {
                return Vec::new();
            };
            let Some(program) = &unit.line_program else {
                return Vec::new();
            };
            file_table(self.file_of(n), unit, program.header())
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

    pub fn is_c(&self, n: u32) -> bool {
        self.language(n)
            .is_some_and(|l| matches!(l.0, 0x1 | 0x2 | 0xc | 0x1d | 0x2c | 0x8001))
    }

    pub fn is_by_gcc(&self, n: u32) -> bool {
        let producer = self.root_attr(n, dw::DW_AT_producer);
        let producer = producer.and_then(|v| self.string(v, n));
        producer.is_some_and(|p| p.starts_with(b"GNU "))
    }

    pub fn is_cxx(&self, n: u32) -> bool {
        self.language(n)
            .is_some_and(|l| matches!(l.0, 0x4 | 0x1a | 0x21 | 0x2b))
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
        split: OnceLock::new(),
        index: OnceLock::new(),
        code: OnceLock::new(),
        lines: OnceLock::new(),
        files: OnceLock::new(),
    }
}
