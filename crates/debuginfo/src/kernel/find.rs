// SPDX-License-Identifier: MIT
//! Where a kernel's files are: those of the one that runs in /sys, those of others where packages put them.

use super::btf::Btf;
use super::kept;
use super::once::Once;
use super::systems::Systems;
use crate::elf::{build_id_of, hex, Elf};
use crate::error::{Error, Result};
use crate::unpack::unpack;
use std::path::{Path, PathBuf};
use trapless_machine::Machine;

const LIVE: &str = "/sys/kernel/btf/vmlinux";
const LIVE_NOTES: &str = "/sys/kernel/notes";

/// What is read of a kernel.
pub struct Files {
    pub path: PathBuf,
    pub btf: Vec<u8>,
    pub build_id: Vec<u8>,
    /// `None`: this one tells none; see [`told_here`].
    pub told: Option<Told>,
}

/// What data of a kernel's file tells beside.
#[derive(Default)]
pub struct Told {
    pub systems: Systems,
    pub once: Once,
}

/// The release of the kernel that runs here.
pub fn running() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease");
    text.unwrap_or_default().trim().to_string()
}

/// The release that `-r` names, be it by a folder.
pub fn release_of(named: &str) -> String {
    if !is_folder(named) {
        return named.to_string();
    }
    let folder = Path::new(named);
    let images = images_in(&folder.join("boot"));
    let mut by_name = images
        .iter()
        .filter_map(|p| p.file_name()?.to_str()?.strip_prefix("vmlinuz-"));
    let built = || std::fs::read_to_string(folder.join("include/config/kernel.release"));
    match by_name.next_back() {
        Some(release) => release.to_string(),
        None => built().unwrap_or_default().trim().to_string(),
    }
}

/// Of `named` (a release, or a folder), or of the kernel that runs here.
pub fn find(named: Option<&str>, cache: Option<&Path>, machine: &Machine) -> Result<Files> {
    let here = running();
    let release = named.unwrap_or(&here);
    if release == here {
        if let Ok(btf) = std::fs::read(LIVE) {
            let notes = std::fs::read(LIVE_NOTES).unwrap_or_default();
            return Ok(Files {
                path: LIVE.into(),
                btf,
                build_id: build_id_of(&notes, machine.abi.order).unwrap_or_default(),
                told: None,
            });
        }
    }
    let looked = candidates(release);
    match looked.iter().find(|p| p.is_file()) {
        Some(path) => read_or_kept(path, cache, machine),
        None => Err(Error::NoKernel {
            release: release.into(),
            looked,
        }),
    }
}

/// Of the kernel that runs here: as it lists that, or as the file of that build-id has it.
pub fn told_here(cache: Option<&Path>, machine: &Machine, build_id: &[u8]) -> Told {
    let mut told = Told {
        systems: Systems::listed(),
        once: Once::listed(),
    };
    if !told.systems.is_empty() && !told.once.is_empty() {
        return told;
    }
    let files = candidates(&running());
    let mut read = files
        .iter()
        .filter_map(|p| read_or_kept(p, cache, machine).ok());
    let own = read.find(|f| f.build_id == build_id);
    let of_file = own.and_then(|f| f.told).unwrap_or_default();
    if told.systems.is_empty() {
        told.systems = of_file.systems;
    }
    if told.once.is_empty() {
        told.once = of_file.once;
    }
    told
}

fn is_folder(named: &str) -> bool {
    named.contains('/')
}

fn candidates(release: &str) -> Vec<PathBuf> {
    if is_folder(release) {
        let folder = Path::new(release);
        let mut all = vec![folder.join("vmlinux"), folder.join("vmlinuz")];
        all.extend(images_in(&folder.join("boot")).pop());
        return all;
    }
    let of = |path: &str| path.replace("RELEASE", release).into();
    [
        "/boot/vmlinuz-RELEASE",
        "/usr/lib/modules/RELEASE/vmlinuz",
        "/lib/modules/RELEASE/vmlinuz",
        "/lib/modules/RELEASE/build/vmlinux",
    ]
    .map(of)
    .to_vec()
}

/// Where a kernel's own file may be.
pub fn images(named: Option<&str>) -> Vec<PathBuf> {
    let here = running();
    candidates(named.unwrap_or(&here))
}

/// Where a kernel's symbols may be beside its own file: in an unpacked one, or listed.
pub fn symbol_files(named: Option<&str>) -> Vec<PathBuf> {
    let here = running();
    let named = named.unwrap_or(&here);
    let release = release_of(named);
    let root = root_of(Some(named));
    let built = match is_folder(named) {
        true => PathBuf::from(named),
        false => Path::new("/lib/modules").join(named).join("build"),
    };
    let files = [
        "boot/System.map-RELEASE",
        "usr/lib/debug/boot/System.map-RELEASE",
        "usr/lib/debug/boot/vmlinux-RELEASE",
        "usr/lib/debug/lib/modules/RELEASE/vmlinux",
    ];
    let of = |path: &str| root.join(path.replace("RELEASE", &release));
    let mut all = files.map(of).to_vec();
    all.extend(["System.map", "vmlinux"].map(|name| built.join(name)));
    all
}

/// Below it packages put what they have.
fn root_of(named: Option<&str>) -> &Path {
    match named.filter(|n| is_folder(n)) {
        Some(folder) => Path::new(folder),
        None => Path::new("/"),
    }
}

/// Where a module's debug information may lie beside its own file.
pub fn debug_files_of_module(named: Option<&str>, file: &Path) -> Vec<PathBuf> {
    let packed = file.to_string_lossy();
    let plain = packed.find(".ko").map_or(&*packed, |at| &packed[..at + 3]);
    let mut all = vec![format!("{plain}.debug").into()];
    // Folders of debug information are made like the root, where usr may be left out or not.
    if let Some(at) = plain.find("lib/modules/") {
        let debug = root_of(named).join("usr/lib/debug");
        let of = |usr: &str, end: &str| debug.join(format!("{usr}{}{end}", &plain[at..]));
        all.extend([
            of("", ""),
            of("", ".debug"),
            of("usr/", ""),
            of("usr/", ".debug"),
        ]);
    }
    all
}

pub fn debug_file_by_id(named: Option<&str>, build_id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = build_id.split_first()?;
    let name = format!("{}/{}.debug", hex(&[*first]), hex(rest));
    let folder = root_of(named).join("usr/lib/debug/.build-id");
    Some(folder.join(name))
}

/// Is it such a list?
pub fn is_system_map(path: &Path) -> bool {
    begins(path, "System.map")
}

/// What a boot loader starts: packed, and without debug information.
pub fn is_boot_image(path: &Path) -> bool {
    begins(path, "vmlinuz")
}

fn begins(path: &Path, with: &str) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(with)
}

/// Where a kernel's modules may lie.
pub fn module_folders(named: Option<&str>) -> Vec<PathBuf> {
    let here = running();
    let release = named.unwrap_or(&here);
    if !is_folder(release) {
        let of = |root: &str| Path::new(root).join(release);
        return vec![of("/lib/modules"), of("/usr/lib/modules")];
    }
    let folder = Path::new(release);
    let modules = folder.join("lib/modules").join(release_of(release));
    vec![modules, folder.join("kernel")]
}

/// Is it the kernel that runs here?
pub fn is_running(named: Option<&str>) -> bool {
    named.is_none_or(|n| n == running())
}

/// In the order of their names.
fn images_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = entries.map(|e| e.path()).collect();
    all.retain(|path| begins(path, "vmlinuz-"));
    all.sort();
    all
}

fn read_or_kept(path: &Path, cache: Option<&Path>, machine: &Machine) -> Result<Files> {
    if let Some(files) = cache.and_then(|folder| kept::get(folder, path)) {
        return Ok(files);
    }
    let (files, packed) = read(path, machine)?;
    if let Some(folder) = cache.filter(|_| packed) {
        kept::put(folder, &files);
    }
    Ok(files)
}

/// And whether it was packed.
pub fn unpacked(path: &Path, machine: &Machine) -> Result<(Elf, bool)> {
    // Mapped, where it can be: one with debug information is large.
    let none = match Elf::open(path) {
        Err(e @ Error::NotElf { .. }) => e,
        opened => return Ok((opened?, false)),
    };
    let bytes = std::fs::read(path).map_err(|e| Error::Io {
        path: path.into(),
        why: e.to_string(),
    })?;
    let packed = (machine.boot_image)(&bytes).ok_or(none)?;
    let elf = unpack(packed).map_err(|what| Error::Corrupt {
        path: path.into(),
        what,
    })?;
    Ok((Elf::from_vec(path, elf)?, true))
}

/// The same.
fn read(path: &Path, machine: &Machine) -> Result<(Files, bool)> {
    let (elf, packed) = unpacked(path, machine)?;
    let btf = elf.section(".BTF").to_vec();
    let build_id = elf.build_id.clone().unwrap_or_default();
    if btf.is_empty() {
        return Err(Error::NoBtf { path: path.into() });
    }
    let described = Btf::new(btf.clone());
    let systems = described.map(|btf| Systems::in_data(&elf, &btf));
    let files = Files {
        path: path.into(),
        btf,
        build_id,
        told: Some(Told {
            systems: systems.unwrap_or_default(),
            once: Once::in_file(&elf),
        }),
    };
    Ok((files, packed))
}
