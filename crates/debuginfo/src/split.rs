// SPDX-License-Identifier: MIT
//! Split DWARF: units whose contents lie in `.dwo` files, or all in one `.dwp`.

use crate::die::{endian, text, Unit, R};
use crate::dwarf::Dwarf;
use crate::elf::Elf;
use gimli::{DwarfPackage, DwoId, EndianSlice, Section, SectionId};
use memchr::memmem;
use std::path::{Path, PathBuf};

/// What a skeleton unit stands for.
pub(crate) struct Split {
    pub dwarf: gimli::Dwarf<R>,
    pub unit: Unit,
    /// What the slices point into; a package is the `Dwarf`'s.
    _file: Option<Elf>,
}

/// `PROGRAM.dwp`.
pub(crate) struct Package {
    all: DwarfPackage<R>,
    _file: Elf,
}

fn sections(elf: &Elf) -> impl FnMut(SectionId) -> std::result::Result<R, gimli::Error> + '_ {
    elf.unpack_dwarf();
    move |id| {
        let bytes = id
            .dwo_name()
            .map_or(&[][..], |name| elf.sections_named(name));
        Ok(EndianSlice::new(bytes, endian(elf)))
    }
}

impl Package {
    pub fn open(debug: &Path) -> Option<Package> {
        let mut path = debug.as_os_str().to_owned();
        path.push(".dwp");
        let file = Elf::open(Path::new(&path)).ok()?;
        let empty = EndianSlice::new(&[], endian(&file));
        let all = DwarfPackage::load(sections(&file), empty).ok()?;
        Some(Package { all, _file: file })
    }
}

impl Split {
    pub fn is_packed(&self) -> bool {
        self._file.is_none()
    }
}

impl Dwarf {
    /// What each type unit of the package refers to.
    pub fn packed_types(&self) -> Vec<gimli::Dwarf<R>> {
        let package = self.package.get_or_init(|| Package::open(&self.path));
        let Some(package) = package else {
            return Vec::new();
        };
        let rows = 1..=package.all.tu_index.unit_count();
        rows.filter_map(|row| package.all.tu_sections(row, &self.main).ok())
            .collect()
    }

    /// The contents of a skeleton unit; `None`: it is none, or they are nowhere.
    pub fn split(&self, n: u32) -> Option<&Split> {
        let slot = self.units.get(n as usize)?;
        let find = || {
            let (name, id) = self.dwo(n)?;
            self.in_package(n, id).or_else(|| self.in_file(n, name, id))
        };
        slot.split.get_or_init(find).as_ref()
    }

    /// The file that a unit's contents should be in, where they are not found.
    pub fn missing_split(&self, n: u32) -> Option<String> {
        let (name, _) = self.dwo(n)?;
        self.split(n).is_none().then(|| text(name))
    }

    fn dwo(&self, n: u32) -> Option<(&'static [u8], DwoId)> {
        let skeleton = self.skeleton(n).ok()?;
        let id = skeleton.dwo_id?;
        let name = skeleton.dwo_name().ok()??;
        let name = self.file_of(n).attr_string(skeleton, name).ok()?;
        Some((name.slice(), id))
    }

    fn in_package(&self, n: u32, id: DwoId) -> Option<Split> {
        let package = self.package.get_or_init(|| Package::open(&self.path));
        let dwarf = package.as_ref()?.all.find_cu(id, &self.main).ok()??;
        self.with_unit(n, id, dwarf, None)
    }

    fn in_file(&self, n: u32, name: &[u8], id: DwoId) -> Option<Split> {
        let name = PathBuf::from(text(name));
        let beside = self.path.parent()?;
        let folder = self.skeleton(n).ok()?.comp_dir;
        let folder = folder.map_or_else(PathBuf::new, |d| text(d.slice()).into());
        let there = self.search.host_path(&folder.join(&name));
        let places = [there, beside.join(&name), beside.join(name.file_name()?)];
        places.into_iter().find_map(|path| {
            let file = Elf::open(&path).ok()?;
            let mut dwarf = gimli::Dwarf::load(sections(&file)).ok()?;
            dwarf.make_dwo(&self.main);
            self.with_unit(n, id, dwarf, Some(file))
        })
    }

    fn with_unit(
        &self,
        n: u32,
        id: DwoId,
        dwarf: gimli::Dwarf<R>,
        _file: Option<Elf>,
    ) -> Option<Split> {
        let skeleton = self.skeleton(n).ok()?;
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            let Ok(mut unit) = dwarf.unit(header) else {
                continue;
            };
            if unit.dwo_id == Some(id) {
                unit.copy_relocated_attributes(skeleton);
                return Some(Split { dwarf, unit, _file });
            }
        }
        None
    }

    /// The split units that may hold an entry of that name.
    pub fn mark_split(&self, name: &memmem::Finder<'_>, hit: &mut [bool]) {
        for (n, hit) in hit.iter_mut().enumerate().take(self.info_units) {
            let has = |s: &Split| {
                let strings = s.dwarf.debug_str.reader().slice();
                name.find(strings).is_some() || is_spelt(name, &s.dwarf)
            };
            *hit |= self.split(n as u32).is_some_and(has);
        }
    }
}

/// Short names stand in the entries themselves.
pub(crate) fn is_spelt(name: &memmem::Finder<'_>, dwarf: &gimli::Dwarf<R>) -> bool {
    let parts = [dwarf.debug_info.reader(), dwarf.debug_types.reader()];
    parts.iter().any(|p| name.find(p.slice()).is_some())
}
