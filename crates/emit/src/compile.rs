// SPDX-License-Identifier: MIT
//! Runs the C compiler.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use trapless_machine::Machine;
use trapless_sema::leftover;

/// Which compiler, and where the runtime's headers are.
#[derive(Clone, Debug)]
pub struct Compiler {
    /// Program and leading words, e.g. `gcc`.
    pub command: Vec<String>,
    /// What the code is for.
    pub machine: &'static Machine,
    /// It runs in a kernel.
    pub kernel: bool,
    /// Folders with `script.h`, what it includes, and `trapless/`.
    pub include: Vec<PathBuf>,
    pub max_string: u32,
    pub max_backtrace: u32,
}

#[derive(Debug)]
pub enum CompileError {
    /// There is no such program.
    Missing(String),
    Io(std::io::Error),
    /// The compiler's own words: a fault of ours, or of embedded C.
    Failed(String),
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            CompileError::Missing(name) => write!(f, "there is no C compiler `{name}`"),
            CompileError::Io(e) => write!(f, "the C compiler cannot be run: {e}"),
            CompileError::Failed(text) => {
                let why = text.lines().find(|l| l.contains("error"));
                let why = why.or(text.lines().next()).unwrap_or("it does not say why");
                // In embedded C the macro's use says where, not its definition.
                let used = text
                    .lines()
                    .find(|l| l.contains("expan") && !l.starts_with("<stdin>"));
                let place = used
                    .filter(|_| why.starts_with("<stdin>"))
                    .and_then(|l| l.split(": ").next())
                    .map_or(String::new(), |place| format!(" (at {place})"));
                write!(f, "the C compiler refuses the module: {why}{place}")
            }
        }
    }
}

impl std::error::Error for CompileError {}

impl From<std::io::Error> for CompileError {
    fn from(e: std::io::Error) -> CompileError {
        CompileError::Io(e)
    }
}

/// No linker and no loader of the system's will see the code: no unwind
/// tables, no stack protector.
const FLAGS: &[&str] = &[
    "-std=gnu11",
    "-O2",
    "-fPIC",
    "-fno-plt",
    "-ffreestanding",
    "-fno-strict-aliasing",
    "-fno-asynchronous-unwind-tables",
    "-fno-stack-protector",
    "-fvisibility=hidden",
    "-Wall",
];

/// In a kernel imported functions are called by stubs, the only jumps whose aim is read from memory.
const KERNEL_FLAGS: &[&str] = &["-fplt"];

impl Compiler {
    /// Every word that decides what comes out; part of the cache's key.
    pub fn words(&self) -> Vec<String> {
        let mut words = self.command.clone();
        let own = &self.machine.abi.compiler;
        let home = match self.kernel {
            true => [KERNEL_FLAGS, own.kernel].concat(),
            false => Vec::new(),
        };
        let flags = [FLAGS, own.flags, &home, own.optional].concat();
        words.extend(flags.iter().map(|f| f.to_string()));
        words.push(format!("-DTL_MAXSTRING={}", self.max_string));
        words.push(format!("-DTL_MAXBACKTRACE={}", self.max_backtrace));
        words
    }

    /// Compile to the object file `out`. With `strict`, warnings are errors.
    pub fn run(&self, c: &str, out: &Path, strict: bool) -> Result<(), CompileError> {
        let mut words = self.words();
        let optional = self.machine.abi.compiler.optional;
        match self.run_with(&words, c, out, strict) {
            Err(CompileError::Failed(why)) if optional.iter().any(|w| why.contains(w)) => {
                words.retain(|w| !optional.contains(&w.as_str()));
                self.run_with(&words, c, out, strict)
            }
            done => done,
        }
    }

    fn run_with(
        &self,
        words: &[String],
        c: &str,
        out: &Path,
        strict: bool,
    ) -> Result<(), CompileError> {
        let (program, flags) = match words.split_first() {
            Some((p, f)) => (p, f),
            None => return Err(CompileError::Missing(String::new())),
        };
        let mut command = Command::new(program);
        command.args(flags);
        // Warnings are not shown; embedded.h makes errors of some.
        if strict {
            command.arg("-Werror");
        }
        for folder in &self.include {
            command.arg("-I").arg(folder);
        }
        command.args(["-x", "c", "-c", "-o"]).arg(out).arg("-");
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let (mut child, _running) = leftover::spawn(&mut command).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => CompileError::Missing(program.clone()),
            _ => CompileError::Io(e),
        })?;
        if let Some(mut stdin) = child.stdin.take() {
            // A compiler that has given up does not read: its words are the error.
            let _ = stdin.write_all(c.as_bytes());
        }
        let done = child.wait_with_output()?;
        match done.status.success() {
            true => Ok(()),
            false => Err(CompileError::Failed(
                String::from_utf8_lossy(&done.stderr).into_owned(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(kernel: bool) -> Vec<String> {
        let compiler = Compiler {
            command: vec!["cc".into()],
            machine: Default::default(),
            kernel,
            include: Vec::new(),
            max_string: 512,
            max_backtrace: 32,
        };
        compiler.words()
    }

    #[test]
    fn interrupts_use_the_stack_of_a_kernel() {
        let has = |kernel, flag: &str| words(kernel).iter().any(|w| w == flag);
        assert!(has(true, "-mno-red-zone") && !has(false, "-mno-red-zone"));
        assert!(has(true, "-fplt") && !has(false, "-fplt"));
    }
}
