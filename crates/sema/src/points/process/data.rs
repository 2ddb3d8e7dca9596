// SPDX-License-Identifier: MIT
//! `.data(...)`: a variable, or memory of the process, that is written or read.

use super::{Resolver, Subject};
use crate::ir::{ImageId, ProbeKind};
use crate::points::access::{access, Access};
use crate::points::{Context, Place};
use trapless_debuginfo::glob::{is_glob, matches};
use trapless_debuginfo::{Binary, Inlines, LocOp, Location, Pattern, Symbol, SymbolKind, TypeId};
use trapless_syntax::ast::{Component, Literal, StrLit};
use trapless_syntax::diag::{nearest, Tag};
use trapless_syntax::Span;

/// Names that a message shows.
const SHOWN: usize = 8;

/// Where it is: a file address in `image`, or an address of the process.
struct Memory {
    image: Option<ImageId>,
    addr: u64,
    /// `None`: nobody knows.
    size: Option<u64>,
    text: String,
}

/// `FUNC::NAME`, of the function's outermost block.
fn static_local(binary: &Binary, name: &str) -> Option<(Location, TypeId)> {
    let (function, name) = name.rsplit_once("::")?;
    let pattern = Pattern::parse(function).ok()?;
    let functions = binary.functions(&pattern, Inlines::No).ok()?;
    functions.iter().find_map(|f| {
        let context = binary.context_of(f, f.entry).ok()?;
        let all = binary.variables(&context).ok()?;
        let mut named = all.iter().filter(|v| v.name == name);
        named.find_map(|v| match binary.locate(v, &context) {
            Ok(Location::Memory(ops)) if matches!(ops[..], [LocOp::Addr(_)]) => {
                Some((Location::Memory(ops), v.ty))
            }
            _ => None,
        })
    })
}

impl Resolver<'_> {
    pub(super) fn data(
        &mut self,
        of: &Subject,
        c: &Component,
        suffix: &[Component],
    ) -> Option<Vec<Place>> {
        let access = access(c, suffix, self.world.machine, self.diags)?;
        let memory = match &c.arg {
            Some(Literal::Number(n)) => self.memory_at(n.value as u64, n.span)?,
            Some(Literal::String(s)) => self.variable(of, s)?,
            None => {
                self.diags
                    .error(Tag::PointArgument, c.span, "which variable is meant?")
                    .help("e.g. .data(\"counter\").write, .data(0x7ffff7d8e000).length(4).rw");
                return None;
            }
        };
        let size = self.size(&memory, &access, c.span)?;
        Some(vec![Place {
            point: format!("{}.data({}){}", of.text, memory.text, access.text).into(),
            func: "".into(),
            kind: ProbeKind::Watch {
                process: of.process,
                image: memory.image,
                addr: memory.addr,
                size,
                reads: access.reads,
            },
            context: Some(Context {
                anywhere: true,
                ..Context::at(of.image, memory.image.map_or(0, |_| memory.addr))
            }),
            refusal: self.refusal(false),
            never: false,
        }])
    }

    /// As the process has it: what `%p` prints.
    fn memory_at(&mut self, addr: u64, span: Span) -> Option<Memory> {
        if addr == 0 || addr >= self.world.machine.program_addresses {
            self.diags
                .error(
                    Tag::PointArgument,
                    span,
                    format!("no program has data at {addr:#x}"),
                )
                .help("give an address of the running process, or the variable's name");
            return None;
        }
        Some(Memory {
            image: None,
            addr,
            size: None,
            text: format!("{addr:#x}"),
        })
    }

    /// By debug information (`name@file.c`), or the symbol table.
    fn variable(&mut self, of: &Subject, s: &StrLit) -> Option<Memory> {
        let text = s.text();
        let (name, file) = match text.split_once('@') {
            Some((name, file)) => (name, Some(file)),
            None => (&*text, None),
        };
        let known = of.binary.global(name, file);
        let known = known.and_then(|v| Ok((of.binary.locate_global(&v)?, v.ty)));
        let known = known.or_else(|e| static_local(&of.binary, name).ok_or(e));
        let (addr, size) = match known {
            Ok((Location::Memory(ops), ty)) => match ops[..] {
                [LocOp::Addr(addr)] => (addr, of.binary.types().size(ty)),
                _ => return self.no_place(s.span, name),
            },
            Ok(_) => return self.no_place(s.span, name),
            Err(_) => match self.symbol(of, name).filter(|_| file.is_none()) {
                Some((SymbolKind::Tls, ..)) => return self.no_place(s.span, name),
                Some((_, addr, size)) => (addr, (size > 0).then_some(size)),
                None => return self.no_variable(of, s.span, &text),
            },
        };
        Some(Memory {
            image: Some(of.image),
            addr,
            size,
            text: format!("\"{text}\""),
        })
    }

    fn symbol(&self, of: &Subject, name: &str) -> Option<(SymbolKind, u64, u64)> {
        let data = |k| matches!(k, SymbolKind::Data | SymbolKind::Tls);
        let found = of.binary.symbols().named(name).find(|s| data(s.kind))?;
        Some((found.kind, found.addr, found.size))
    }

    fn no_variable(&mut self, of: &Subject, span: Span, name: &str) -> Option<Memory> {
        let all = || {
            let data = |s: &Symbol| s.kind == SymbolKind::Data;
            of.binary.symbols().iter().filter(data).map(|s| s.name)
        };
        if is_glob(name) {
            return self.one_each(of, span, name, all().collect());
        }
        let near = nearest(name, all());
        let file = of.binary.path().display();
        self.diags
            .error(
                Tag::PointNoMatch,
                span,
                format!("no variable `{name}` of its own in {file}"),
            )
            .help("global and static ones have a place: nm shows them (b, d)")
            .help(near.map(|near| format!("did you mean `{near}`?")));
        None
    }

    /// There are few debug registers: variables are named, not matched.
    fn one_each(
        &mut self,
        of: &Subject,
        span: Span,
        pattern: &str,
        mut names: Vec<&str>,
    ) -> Option<Memory> {
        names.retain(|n| matches(pattern, n));
        names.sort_unstable();
        names.dedup();
        let more = names.len().saturating_sub(SHOWN);
        names.truncate(SHOWN);
        let found = match (names.is_empty(), more) {
            (true, _) => format!("none matches in {}", of.binary.path().display()),
            (_, 0) => format!("`{pattern}` matches {}", names.join(", ")),
            _ => format!("`{pattern}` matches {}, and {more} more", names.join(", ")),
        };
        self.diags
            .error(
                Tag::PointNoMatch,
                span,
                "a wildcard stands for no variable: each is watched by its name",
            )
            .help(format!(
                "the processor has {} debug registers: name those that matter",
                self.world.machine.debug_registers
            ))
            .note(found);
        None
    }

    fn no_place(&mut self, span: Span, name: &str) -> Option<Memory> {
        self.diags
            .error(
                Tag::PointNoMatch,
                span,
                format!("`{name}` has no place of its own in memory"),
            )
            .help("each thread has one, or the compiler keeps it elsewhere: watch an address");
        None
    }

    fn size(&mut self, m: &Memory, access: &Access, span: Span) -> Option<u64> {
        let machine = self.world.machine;
        let (word, longest) = (machine.abi.word.into(), machine.longest_watched());
        let size = access.length.map(|l| l.0).or(m.size).unwrap_or(word);
        if size <= longest {
            return Some(size);
        }
        self.diags
            .error(
                Tag::PointArgument,
                span,
                format!(
                    "{} has {size} bytes: at most {longest} can be watched",
                    m.text
                ),
            )
            .help("watch its first ones: .length(8)");
        None
    }
}
