// SPDX-License-Identifier: MIT
//! Variables of the traced program: registers, addresses, loads.

use crate::body::{Body, Value};
use crate::expr::number;
use crate::text::c_string;
use trapless_machine::Machine;
use trapless_sema::ir::{Addr, ImageId, Reg, TargetPlace, TlsSlot, TlsWay};
use trapless_syntax::span::Span;

impl Body<'_, '_> {
    /// The number that the place holds.
    pub fn target(&mut self, place: &TargetPlace, span: Span) -> Value {
        let key = self.target_key(place, span);
        self.target_at(place, &key, span)
    }

    /// The address of a place in memory, the value of one that is computed.
    pub fn target_key(&mut self, place: &TargetPlace, span: Span) -> Value {
        match place {
            TargetPlace::Register { .. } => String::new(),
            TargetPlace::Memory { addr, .. } | TargetPlace::Value(addr) => self.address(addr, span),
        }
    }

    /// The same with the key already computed.
    pub fn target_at(&mut self, place: &TargetPlace, key: &str, span: Span) -> Value {
        match place {
            TargetPlace::Register { reg, size, signed } => {
                let v = self.register(*reg);
                self.long(narrow(&v, *size, *signed))
            }
            TargetPlace::Memory {
                size,
                signed,
                bits,
                swapped,
                ..
            } => {
                let signed_word = *signed && bits.is_none();
                let v = match swapped {
                    false => self.load(key, *size, signed_word, span),
                    true => {
                        let v = self.load(key, *size, false, span);
                        let v = self.long(reversed(&v, *size));
                        self.long(narrow(&v, *size, signed_word))
                    }
                };
                match bits {
                    None => v,
                    Some(b) => {
                        let up = 64 - u32::from(b.offset) - u32::from(b.width);
                        let down = 64 - u32::from(b.width);
                        let ty = if *signed { "int64_t" } else { "uint64_t" };
                        self.long(format!(
                            "(int64_t)(({ty})((uint64_t){v} << {up}) >> {down})"
                        ))
                    }
                }
            }
            TargetPlace::Value(_) => key.to_string(),
        }
    }

    /// Change the place; what lies beside it in its register or word stays.
    pub fn target_set(&mut self, place: &TargetPlace, key: &str, v: &str, span: Span) {
        match place {
            TargetPlace::Register { reg, size, .. } => {
                if let Some(field) = self.machine().member(reg.0) {
                    let new = merged(&format!("run->regs->{field}"), v, 0, 8 * u32::from(*size));
                    self.line(format!("run->regs->{field} = {new};"));
                }
            }
            TargetPlace::Memory {
                size,
                bits,
                swapped,
                ..
            } => {
                let order = |v: &str| match swapped {
                    true => reversed(v, *size),
                    false => v.to_string(),
                };
                let new = match bits {
                    None => v.to_string(),
                    Some(b) => {
                        let old = order(&self.load(key, *size, false, span));
                        merged(&old, v, b.offset.into(), b.width.into())
                    }
                };
                let new = order(&new);
                self.set_place("variable", span);
                self.call(format!(
                    "tl_store(run, (uint64_t){key}, {size}, (int64_t)({new}));"
                ));
                self.check();
            }
            // It has no place; the semantic passes refuse it.
            TargetPlace::Value(_) => {}
        }
    }

    pub fn address(&mut self, addr: &Addr, span: Span) -> Value {
        match addr {
            Addr::Const(n) => number(*n),
            Addr::Register(reg) => self.register(*reg),
            Addr::Image { image, vaddr } => {
                self.set_place("variable", span);
                let v = self.called(format!(
                    "(int64_t)tl_image_addr(run, {}, {vaddr}ULL)",
                    image.0
                ));
                self.check();
                v
            }
            Addr::Expr(e) => self.kept(e),
            Addr::Cursor(n) => crate::elements::cursor(*n),
            Addr::Load { addr, size, signed } => {
                let at = self.address(addr, span);
                self.load(&at, *size, *signed, span)
            }
            Addr::Binary(op, a, b) => {
                let (a, b) = (self.address(a, span), self.address(b, span));
                self.binary(*op, &a, &b, span)
            }
            Addr::Swap { of, size } => {
                let v = self.address(of, span);
                self.long(reversed(&v, *size))
            }
            Addr::ThreadPointer => self.instruction(self.machine().read_thread_pointer),
            Addr::Process => self.called("tl_pid(run)"),
            Addr::Fail(text) => {
                self.set_place("variable", span);
                let text = c_string(text.as_bytes());
                self.call(format!("tl_run_error(run, \"%s\", {text});"));
                self.check();
                number(0)
            }
            Addr::ThreadLocal {
                image,
                slot,
                offset,
                library,
            } => self.thread_local(*image, slot, *offset, library, span),
        }
    }

    fn thread_local(
        &mut self,
        image: ImageId,
        slot: &TlsSlot,
        offset: u64,
        library: &str,
        span: Span,
    ) -> Value {
        let way = match slot.way {
            TlsWay::Offset => "TL_TLS_OFFSET",
            TlsWay::Descriptor => "TL_TLS_DESCRIPTOR",
            TlsWay::Module => "TL_TLS_MODULE",
        };
        let at = Addr::Image {
            image,
            vaddr: slot.addr,
        };
        let (at, tp) = (
            self.address(&at, span),
            self.address(&Addr::ThreadPointer, span),
        );
        let library = c_string(library.as_bytes());
        let v = self.called(format!(
            "(int64_t)tl_tls_addr(run, (uint64_t){tp}, {way}, (uint64_t){at}, {}ULL, {offset}ULL, {library})",
            slot.of
        ));
        self.check();
        v
    }

    fn load(&mut self, at: &str, size: u8, signed: bool, span: Span) -> Value {
        self.set_place("variable", span);
        let v = self.called(format!("tl_load(run, (uint64_t){at}, {size}, {signed})"));
        self.check();
        v
    }

    fn register(&mut self, reg: Reg) -> Value {
        match self.machine().member(reg.0) {
            Some(field) => self.long(format!("(int64_t)run->regs->{field}")),
            // Handlers leave vector registers alone: they still are the program's.
            None => {
                let name = self.machine().abi.registers.name(reg.0);
                self.instruction(&self.machine().read_float.replace("{}", &name))
            }
        }
    }

    fn machine(&self) -> &'static Machine {
        self.unit.program.options.machine
    }

    /// What one instruction gives.
    fn instruction(&mut self, instruction: &str) -> Value {
        let v = self.long("0");
        self.line(format!(
            "__asm__ volatile(\"{instruction}\" : \"=r\"({v}));"
        ));
        v
    }
}

/// The low `size` bytes in the other order.
fn reversed(v: &str, size: u8) -> String {
    let unused = 64 - 8 * u32::from(size);
    format!("(int64_t)(__builtin_bswap64((uint64_t)({v})) >> {unused})")
}

/// The low `size` bytes, extended.
fn narrow(v: &str, size: u8, signed: bool) -> String {
    let sign = if signed { "" } else { "u" };
    match size {
        1 | 2 | 4 => format!("(int64_t)({sign}int{}_t){v}", size * 8),
        _ => v.to_string(),
    }
}

/// `old` with `width` bits from `offset` on replaced by the low ones of `v`.
fn merged(old: &str, v: &str, offset: u32, width: u32) -> String {
    let mask = u64::MAX >> (64 - width.clamp(1, 64)) << offset;
    format!("((uint64_t){old} & ~{mask:#x}ULL) | (((uint64_t){v} << {offset}) & {mask:#x}ULL)")
}
