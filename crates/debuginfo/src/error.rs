// SPDX-License-Identifier: MIT
//! Everything that can go wrong, each with its cause and what to do next.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::package::package_of;
use crate::source::SourcePos;

/// Why debug information could not be had. `Display` gives the cause, [`Error::help`] the next step,
/// [`Error::tag`] the stable name that tests and documentation use.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be opened or read.
    Io { path: PathBuf, why: String },
    /// A process has mapped it, its name leads to it no more, and the kernel shows it to root only.
    Removed { path: PathBuf },
    /// The file is no ELF file (a script, say).
    NotElf { path: PathBuf },
    /// A 32-bit program (ia32, or x32 on a 64-bit kernel).
    Is32Bit { path: PathBuf, machine: String },
    /// A program of another machine.
    WrongArch { path: PathBuf, found: String },
    /// ELF, but neither a program nor a shared library (object file, core, kernel module).
    NotLoadable { path: PathBuf, kind: String },
    /// The file contradicts itself or ends too early.
    Corrupt { path: PathBuf, what: String },
    /// No program of that name.
    NoProgram {
        name: String,
        looked: Vec<PathBuf>,
        nearest: Vec<String>,
    },
    /// No shared library of that name belongs to the program.
    NoLibrary {
        pattern: String,
        program: PathBuf,
        known: Vec<String>,
    },
    /// The process has gone.
    NoProcess { pid: u32 },
    /// The process belongs to somebody else.
    ProcessDenied { pid: u32, why: String },
    /// The process has no program that could be traced (zombie, thread of the kernel).
    NoImage { pid: u32, why: String },
    /// There is no DWARF for the binary.
    NoDebugInfo {
        path: PathBuf,
        build_id: Option<String>,
        server: bool,
    },
    /// The same, where a source file, a line or an inlined call was asked for.
    NoSource {
        path: PathBuf,
        build_id: Option<String>,
        server: bool,
    },
    /// Of the functions only those have names that others may call, and this is none of them.
    NotExported {
        pattern: String,
        path: PathBuf,
        build_id: Option<String>,
        server: bool,
        nearest: Vec<String>,
    },
    /// There is not even a symbol table.
    Stripped {
        path: PathBuf,
        build_id: Option<String>,
        server: bool,
    },
    /// There is debug information, but none that covers this address.
    NoDebugInfoAt { path: PathBuf, pc: u64 },
    /// No function matched.
    NoFunction {
        pattern: String,
        path: PathBuf,
        nearest: Vec<String>,
    },
    /// It is there, but only inlined (has no entry and returns of its own), or nowhere inlined.
    OtherKind {
        pattern: String,
        path: PathBuf,
        inlined: bool,
    },
    /// None of the functions of that name takes those parameters.
    NoOverload {
        function: String,
        path: PathBuf,
        known: Vec<String>,
    },
    /// No source file of that name.
    NoFile {
        file: String,
        path: PathBuf,
        nearest: Vec<String>,
    },
    /// No code was generated for that line.
    NoLine {
        file: String,
        line: u64,
        nearest: Vec<u64>,
    },
    /// Nothing of that name is visible there.
    NoVariable { name: String, visible: Vec<String> },
    /// The structure has no such member.
    NoMember {
        ty: String,
        name: String,
        members: Vec<String>,
    },
    /// `->` or `[]` on something that has no members or elements.
    NotAggregate { ty: String },
    /// No type of that name.
    NoType { name: String, path: PathBuf },
    /// Declared here, defined nowhere in this binary.
    IncompleteType { ty: String },
    /// The variable has no location at this address; `readable_at` is the nearest line of the same
    /// function where it has, once [`Binary::with_readable_line`](crate::Binary::with_readable_line) has looked.
    OptimizedOut {
        name: String,
        function: String,
        pc: u64,
        /// The debug information names its value at the entry (DW_OP_entry_value).
        at_entry: bool,
        readable_at: Option<SourcePos>,
    },
    /// The function returns nothing.
    ReturnsVoid { function: String },
    /// The compiler made a variant of the function, which may return nothing.
    ResultTaken { function: String },
    /// No unwind rule covers the address, so the frame cannot be found.
    NoFrameRule { pc: u64 },
    /// The debug information uses something that is not understood.
    Unsupported { what: String },
    /// The CU was compiled with `-gsplit-dwarf` and its `.dwo` is a file of its own.
    SplitDwarf { dwo: String },
    /// None of a kernel's files is here.
    NoKernel {
        release: String,
        looked: Vec<PathBuf>,
    },
    /// A kernel that was built without CONFIG_DEBUG_INFO_BTF.
    NoBtf { path: PathBuf },
    /// None of a kernel's files tells where its functions lie.
    NoKernelSymbols {
        release: String,
        looked: Vec<PathBuf>,
    },
    /// Of it, or of a module.
    NoKernelDebug {
        of: String,
        release: String,
        looked: Vec<PathBuf>,
    },
    /// The same of what it exports.
    NoKernelExports { of: String, looked: Vec<PathBuf> },
    /// An address in no function of a kernel, or of a module.
    NoFunctionAt { path: PathBuf, addr: u64 },
    /// In a function that has its name with others, by which a kernel finds it.
    NameOfSeveral {
        path: PathBuf,
        addr: u64,
        function: String,
    },
    /// A malformed function or statement pattern.
    BadPattern { pattern: String, why: String },
}

/// Result with this crate's error.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The stable name.
    pub fn tag(&self) -> &'static str {
        match self {
            Error::Io { .. } => "FILE_UNREADABLE",
            Error::Removed { .. } => "FILE_REMOVED",
            Error::NotElf { .. } => "FILE_NOT_ELF",
            Error::Is32Bit { .. } => "FILE_32BIT",
            Error::WrongArch { .. } => "FILE_WRONG_ARCH",
            Error::NotLoadable { .. } => "FILE_NOT_PROGRAM",
            Error::Corrupt { .. } => "FILE_CORRUPT",
            Error::NoProgram { .. } => "PROGRAM_UNKNOWN",
            Error::NoLibrary { .. } => "LIBRARY_UNKNOWN",
            Error::NoProcess { .. } => "PROCESS_GONE",
            Error::ProcessDenied { .. } => "PROCESS_DENIED",
            Error::NoImage { .. } => "PROCESS_NO_IMAGE",
            Error::NoDebugInfo { .. } | Error::NoSource { .. } => "DEBUGINFO_NONE",
            Error::NotExported { .. } => "FUNCTION_NOT_EXPORTED",
            Error::Stripped { .. } => "SYMBOLS_NONE",
            Error::NoDebugInfoAt { .. } => "DEBUGINFO_NOT_HERE",
            Error::NoFunction { .. } => "FUNCTION_UNKNOWN",
            Error::OtherKind { .. } => "POINT_NO_MATCH",
            Error::NoOverload { .. } => "FUNCTION_OVERLOAD",
            Error::NoFile { .. } => "SOURCE_FILE_UNKNOWN",
            Error::NoLine { .. } => "SOURCE_LINE_NO_CODE",
            Error::NoVariable { .. } => "CTX_VAR_UNKNOWN",
            Error::NoMember { .. } => "MEMBER_UNKNOWN",
            Error::NotAggregate { .. } => "TYPE_NOT_AGGREGATE",
            Error::NoType { .. } => "TYPE_UNKNOWN",
            Error::IncompleteType { .. } => "TYPE_INCOMPLETE",
            Error::OptimizedOut { .. } => "CTX_VAR_OPTIMIZED_OUT",
            Error::ReturnsVoid { .. } => "RETURN_VOID",
            Error::ResultTaken { .. } => "RETURN_TAKEN",
            Error::NoFrameRule { .. } => "FRAME_RULE_NONE",
            Error::Unsupported { .. } => "DEBUGINFO_UNSUPPORTED",
            Error::SplitDwarf { .. } => "DEBUGINFO_SPLIT",
            Error::NoKernel { .. }
            | Error::NoBtf { .. }
            | Error::NoKernelSymbols { .. }
            | Error::NoKernelExports { .. } => "KERNEL_FILES",
            Error::NoKernelDebug { .. } => "DEBUGINFO_NONE",
            Error::NoFunctionAt { .. } | Error::NameOfSeveral { .. } => "KERNEL_ADDRESS",
            Error::BadPattern { .. } => "PATTERN_BAD",
        }
    }

    /// What the user can do next, where we know.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Error::NotElf { .. } => {
                "name the program itself: for a script, its interpreter (python3, bash ...)".into()
            }
            Error::Removed { .. } => "run as root, or start the process again".into(),
            Error::Is32Bit { .. } => {
                "32-bit processes are not supported yet; use a 64-bit build of the program".into()
            }
            Error::WrongArch { .. } => {
                format!(
                    "only {} is supported yet: use such a build of the program; where qemu-user runs \
                     it, only qemu itself can be probed",
                    trapless_machine::Machine::titles()
                )
            }
            Error::NotLoadable { .. } => "name an executable or a shared library".into(),
            Error::Corrupt { .. } => "install the file again; it may be half-written".into(),
            Error::NoProgram { name, nearest, .. }
                if !nearest.is_empty() && !Path::new(name).is_file() =>
            {
                format!("did you mean {}?", list(nearest, 3))
            }
            Error::NoProgram { name, .. } => {
                match (Path::new(name).is_file(), name.contains('/')) {
                    (true, true) => {
                        "the process has another root, where this file has another name or \
                                 is not: `process` alone means its own program"
                            .into()
                    }
                    (true, false) => format!("for the file here, write ./{name}"),
                    (false, true) => "check the path and its permissions".into(),
                    (false, false) => "give the full path, or put its folder on PATH".into(),
                }
            }
            Error::NoLibrary { known, .. } if !known.is_empty() => {
                format!(
                    "the program needs: {}; one that it opens later is given by its whole path, or as it is installed: libssl.so.3",
                    list(known, 12)
                )
            }
            Error::NoLibrary { .. } => "give the library's full path".into(),
            Error::NoProcess { .. } => "look the PID up again: the process has ended".into(),
            Error::ProcessDenied { .. } => "trace it as the user who runs it, or as root".into(),
            Error::NoDebugInfo { path, server, .. } => debug_help(
                path,
                *server,
                "or use int_arg(n), pointer_arg(n) ..., which need no debug information",
            ),
            Error::NoSource { path, server, .. } => debug_help(
                path,
                *server,
                "or give a function's name alone, or its address: .statement(0x1234)",
            ),
            Error::NotExported { nearest, .. } if !nearest.is_empty() => {
                format!("did you mean {}?", list(nearest, 5))
            }
            Error::NotExported { pattern, path, server, .. } if pattern.contains('*') => debug_help(
                path,
                *server,
                "or probe what it calls in a library: .library(\"libc.so.6\").function(\"malloc\"); or an \
                 address that --coverage -v lists: .statement(0x1234)",
            ),
            Error::NotExported { path, server, .. } => debug_help(
                path,
                *server,
                "or give its address: .statement(0x1234); -l 'process(\"PATH\").function(\"*\")' lists \
                 those that have names",
            ),
            Error::Stripped { path, server, .. } => debug_help(
                path,
                *server,
                "or probe .statement(ADDRESS), or a function of .dynsym (-l lists them)",
            ),
            Error::NoDebugInfoAt { .. } => {
                "this part was compiled without -g: use int_arg(n), pointer_arg(n) ...".into()
            }
            Error::NoFunction { nearest, .. } if !nearest.is_empty() => {
                format!("did you mean {}?", list(nearest, 5))
            }
            Error::NoFunction { .. } => "-l 'process(\"PATH\").function(\"*\")' lists them".into(),
            Error::OtherKind {
                pattern, inlined, ..
            } => match inlined {
                true => {
                    format!("probe where it is inlined: .function(\"{pattern}\") alone or .inline")
                }
                false => format!("leave .inline out: .function(\"{pattern}\")"),
            },
            Error::NoOverload { known, .. } => {
                format!("there are: {}", known[..known.len().min(5)].join("; "))
            }
            Error::NoFile { nearest, .. } if !nearest.is_empty() => {
                format!("did you mean {}?", list(nearest, 5))
            }
            Error::NoLine { nearest, .. } if !nearest.is_empty() => {
                let lines: Vec<String> = nearest.iter().map(u64::to_string).collect();
                format!("lines with code nearby: {}", list(&lines, 6))
            }
            Error::NoVariable { visible, .. } if !visible.is_empty() => {
                format!("visible here: {}", list(visible, 16))
            }
            Error::NoMember { members, .. } if !members.is_empty() => {
                format!("members: {}", list(members, 16))
            }
            Error::OptimizedOut {
                readable_at: Some(at),
                function,
                ..
            } => {
                let place = format!("{}:{}", at.file.rsplit('/').next().unwrap_or(""), at.line);
                format!("it can be read at {place}: .statement(\"{function}@{place}\")")
            }
            Error::OptimizedOut { .. } => "probe another line, or build with -Og or -O0".into(),
            Error::ReturnsVoid { .. } => "remove $return".into(),
            Error::ResultTaken { .. } => {
                "returnval() reads the register, whatever it holds; or build with -fno-ipa-sra"
                    .into()
            }
            Error::SplitDwarf { .. } => "put the .dwo files, or PROGRAM.dwp, beside the program, or link it without -gsplit-dwarf".into(),
            Error::NoKernel { .. } => "install the kernel's package, or name a folder that has boot/vmlinuz-* or vmlinux: -r /FOLDER".into(),
            Error::NoBtf { .. } => "name a kernel that is built with CONFIG_DEBUG_INFO_BTF=y, as distributions build theirs; or trace programs: process(\"PATH\")".into(),
            Error::NoKernelSymbols { release, .. } => format!("install what has them (Debian: linux-image-{release}-dbg), or give the function's name: kernel.function(\"NAME\")"),
            Error::NoKernelExports { .. } => "install the kernel's package, or leave .exported out".into(),
            Error::NoKernelDebug { release, .. } => format!("build it with -g, install what has it (Debian: linux-image-{release}-dbg), or give a function's name alone, or an address: .statement(0xADDRESS)"),
            Error::NoFunctionAt { .. } => "give an address as nm shows it of that file; of a module it is one of its .text".into(),
            Error::NameOfSeveral { .. } => "name it: .function(\"NAME\") probes all of that name, addr() tells which".into(),
            _ => return None,
        })
    }
}

fn debug_help(path: &Path, server: bool, otherwise: &str) -> String {
    let package = package_of(path);
    let mut s = match &package {
        Some(p) if p.ends_with("-dbgsym") => {
            format!("install the Debian package {p} (archive debian-debug)")
        }
        Some(p) => format!("install the Debian package {p}"),
        None => format!("build {} with -g", name_of(path)),
    };
    if server {
        s.push_str(" (the servers in DEBUGINFOD_URLS have nothing of it, or there is no `curl` to ask them)");
    } else if package.is_some() {
        s.push_str(", have it fetched (DEBUGINFOD_URLS=https://debuginfod.debian.net)");
    }
    s.push_str(", ");
    s.push_str(otherwise);
    s
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

fn paths(all: &[PathBuf]) -> String {
    let all: Vec<String> = all.iter().map(|p| p.display().to_string()).collect();
    all.join(", ")
}

fn list(names: &[String], most: usize) -> String {
    let mut s = names
        .iter()
        .take(most)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > most {
        s.push_str(&format!(" and {} more", names.len() - most));
    }
    s
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { path, why } => write!(f, "cannot read {}: {why}", path.display()),
            Error::Removed { path } => {
                write!(f, "{}, as the process runs it, is gone", path.display())
            }
            Error::NotElf { path } => write!(f, "{} is not an ELF file", path.display()),
            Error::Is32Bit { path, machine } => {
                write!(f, "{} is a 32-bit program ({machine})", path.display())
            }
            Error::WrongArch { path, found } => {
                write!(f, "{} is a program for {found}", path.display())
            }
            Error::NotLoadable { path, kind } => {
                write!(
                    f,
                    "{} is {kind}, not a program or shared library",
                    path.display()
                )
            }
            Error::Corrupt { path, what } => write!(f, "{} is damaged: {what}", path.display()),
            Error::NoProgram { name, looked, .. } if looked.is_empty() => {
                write!(f, "no program `{name}`")
            }
            Error::NoProgram { name, looked, .. } => {
                let dirs: Vec<String> = looked.iter().map(|d| d.display().to_string()).collect();
                write!(f, "no program `{name}` in {}", dirs.join(":"))
            }
            Error::NoLibrary {
                pattern, program, ..
            } => {
                write!(f, "{} uses no library `{pattern}`", program.display())
            }
            Error::NoProcess { pid } => write!(f, "there is no process {pid}"),
            Error::ProcessDenied { pid, why } => write!(f, "process {pid} cannot be read: {why}"),
            Error::NoImage { pid, why } => write!(f, "process {pid} cannot be traced: {why}"),
            Error::NoDebugInfo { path, build_id, .. } => {
                write!(f, "no debug information for {}", path.display())?;
                write_id(f, build_id)
            }
            Error::NoSource { path, build_id, .. } => {
                write!(
                    f,
                    "no source lines for {}: it has no debug information",
                    path.display()
                )?;
                write_id(f, build_id)
            }
            Error::NotExported {
                pattern,
                path,
                build_id,
                ..
            } => {
                write!(
                    f,
                    "{} is stripped, and exports no function `{pattern}`",
                    path.display()
                )?;
                write_id(f, build_id)
            }
            Error::Stripped { path, build_id, .. } => {
                write!(
                    f,
                    "{} is stripped: no symbols, no debug information",
                    path.display()
                )?;
                write_id(f, build_id)
            }
            Error::NoDebugInfoAt { path, pc } => {
                write!(
                    f,
                    "no debug information for address {pc:#x} of {}",
                    path.display()
                )
            }
            Error::NoFunction { pattern, path, .. } => {
                write!(f, "no function `{pattern}` in {}", path.display())
            }
            Error::OtherKind {
                pattern,
                path,
                inlined,
            } => match inlined {
                true => write!(
                    f,
                    "`{pattern}` is only inlined in {}: it has no calls and returns of its own",
                    path.display()
                ),
                false => write!(f, "`{pattern}` is nowhere inlined in {}", path.display()),
            },
            Error::NoOverload { function, path, .. } => {
                write!(
                    f,
                    "no `{function}` with these parameters in {}",
                    path.display()
                )
            }
            Error::NoFile { file, path, .. } => {
                write!(f, "no source file `{file}` in {}", path.display())
            }
            Error::NoLine { file, line, .. } => write!(f, "no code for {file}:{line}"),
            Error::NoVariable { name, .. } => write!(f, "no `${name}` at this probe point"),
            Error::NoMember { ty, name, .. } => write!(f, "`{ty}` has no member `{name}`"),
            Error::NotAggregate { ty } => write!(f, "`{ty}` has no members or elements"),
            Error::NoType { name, path } => write!(f, "no type `{name}` in {}", path.display()),
            Error::IncompleteType { ty } => write!(f, "`{ty}` is declared here but never defined"),
            Error::OptimizedOut {
                name, at_entry: true, ..
            } => write!(
                f,
                "`${name}` had its value at the function's entry, and only its caller may have it still"
            ),
            Error::OptimizedOut { name, pc, .. } => {
                write!(
                    f,
                    "`${name}` has no value at {pc:#x}: the compiler optimised it out"
                )
            }
            Error::ReturnsVoid { function } => write!(f, "`{function}` returns nothing"),
            Error::ResultTaken { function } => write!(
                f,
                "the compiler made `{function}` for its callers alone: it may return nothing"
            ),
            Error::NoFrameRule { pc } => write!(f, "no frame description covers {pc:#x}"),
            Error::Unsupported { what } => write!(f, "not understood: {what}"),
            Error::SplitDwarf { dwo } => write!(f, "the debug information is in `{dwo}` (split), which is not there"),
            Error::NoKernel { release, looked } => {
                write!(f, "no file of the kernel {release} is here (looked for {})", paths(looked))
            }
            Error::NoBtf { path } => write!(f, "{} has no BTF, which tells its functions and types", path.display()),
            Error::NoKernelSymbols { release, looked } => {
                write!(f, "no file tells where the functions of the kernel {release} lie (looked for {})", paths(looked))
            }
            Error::NoKernelExports { of, looked } => {
                write!(f, "no file tells what {of} exports (looked for {})", paths(looked))
            }
            Error::NoKernelDebug { of, release, looked } => {
                write!(f, "no debug information of {of} ({release}), which source lines and variables need: looked for it in {}", paths(looked))
            }
            Error::NoFunctionAt { path, addr } => write!(f, "{addr:#x} lies in no function ({})", path.display()),
            Error::NameOfSeveral { path, addr, function } => write!(f, "{addr:#x} lies in one of several functions `{function}`, and a kernel finds them by name ({})", path.display()),
            Error::BadPattern { pattern, why } => write!(f, "`{pattern}`: {why}"),
        }
    }
}

fn write_id(f: &mut fmt::Formatter<'_>, id: &Option<String>) -> fmt::Result {
    match id {
        Some(id) => write!(f, " (build-id {id})"),
        None => Ok(()),
    }
}

impl std::error::Error for Error {}
