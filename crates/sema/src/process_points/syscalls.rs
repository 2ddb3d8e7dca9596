// SPDX-License-Identifier: MIT
//! `process.syscall`: every instruction by which the program and its libraries ask the kernel.

use super::{around, Resolver, Subject};
use crate::calls::NUMBER;
use crate::components;
use crate::ir::ProbeKind;
use crate::ir::Refusal;
use crate::points::{Context, Named, Place};
use crate::world::is_program;
use std::sync::Arc;
use trapless_debuginfo::{Binary, MarkArg, Operand};
use trapless_syntax::ast::{Component, Literal};
use trapless_syntax::diag::Tag;

/// DWARF's numbers: rax; and rdi, rsi, rdx, r10, r8, r9.
const RAX: u16 = 0;
const ARGS: [u16; 6] = [5, 4, 1, 10, 8, 9];

impl Resolver<'_> {
    pub(super) fn syscalls(&mut self, of: &Subject, rest: &[Component]) -> Option<Vec<Place>> {
        let (word, suffix) = rest.split_first()?;
        if word.arg.is_some() {
            self.diags
                .error(
                    Tag::PointArgument,
                    word.span,
                    "`syscall` takes no argument: it is all of them",
                )
                .help("one of them: syscall.read, or .syscall.number(0)");
            return None;
        }
        self.suffix_of_syscall(suffix)?;
        let files = match is_program(&of.binary) {
            true => self.world.files_of(&of.binary),
            false => vec![of.binary.clone()],
        };
        let named = Arc::new(at_entry());
        let places: Vec<Place> = files
            .iter()
            .flat_map(|file| self.syscalls_in(of, file, &named))
            .collect();
        if places.is_empty() {
            let message = format!(
                "no code of {} makes system calls",
                of.binary.path().display()
            );
            self.diags
                .error(Tag::PointNoMatch, word.span, message)
                .help("those of its libraries are found where these can be read");
            return None;
        }
        Some(places)
    }

    /// Which call it is that the point is about, `calls` has looked at.
    fn suffix_of_syscall(&mut self, suffix: &[Component]) -> Option<()> {
        for c in suffix {
            match (c.name.name.as_str(), &c.arg) {
                (NUMBER, Some(Literal::Number(n))) if u32::try_from(n.value).is_ok() => {}
                (NUMBER, _) => {
                    let message = "`number` takes that of a system call";
                    self.diags
                        .error(Tag::PointArgument, c.span, message)
                        .help("e.g. .number(0) for read; or probe syscall.read");
                    return None;
                }
                _ => {
                    components::unknown(c, &components::OF_SYSCALL, self.diags);
                    return None;
                }
            }
        }
        Some(())
    }

    fn syscalls_in(&mut self, of: &Subject, file: &Arc<Binary>, named: &Arc<Named>) -> Vec<Place> {
        let image = self.world.image_of(file);
        let place = |addr| Place {
            point: format!("{}.syscall", of.text),
            func: file
                .symbols()
                .at(addr)
                .map_or(String::new(), |s| s.name.to_string()),
            kind: ProbeKind::Site {
                process: of.process,
                image,
                addr,
                parts: around(file, addr),
                semaphore: None,
            },
            context: Some(Context {
                named: Some(named.clone()),
                ..Context::at(image, addr)
            }),
            refusal: match self.point.optional || self.point.sufficient {
                true => Refusal::Nothing,
                false => Refusal::Bytes,
            },
            never: false,
        };
        file.syscalls().into_iter().map(place).collect()
    }
}

fn at_entry() -> Named {
    Named {
        name: "system call".into(),
        provider: None,
        args: Some(ARGS.map(|r| register(r, 8)).to_vec()),
        values: vec![("$syscall", register(RAX, 4))],
    }
}

fn register(reg: u16, size: u8) -> MarkArg {
    MarkArg {
        text: format!("register {reg}"),
        size,
        signed: true,
        operand: Operand::Register { reg, shift: 0 },
    }
}
