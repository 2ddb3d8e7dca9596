// SPDX-License-Identifier: MIT
//! What the script is about outside the script: the target, its files, and
//! the images that have been looked at.

use crate::ir::{Image, ImageId, LineTable, Reg, Symbol};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trapless_debuginfo::{
    proc_folder, shown_name, Binary, DebugInfo, ElfKind, Error, Kernel, KernelDebug,
    KernelFunction, Pattern, Process, SearchPath, SymbolKind, UnwindTable,
};
use trapless_machine::Machine;
use trapless_syntax::diag::{Diagnostic, Diagnostics, Tag};
use trapless_syntax::Span;

/// The image of a kernel itself; those of modules have their names.
const KERNEL: &str = "kernel";

/// What `-c` and `-x` say.
#[derive(Clone, Debug, Default)]
pub struct TargetSpec {
    /// Absolute path of the program that `process` without a name means.
    pub program: Option<String>,
    pub pid: Option<u32>,
    /// What to do where that is another program than whoever wrote the command may think.
    pub stands_in: Option<String>,
}

/// Files and debug information, opened when they are needed.
pub struct World {
    pub target: TargetSpec,
    pub images: Vec<Image>,
    /// What the command that is traced may start beside its own program.
    pub started: Vec<String>,
    /// Where compiled headers are kept.
    pub cache: Option<PathBuf>,
    /// What the compiled ones are of.
    pub(crate) headers: HashMap<PathBuf, String>,
    /// Of all files and of the module.
    pub machine: &'static Machine,
    /// The kernel that is meant: a release, or a folder; `None`: the one that runs here.
    pub release: Option<String>,
    /// What `-a` says, for hints.
    pub arch: Option<String>,
    /// Handlers run in it.
    pub in_kernel: bool,
    /// Values are shown as debuggers show them.
    pub pretty: bool,
    kernel: Option<Result<Arc<Kernel>, Error>>,
    kernel_modules: HashMap<String, Result<Arc<Kernel>, Error>>,
    /// Of the kernel and its modules, where it was asked for.
    kernel_debug: HashMap<ImageId, Result<Arc<KernelDebug>, Error>>,
    info: Arc<DebugInfo>,
    /// Those of processes.
    binaries: HashMap<ImageId, Arc<Binary>>,
    /// What is to be kept at functions' entries, in arrays behind the script's own globals.
    pub(crate) entered: Vec<Entered>,
    pub(crate) own_globals: u32,
}

/// A register at a function's entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Entered {
    pub image: ImageId,
    pub entry: u64,
    pub reg: Reg,
}

impl World {
    pub fn new(target: TargetSpec) -> World {
        let info = Arc::new(DebugInfo::new(files_of(target.pid)));
        World::sharing(target, info)
    }

    /// The same, with files that others have opened: see [`files_of`].
    pub fn sharing(target: TargetSpec, info: Arc<DebugInfo>) -> World {
        World {
            info,
            target,
            machine: Default::default(),
            images: Vec::new(),
            started: Vec::new(),
            cache: None,
            headers: HashMap::new(),
            release: None,
            arch: None,
            in_kernel: false,
            pretty: false,
            kernel: None,
            kernel_modules: HashMap::new(),
            kernel_debug: HashMap::new(),
            binaries: HashMap::new(),
            entered: Vec::new(),
            own_globals: 0,
        }
    }

    /// The script itself has named the process.
    pub fn attach(&mut self, pid: u32, program: String) {
        self.target = TargetSpec {
            program: Some(program),
            pid: Some(pid),
            stands_in: None,
        };
        self.info = Arc::new(DebugInfo::new(files_of(Some(pid))));
    }

    pub fn info(&self) -> &DebugInfo {
        &self.info
    }

    pub fn binary(&self, image: ImageId) -> Option<Arc<Binary>> {
        let of_kernel = || Some(self.known_debug(image)?.as_ref().ok()?.binary.clone());
        self.binaries.get(&image).cloned().or_else(of_kernel)
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
                program: false,
                kernel: false,
                path,
            });
            self.images.len() - 1
        });
        self.images[at].program |= is_program(binary);
        let id = ImageId(at as u32);
        self.binaries.insert(id, binary.clone());
        id
    }

    /// An image for names and callers only: the script is not about this program.
    fn mention(&mut self, binary: &Arc<Binary>) {
        let path = binary.path().to_string_lossy();
        let known = self.images.iter().find(|i| i.path == path);
        let program = known.is_some_and(|i| i.program);
        let image = self.image_of(binary).0 as usize;
        self.images[image].program = program;
    }
}

impl World {
    /// A hint: the command that lists points of what is meant here. `option`: -l or -L.
    pub fn listed_by(&self, option: &str, point: &str) -> String {
        let given = [("-r", &self.release), ("-a", &self.arch)];
        let given = given
            .iter()
            .filter_map(|(flag, value)| Some(format!("{flag} {} ", as_word(value.as_ref()?))));
        let given: String = given.collect();
        format!("trapless {given}{option} '{point}' lists them")
    }

    /// System calls of no named program are those of a whole system: a kernel is meant, or no program.
    pub fn calls_are_of_system(&self) -> bool {
        self.release.is_some() || self.target.program.is_none()
    }

    /// The kernel that is meant; its files are read once.
    pub fn kernel(&mut self) -> Result<Arc<Kernel>, Error> {
        let open = || {
            let types = self.info.shared_types();
            let (named, cache) = (self.release.as_deref(), self.cache.as_deref());
            Kernel::open(named, cache, self.machine, types).map(Arc::new)
        };
        self.kernel.get_or_insert_with(open).clone()
    }

    /// A module of it; the same.
    pub fn kernel_module(&mut self, name: &str) -> Result<Arc<Kernel>, Error> {
        if let Some(known) = self.kernel_modules.get(name) {
            return known.clone();
        }
        let opened = self.kernel()?.module(name).map(Arc::new);
        self.kernel_modules.insert(name.into(), opened.clone());
        opened
    }

    /// Whose function it is.
    pub fn kernel_of(&mut self, f: &KernelFunction) -> Result<Arc<Kernel>, Error> {
        match &f.module {
            Some(name) => self.kernel_module(name),
            None => self.kernel(),
        }
    }

    /// The same, where it has been asked for.
    pub fn opened_kernel_of(&self, f: &KernelFunction) -> Option<&Arc<Kernel>> {
        let opened = match &f.module {
            Some(name) => self.kernel_modules.get(&**name),
            None => self.kernel.as_ref(),
        };
        opened?.as_ref().ok()
    }

    /// Debug information of the kernel, or of a module of it; looked for once.
    pub fn debug_of(&mut self, kernel: &Kernel) -> Result<Arc<KernelDebug>, Error> {
        let image = self.kernel_image(kernel);
        let info = &self.info;
        let open = || info.of_kernel(kernel).map(Arc::new);
        self.kernel_debug.entry(image).or_insert_with(open).clone()
    }

    /// Is there any, for which no server has to be asked?
    pub fn has_debug_here(&mut self, kernel: &Kernel) -> bool {
        let image = self.kernel_image(kernel);
        if let Some(known) = self.kernel_debug.get(&image) {
            return known.is_ok();
        }
        let found = self.info.of_kernel_here(kernel);
        let found = found.map(|debug| debug.map(Arc::new));
        let is_there = matches!(found, Some(Ok(_)));
        self.kernel_debug.extend(found.map(|debug| (image, debug)));
        is_there
    }

    /// The same of an image of one.
    pub fn debug_of_image(&mut self, image: ImageId) -> Result<Arc<KernelDebug>, Error> {
        let name = self.images[image.0 as usize].path.clone();
        let kernel = match name.as_str() {
            KERNEL => self.kernel(),
            module => self.kernel_module(module),
        };
        self.debug_of(&*kernel?)
    }

    /// Where it has been asked for.
    pub fn known_debug(&self, image: ImageId) -> Option<&Result<Arc<KernelDebug>, Error>> {
        self.kernel_debug.get(&image)
    }

    /// Of what is in every kernel.
    pub fn any_kernel_image(&mut self) -> ImageId {
        let known = self.kernel().ok();
        self.image_of_kernel(KERNEL, known.as_deref().map_or(&[], Kernel::build_id))
    }

    /// The kernel, or a module of it, as an image.
    pub fn kernel_image(&mut self, kernel: &Kernel) -> ImageId {
        let name = kernel.module_name().map_or(KERNEL, |name| name);
        self.image_of_kernel(name, kernel.build_id())
    }

    fn image_of_kernel(&mut self, name: &str, build_id: &[u8]) -> ImageId {
        let known = |i: &Image| i.kernel && i.path == name;
        let at = self.images.iter().position(known);
        let at = at.unwrap_or_else(|| {
            self.images.push(Image {
                path: name.into(),
                build_id: build_id.to_vec(),
                file_size: 0,
                program: false,
                kernel: true,
            });
            self.images.len() - 1
        });
        ImageId(at as u32)
    }
}

impl World {
    /// `-d FILE`: its functions are to be known by name.
    pub fn know(&mut self, file: &str, diags: &mut Diagnostics) {
        match self.info.open(Path::new(file)) {
            Ok(binary) => self.mention(&binary),
            Err(e) => {
                diags
                    .error(Tag::FileMissing, None, format!("-d {file}: {e}"))
                    .help("give the path of a program or library");
            }
        }
    }

    /// What `-c` or `-x` names, though no point does.
    pub fn add_target(&mut self) {
        let program = self.target.program.as_ref();
        if let Some(Ok(binary)) = program.map(|p| self.info.open_program(p)) {
            self.image_of(&binary);
        }
    }

    /// The programs that the command names: their frames are in the stacks of libraries.
    pub fn mention_commands(&mut self) {
        let own = self.target.program.iter();
        let names: Vec<String> = own.chain(&self.started).cloned().collect();
        for name in names {
            if let Ok(binary) = self.info.open_program(&name) {
                self.mention(&binary);
            }
        }
    }

    /// All that the target's programs are known to be made of become images: the libraries that
    /// they need, and those that the process has mapped.
    pub fn add_libraries(&mut self) {
        let programs: Vec<Arc<Binary>> = self.binaries.values().cloned().collect();
        let programs = programs.iter().filter(|b| is_program(b));
        let mut files: Vec<Arc<Binary>> = programs.flat_map(|p| self.libraries(p)).collect();
        files.extend(self.mapped());
        for b in files {
            self.image_of(&b);
        }
    }

    /// What a program needs, as far as it can be read.
    fn libraries(&self, program: &Binary) -> Vec<Arc<Binary>> {
        let needed = self.info.search().closure(program);
        let opened = needed.iter().map(|l| self.info.open(&l.path));
        opened.filter_map(Result::ok).collect()
    }

    /// The files of the process that the session is about.
    fn mapped(&self) -> Vec<Arc<Binary>> {
        let Some(Ok(process)) = self.target.pid.map(Process::read) else {
            return Vec::new();
        };
        let opened = process.images.iter().map(|i| self.info.open(&i.file));
        opened.filter_map(Result::ok).collect()
    }

    /// A program and all the libraries that it, or its process, is known to have.
    pub fn files_of(&self, program: &Arc<Binary>) -> Vec<Arc<Binary>> {
        let mut all = vec![program.clone()];
        all.extend(self.libraries(program));
        let is_target = |p: &String| Path::new(p) == program.path();
        if self.target.program.as_ref().is_some_and(is_target) {
            all.extend(self.mapped());
        }
        let mut seen = HashSet::new();
        all.retain(|b| seen.insert(b.path().canonicalize().unwrap_or_else(|_| b.path().into())));
        all
    }

    /// All functions of the images, and variables whose size is known; of several names the one that comes first.
    pub fn symbols(&self, variables: bool) -> Vec<Symbol> {
        let wanted = |s: &trapless_debuginfo::Symbol| {
            let variable = variables && s.kind == SymbolKind::Data && s.size > 0;
            s.kind.is_code() || variable
        };
        let of = |(image, binary): (&ImageId, &Arc<Binary>)| {
            let mut last = None;
            let named = binary.symbols().iter().filter(wanted);
            let named = named.filter(|s| last.replace(s.addr) != Some(s.addr));
            let symbol = |s: trapless_debuginfo::Symbol| Symbol {
                image: *image,
                addr: s.addr,
                size: s.size,
                name: shown_name(s.name),
            };
            let mut all: Vec<_> = named.map(symbol).collect();
            bound(&mut all, binary);
            all
        };
        self.binaries.iter().flat_map(of).collect()
    }

    /// How to find callers in each image.
    pub fn unwind_tables(&self) -> Vec<(ImageId, UnwindTable)> {
        let tables = self.binaries.iter();
        let mut all: Vec<_> = tables.map(|(i, b)| (*i, b.unwind_table())).collect();
        all.sort_by_key(|(image, _)| *image);
        all
    }

    /// What each image was made from.
    pub fn line_tables(&self) -> Vec<(ImageId, LineTable)> {
        let tables = self.binaries.iter();
        let mut all: Vec<_> = tables.map(|(i, b)| (*i, b.line_table())).collect();
        all.sort_by_key(|(image, _)| *image);
        all
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

/// Of a shell's command.
fn as_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:=@".contains(c);
    match text.chars().all(plain) {
        true => text.into(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// A function that does not tell its size (assembly) ends with the code, if no other begins before.
fn bound(symbols: &mut [Symbol], binary: &Binary) {
    for i in 0..symbols.len() {
        let next = symbols.get(i + 1).map_or(u64::MAX, |s| s.addr);
        let s = &mut symbols[i];
        let mut code = binary.segments().iter().filter(|c| c.executable);
        let holds = code.find(|c| s.addr.wrapping_sub(c.vaddr) < c.mem_size);
        if let (0, Some(code)) = (s.size, holds) {
            s.size = next.min(code.vaddr + code.mem_size) - s.addr;
        }
    }
}

/// A file that is started, not loaded by one.
pub fn is_program(binary: &Binary) -> bool {
    binary.kind() == ElfKind::Fixed
        || binary.interpreter().is_some() && binary.soname().is_none()
        || binary.is_static()
}

/// The files of a process in another mount namespace are its own.
pub fn files_of(pid: Option<u32>) -> SearchPath {
    let Some(pid) = pid else {
        return SearchPath::host();
    };
    let search = match same_root(pid) {
        true => SearchPath::host(),
        false => SearchPath::in_root(proc_folder(pid).join("root")),
    };
    search.of_process(pid)
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
