// SPDX-License-Identifier: MIT
//! One ELF file: header, segments, dynamic section, symbols, sections (decompressed on demand).

use crate::error::{Error, Result};
use crate::notes::Notes;
use crate::storage::Storage;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, Rela, SectionHeader, Sym};
use object::read::{CompressedData, CompressionFormat};
use object::Endianness;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use trapless_machine::{elf_machine_title, is_32_bit_family, ByteOrder, Machine};

/// A program can run at a fixed address, or anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElfKind {
    /// ET_EXEC: linked for fixed addresses.
    Fixed,
    /// ET_DYN: a shared library or a position-independent program.
    Dynamic,
}

/// A PT_LOAD segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    pub vaddr: u64,
    pub offset: u64,
    pub file_size: u64,
    pub mem_size: u64,
    pub executable: bool,
    pub writable: bool,
}

/// One symbol of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawSymbol {
    pub name: &'static [u8],
    pub value: u64,
    pub size: u64,
    pub kind: u8,
    pub global: bool,
    pub weak: bool,
    pub section: usize,
}

/// What the dynamic linker is to put somewhere.
pub(crate) struct RawRelocation {
    pub addr: u64,
    pub kind: u32,
    /// In `.dynsym`; 0: none.
    pub symbol: usize,
    pub addend: u64,
}

pub(crate) const STT_NOTYPE: u8 = 0;
pub(crate) const STT_OBJECT: u8 = 1;
pub(crate) const STT_FUNC: u8 = 2;
pub(crate) const STT_TLS: u8 = 6;
pub(crate) const STT_GNU_IFUNC: u8 = 10;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Section {
    pub kind: u32,
    link: u32,
    pub flags: u64,
    pub addr: u64,
    pub offset: u64,
    pub size: u64,
    pub align: u64,
    /// Format and size of the contents behind a compression header.
    packed: Option<(CompressionFormat, u64)>,
}

/// Compressed bytes that take longer to unpack than a thread to start.
const WORTH_A_THREAD: u64 = 64 << 10;

/// What the file says of itself.
pub(crate) struct Elf {
    pub path: PathBuf,
    pub storage: Arc<Storage>,
    pub(crate) data: &'static [u8],
    pub is_64: bool,
    pub endian: Endianness,
    pub machine: u16,
    /// e_type
    pub file_type: u16,
    pub segments: Vec<Segment>,
    /// Address, size and alignment of what each thread gets a copy of.
    pub tls: Option<(u64, u64, u64)>,
    pub interpreter: Option<String>,
    pub dynamic: bool,
    /// DF_1_PIE: position-independent, and a program all the same.
    pub pie: bool,
    pub soname: Option<String>,
    pub needed: Vec<String>,
    pub runpath: Vec<String>,
    pub build_id: Option<Vec<u8>>,
    pub(crate) sections: Vec<Section>,
    pub(crate) by_name: HashMap<&'static [u8], usize>,
    /// Further ones of a name (groups in object files).
    of_same_name: Vec<(&'static [u8], usize)>,
    /// Contents that are not as in the file.
    unpacked: Mutex<HashMap<usize, &'static [u8]>>,
    /// Sections have been given addresses: see `lay_out`.
    pub(crate) laid_out: bool,
}

impl Elf {
    pub fn open(path: &Path) -> Result<Elf> {
        Elf::open_as(path, path)
    }

    /// `path` is its name, `file` where it is read: elsewhere only what a process keeps mapped.
    pub fn open_as(path: &Path, file: &Path) -> Result<Elf> {
        let storage = Storage::open(file).map_err(|e| match path == file {
            true => e,
            false => Error::Removed { path: path.into() },
        })?;
        let data = storage.bytes();
        Elf::parse(path, Arc::new(storage), data)
    }

    pub fn from_vec(path: &Path, bytes: Vec<u8>) -> Result<Elf> {
        let (storage, data) = Storage::from_vec(bytes);
        Elf::parse(path, Arc::new(storage), data)
    }

    fn parse(path: &Path, storage: Arc<Storage>, data: &'static [u8]) -> Result<Elf> {
        if data.len() < 16 || data[..4] != elf::ELFMAG {
            return Err(Error::NotElf { path: path.into() });
        }
        let corrupt = |e: object::Error| Error::Corrupt {
            path: path.into(),
            what: e.to_string(),
        };
        match data[4] {
            1 => Self::read::<elf::FileHeader32<Endianness>>(path, storage, data).map_err(corrupt),
            2 => Self::read::<elf::FileHeader64<Endianness>>(path, storage, data).map_err(corrupt),
            _ => Err(Error::Corrupt {
                path: path.into(),
                what: "unknown ELF class".into(),
            }),
        }
    }

    fn read<H: FileHeader<Endian = Endianness>>(
        path: &Path,
        storage: Arc<Storage>,
        data: &'static [u8],
    ) -> object::Result<Elf> {
        let header = H::parse(data)?;
        let en = header.endian()?;
        let mut f = Elf {
            path: path.into(),
            storage,
            data,
            is_64: header.is_class_64(),
            endian: en,
            machine: header.e_machine(en).0,
            file_type: header.e_type(en).0,
            segments: Vec::new(),
            tls: None,
            interpreter: None,
            dynamic: false,
            pie: false,
            soname: None,
            needed: Vec::new(),
            runpath: Vec::new(),
            build_id: None,
            sections: Vec::new(),
            by_name: HashMap::new(),
            of_same_name: Vec::new(),
            unpacked: Mutex::default(),
            laid_out: false,
        };
        let mut dynamic = Vec::new();
        for ph in header.program_headers(en, data)? {
            match ph.p_type(en) {
                elf::PT_LOAD => f.segments.push(Segment {
                    vaddr: ph.p_vaddr(en).into(),
                    offset: ph.p_offset(en).into(),
                    file_size: ph.p_filesz(en).into(),
                    mem_size: ph.p_memsz(en).into(),
                    executable: ph.p_flags(en).0 & 1 != 0,
                    writable: ph.p_flags(en).0 & 2 != 0,
                }),
                elf::PT_TLS => {
                    let (addr, size) = (ph.p_vaddr(en).into(), ph.p_memsz(en).into());
                    f.tls = Some((addr, size, ph.p_align(en).into()));
                }
                elf::PT_INTERP => {
                    let b = ph.data(en, data).unwrap_or(&[]);
                    f.interpreter = Some(c_string(b));
                }
                elf::PT_DYNAMIC => {
                    f.dynamic = true;
                    dynamic = words(ph.data(en, data).unwrap_or(&[]), f.is_64, en);
                }
                elf::PT_NOTE if f.build_id.is_none() => {
                    f.build_id = build_id_of(ph.data(en, data).unwrap_or(&[]), f.order());
                }
                _ => {}
            }
        }
        f.read_sections(header, en)?;
        f.read_dynamic(&dynamic);
        if f.build_id.is_none() && f.is_not_loaded() {
            // Here the note is a section only. Where a program has it so (Go's), it is not seen in its memory.
            f.build_id = build_id_of(f.section(".note.gnu.build-id"), f.order());
        }
        Ok(f)
    }

    /// A separate debug file, or an object file.
    fn is_not_loaded(&self) -> bool {
        self.segments.is_empty() || !self.has_section(".text")
    }

    fn read_sections<H: FileHeader<Endian = Endianness>>(
        &mut self,
        header: &'static H,
        en: Endianness,
    ) -> object::Result<()> {
        let data = self.data;
        let table = header.sections(en, data)?;
        for (i, sh) in table.iter().enumerate() {
            let packed = match sh.compression(en, data)? {
                Some((ch, offset, size)) => {
                    use object::read::elf::CompressionHeader;
                    let format = match ch.ch_type(en).0 {
                        1 => CompressionFormat::Zlib,
                        2 => CompressionFormat::Zstandard,
                        _ => CompressionFormat::Unknown,
                    };
                    Some((format, ch.ch_size(en).into(), offset, size))
                }
                None => None,
            };
            let s = Section {
                kind: sh.sh_type(en).0,
                link: sh.sh_link(en),
                flags: sh.sh_flags(en).0,
                addr: sh.sh_addr(en).into(),
                offset: packed.map_or(sh.sh_offset(en).into(), |p| p.2),
                size: packed.map_or(sh.sh_size(en).into(), |p| p.3),
                align: sh.sh_addralign(en).into(),
                packed: packed.map(|p| (p.0, p.1)),
            };
            if let Ok(name) = table.section_name(en, sh) {
                if *self.by_name.entry(name).or_insert(i) != i {
                    self.of_same_name.push((name, i));
                }
            }
            self.sections.push(s);
        }
        Ok(())
    }

    fn read_dynamic(&mut self, entries: &[(u64, u64)]) {
        let get = |tag: u64| entries.iter().find(|e| e.0 == tag).map(|e| e.1);
        let Some(strtab) = get(5).and_then(|a| self.at_vaddr(a)) else {
            return;
        };
        let strtab = match get(10) {
            Some(size) => &strtab[..strtab.len().min(size as usize)],
            None => strtab,
        };
        let string = |at: u64| strtab.get(at as usize..).map(c_string).unwrap_or_default();
        for &(tag, value) in entries.iter().take_while(|e| e.0 != 0) {
            match tag {
                1 => self.needed.push(string(value)),
                14 => self.soname = Some(string(value)),
                15 if self.runpath.is_empty() => self.runpath = split_path(&string(value)),
                29 => self.runpath = split_path(&string(value)),
                0x6fff_fffb => self.pie = value & 0x0800_0000 != 0,
                _ => {}
            }
        }
    }

    /// File contents from this address to the end of its segment, or section where it is laid out.
    pub fn at_vaddr(&self, addr: u64) -> Option<&'static [u8]> {
        if self.laid_out {
            return self.in_section(addr);
        }
        let s = self
            .segments
            .iter()
            .find(|s| addr >= s.vaddr && addr - s.vaddr < s.file_size)?;
        let skip = addr - s.vaddr;
        self.range(s.offset.checked_add(skip)?, s.file_size - skip)
    }

    /// What is relocated is a section's.
    fn in_section(&self, addr: u64) -> Option<&'static [u8]> {
        let holds =
            |s: &Section| s.flags & elf::SHF_ALLOC.0 != 0 && addr.wrapping_sub(s.addr) < s.size;
        let i = self.sections.iter().position(holds)?;
        let skip = usize::try_from(addr - self.sections[i].addr).ok()?;
        self.contents(i)?.get(skip..)
    }

    pub fn word_at(&self, addr: u64) -> Option<u64> {
        self.order().read_at(self.at_vaddr(addr)?, 0, self.word())
    }

    fn range(&self, offset: u64, size: u64) -> Option<&'static [u8]> {
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        // A segment may be cut by the end of the file: what is there is there.
        self.data.get(start..end.min(self.data.len()))
    }

    pub fn has_section(&self, name: &str) -> bool {
        self.by_name.get(name.as_bytes()).is_some_and(|&i| {
            let s = &self.sections[i];
            s.kind != 8 && s.size != 0
        })
    }

    /// Address of a section.
    pub fn section_addr(&self, name: &str) -> Option<u64> {
        self.by_name
            .get(name.as_bytes())
            .map(|&i| self.sections[i].addr)
    }

    /// Contents of a section, decompressed; empty where there is none (SHT_NOBITS included).
    pub fn section(&self, name: &str) -> &'static [u8] {
        if let Some(&i) = self.by_name.get(name.as_bytes()) {
            return self.contents(i).unwrap_or(&[]);
        }
        // The older form of compression has a name and a header of its own.
        match name.strip_prefix(".debug_") {
            Some(rest) => self.zdebug(&format!(".zdebug_{rest}")).unwrap_or(&[]),
            None => &[],
        }
    }

    /// Contents of all sections of that name, the last one first: that is the unit itself, whose references count from its
    /// own section; what compilers put before it are groups of its types.
    pub fn sections_named(&self, name: &str) -> &'static [u8] {
        let first = self.section(name);
        let more = self.of_same_name.iter();
        let more = more.filter(|s| s.0 == name.as_bytes());
        let mut all = vec![first];
        all.extend(more.filter_map(|&(_, i)| self.contents(i)));
        match all.len() {
            1 => first,
            _ => {
                all.reverse();
                self.storage.keep(all.concat())
            }
        }
    }

    fn zdebug(&self, name: &str) -> Option<&'static [u8]> {
        let &i = self.by_name.get(name.as_bytes())?;
        let raw = self.range(self.sections[i].offset, self.sections[i].size)?;
        let size = u64::from_be_bytes(raw.strip_prefix(b"ZLIB")?.get(..8)?.try_into().ok()?);
        self.unpack(i, CompressionFormat::Zlib, &raw[12..], size)
    }

    /// The same by its number.
    pub fn contents(&self, i: usize) -> Option<&'static [u8]> {
        let s = self.sections.get(i)?;
        if s.kind == 8 {
            return None;
        }
        let raw = self.range(s.offset, s.size)?;
        match s.packed {
            None => Some(self.unpacked().get(&i).copied().unwrap_or(raw)),
            Some((format, size)) => self.unpack(i, format, raw, size),
        }
    }

    fn unpack(
        &self,
        i: usize,
        format: CompressionFormat,
        raw: &'static [u8],
        size: u64,
    ) -> Option<&'static [u8]> {
        if let Some(&b) = self.unpacked().get(&i) {
            return Some(b);
        }
        // deflate cannot do better than about 1:1030; do not allocate what a damaged header asks.
        if size > (raw.len() as u64).saturating_mul(1100).saturating_add(4096) {
            return None;
        }
        let data = CompressedData {
            format,
            data: raw,
            uncompressed_size: size,
        };
        let bytes = self.storage.keep(data.decompress().ok()?.into_owned());
        Some(self.unpacked().entry(i).or_insert(bytes))
    }

    pub(crate) fn unpacked(&self) -> MutexGuard<'_, HashMap<usize, &'static [u8]>> {
        self.unpacked.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Decompress the DWARF sections side by side, so that they are there when asked for. A section for which no thread can
    /// be started is decompressed then.
    pub fn unpack_dwarf(&self) {
        let packed = self.by_name.iter().filter(|(name, &i)| {
            let s = &self.sections[i];
            name.starts_with(b".debug_") && s.packed.is_some() && s.size >= WORTH_A_THREAD
        });
        std::thread::scope(|scope| {
            for (_, &i) in packed {
                let _ = std::thread::Builder::new().spawn_scoped(scope, move || self.contents(i));
            }
        });
    }

    /// The symbols of `.symtab` or `.dynsym` that are defined here, without section and file names.
    pub fn symbols(&self, name: &str) -> Vec<RawSymbol> {
        if self.is_64 {
            self.symbols_of::<elf::FileHeader64<Endianness>>(name)
                .unwrap_or_default()
        } else {
            self.symbols_of::<elf::FileHeader32<Endianness>>(name)
                .unwrap_or_default()
        }
    }

    fn symbols_of<H: FileHeader<Endian = Endianness>>(&self, name: &str) -> Option<Vec<RawSymbol>> {
        let &i = self.by_name.get(name.as_bytes())?;
        let table = self.contents(i)?;
        let strings = self.contents(self.sections[i].link as usize)?;
        let count = table.len() / std::mem::size_of::<H::Sym>();
        let (syms, _) = object::slice_from_bytes::<H::Sym>(table, count).ok()?;
        let en = self.endian;
        let mut out = Vec::with_capacity(count);
        for s in syms {
            let kind = s.st_type().0;
            let shndx = s.st_shndx(en).0;
            let wanted = matches!(
                kind,
                STT_NOTYPE | STT_OBJECT | STT_FUNC | STT_TLS | STT_GNU_IFUNC
            );
            // SHN_ABS symbols are numbers, not places.
            if shndx == 0 || shndx == 0xfff1 || !wanted {
                continue;
            }
            let Some(name) = strings.get(s.st_name(en) as usize..) else {
                continue;
            };
            let end = memchr::memchr(0, name).unwrap_or(name.len());
            if end == 0 {
                continue;
            }
            let bind = s.st_bind().0;
            out.push(RawSymbol {
                name: &name[..end],
                value: s.st_value(en).into() + self.start_of(shndx.into()),
                size: s.st_size(en).into(),
                kind,
                global: bind != 0,
                weak: bind == 2,
                section: shndx.into(),
            });
        }
        Some(out)
    }

    /// What the values of a section's symbols count from.
    fn start_of(&self, section: usize) -> u64 {
        let laid_out = self.sections.get(section).filter(|_| self.laid_out);
        laid_out.map_or(0, |s| s.addr)
    }

    /// Is it still to be linked?
    pub fn is_relocatable(&self) -> bool {
        self.file_type == elf::ET_REL.0
    }

    /// Does the symbol stand in the section of that name?
    pub fn stands_in(&self, symbol: &RawSymbol, section: &str) -> bool {
        self.by_name.get(section.as_bytes()) == Some(&symbol.section)
    }

    /// The entries of a section of relocations with addends.
    pub fn relocations(&self, name: &str) -> Vec<RawRelocation> {
        let found = match self.is_64 {
            true => self.relocations_of::<elf::FileHeader64<Endianness>>(name),
            false => self.relocations_of::<elf::FileHeader32<Endianness>>(name),
        };
        found.unwrap_or_default()
    }

    fn relocations_of<H: FileHeader<Endian = Endianness>>(
        &self,
        name: &str,
    ) -> Option<Vec<RawRelocation>> {
        let section = self.section(name);
        let count = section.len() / std::mem::size_of::<H::Rela>();
        let (all, _) = object::slice_from_bytes::<H::Rela>(section, count).ok()?;
        let en = self.endian;
        let relocation = |r: &H::Rela| RawRelocation {
            addr: r.r_offset(en).into(),
            kind: r.r_type(en, false).0,
            symbol: r.r_sym(en, false) as usize,
            addend: r.r_addend(en).into() as u64,
        };
        Some(all.iter().map(relocation).collect())
    }

    /// An entry of `.dynsym`: its name, its value, whether it is defined here, whether only here.
    pub fn dynamic_symbol(&self, number: usize) -> Option<(&'static str, u64, bool, bool)> {
        match self.is_64 {
            true => self.dynamic_symbol_of::<elf::FileHeader64<Endianness>>(number),
            false => self.dynamic_symbol_of::<elf::FileHeader32<Endianness>>(number),
        }
    }

    fn dynamic_symbol_of<H: FileHeader<Endian = Endianness>>(
        &self,
        number: usize,
    ) -> Option<(&'static str, u64, bool, bool)> {
        let table = self.section(".dynsym");
        let at = number.checked_mul(std::mem::size_of::<H::Sym>())?;
        let (symbol, _) = object::from_bytes::<H::Sym>(table.get(at..)?).ok()?;
        let en = self.endian;
        let text = self.section(".dynstr").get(symbol.st_name(en) as usize..)?;
        let name = std::str::from_utf8(&text[..memchr::memchr(0, text)?]).ok()?;
        let defined = symbol.st_shndx(en).0 != 0;
        // Local, or not to be taken from another file (not of default visibility).
        let own = symbol.st_bind().0 == 0 || symbol.st_visibility().0 != 0;
        Some((name, symbol.st_value(en).into(), defined, own))
    }

    pub fn word(&self) -> u8 {
        if self.is_64 {
            8
        } else {
            4
        }
    }

    pub fn order(&self) -> ByteOrder {
        match self.endian {
            Endianness::Little => ByteOrder::Little,
            Endianness::Big => ByteOrder::Big,
        }
    }

    /// Refuse what cannot be traced.
    pub fn check_loadable(&self) -> Result<(ElfKind, &'static Machine)> {
        let path = || self.path.clone();
        let kind = match self.file_type {
            2 => ElfKind::Fixed,
            3 => ElfKind::Dynamic,
            t => {
                let kind = match t {
                    1 => "an object file",
                    4 => "a core file",
                    _ => "an ELF file of an unknown type",
                };
                return Err(Error::NotLoadable {
                    path: path(),
                    kind: kind.into(),
                });
            }
        };
        match Machine::of_elf(self.machine, self.word(), self.order()) {
            Some(machine) => Ok((kind, machine)),
            None => Err(self.wrong_machine()),
        }
    }

    fn wrong_machine(&self) -> Error {
        let path = self.path.clone();
        let found = elf_machine_title(self.machine);
        match is_32_bit_family(self.machine, self.word()) {
            true => Error::Is32Bit {
                path,
                machine: found,
            },
            false => Error::WrongArch { path, found },
        }
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn c_string(b: &[u8]) -> String {
    let end = memchr::memchr(0, b).unwrap_or(b.len());
    String::from_utf8_lossy(&b[..end]).into_owned()
}

fn split_path(s: &str) -> Vec<String> {
    s.split(':')
        .filter(|d| !d.is_empty())
        .map(str::to_owned)
        .collect()
}

fn words(b: &[u8], is_64: bool, en: Endianness) -> Vec<(u64, u64)> {
    use object::Endian;
    let half = if is_64 { 8 } else { 4 };
    let read = |b: &[u8]| match is_64 {
        true => b.try_into().map_or(0, |b| en.read_u64(b)),
        false => b.try_into().map_or(0, |b| u64::from(en.read_u32(b))),
    };
    b.chunks_exact(2 * half)
        .map(|e| (read(&e[..half]), read(&e[half..])))
        .collect()
}

/// The descriptor of the note (GNU, 3), if it is among these.
pub(crate) fn build_id_of(notes: &[u8], order: ByteOrder) -> Option<Vec<u8>> {
    let mut ids = Notes::new(notes, order).filter(|n| n.kind == 3 && n.owner == b"GNU\0");
    ids.find(|n| !n.body.is_empty()).map(|n| n.body.to_vec())
}
