// SPDX-License-Identifier: MIT
//! A live process: which files are mapped where.

use crate::elf::{Elf, ElfKind};
use crate::error::{Error, Result};
use crate::glob;
use crate::search::SearchPath;
use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A process and its mapped ELF files, read once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    /// The program, as the process sees it.
    pub exe: PathBuf,
    /// Its root folder as this process can open it: `/`, or `/proc/PID/root`.
    pub root: PathBuf,
    /// The program first, then by address.
    pub images: Vec<Image>,
}

/// One loaded ELF file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// As the process sees it (without the kernel's ` (deleted)`).
    pub path: PathBuf,
    /// As this process can open it.
    pub file: PathBuf,
    /// Device number as `/proc/PID/maps` shows it: major, minor.
    pub device: (u32, u32),
    pub inode: u64,
    /// Run-time address minus file address.
    pub bias: u64,
    /// By address; at least one is executable.
    pub mappings: Vec<Mapping>,
    /// The file was removed or replaced since it was mapped. `file` is still the mapped one if
    /// `file_is_mapped`.
    pub replaced: bool,
    /// `file` is surely what is mapped (same inode, or reached through the mapping itself).
    pub file_is_mapped: bool,
}

/// One line of `/proc/PID/maps` that belongs to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapping {
    pub start: u64,
    pub end: u64,
    pub offset: u64,
    pub readable: bool,
    pub writable: bool,
    pub executable: bool,
}

impl Process {
    /// Read the state of a live process.
    pub fn read(pid: u32) -> Result<Process> {
        let dir = proc_folder(pid);
        let denied = |e: std::io::Error| match e.kind() {
            ErrorKind::PermissionDenied => Error::ProcessDenied {
                pid,
                why: "it belongs to another user".into(),
            },
            _ => Error::NoProcess { pid },
        };
        let maps = fs::read(dir.join("maps")).map_err(denied)?;
        let exe = match fs::read_link(dir.join("exe")) {
            Ok(exe) => exe,
            Err(e) if e.kind() == ErrorKind::NotFound && dir.exists() => {
                let why = match programless(pid) {
                    Some(Programless::KernelThread) => "it is a thread of the kernel",
                    _ => "it has ended and only waits for its parent (zombie)",
                };
                return Err(Error::NoImage {
                    pid,
                    why: why.into(),
                });
            }
            Err(e) => return Err(denied(e)),
        };
        let same = |link: &str| {
            let of = |p: &Path| fs::read_link(p).ok();
            of(&dir.join(link)).is_some_and(|l| Some(l) == of(&Path::new("/proc/self").join(link)))
        };
        let root = match same("ns/mnt") && same("root") {
            true => PathBuf::from("/"),
            false => dir.join("root"),
        };
        let (exe, _) = undeleted(&exe);
        let mut p = Process {
            pid,
            exe,
            root,
            images: Vec::new(),
        };
        p.read_images(&dir, &String::from_utf8_lossy(&maps));
        let exe = p.exe.clone();
        p.images
            .sort_by_key(|i| (i.path != exe, i.mappings.first().map_or(0, |m| m.start)));
        Ok(p)
    }

    fn read_images(&mut self, dir: &Path, maps: &str) {
        let search = SearchPath::in_root(&self.root);
        // By file: how to open it, and its segments.
        let mut files: HashMap<(u64, PathBuf), Option<(Image, Elf)>> = HashMap::new();
        for line in maps.lines() {
            let Some((mapping, device, inode, path)) = parse_line(line) else {
                continue;
            };
            let key = (inode, path.clone());
            let known = files.entry(key).or_insert_with(|| {
                open_mapped(dir, &search, &self.exe, &mapping, device, inode, &path)
            });
            let Some((image, elf)) = known else { continue };
            let Some(bias) = bias_of(elf, &mapping) else {
                continue;
            };
            let own = |i: &&mut Image| i.inode == inode && i.path == image.path && i.bias == bias;
            match self.images.iter_mut().find(own) {
                Some(i) => i.mappings.push(mapping),
                None => self.images.push(Image {
                    bias,
                    mappings: vec![mapping],
                    ..image.clone()
                }),
            }
        }
        self.images
            .retain(|i| i.mappings.iter().any(|m| m.executable));
    }

    /// The program itself.
    pub fn program(&self) -> Option<&Image> {
        self.images.iter().find(|i| i.path == self.exe)
    }

    /// The search path for this process's files.
    pub fn search(&self) -> SearchPath {
        SearchPath::in_root(&self.root)
    }

    /// The images whose path, file name, or name without version match (wildcards allowed).
    pub fn matching(&self, pattern: &str) -> Vec<&Image> {
        let right = |i: &&Image| {
            let path = i.path.to_string_lossy();
            let file = i.path.file_name().unwrap_or_default().to_string_lossy();
            match pattern.contains('/') {
                true => glob::matches(pattern, &path),
                false => {
                    glob::matches(pattern, &file)
                        || Elf::open(&i.file)
                            .ok()
                            .and_then(|e| e.soname)
                            .is_some_and(|s| glob::matches(pattern, &s))
                }
            }
        };
        self.images.iter().filter(right).collect()
    }

    /// The image that holds a run-time address.
    pub fn image_at(&self, addr: u64) -> Option<&Image> {
        let holds = |i: &&Image| i.mappings.iter().any(|m| (m.start..m.end).contains(&addr));
        self.images.iter().find(holds)
    }
}

/// `/proc/PID`; or that of a living thread of it, where the first one has ended: that one shows
/// neither memory nor files any more.
pub fn proc_folder(pid: u32) -> PathBuf {
    let first = PathBuf::from(format!("/proc/{pid}"));
    let lives = |dir: &PathBuf| fs::read_link(dir.join("exe")).is_ok();
    if lives(&first) {
        return first;
    }
    let threads = fs::read_dir(first.join("task")).into_iter().flatten();
    let mut folders = threads
        .flatten()
        .map(|t| Path::new("/proc").join(t.file_name()));
    folders.find(lives).unwrap_or(first)
}

/// The processes that run this program and whose `exe` the caller may see, by PID.
pub fn processes_running(program: &Path) -> Vec<u32> {
    let Ok(wanted) = fs::metadata(program) else {
        return Vec::new();
    };
    let mut pids = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse().ok()) else {
            continue;
        };
        let exe = fs::metadata(proc_folder(pid).join("exe"));
        if exe.is_ok_and(|m| (m.dev(), m.ino()) == (wanted.dev(), wanted.ino())) {
            pids.push(pid);
        }
    }
    pids.sort_unstable();
    pids
}

/// The programs that run, by the names of their files.
pub fn running_programs() -> Vec<PathBuf> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|p| fs::read_link(p.path().join("exe")).ok())
        .collect()
}

/// The files that a process has mapped and whose names lead to them no more, and where they can
/// still be read: the program itself by its user, libraries by root.
pub fn removed_files(pid: u32) -> Vec<(PathBuf, PathBuf)> {
    let dir = proc_folder(pid);
    let maps = fs::read(dir.join("maps")).unwrap_or_default();
    let exe = fs::read_link(dir.join("exe")).unwrap_or_default();
    let mut found: Vec<(PathBuf, PathBuf)> = Vec::new();
    for line in String::from_utf8_lossy(&maps).lines() {
        let Some((m, _, _, shown)) = parse_line(line) else {
            continue;
        };
        let (path, deleted) = undeleted(&shown);
        if !deleted || found.iter().any(|f| f.0 == path) {
            continue;
        }
        let file = match shown == exe {
            true => dir.join("exe"),
            false => dir.join(format!("map_files/{:x}-{:x}", m.start, m.end)),
        };
        found.push((path, file));
    }
    found
}

/// What the kernel calls a process's file, as the process itself would say it.
pub fn name_inside(pid: u32, path: &Path) -> PathBuf {
    let root = fs::read_link(proc_folder(pid).join("root")).unwrap_or_default();
    match path.strip_prefix(&root) {
        Ok(inside) => Path::new("/").join(inside),
        Err(_) => path.into(),
    }
}

/// The name that a process in another root has for a file of ours, if it has mapped that.
pub fn mapped_name(pid: u32, file: &Path) -> Option<PathBuf> {
    let dir = proc_folder(pid);
    let id = |path: &Path| fs::metadata(path).map(|m| (m.dev(), m.ino())).ok();
    let wanted = id(file)?;
    let maps = fs::read(dir.join("maps")).ok()?;
    let maps = String::from_utf8_lossy(&maps);
    let names = maps.lines().filter_map(|l| Some(parse_line(l)?.3));
    names.map(|n| name_inside(pid, &n)).find(|n| {
        let inside = n.strip_prefix("/").unwrap_or(n);
        id(&dir.join("root").join(inside)) == Some(wanted)
    })
}

/// The name that we have for a file of ours that a process has mapped, and that lies outside of the
/// root that it has given itself since.
pub fn mapped_outside(pid: u32, file: &Path) -> Option<PathBuf> {
    let real = file.canonicalize().ok()?;
    let wanted = fs::metadata(&real).ok()?.ino();
    let maps = fs::read(proc_folder(pid).join("maps")).ok()?;
    let maps = String::from_utf8_lossy(&maps);
    let mut mapped = maps.lines().filter_map(parse_line);
    mapped
        .any(|(_, _, inode, name)| (inode, &name) == (wanted, &real))
        .then_some(real)
}

/// What a process without a program is, as its status file tells everybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Programless {
    /// It has ended, and its parent has not waited for it yet.
    Zombie,
    KernelThread,
}

/// `None`: it has a program, or is gone.
pub fn programless(pid: u32) -> Option<Programless> {
    let status = fs::read_to_string(proc_folder(pid).join("status")).ok()?;
    let has = |field| status.lines().any(|l| l.starts_with(field));
    let zombie = status
        .lines()
        .any(|l| l.starts_with("State:") && l.contains(['Z', 'X']));
    match (has("VmSize:"), zombie) {
        (true, _) => None,
        (_, true) => Some(Programless::Zombie),
        _ => Some(Programless::KernelThread),
    }
}

/// `start-end perms offset dev inode path`; only lines with a file.
fn parse_line(line: &str) -> Option<(Mapping, (u32, u32), u64, PathBuf)> {
    let mut rest = line;
    let mut field = || {
        let (f, tail) = rest.trim_start().split_once(' ')?;
        rest = tail;
        Some(f)
    };
    let hex = |s: &str| u64::from_str_radix(s, 16).ok();
    let (start, end) = field()?.split_once('-')?;
    let perms = field()?.as_bytes();
    let offset = hex(field()?)?;
    let (major, minor) = field()?.split_once(':')?;
    let inode: u64 = field()?.parse().ok()?;
    let path = rest.trim_start();
    if !path.starts_with('/') || perms.len() < 3 {
        return None;
    }
    let mapping = Mapping {
        start: hex(start)?,
        end: hex(end)?,
        offset,
        readable: perms[0] == b'r',
        writable: perms[1] == b'w',
        executable: perms[2] == b'x',
    };
    let device = (hex(major)? as u32, hex(minor)? as u32);
    // The kernel writes a newline in a name as \012.
    Some((
        mapping,
        device,
        inode,
        PathBuf::from(path.replace("\\012", "\n")),
    ))
}

fn undeleted(path: &Path) -> (PathBuf, bool) {
    match path.to_str().and_then(|s| s.strip_suffix(" (deleted)")) {
        Some(s) => (s.into(), true),
        None => (path.into(), false),
    }
}

fn open_mapped(
    dir: &Path,
    search: &SearchPath,
    exe: &Path,
    m: &Mapping,
    device: (u32, u32),
    inode: u64,
    shown: &Path,
) -> Option<(Image, Elf)> {
    let (path, deleted) = undeleted(shown);
    let by_name = search.host_path(&path);
    let same = fs::metadata(&by_name).is_ok_and(|meta| meta.ino() == inode);
    let mut places = Vec::new();
    if same && !deleted {
        places.push((by_name.clone(), true));
    } else {
        if path == exe {
            places.push((dir.join("exe"), true));
        }
        places.push((
            dir.join(format!("map_files/{:x}-{:x}", m.start, m.end)),
            true,
        ));
        // Better another file of that name than none; the caller is told.
        places.push((by_name, false));
    }
    places.into_iter().find_map(|(file, file_is_mapped)| {
        let elf = Elf::open(&file).ok()?;
        let image = Image {
            path: path.clone(),
            file,
            device,
            inode,
            bias: 0,
            mappings: Vec::new(),
            replaced: deleted || !same,
            file_is_mapped,
        };
        Some((image, elf))
    })
}

/// Load bias, from the segment that this mapping belongs to.
fn bias_of(elf: &Elf, m: &Mapping) -> Option<u64> {
    let (kind, machine) = elf.check_loadable().ok()?;
    if kind == ElfKind::Fixed {
        return Some(0);
    }
    let page = !(machine.abi.pages.least - 1);
    let holds = |s: &&crate::elf::Segment| {
        let from = s.offset & page;
        m.offset >= from && m.offset < s.offset.saturating_add(s.file_size.max(1))
    };
    let exact = |s: &&crate::elf::Segment| s.executable == m.executable && holds(s);
    let s = elf
        .segments
        .iter()
        .find(exact)
        .or_else(|| elf.segments.iter().find(holds))?;
    let vaddr = (s.vaddr & page).wrapping_add(m.offset - (s.offset & page));
    Some(m.start.wrapping_sub(vaddr))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_lines_parse() {
        let line =
            "7f00aa000000-7f00aa021000 r-xp 00028000 fe:01 1234   /usr/lib/my lib.so (deleted)";
        let (m, device, inode, path) = parse_line(line).unwrap();
        assert_eq!(
            (m.start, m.offset, m.executable),
            (0x7f00_aa00_0000, 0x28000, true)
        );
        assert_eq!((device, inode), ((0xfe, 1), 1234));
        assert_eq!(undeleted(&path), ("/usr/lib/my lib.so".into(), true));
        assert!(parse_line("7ffc0000-7ffd0000 rw-p 00000000 00:00 0    [stack]").is_none());
        assert!(parse_line("7ffc0000-7ffd0000 rw-p 00000000 00:00 0 ").is_none());
        assert!(parse_line("nonsense").is_none());
    }

    #[test]
    fn this_process_is_found() {
        let p = Process::read(std::process::id()).unwrap();
        let program = p.program().unwrap();
        assert!(program.file_is_mapped && !program.replaced);
        // A function of this test, by its symbol and by its run-time address.
        let here = maps_lines_parse as *const () as u64;
        assert_eq!(p.image_at(here), Some(program));
        let bin = crate::Binary::open(&program.file, &p.search()).unwrap();
        let name = bin
            .symbols()
            .at(here - program.bias)
            .unwrap()
            .name
            .to_owned();
        assert!(name.contains("maps_lines_parse"), "{name}");
        assert_eq!(p.matching("libc.so*").len(), 1);
        assert!(processes_running(&program.file).contains(&std::process::id()));
    }

    #[test]
    fn absent_processes_are_refused() {
        assert_eq!(
            Process::read(u32::MAX / 2).unwrap_err().tag(),
            "PROCESS_GONE"
        );
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let mut tag = "";
        for _ in 0..1000 {
            tag = Process::read(child.id()).map_or_else(|e| e.tag(), |_| "");
            if tag == "PROCESS_NO_IMAGE" {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        child.wait().unwrap();
        assert_eq!(tag, "PROCESS_NO_IMAGE", "a zombie");
    }
}
