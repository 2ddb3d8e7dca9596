// SPDX-License-Identifier: MIT
//! From the compiler's object file to the CODE and DATA of a module.
//!
//! A module needs no linker and its loader no knowledge of relocation types:
//! here all sections are laid out in one piece, references inside it are
//! resolved, and what is left is a list of words to which the load address is
//! added, and a table of imported functions (as in a global offset table).

use object::elf;
use object::{File, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget};
use object::{SectionFlags, SectionIndex, SymbolIndex};
use std::collections::HashMap;
use std::fmt;
use trapless_machine::{Machine, Meant, Value};

/// Code and data, ready for a module file.
#[derive(Debug, Default)]
pub struct Linked {
    /// Text and constants; its size is a multiple of the largest page's.
    pub code: Vec<u8>,
    /// Follows `code` in memory.
    pub data: Vec<u8>,
    /// Offsets in `data` of words that hold offsets from the start of `code`.
    pub relocs: Vec<u32>,
    /// Imported function, and the offset in `data` of the word for its address.
    pub imports: Vec<(String, u32)>,
    /// Offset in `code` of every function that is defined.
    pub functions: HashMap<String, u32>,
}

/// The object file is not what our own code generator and compiler flags give.
#[derive(Debug)]
pub enum LinkError {
    Read(object::Error),
    Relocation {
        kind: u32,
        section: String,
    },
    /// A constant table in text would need the load address.
    AbsoluteInCode {
        section: String,
    },
    Range {
        section: String,
    },
    /// Too large, or an alignment that no load address has.
    Layout {
        section: String,
    },
    Undefined(String),
    /// What a module maps is never written to: only embedded C can want it.
    Variable(String),
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            LinkError::Read(e) => write!(f, "the compiler's object file cannot be read: {e}"),
            LinkError::Relocation { kind, section } => {
                write!(f, "relocation type {kind} in {section} is not supported")
            }
            LinkError::AbsoluteInCode { section } => {
                write!(f, "{section} holds an absolute address")
            }
            LinkError::Range { section } => write!(f, "a relocation in {section} is out of range"),
            LinkError::Layout { section } => {
                write!(f, "{section} is too large, or wants too much alignment")
            }
            LinkError::Undefined(name) => write!(f, "`{name}` is neither code nor data"),
            LinkError::Variable(name) => {
                write!(f, "embedded C has a variable of its own: `{name}`")
            }
        }
    }
}

impl std::error::Error for LinkError {}

impl From<object::Error> for LinkError {
    fn from(e: object::Error) -> LinkError {
        LinkError::Read(e)
    }
}

/// Where something lies once laid out: an offset from the start of `code`,
/// which runs on through `data`.
type Place = u64;

struct Layout {
    code: Vec<u8>,
    data: Vec<u8>,
    sections: HashMap<SectionIndex, Place>,
}

/// Lay out and resolve a relocatable file.
pub fn link(bytes: &[u8], machine: &'static Machine) -> Result<Linked, LinkError> {
    let file = File::parse(bytes)?;
    let mut linker = Linker::new(&file, machine)?;
    for section in file.sections() {
        let Some(&at) = linker.layout.sections.get(&section.index()) else {
            continue;
        };
        for (offset, reloc) in section.relocations() {
            let name = section.name()?;
            let at = at.checked_add(offset).ok_or_else(|| out_of_range(name))?;
            linker.apply(&file, name, at, &reloc)?;
        }
    }
    linker.finish(&file)
}

struct Linker {
    machine: &'static Machine,
    layout: Layout,
    /// Where `data` begins.
    data_at: u64,
    /// DATA offset of the word with a symbol's address.
    slots: HashMap<SymbolIndex, u32>,
    /// Jump to an imported function, for calls that name it directly.
    stubs: HashMap<SymbolIndex, Place>,
    stub_room: std::ops::Range<u64>,
    relocs: Vec<u32>,
    imports: Vec<(String, u32)>,
}

/// Larger ones no module may have (the loader's limit for the whole file).
const SECTION_MAX: u64 = 256 << 20;

impl Linker {
    fn new(file: &File, machine: &'static Machine) -> Result<Linker, LinkError> {
        let (page, linkage) = (machine.abi.pages.most, &machine.linkage);
        let mut layout = Layout {
            code: Vec::new(),
            data: Vec::new(),
            sections: HashMap::new(),
        };
        let mut writable = Vec::new();
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else {
                continue;
            };
            if !sh_flags.contains(elf::SHF_ALLOC) || section.name()?.starts_with(".note") {
                continue;
            }
            if sh_flags.contains(elf::SHF_WRITE) {
                writable.push(section.index());
                continue;
            }
            let bytes = section.uncompressed_data()?;
            let at = append(&mut layout.code, &bytes, alignment(&section, page)?);
            layout.sections.insert(section.index(), at);
        }
        let undefined = file
            .symbols()
            .filter(|s| s.is_undefined() && !s.name().unwrap_or("").is_empty());
        let stubs = append(&mut layout.code, &[], 16);
        let room = stubs..stubs + undefined.count() as u64 * linkage.stub_size;
        layout
            .code
            .resize(room.end.next_multiple_of(page) as usize, linkage.filler);
        let data_at = layout.code.len() as u64;
        for index in writable {
            let section = file.section_by_index(index)?;
            if let Some(name) = variable_in(file, index) {
                return Err(LinkError::Variable(name));
            }
            let mut bytes = section.uncompressed_data()?.into_owned();
            if section.size() > SECTION_MAX {
                return Err(LinkError::Layout {
                    section: section.name()?.to_string(),
                });
            }
            bytes.resize(section.size() as usize, 0);
            let at = append(&mut layout.data, &bytes, alignment(&section, page)?);
            layout.sections.insert(index, data_at + at);
        }
        append(&mut layout.data, &[], machine.abi.word.into());
        Ok(Linker {
            machine,
            layout,
            data_at,
            slots: HashMap::new(),
            stubs: HashMap::new(),
            stub_room: room,
            relocs: Vec::new(),
            imports: Vec::new(),
        })
    }

    fn apply(
        &mut self,
        file: &File,
        section: &str,
        at: Place,
        reloc: &object::Relocation,
    ) -> Result<(), LinkError> {
        let RelocationFlags::Elf { r_type } = reloc.flags() else {
            return Err(unsupported(0, section));
        };
        let fixup = self.machine.fixup(r_type.0);
        let (RelocationTarget::Symbol(symbol), Some(fixup)) = (reloc.target(), fixup) else {
            return Err(unsupported(r_type.0, section));
        };
        let to = match fixup.meant {
            Meant::Defined => self.defined(file, symbol)?,
            Meant::Slot => self.data_at + u64::from(self.slot(file, symbol)?),
            Meant::Code => match self.place(file, symbol)? {
                Some(place) => place,
                None => self.stub(file, symbol)?,
            },
        };
        let to = (to as i64).wrapping_add(reloc.addend());
        match fixup.value {
            Value::Relative(size) => {
                let distance = to.wrapping_sub(at as i64);
                match fits(distance, size) {
                    true => self.put_number(section, at, distance, size),
                    false => Err(out_of_range(section)),
                }
            }
            Value::Absolute => {
                if at < self.data_at {
                    return Err(LinkError::AbsoluteInCode {
                        section: section.to_string(),
                    });
                }
                self.relocs.push((at - self.data_at) as u32);
                self.put_number(section, at, to, self.machine.abi.word)
            }
        }
    }

    /// Where a symbol lies; `None`: it is imported.
    fn place(&self, file: &File, symbol: SymbolIndex) -> Result<Option<Place>, LinkError> {
        let s = file.symbol_by_index(symbol)?;
        if s.is_undefined() {
            return Ok(None);
        }
        let base = s.section_index().and_then(|i| self.layout.sections.get(&i));
        match base {
            Some(base) => match base.checked_add(s.address()) {
                Some(place) if place <= self.end() => Ok(Some(place)),
                _ => Err(out_of_range(s.name()?)),
            },
            None => Err(LinkError::Undefined(s.name()?.to_string())),
        }
    }

    /// Behind all that was laid out so far.
    fn end(&self) -> Place {
        self.data_at + self.layout.data.len() as u64
    }

    fn defined(&self, file: &File, symbol: SymbolIndex) -> Result<Place, LinkError> {
        match self.place(file, symbol)? {
            Some(place) => Ok(place),
            None => Err(LinkError::Undefined(
                file.symbol_by_index(symbol)?.name()?.to_string(),
            )),
        }
    }

    /// The word in DATA that holds the symbol's address.
    fn slot(&mut self, file: &File, symbol: SymbolIndex) -> Result<u32, LinkError> {
        if let Some(slot) = self.slots.get(&symbol) {
            return Ok(*slot);
        }
        let place = self.place(file, symbol)?;
        let abi = &self.machine.abi;
        let mut word = Vec::new();
        abi.order.append(&mut word, place.unwrap_or(0), abi.word);
        let slot = append(&mut self.layout.data, &word, abi.word.into()) as u32;
        match place {
            Some(_) => self.relocs.push(slot),
            None => self
                .imports
                .push((file.symbol_by_index(symbol)?.name()?.to_string(), slot)),
        }
        self.slots.insert(symbol, slot);
        Ok(slot)
    }

    /// A jump by the word with the symbol's address.
    fn stub(&mut self, file: &File, symbol: SymbolIndex) -> Result<Place, LinkError> {
        if let Some(stub) = self.stubs.get(&symbol) {
            return Ok(*stub);
        }
        let slot = self.data_at + u64::from(self.slot(file, symbol)?);
        let at = self.stub_room.start;
        let linkage = &self.machine.linkage;
        self.stub_room.start += linkage.stub_size;
        let code = (linkage.stub)(at, slot).ok_or_else(|| out_of_range("stubs"))?;
        self.put("stubs", at, &code)?;
        self.stubs.insert(symbol, at);
        Ok(at)
    }

    fn put_number(&mut self, section: &str, at: Place, n: i64, size: u8) -> Result<(), LinkError> {
        let mut bytes = Vec::new();
        self.machine.abi.order.append(&mut bytes, n as u64, size);
        self.put(section, at, &bytes)
    }

    fn put(&mut self, section: &str, at: Place, bytes: &[u8]) -> Result<(), LinkError> {
        let (part, at) = match at.checked_sub(self.data_at) {
            Some(offset) => (&mut self.layout.data, offset as usize),
            None => (&mut self.layout.code, at as usize),
        };
        match part.get_mut(at..at.saturating_add(bytes.len())) {
            Some(place) => {
                place.copy_from_slice(bytes);
                Ok(())
            }
            None => Err(out_of_range(section)),
        }
    }

    fn finish(self, file: &File) -> Result<Linked, LinkError> {
        let mut functions = HashMap::new();
        for symbol in file.symbols() {
            if symbol.kind() == object::SymbolKind::Text && !symbol.is_undefined() {
                if let Some(place) = self.place(file, symbol.index())? {
                    functions.insert(symbol.name()?.to_string(), place as u32);
                }
            }
        }
        Ok(Linked {
            code: self.layout.code,
            data: self.layout.data,
            relocs: self.relocs,
            imports: self.imports,
            functions,
        })
    }
}

/// The name of a variable in a section that could be written to. What compilers
/// put there by themselves, to set up arrays with addresses, has no name.
fn variable_in(file: &File, section: SectionIndex) -> Option<String> {
    let name = file
        .section_by_index(section)
        .ok()?
        .name()
        .ok()?
        .to_string();
    if name.starts_with(".data.rel") {
        return None;
    }
    let symbol = file
        .symbols()
        .find(|s| s.section_index() == Some(section) && s.kind() == object::SymbolKind::Data)?;
    // The compiler numbers those of functions: calls.0
    let name = symbol.name().ok()?;
    Some(name.split('.').next().unwrap_or(name).to_string())
}

/// Is it a signed number of so many bytes?
fn fits(n: i64, size: u8) -> bool {
    let unused = 64 - 8 * u32::from(size);
    n << unused >> unused == n
}

fn unsupported(kind: u32, section: &str) -> LinkError {
    LinkError::Relocation {
        kind,
        section: section.to_string(),
    }
}

fn out_of_range(section: &str) -> LinkError {
    LinkError::Range {
        section: section.to_string(),
    }
}

/// What the load address, a multiple of the page size, can keep.
fn alignment(section: &object::Section, page: u64) -> Result<u64, LinkError> {
    match section.align() {
        align if align <= page => Ok(align),
        _ => Err(LinkError::Layout {
            section: section.name()?.to_string(),
        }),
    }
}

/// Append with alignment; gives the offset.
fn append(to: &mut Vec<u8>, bytes: &[u8], align: u64) -> u64 {
    to.resize(to.len().next_multiple_of(align.max(1) as usize), 0);
    let at = to.len() as u64;
    to.extend_from_slice(bytes);
    at
}
