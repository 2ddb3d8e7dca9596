// SPDX-License-Identifier: MIT
//! Variables of the traced program: registers, addresses, loads.

use crate::body::{Body, Value};
use crate::expr::number;
use trapless_sema::ir::{Addr, Reg, TargetPlace};
use trapless_syntax::span::Span;

/// Fields of `struct tl_regs` by DWARF number, x86-64 (System V ABI, figure 3.36).
const X86_64: [&str; 17] = [
    "ax", "dx", "cx", "bx", "si", "di", "bp", "sp", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
    "r15", "ip",
];

impl Body<'_, '_> {
    /// The number that the place holds.
    pub fn target(&mut self, place: &TargetPlace, span: Span) -> Value {
        match place {
            TargetPlace::Register { reg, size, signed } => {
                let v = self.register(*reg);
                self.long(narrow(&v, *size, *signed))
            }
            TargetPlace::Memory {
                addr,
                size,
                signed,
                bits,
            } => {
                let at = self.address(addr, span);
                let v = self.load(&at, *size, *signed && bits.is_none(), span);
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
            TargetPlace::Value(addr) => self.address(addr, span),
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
            Addr::Load { addr, size, signed } => {
                let at = self.address(addr, span);
                self.load(&at, *size, *signed, span)
            }
            Addr::Binary(op, a, b) => {
                let (a, b) = (self.address(a, span), self.address(b, span));
                self.binary(*op, &a, &b, span)
            }
            Addr::Tls { image, offset } => {
                self.set_place("thread-local variable", span);
                let v = self.called(format!(
                    "(int64_t)tl_tls_addr(run, {}, {offset}ULL)",
                    image.0
                ));
                self.check();
                v
            }
        }
    }

    fn load(&mut self, at: &str, size: u8, signed: bool, span: Span) -> Value {
        self.set_place("variable", span);
        let v = self.called(format!("tl_load(run, (uint64_t){at}, {size}, {signed})"));
        self.check();
        v
    }

    fn register(&mut self, reg: Reg) -> Value {
        match X86_64.get(reg.0 as usize) {
            Some(field) => self.long(format!("(int64_t)run->regs->{field}")),
            None => {
                let v = self.called(format!("tl_reg(run, {})", reg.0));
                self.check();
                v
            }
        }
    }
}

/// The low `size` bytes, extended.
fn narrow(v: &str, size: u8, signed: bool) -> String {
    let sign = if signed { "" } else { "u" };
    match size {
        1 | 2 | 4 => format!("(int64_t)({sign}int{}_t){v}", size * 8),
        _ => v.to_string(),
    }
}
