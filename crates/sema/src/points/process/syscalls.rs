// SPDX-License-Identifier: MIT
//! `process.syscall`: every instruction by which the program and its libraries ask the kernel. `.return`: the
//! instruction behind each, which counts where the call itself has left a note (runtime/syscall.c). Without a program
//! it is those of the whole system, which its kernel tells by two tracepoints.

use super::{around, Resolver, Subject};
use crate::declare::calls::{NUMBER, RETURN};
use crate::ir::ProbeKind;
use crate::ir::Refusal;
use crate::points::components;
use crate::points::{Context, Named, Place, SyscallPart};
use crate::world::is_program;
use std::sync::Arc;
use trapless_debuginfo::{Binary, MarkArg, Operand};
use trapless_machine::Machine;
use trapless_syntax::ast::{Component, Literal};
use trapless_syntax::diag::Tag;

/// An `int`.
const NUMBER_SIZE: u8 = 4;

impl Resolver<'_> {
    pub(super) fn syscalls(&mut self, of: &Subject, rest: &[Component]) -> Option<Vec<Place>> {
        let (word, suffix) = rest.split_first()?;
        self.without_argument(word)?;
        let machine = of.binary.machine();
        let parts = match self.at_return(suffix)? {
            false => vec![(0, at_entry(SyscallPart::Entry, machine))],
            true => vec![
                (0, at_entry(SyscallPart::Noted, machine)),
                (
                    machine.syscalls.size,
                    at_return(SyscallPart::Return, machine),
                ),
            ],
        };
        let parts: Vec<(u64, Arc<Named>)> = parts
            .into_iter()
            .map(|(n, named)| (n, Arc::new(named)))
            .collect();
        let files = match is_program(&of.binary) {
            true => self.world.files_of(&of.binary),
            false => vec![of.binary.clone()],
        };
        let places: Vec<Place> = files
            .iter()
            .flat_map(|file| self.syscalls_in(of, file, &parts))
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

    fn without_argument(&mut self, word: &Component) -> Option<()> {
        if word.arg.is_none() {
            return Some(());
        }
        self.diags
            .error(
                Tag::PointArgument,
                word.span,
                "`syscall` takes no argument: it is all of them",
            )
            .help("one of them: syscall.read, or .syscall.number(0)");
        None
    }

    /// Is it the system that is asked for?
    pub(super) fn is_of_system(&self, process: &Component, what: Option<&Component>) -> bool {
        process.arg.is_none()
            && what.is_some_and(|c| c.name.name == "syscall")
            && self.world.calls_are_of_system()
    }

    pub(super) fn syscalls_of_system(&mut self, rest: &[Component]) -> Option<Vec<Place>> {
        let (word, suffix) = rest.split_first()?;
        self.without_argument(word)?;
        let machine = self.world.machine;
        let (func, named) = match self.at_return(suffix)? {
            false => ("sys_enter", at_entry(SyscallPart::Entry, machine)),
            true => ("sys_exit", at_return(SyscallPart::Told, machine)),
        };
        let image = self.world.any_kernel_image();
        Some(vec![Place {
            point: format!("kernel.trace(\"raw_syscalls:{func}\")").into(),
            func: func.into(),
            kind: ProbeKind::Trace { image },
            context: Some(Context {
                named: Some(Arc::new(named)),
                ..Context::at(image, 0)
            }),
            refusal: match self.point.optional || self.point.sufficient {
                true => Refusal::Nothing,
                false => Refusal::Error,
            },
            never: false,
        }])
    }

    /// Is it the return? Which call it is that the point is about, `calls` has looked at.
    fn at_return(&mut self, suffix: &[Component]) -> Option<bool> {
        for c in suffix {
            match (c.name.name.as_str(), &c.arg) {
                (NUMBER, Some(Literal::Number(n))) if u32::try_from(n.value).is_ok() => {}
                (RETURN, None) => {}
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
        Some(suffix.iter().any(|c| c.name.name == RETURN))
    }

    fn syscalls_in(
        &mut self,
        of: &Subject,
        file: &Arc<Binary>,
        parts: &[(u64, Arc<Named>)],
    ) -> Vec<Place> {
        let image = self.world.image_of(file);
        let of_return = if parts.len() > 1 { ".return" } else { "" };
        let place = |addr, named: &Arc<Named>| Place {
            point: format!("{}.syscall{of_return}", of.text).into(),
            func: file.symbols().at(addr).map_or("", |s| s.name).into(),
            kind: ProbeKind::Site {
                process: of.process,
                image,
                addr,
                parts: around(file, addr),
                semaphore: None,
                nth: 0,
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
        let calls = file.syscalls().into_iter();
        let places = |call| parts.iter().map(move |(n, named)| place(call + n, named));
        calls.flat_map(places).collect()
    }
}

fn at_entry(part: SyscallPart, machine: &Machine) -> Named {
    let registers = &machine.abi.syscall;
    let arguments = registers.arguments.iter();
    Named {
        name: "system call".into(),
        provider: None,
        args: Some(arguments.map(|r| register(*r, machine.abi.word)).collect()),
        values: vec![("$syscall", register(registers.number, NUMBER_SIZE))],
        syscall: Some(part),
        hook: None,
    }
}

fn at_return(part: SyscallPart, machine: &Machine) -> Named {
    let abi = &machine.abi;
    Named {
        name: "system call's return".into(),
        values: vec![
            (
                "$syscall",
                register(machine.syscalls.noted_number, NUMBER_SIZE),
            ),
            ("$return", register(abi.syscall.result, abi.word)),
        ],
        ..at_entry(part, machine)
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
