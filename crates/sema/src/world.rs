// SPDX-License-Identifier: MIT
//! What the script is about outside the script: the target, its files, and
//! the images that have been looked at.

use crate::ir::{Image, ImageId, Symbol};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use trapless_debuginfo::{
    proc_folder, Binary, DebugInfo, ElfKind, Error, Pattern, Process, SearchPath, SymbolKind,
};
use trapless_syntax::diag::{Diagnostic, Diagnostics, Tag};
use trapless_syntax::Span;

/// What `-c` and `-x` say.
#[derive(Clone, Debug, Default)]
pub struct TargetSpec {
    /// Absolute path of the program that `process` without a name means.
    pub program: Option<String>,
    pub pid: Option<u32>,
}

/// Files and debug information, opened when they are needed.
pub struct World {
    pub target: TargetSpec,
    pub images: Vec<Image>,
    info: DebugInfo,
    binaries: HashMap<ImageId, Arc<Binary>>,
}

impl World {
    pub fn new(target: TargetSpec) -> World {
        // The files of a process in another mount namespace are its own.
        let search = match target.pid {
            Some(pid) if !same_root(pid) => SearchPath::in_root(proc_folder(pid).join("root")),
            _ => SearchPath::host(),
        };
        let search = match target.pid {
            Some(pid) => search.of_process(pid),
            None => search,
        };
        World {
            target,
            images: Vec::new(),
            info: DebugInfo::new(search),
            binaries: HashMap::new(),
        }
    }

    pub fn info(&self) -> &DebugInfo {
        &self.info
    }

    pub fn binary(&self, image: ImageId) -> Option<Arc<Binary>> {
        self.binaries.get(&image).cloned()
    }

    /// The number of a file, which becomes an image when it is new.
    pub fn image_of(&mut self, binary: &Arc<Binary>) -> ImageId {
        let path = binary.path().to_string_lossy().into_owned();
        let at = self.images.iter().position(|i| i.path == path);
        let at = at.unwrap_or_else(|| {
            self.images.push(Image {
                build_id: hex(binary.build_id().as_deref().unwrap_or("")),
                file_size: std::fs::metadata(self.info.search().readable(binary.path()))
                    .map_or(0, |m| m.len()),
                program: is_program(binary),
                path,
            });
            self.images.len() - 1
        });
        let id = ImageId(at as u32);
        self.binaries.insert(id, binary.clone());
        id
    }
}

impl World {
    /// All functions of the images, and of the libraries that their programs
    /// need; those libraries become images too.
    pub fn symbols(&mut self) -> Vec<Symbol> {
        let programs: Vec<Arc<Binary>> = self.binaries.values().cloned().collect();
        for program in programs.iter().filter(|b| is_program(b)) {
            for library in self.info.search().closure(program) {
                if let Ok(b) = self.info.open(&library.path) {
                    self.image_of(&b);
                }
            }
        }
        let mut found = Vec::new();
        for (image, binary) in &self.binaries {
            for s in binary.symbols().iter() {
                if matches!(s.kind, SymbolKind::Function | SymbolKind::Ifunc) {
                    found.push(Symbol {
                        image: *image,
                        addr: s.addr,
                        size: s.size,
                        name: s.name.to_string(),
                    });
                }
            }
        }
        found
    }
}

impl World {
    /// A library of the program, or of its process, that has the function: as `.library` takes it.
    pub fn library_with(&self, program: &Binary, function: &Pattern) -> Option<String> {
        let has = |path: &Path| {
            let library = self.info.open(path);
            library.is_ok_and(|l| !is_program(&l) && l.names_function(function))
        };
        let needed = self.info.search().closure(program);
        if let Some(library) = needed.iter().find(|l| has(&l.path)) {
            return Some(library.name.clone());
        }
        let process = Process::read(self.target.pid?).ok()?;
        let opened = process.images.iter().find(|i| has(&i.file))?;
        Some(opened.path.to_string_lossy().into_owned())
    }
}

/// A file that is started, not loaded by one.
pub fn is_program(binary: &Binary) -> bool {
    binary.kind() == ElfKind::Fixed
        || binary.interpreter().is_some() && binary.soname().is_none()
        || binary.is_static()
}

fn same_root(pid: u32) -> bool {
    let theirs = proc_folder(pid);
    ["ns/mnt", "root"].iter().all(|link| {
        let of = |folder: &Path| std::fs::read_link(folder.join(link)).ok();
        let theirs = of(&theirs);
        theirs.is_none() || theirs == of(Path::new("/proc/self"))
    })
}

fn hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks_exact(2);
    let byte = |c: &[u8]| {
        std::str::from_utf8(c)
            .ok()
            .and_then(|c| u8::from_str_radix(c, 16).ok())
    };
    digits.map_while(byte).collect()
}

/// Say what debug information could not give.
pub fn report<'d>(e: &Error, span: Span, diags: &'d mut Diagnostics) -> &'d mut Diagnostic {
    let tag = Tag::from_name(e.tag()).unwrap_or(Tag::DebuginfoUnsupported);
    let help = e.help().unwrap_or_else(|| instead(e).to_string());
    diags.error(tag, span, e.to_string()).help(help)
}

/// What to do where debug information itself has no advice.
fn instead(e: &Error) -> &'static str {
    match e {
        Error::NoType { .. } => "write it as in the source: \"struct name\", \"name_t\"",
        Error::NotAggregate { .. } => "leave the member or index out, or say its type with @cast",
        Error::NoVariable { .. } => {
            "trapless -L shows the variables of a point; globals: @var(\"name@file.c\")"
        }
        Error::NoFile { .. } => "give the file as the compiler saw it, or only its last part",
        Error::NoLine { .. } => "name another line, or add .nearest",
        _ => "try another place, or the function's name alone",
    }
}
