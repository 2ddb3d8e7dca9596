// SPDX-License-Identifier: MIT
//! The public face: a session, its binaries, and the questions they answer.

use crate::cfi::Cfi;
use crate::debugfile;
use crate::dwarf::Dwarf;
use crate::elf::{hex, Elf};
pub use crate::elf::{ElfKind, Segment};
use crate::error::{Error, Result};
use crate::function::{Function, Inlines, Language, Pattern, ProbeSite, Statement};
use crate::location::{LocOp, Location, Pointed};
use crate::search::SearchPath;
use crate::source::SourcePos;
use crate::symbol::SymbolTable;
use crate::types::{TypeId, Types};
use crate::variable::{Context, ReturnValue, Variable};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use trapless_machine::Machine;

/// One run of the host tool: every binary is opened once, all share one type arena.
#[derive(Debug)]
pub struct DebugInfo {
    search: SearchPath,
    types: Arc<Types>,
    open: Mutex<HashMap<PathBuf, (Stamp, Arc<Binary>)>>,
}

/// Tells a file from what it was before: device, inode, size, and when it was written.
type Stamp = Option<(u64, u64, u64, i64, i64)>;

pub(crate) fn stamp(path: &Path) -> Stamp {
    use std::os::unix::fs::MetadataExt;
    let meta = std::fs::metadata(path).ok()?;
    let written = (meta.mtime(), meta.mtime_nsec());
    Some((meta.dev(), meta.ino(), meta.len(), written.0, written.1))
}

impl DebugInfo {
    pub fn new(search: SearchPath) -> DebugInfo {
        DebugInfo {
            search,
            types: Types::new(),
            open: Mutex::default(),
        }
    }

    pub fn types(&self) -> &Types {
        &self.types
    }

    /// The same, for who lives as long.
    pub fn shared_types(&self) -> Arc<Types> {
        self.types.clone()
    }

    pub fn search(&self) -> &SearchPath {
        &self.search
    }

    /// Open a binary by its path, or the same one again.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Arc<Binary>> {
        let path = path.as_ref();
        let key = path.canonicalize().unwrap_or_else(|_| path.into());
        if let Some((_, b)) = self.opened().get(&key) {
            return Ok(b.clone());
        }
        // Before it is read: what is written meanwhile is then seen as a change.
        let stamp = stamp(&key);
        let b = Arc::new(Binary::open_with(path, &self.search, self.types.clone())?);
        self.opened().insert(key, (stamp, b.clone()));
        Ok(b)
    }

    fn opened(&self) -> MutexGuard<'_, HashMap<PathBuf, (Stamp, Arc<Binary>)>> {
        self.open.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Are all files that were opened still what they were?
    pub fn is_current(&self) -> bool {
        self.opened()
            .iter()
            .all(|(path, (was, _))| stamp(path) == *was)
    }

    /// Open a program by path, or by name through PATH.
    pub fn open_program(&self, name: &str) -> Result<Arc<Binary>> {
        self.open(self.search.program(name)?)
    }

    /// As scripts name them: what is not in PATH may be here.
    pub fn open_program_or_here(&self, name: &str) -> Result<Arc<Binary>> {
        let here = |e| match name.contains('/') {
            true => Err(e),
            false => self.open_program(&format!("./{name}")).map_err(|_| e),
        };
        self.open_program(name).or_else(here)
    }

    /// The libraries that match `pattern` (`libc.so.6`, `libfoo.so*`, `/path/lib.so`) among those
    /// that `program` needs, directly or not. Of several those that can still be read.
    pub fn open_libraries(&self, program: &Binary, pattern: &str) -> Result<Vec<Arc<Binary>>> {
        let paths = self.search.libraries(program, pattern)?;
        let all = paths.iter().map(|p| self.open(p));
        let (removed, rest): (Vec<_>, Vec<_>) =
            all.partition(|b| matches!(b, Err(Error::Removed { .. })));
        let which = if rest.is_empty() { removed } else { rest };
        which.into_iter().collect()
    }
}

/// Where the DWARF came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DebugSource {
    /// The binary itself.
    Inside,
    /// A file found by build-id or `.gnu_debuglink`.
    File(PathBuf),
    /// There is none.
    None,
}

/// An executable or a shared library.
pub struct Binary {
    pub(crate) elf: Elf,
    pub(crate) kind: ElfKind,
    pub(crate) machine: &'static Machine,
    pub(crate) search: SearchPath,
    pub(crate) types: Arc<Types>,
    /// The separate debug file, once looked for.
    pub(crate) debug: OnceLock<Option<Elf>>,
    fetched: OnceLock<Option<Elf>>,
    /// The file in `.gnu_debugdata`; its symbols' names point into it.
    mini: OnceLock<Option<Elf>>,
    symbols: OnceLock<SymbolTable>,
    /// See `is_copied()`.
    pub(crate) blob: OnceLock<bool>,
    dwarf: OnceLock<Option<Arc<Dwarf>>>,
    cfi: OnceLock<Cfi>,
}

impl std::fmt::Debug for Binary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Binary({})", self.elf.path.display())
    }
}

impl Binary {
    /// Open one binary with a type arena of its own. Prefer [`DebugInfo::open`].
    pub fn open(path: impl AsRef<Path>, search: &SearchPath) -> Result<Binary> {
        Binary::open_with(path.as_ref(), search, Types::new())
    }

    fn open_with(path: &Path, search: &SearchPath, types: Arc<Types>) -> Result<Binary> {
        Binary::of(Elf::open_as(path, search.readable(path))?, search, types)
    }

    pub(crate) fn of(elf: Elf, search: &SearchPath, types: Arc<Types>) -> Result<Binary> {
        let (kind, machine) = elf.check_loadable()?;
        Ok(Binary {
            elf,
            kind,
            machine,
            search: search.clone(),
            types,
            debug: OnceLock::new(),
            fetched: OnceLock::new(),
            mini: OnceLock::new(),
            symbols: OnceLock::new(),
            blob: OnceLock::new(),
            dwarf: OnceLock::new(),
            cfi: OnceLock::new(),
        })
    }

    pub fn path(&self) -> &Path {
        &self.elf.path
    }

    pub fn kind(&self) -> ElfKind {
        self.kind
    }

    pub fn machine(&self) -> &'static Machine {
        self.machine
    }

    /// Lower-case hexadecimal.
    pub fn build_id(&self) -> Option<String> {
        self.elf.build_id.as_ref().map(|id| hex(id))
    }

    /// DT_SONAME.
    pub fn soname(&self) -> Option<&str> {
        self.elf.soname.as_deref()
    }

    /// DT_NEEDED, in order.
    pub fn needed(&self) -> &[String] {
        &self.elf.needed
    }

    /// The program interpreter (dynamic linker).
    pub fn interpreter(&self) -> Option<&str> {
        self.elf.interpreter.as_deref()
    }

    /// A program that needs no dynamic linker (static-pie included).
    pub fn is_static(&self) -> bool {
        let program = self.kind() == ElfKind::Fixed || self.elf.pie;
        program && self.elf.interpreter.is_none() && self.elf.needed.is_empty()
    }

    /// The PT_LOAD segments.
    pub fn segments(&self) -> &[Segment] {
        &self.elf.segments
    }

    /// File offset to file address.
    pub fn offset_to_addr(&self, offset: u64) -> Option<u64> {
        let s = self
            .elf
            .segments
            .iter()
            .find(|s| offset.wrapping_sub(s.offset) < s.file_size)?;
        s.vaddr.checked_add(offset - s.offset)
    }

    /// File address to file offset.
    pub fn addr_to_offset(&self, addr: u64) -> Option<u64> {
        let s = self
            .elf
            .segments
            .iter()
            .find(|s| addr.wrapping_sub(s.vaddr) < s.file_size)?;
        s.offset.checked_add(addr - s.vaddr)
    }

    /// Whether the address lies in an executable segment.
    pub fn is_code(&self, addr: u64) -> bool {
        self.elf
            .segments
            .iter()
            .any(|s| s.executable && addr.wrapping_sub(s.vaddr) < s.mem_size)
    }

    /// File contents at a file address (code to decode, say), at most `len` bytes.
    pub fn bytes(&self, addr: u64, len: usize) -> Option<&[u8]> {
        self.elf.at_vaddr(addr).map(|b| &b[..b.len().min(len)])
    }

    /// The arena that this binary's [`TypeId`]s belong to.
    pub fn types(&self) -> &Types {
        &self.types
    }
}

// The questions. Each is a thin door; the work is in the module named like its subject.
impl Binary {
    /// Where the DWARF is.
    pub fn debug_source(&self) -> DebugSource {
        if self.has_own_dwarf() {
            return DebugSource::Inside;
        }
        match (self.dwarf(), self.debug_file()) {
            (Ok(_), Some(d)) => DebugSource::File(d.path.clone()),
            _ => DebugSource::None,
        }
    }

    /// All symbols by address, for `usymname()` and friends.
    pub fn symbols(&self) -> &SymbolTable {
        self.symbols.get_or_init(|| {
            let mut full = self.elf.symbols(".symtab");
            if full.is_empty() {
                full = self
                    .debug_file()
                    .map(|d| d.symbols(".symtab"))
                    .unwrap_or_default();
            }
            if full.is_empty() {
                let mini = self.mini.get_or_init(|| debugfile::mini(&self.elf));
                full = mini
                    .as_ref()
                    .map(|m| m.symbols(".symtab"))
                    .unwrap_or_default();
            }
            SymbolTable::new(&full, &self.elf.symbols(".dynsym"))
        })
    }

    /// The functions that match, each address once, sorted by address. Undefined symbols do not
    /// count. Without wildcards the debug information is asked too; a wildcard is answered from
    /// the symbols, and from DWARF as well if inlined instances are wanted or a file is named.
    pub fn functions(&self, pattern: &Pattern, inlines: Inlines) -> Result<Vec<Function>> {
        self.find_functions(pattern, inlines)
    }

    /// Whether the symbols alone name such a function.
    pub fn names_function(&self, pattern: &Pattern) -> bool {
        self.has_symbol(pattern)
    }

    /// Where `.function` puts its probe on `f`: as SystemTap does, at the entry, but behind the
    /// prologue where parameters could not be read otherwise.
    pub fn probe_site(&self, f: &Function) -> Result<ProbeSite> {
        self.find_site(f)
    }

    /// Where `f` is declared (`None`: the debug information does not say).
    pub fn declared_at(&self, f: &Function) -> Option<SourcePos> {
        self.function_decl(f)
    }

    /// The language `f` is written in, where the debug information says so.
    pub fn language(&self, f: &Function) -> Option<Language> {
        self.language_of(self.function_die(f).ok()?.unit)
    }

    pub(crate) fn language_of(&self, unit: u32) -> Option<Language> {
        let dwarf = self.dwarf().ok()?;
        Some(match dwarf.language(unit)?.0 {
            0x1 | 0x2 | 0xc | 0x1d | 0x2c => Language::C,
            _ if dwarf.is_cxx(unit) => Language::Cxx,
            0x1c => Language::Rust,
            0x16 => Language::Go,
            0x8001 => Language::Assembler,
            _ => Language::Other,
        })
    }

    /// The addresses of `.statement("f@file:line")`: per function or inlined instance the first
    /// address of each line. `nearest`: take the closest line with code instead of failing.
    pub fn statements(&self, pattern: &Pattern, nearest: bool) -> Result<Vec<Statement>> {
        self.find_statements(pattern, nearest)
    }

    /// The source line of an address.
    pub fn source_at(&self, addr: u64) -> Option<SourcePos> {
        self.find_source(addr)
    }

    /// What is visible in `f` at `pc` (its entry, prologue end, or any address inside): its own
    /// parameters and blocks, not those of functions inlined into it.
    pub fn context_of(&self, f: &Function, pc: u64) -> Result<Context> {
        self.make_context(f, pc)
    }

    /// What is visible at `pc`, innermost first, through inlined functions.
    pub fn context_at(&self, pc: u64) -> Result<Context> {
        self.make_context_at(pc)
    }

    /// Parameters (in order) and locals visible in the context; of several with one name, the
    /// innermost.
    pub fn variables(&self, cx: &Context) -> Result<Vec<Variable>> {
        self.list_variables(cx)
    }

    /// `$name`: a local or parameter, else a variable of the file, else one of the binary.
    pub fn variable(&self, cx: &Context, name: &str) -> Result<Variable> {
        self.find_variable(cx, name)
    }

    /// `@var("name@file")`: a variable with static storage. `file` may be a trailing part.
    pub fn global(&self, name: &str, file: Option<&str>) -> Result<Variable> {
        self.find_global(name, file)
    }

    /// Where the variable is at the context's address. `Location::OptimizedOut` comes back as
    /// [`Error::OptimizedOut`].
    pub fn locate(&self, var: &Variable, cx: &Context) -> Result<Location> {
        self.find_location(var, cx)
    }

    /// Where the function that is entered at `cx` will keep its parameter `var` in memory, as it can be
    /// computed from the registers at the entry.
    pub fn locate_home(&self, var: &Variable, cx: &Context) -> Result<Location> {
        self.find_home(var, cx)
    }

    /// The address of the frame (CFA) of the function around the context's address.
    pub fn frame_address(&self, cx: &Context) -> Result<Vec<LocOp>> {
        let dwarf = self.dwarf()?;
        let function = cx.scopes.last().copied();
        let unit = function.map_or(0, |f| f.unit);
        self.place(dwarf, unit, cx.pc, function).frame_address()
    }

    /// Where that is which a pointer without a value points to.
    pub fn locate_pointed(&self, p: &Pointed, cx: &Context) -> Result<Location> {
        self.find_pointed(p, cx)
    }

    /// Of [`Error::OptimizedOut`]: with the nearest line of the function where it can be read.
    pub fn with_readable_line(&self, e: Error, var: &Variable, cx: &Context) -> Error {
        self.look_elsewhere(e, var, cx)
    }

    /// Where a variable with static storage is, at any place.
    pub fn locate_global(&self, var: &Variable) -> Result<Location> {
        let nowhere = Context {
            pc: 0,
            function: String::new(),
            scopes: Vec::new(),
            entry: None,
        };
        self.find_location(var, &nowhere)
    }

    /// `$return` of `f`, in the registers right after its return.
    pub fn return_value(&self, f: &Function) -> Result<ReturnValue> {
        self.find_return(f)
    }

    /// The definition of `struct foo`, `union foo`, `enum foo`, `class foo` or of any type `foo`,
    /// with a trailing `*` for pointers, as `@cast` wants it.
    pub fn find_type(&self, name: &str) -> Result<TypeId> {
        self.find_named_type(name)
    }
}

impl Binary {
    /// The value of an enumeration's constant: `NAME`, or `scope::NAME`.
    pub fn enumerator(&self, name: &str) -> Result<i64> {
        self.find_enumerator(name)
    }
}

// What the other modules share.
impl Binary {
    fn has_own_dwarf(&self) -> bool {
        self.elf.has_section(".debug_info") || self.elf.has_section(".zdebug_info")
    }

    /// The separate debug file, if the binary has no DWARF of its own.
    fn debug_file(&self) -> Option<&Elf> {
        let find = || match self.has_own_dwarf() {
            true => None,
            false => debugfile::find(&self.elf, &self.search),
        };
        let here = self.debug.get_or_init(find).as_ref();
        here.or_else(|| self.fetched.get()?.as_ref())
    }

    /// The same, from a server where this machine has none: only for who needs it.
    fn fetched_file(&self) -> Option<&Elf> {
        let fetch = || debugfile::fetch(self.elf.build_id.as_ref()?, &self.search);
        let fetched = || self.fetched.get_or_init(fetch).as_ref();
        self.debug_file().or_else(fetched)
    }

    pub(crate) fn dwarf(&self) -> Result<&Dwarf> {
        let load = || {
            let elf = match self.has_own_dwarf() {
                true => &self.elf,
                false => self.fetched_file()?,
            };
            let sup = debugfile::find_alternate(elf, &self.search);
            Dwarf::load(elf.path.clone(), elf, sup.as_ref(), self.search.clone())
        };
        self.dwarf
            .get_or_init(load)
            .as_deref()
            .ok_or_else(|| Error::NoDebugInfo {
                path: self.elf.path.clone(),
                build_id: self.build_id(),
                server: self.search.servers.any(),
            })
    }

    /// The error where source files and lines are asked for, or inlined calls.
    pub(crate) fn no_source(&self) -> Error {
        Error::NoSource {
            path: self.elf.path.clone(),
            build_id: self.build_id(),
            server: self.search.servers.any(),
        }
    }

    /// The error for a binary without any symbol.
    pub(crate) fn no_symbols(&self) -> Option<Error> {
        self.symbols().is_empty().then(|| Error::Stripped {
            path: self.elf.path.clone(),
            build_id: self.build_id(),
            server: self.search.servers.any(),
        })
    }

    pub(crate) fn cfi(&self) -> &Cfi {
        self.cfi
            .get_or_init(|| Cfi::new(&self.elf, self.debug_file()))
    }
}
