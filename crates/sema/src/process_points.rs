// SPDX-License-Identifier: MIT
//! `process...` points: programs, libraries, functions, statements; and one
//! clear word for every family that does not exist yet.

use crate::components;
use crate::ir::{ImageId, Part, ProbeKind, Refusal};
use crate::later::{self, Known};
use crate::points::{Context, Place};
use crate::world::{is_program, report, World};
use std::path::Path;
use std::sync::Arc;
use trapless_debuginfo::{Binary, Error, Function, FunctionKind, Inlines, Pattern, Statement};
use trapless_syntax::ast::{Component, Literal, ProbePoint};
use trapless_syntax::diag::{Diagnostics, Tag};

pub fn resolve(point: &ProbePoint, world: &mut World, diags: &mut Diagnostics) -> Vec<Place> {
    let quiet = point.optional || point.sufficient;
    let mut own = Diagnostics::new();
    let found = Resolver {
        point,
        world,
        diags: &mut own,
    }
    .resolve();
    // What was asked for politely may be missing; mistakes are still told.
    if !quiet {
        diags.append(own);
    }
    found.unwrap_or_default()
}

struct Resolver<'a> {
    point: &'a ProbePoint,
    world: &'a mut World,
    diags: &'a mut Diagnostics,
}

/// The file to be probed, and the program whose processes are meant.
struct Subject {
    binary: Arc<Binary>,
    image: ImageId,
    process: Option<ImageId>,
    /// The point so far, for `pp()`.
    text: String,
}

impl Resolver<'_> {
    fn resolve(mut self) -> Option<Vec<Place>> {
        let point = self.point;
        let first = point.components.first()?;
        if first.name.name != "process" {
            return self.other_family(first);
        }
        let mut subjects = self.process(first)?;
        let mut rest = &point.components[1..];
        while let Some(c) = rest.first().filter(|c| c.name.name == "library") {
            subjects = self.libraries(c, &subjects)?;
            rest = &rest[1..];
        }
        let Some(what) = rest.first() else {
            self.diags
                .error(
                    Tag::PointUnknown,
                    point.span,
                    "this names a file, not a place in it",
                )
                .help("add .function(\"name\") or .statement(\"function@file:line\")");
            return None;
        };
        self.each(&subjects, |r, subject| match what.name.name.as_str() {
            "function" => r.functions(subject, what, &rest[1..]),
            "statement" => r.statements(subject, what, &rest[1..]),
            _ => {
                components::unknown(what, &components::OF_PROCESS, r.diags);
                None
            }
        })
    }

    /// The same of several files: it is enough when one of them has it, and
    /// the first one's mistakes stand for all.
    fn each<T>(
        &mut self,
        subjects: &[Subject],
        mut f: impl FnMut(&mut Resolver, &Subject) -> Option<Vec<T>>,
    ) -> Option<Vec<T>> {
        let (mut all, mut first) = (Vec::new(), None);
        for subject in subjects {
            let mut own = Diagnostics::new();
            let mut r = Resolver {
                point: self.point,
                world: self.world,
                diags: &mut own,
            };
            match f(&mut r, subject) {
                Some(found) => {
                    all.extend(found);
                    self.diags.append(own);
                }
                None => drop(first.get_or_insert(own)),
            }
        }
        if !all.is_empty() {
            return Some(all);
        }
        if let Some(own) = first {
            self.diags.append(own);
        }
        None
    }

    fn other_family(&mut self, first: &Component) -> Option<Vec<Place>> {
        let name = &first.name.name;
        let (tag, message, instead) = match later::point(name) {
            Some(Known::Kernel) => (
                Tag::PointKernel,
                format!("`{name}` points are in the kernel"),
                "trace the program that calls the kernel: process(\"...\").function(\"...\")",
            ),
            Some(Known::Later(instead)) => (
                Tag::NotBuilt,
                format!("`{name}` points are not built yet"),
                instead,
            ),
            None => (
                Tag::NotBuilt,
                format!("`{name}` points are not built yet"),
                "use process(\"...\").function(\"...\")",
            ),
        };
        self.diags.error(tag, first.span, message).help(instead);
        None
    }

    fn process(&mut self, c: &Component) -> Option<Vec<Subject>> {
        let (name, process_text) = match &c.arg {
            Some(Literal::String(s)) => {
                (s.text().into_owned(), format!("process(\"{}\")", s.text()))
            }
            Some(Literal::Number(n)) => {
                self.diags
                    .error(Tag::NotBuilt, n.span, "process(PID) is not built yet")
                    .help(format!("use process.function(...) with -x {}", n.value));
                return None;
            }
            None => match &self.world.target.program {
                Some(program) => (program.clone(), format!("process(\"{program}\")")),
                None => {
                    self.diags
                        .error(Tag::ProcessTarget, c.span, "which process is meant?")
                        .help("name the program, process(\"/path\"), or give one with -c CMD or -x PID");
                    return None;
                }
            },
        };
        if name.len() == 40 && name.bytes().all(|b| b.is_ascii_hexdigit()) {
            self.diags
                .error(
                    Tag::NotBuilt,
                    c.span,
                    "programs by build-id are not built yet",
                )
                .help("give the program's path");
            return None;
        }
        // A file of that very name is no pattern, least of all the target's own.
        let search = self.world.info().search();
        let there = || search.exists(&search.host_path(Path::new(&name)));
        let literal = c.arg.is_none() || name.contains('/') && there();
        if !literal && name.contains(['*', '?', '[']) {
            return self.programs(&name, c);
        }
        let binary = match self.world.info().open_program(&name) {
            Ok(b) => b,
            Err(e) => {
                report(&e, c.span, self.diags);
                return None;
            }
        };
        Some(vec![self.subject(binary, c, process_text)])
    }

    /// The programs whose paths match.
    fn programs(&mut self, pattern: &str, c: &Component) -> Option<Vec<Subject>> {
        if pattern.contains('[') || pattern.contains("**") || !pattern.contains('/') {
            self.diags
                .error(
                    Tag::NotBuilt,
                    c.span,
                    "of wildcards in program names only * and ? in whole paths are built yet",
                )
                .help("e.g. process(\"/usr/bin/git*\"), or several points, one for each program");
            return None;
        }
        let search = self.world.info().search();
        let whole = std::env::current_dir().unwrap_or_default().join(pattern);
        let paths = crate::files::matching(&search.host_path(&whole));
        let opened = paths
            .iter()
            .filter_map(|p| self.world.info().open(p).ok())
            .collect::<Vec<_>>();
        let found: Vec<Subject> = opened
            .into_iter()
            .filter(|b| is_program(b))
            .map(|b| self.subject(b, c, String::new()))
            .collect();
        if found.is_empty() {
            self.diags
                .error(
                    Tag::ProgramUnknown,
                    c.span,
                    format!("no program matches `{pattern}`"),
                )
                .help("look with ls which files there are");
            return None;
        }
        Some(found)
    }

    fn subject(&mut self, binary: Arc<Binary>, c: &Component, process_text: String) -> Subject {
        let image = self.world.image_of(&binary);
        let named = c.arg.is_some() && is_program(&binary);
        let text = match c.arg {
            Some(_) => format!("process(\"{}\")", binary.path().display()),
            None => process_text,
        };
        Subject {
            process: named.then_some(image),
            binary,
            image,
            text,
        }
    }

    fn libraries(&mut self, c: &Component, of: &[Subject]) -> Option<Vec<Subject>> {
        let Some(Literal::String(s)) = &c.arg else {
            self.diags
                .error(Tag::PointArgument, c.span, "a library needs its name")
                .help("e.g. .library(\"libc.so.6\")");
            return None;
        };
        self.each(of, |r, of| {
            let opened = r.world.info().open_libraries(&of.binary, &s.text());
            let found = match opened {
                Ok(found) => found,
                Err(e) => {
                    report(&e, s.span, r.diags);
                    return None;
                }
            };
            let subject = |binary: Arc<Binary>| Subject {
                image: r.world.image_of(&binary),
                text: format!("{}.library(\"{}\")", of.text, binary.path().display()),
                process: of.process,
                binary,
            };
            Some(found.into_iter().map(subject).collect())
        })
    }

    fn functions(
        &mut self,
        of: &Subject,
        c: &Component,
        suffix: &[Component],
    ) -> Option<Vec<Place>> {
        let Some(Literal::String(s)) = &c.arg else {
            self.diags
                .error(
                    Tag::PointArgument,
                    c.span,
                    "a function is given by its name",
                )
                .help("e.g. .function(\"main\"); an address: .statement(0x1234)");
            return None;
        };
        let kind = self.function_kind(suffix)?;
        let found = Pattern::parse(&s.text()).and_then(|pattern| {
            let found = of.binary.functions(&pattern, kind.inlines)?;
            Ok((pattern, found))
        });
        let (pattern, found) = match found {
            Ok(f) => f,
            Err(e) => {
                let elsewhere = self.library_instead(of, &s.text(), &e);
                report(&e, s.span, self.diags).help(elsewhere);
                return None;
            }
        };
        let resolvers = found
            .iter()
            .filter(|f| f.kind == FunctionKind::Ifunc)
            .count();
        let found: Vec<Function> = found
            .into_iter()
            .filter(|f| f.kind != FunctionKind::Ifunc && (!kind.exported || f.exported))
            .collect();
        let named = !pattern.is_glob();
        // Beside a resolver there may be a version for old programs (memcpy@GLIBC_2.2.5): nobody means that.
        if found.is_empty() || (named && resolvers > 0) {
            self.no_function(&s.text(), s.span, resolvers, kind.exported);
            return None;
        }
        let place = |f| self.function(of, f, &kind, named);
        Some(found.iter().map(place).collect())
    }

    /// The program lacks the function; one of its libraries may have it.
    fn library_instead(&self, of: &Subject, name: &str, e: &Error) -> Option<String> {
        let lacks = matches!(
            e,
            Error::NoFunction { .. } | Error::NotExported { .. } | Error::Stripped { .. }
        );
        if !lacks || self.point.optional || self.point.sufficient || !is_program(&of.binary) {
            return None;
        }
        // Every library has something for `*`.
        let pattern = Pattern::parse(name).ok()?;
        if pattern.function.chars().all(|c| "*?".contains(c)) {
            return None;
        }
        let library = self.world.library_with(&of.binary, &pattern)?;
        Some(format!(
            "a library of the program has it: .library(\"{library}\").function(\"{name}\")"
        ))
    }

    fn no_function(
        &mut self,
        name: &str,
        span: trapless_syntax::Span,
        resolvers: usize,
        exported: bool,
    ) {
        if resolvers > 0 {
            self.diags
                .error(
                    Tag::PointNoMatch,
                    span,
                    format!("`{name}` is chosen among variants when the program starts (IFUNC)"),
                )
                .help(format!("probe the variants: .function(\"__{name}_*\")"));
            return;
        }
        let what = if exported {
            "no exported function"
        } else {
            "no function"
        };
        self.diags
            .error(Tag::PointNoMatch, span, format!("{what} matches `{name}`"))
            .help("trapless -l 'process(\"...\").function(\"*\")' lists them");
    }

    fn function_kind(&mut self, suffix: &[Component]) -> Option<FunctionKindWanted> {
        let mut kind = FunctionKindWanted {
            inlines: Inlines::Also,
            exported: false,
            at_return: false,
            suffix: "",
        };
        for c in suffix {
            match c.name.name.as_str() {
                "call" => (kind.inlines, kind.suffix) = (Inlines::No, ".call"),
                "inline" => (kind.inlines, kind.suffix) = (Inlines::Only, ".inline"),
                "return" => {
                    (kind.inlines, kind.at_return, kind.suffix) = (Inlines::No, true, ".return")
                }
                "exported" => {
                    (kind.inlines, kind.exported, kind.suffix) = (Inlines::No, true, ".exported")
                }
                "maxactive" if kind.at_return => self.maxactive(c),
                _ => {
                    components::unknown(c, &components::OF_FUNCTION, self.diags);
                    return None;
                }
            }
        }
        Some(kind)
    }

    fn refusal(&self, matched: bool) -> Refusal {
        match (self.point.optional || self.point.sufficient, matched) {
            (true, _) => Refusal::Nothing,
            (false, true) => Refusal::Warning,
            (false, false) => Refusal::Error,
        }
    }

    fn maxactive(&mut self, c: &Component) {
        match &c.arg {
            Some(Literal::Number(n)) if n.value > 0 => self
                .diags
                .warn(
                    Tag::NotBuilt,
                    c.span,
                    "`.maxactive` is not built yet: the standard number of calls is followed",
                )
                .help("leave it out; the closing lines tell when calls were missed"),
            _ => self
                .diags
                .error(
                    Tag::PointArgument,
                    c.span,
                    "`.maxactive` takes a number above 0",
                )
                .help("e.g. .return.maxactive(100)"),
        };
    }

    fn function(
        &mut self,
        of: &Subject,
        f: &Function,
        kind: &FunctionKindWanted,
        named: bool,
    ) -> Place {
        let parts = parts(&of.binary, f);
        let pc = match kind.at_return {
            true => f.entry,
            false => of.binary.probe_site(f).map_or(f.entry, |site| site.pc),
        };
        let place = match kind.at_return {
            true => ProbeKind::Return {
                process: of.process,
                image: of.image,
                addr: f.entry,
                parts,
                on_entry: None,
                call_data: Vec::new(),
            },
            false => ProbeKind::Site {
                process: of.process,
                image: of.image,
                addr: pc,
                parts,
            },
        };
        // Source lines of thousands of functions would cost more than they tell.
        let name = match of.binary.declared_at(f).filter(|_| named) {
            Some(at) => format!("{}@{}:{}", f.name, at.file, at.line),
            None => f.name.clone(),
        };
        Place {
            point: format!("{}.function(\"{name}\"){}", of.text, kind.suffix),
            func: f.name.clone(),
            kind: place,
            context: Some(Context {
                image: of.image,
                pc,
                function: Some(f.clone()),
                at_return: kind.at_return,
            }),
            // Start-up code has no bounds; who writes a wildcard does not mean it.
            refusal: match !named && f.size == 0 {
                true => Refusal::Nothing,
                false => self.refusal(!named),
            },
            never: false,
        }
    }

    fn statements(
        &mut self,
        of: &Subject,
        c: &Component,
        suffix: &[Component],
    ) -> Option<Vec<Place>> {
        let mut nearest = false;
        for s in suffix {
            match s.name.name.as_str() {
                "nearest" => nearest = true,
                "absolute" => {}
                _ => {
                    components::unknown(s, &components::OF_STATEMENT, self.diags);
                    return None;
                }
            }
        }
        let (found, matched) = match &c.arg {
            Some(Literal::Number(n)) => (vec![self.address(of, n.value as u64, n.span)?], false),
            Some(Literal::String(s)) => {
                let found = Pattern::parse(&s.text())
                    .and_then(|p| Ok((of.binary.statements(&p, nearest)?, p.is_glob())));
                match found {
                    Ok(found) => found,
                    Err(e) => {
                        report(&e, s.span, self.diags);
                        return None;
                    }
                }
            }
            None => {
                self.diags
                    .error(Tag::PointArgument, c.span, "a statement needs its place")
                    .help("e.g. .statement(\"main@main.c:12\"), .statement(0x1234)");
                return None;
            }
        };
        let place = |s| self.statement(of, s, matched);
        Some(found.iter().map(place).collect())
    }

    /// A file address (ELF vaddr), as `nm` and `objdump` show it.
    fn address(
        &mut self,
        of: &Subject,
        addr: u64,
        span: trapless_syntax::Span,
    ) -> Option<Statement> {
        if !of.binary.is_code(addr) {
            self.diags
                .error(
                    Tag::PointNoMatch,
                    span,
                    format!("{addr:#x} lies in no code of the file"),
                )
                .help("give the address as nm or objdump -d show it");
            return None;
        }
        let function = of
            .binary
            .symbols()
            .at(addr)
            .map_or(String::new(), |s| s.name.to_string());
        let source = of
            .binary
            .source_at(addr)
            .unwrap_or(trapless_debuginfo::SourcePos {
                file: String::new(),
                line: 0,
                column: 0,
            });
        Some(Statement {
            addr,
            source,
            function,
        })
    }

    fn statement(&mut self, of: &Subject, s: &Statement, matched: bool) -> Place {
        let parts = around(&of.binary, s.addr);
        let name = match s.source.line {
            0 => format!("{:#x}", s.addr),
            line => format!("\"{}@{}:{line}\"", s.function, s.source.file),
        };
        Place {
            point: format!("{}.statement({name})", of.text),
            func: s.function.clone(),
            kind: ProbeKind::Site {
                process: of.process,
                image: of.image,
                addr: s.addr,
                parts,
            },
            context: Some(Context {
                image: of.image,
                pc: s.addr,
                function: None,
                at_return: false,
            }),
            refusal: self.refusal(matched),
            never: false,
        }
    }
}

struct FunctionKindWanted {
    inlines: Inlines,
    exported: bool,
    at_return: bool,
    suffix: &'static str,
}

/// The function's code, where its extent is known.
fn parts(binary: &Binary, f: &Function) -> Vec<Part> {
    if f.kind == FunctionKind::Inlined {
        return around(binary, f.entry);
    }
    let known = f.ranges.iter().filter(|r| r.end > r.start && f.size > 0);
    let part = |r: &std::ops::Range<u64>| Part {
        addr: r.start,
        size: r.end - r.start,
    };
    known.map(part).collect()
}

/// The function that an address lies in: Go's, and many in assembly, have no unwind entry that would tell.
fn around(binary: &Binary, addr: u64) -> Vec<Part> {
    let part = binary.symbols().around(addr).map(|s| Part {
        addr: s.addr,
        size: s.size,
    });
    part.into_iter().collect()
}
