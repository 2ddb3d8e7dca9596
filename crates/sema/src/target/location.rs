// SPDX-License-Identifier: MIT
//! A location of the debug information as registers, memory, or something computed.

use super::address::{load, plus};
use super::{parts, Place, Reader};
use crate::finish::entered;
use crate::ir::{self, Addr, BinOp, Reg};
use crate::world::Entered;
use trapless_debuginfo as di;
use trapless_debuginfo::{Binary, LocOp, Location};
use trapless_syntax::diag::Tag;

impl Reader<'_> {
    pub(super) fn place(&mut self, l: &Location, image: ir::ImageId) -> Option<Place> {
        match l {
            Location::Memory(ops) => Some(Place::Memory(self.compute(ops, image)?, None)),
            Location::Value(ops) => Some(Place::Computed(self.compute(ops, image)?)),
            Location::Register(r) if self.is_readable(*r) => Some(Place::Register(*r)),
            Location::Register(_) => {
                self.diags
                    .error(
                        Tag::DebuginfoUnsupported,
                        self.span,
                        "the value is in a register of the x87 unit, which handlers do not touch",
                    )
                    .help("read it where it is in memory: at another line of the function");
                None
            }
            Location::Bytes(b) => {
                let word = |(n, bytes): (usize, &[u8])| {
                    let value = self.world.machine.abi.order.read(bytes) as i64;
                    parts::Part {
                        at: 8 * n as u64,
                        size: bytes.len() as u64,
                        place: Place::Computed(Addr::Const(value)),
                    }
                };
                let mut words: Vec<parts::Part> = b.chunks(8).enumerate().map(word).collect();
                match words.len() {
                    1 => words.pop().map(|w| w.place),
                    _ => Some(Place::Parts(words)),
                }
            }
            Location::Pieces(pieces) => self.pieces(pieces, image),
            Location::Pointer(_) => self.no_pointer(),
            Location::OptimizedOut => {
                self.diags
                    .error(
                        Tag::CtxVarOptimizedOut,
                        self.span,
                        "the value is not there at this place",
                    )
                    .help("read it at another line of the function");
                None
            }
        }
    }

    /// Is it a register that handlers can read?
    pub(super) fn is_readable(&self, register: u16) -> bool {
        let registers = &self.world.machine.abi.registers;
        registers.is_general(register) || registers.floats.has(register)
    }

    /// Those that are there; none of single bits.
    pub(super) fn pieces(&mut self, pieces: &[di::Piece], image: ir::ImageId) -> Option<Place> {
        let (mut at, mut parts) = (0, Vec::new());
        for p in pieces {
            let whole_bytes = p.bits % 8 == 0 && p.bit_offset == 0;
            let place = match p.place {
                Location::OptimizedOut => None,
                _ => self.quietly(|r| r.place(&p.place, image)),
            };
            if let Some(place) = place.filter(|_| whole_bytes && at % 8 == 0) {
                parts.push(parts::Part {
                    at: at / 8,
                    size: u64::from(p.bits / 8),
                    place,
                });
            }
            at += u64::from(p.bits);
        }
        Some(Place::Parts(parts))
    }

    /// The stack program as a tree.
    pub(super) fn compute(&mut self, ops: &[LocOp], image: ir::ImageId) -> Option<Addr> {
        let words = 0..self.world.machine.abi.registers.names.len() as u16;
        let mut stack: Vec<Addr> = Vec::new();
        for op in ops {
            if let LocOp::Tls(offset) = op {
                stack.push(self.thread_local(*offset, image)?);
                continue;
            }
            if let LocOp::EntryReg(r) = op {
                stack.push(self.at_entry(Reg(*r), image)?);
                continue;
            }
            if let (LocOp::Addr(_), true) = (op, self.world.images[image.0 as usize].kernel) {
                return self.no_static();
            }
            if step(op, &mut stack, image, words.clone()).is_none() {
                self.diags
                    .error(
                        Tag::DebuginfoUnsupported,
                        self.span,
                        format!("the location uses {op:?}, which is not built yet"),
                    )
                    .help("read the variable at another line of the function");
                return None;
            }
        }
        stack.pop()
    }

    /// Modules lie where there is room, and a kernel's own data somewhere else at each start.
    fn no_static<T>(&mut self) -> Option<T> {
        self.diags
            .error(
                Tag::PointKernel,
                self.span,
                "this has one place for all calls (static, or global), which the kernel alone knows",
            )
            .help("read it where a parameter or a local has its address");
        None
    }

    pub(super) fn frame_of(binary: &Binary, cx: &di::Context) -> Option<(u64, Vec<LocOp>)> {
        Some((cx.entry?, binary.frame_address(cx).ok()?))
    }

    /// What a register held as the function was entered.
    pub(super) fn at_entry(&mut self, reg: Reg, image: ir::ImageId) -> Option<Addr> {
        let Some((entry, frame)) = self.frame.take().filter(|_| reg.0 <= 15) else {
            self.diags
                .error(
                    Tag::DebuginfoUnsupported,
                    self.span,
                    "this is what a register held at the function's entry, and the frame is not known here",
                )
                .help("read it at the function's entry");
            return None;
        };
        let address = self.compute(&frame, image);
        self.frame = Some((entry, frame));
        let what = Entered { image, entry, reg };
        Some(entered::kept(self.world, what, address?, self.span))
    }

    /// Those of the program itself lie at a fixed distance from the thread pointer.
    pub(super) fn thread_local(&mut self, offset: u64, image: ir::ImageId) -> Option<Addr> {
        let binary = self.binary(image)?;
        if let Some(at) = binary.tls_distance(offset) {
            return Some(plus(Addr::ThreadPointer, at));
        }
        let file = binary.path().file_name().unwrap_or_default();
        let library = file.to_string_lossy().into_owned();
        let Some(slot) = binary.tls_slot(offset) else {
            self.diags
                .error(
                    Tag::DebuginfoUnsupported,
                    self.span,
                    format!(
                        "no code of {library} asks its loader where its thread-local variables lie"
                    ),
                )
                .help("read it where a function has its address in a parameter or local");
            return None;
        };
        Some(Addr::ThreadLocal {
            image,
            slot,
            offset,
            library,
        })
    }
}

/// One step of a location; `None`: not understood.
fn step(
    op: &LocOp,
    stack: &mut Vec<Addr>,
    image: ir::ImageId,
    words: std::ops::Range<u16>,
) -> Option<()> {
    let binary = |op, stack: &mut Vec<Addr>| {
        let (b, a) = (stack.pop()?, stack.pop()?);
        stack.push(Addr::Binary(op, Box::new(a), Box::new(b)));
        Some(())
    };
    match op {
        LocOp::Reg(r) if words.contains(r) => stack.push(Addr::Register(Reg(*r))),
        LocOp::Const(n) => stack.push(Addr::Const(*n as i64)),
        LocOp::Addr(vaddr) => stack.push(Addr::Image {
            image,
            vaddr: *vaddr,
        }),
        LocOp::Deref(n) => {
            let a = stack.pop()?;
            stack.push(load(a, *n, false));
        }
        LocOp::PlusConst(n) => {
            let a = stack.pop()?;
            stack.push(plus(a, *n as i64));
        }
        LocOp::Plus => binary(BinOp::Add, stack)?,
        LocOp::Minus => binary(BinOp::Sub, stack)?,
        LocOp::Mul => binary(BinOp::Mul, stack)?,
        LocOp::And => binary(BinOp::BitAnd, stack)?,
        LocOp::Or => binary(BinOp::BitOr, stack)?,
        LocOp::Xor => binary(BinOp::BitXor, stack)?,
        LocOp::Shl => binary(BinOp::Shl, stack)?,
        LocOp::Shr => binary(BinOp::UShr, stack)?,
        LocOp::Sar => binary(BinOp::Shr, stack)?,
        LocOp::Eq => binary(BinOp::Eq, stack)?,
        LocOp::Ne => binary(BinOp::Ne, stack)?,
        LocOp::Lt => binary(BinOp::Lt, stack)?,
        LocOp::Le => binary(BinOp::Le, stack)?,
        LocOp::Gt => binary(BinOp::Gt, stack)?,
        LocOp::Ge => binary(BinOp::Ge, stack)?,
        LocOp::Neg => {
            let a = stack.pop()?;
            stack.push(Addr::Binary(
                BinOp::Sub,
                Box::new(Addr::Const(0)),
                Box::new(a),
            ));
        }
        LocOp::Not => {
            let a = stack.pop()?;
            stack.push(Addr::Binary(
                BinOp::BitXor,
                Box::new(Addr::Const(-1)),
                Box::new(a),
            ));
        }
        LocOp::Drop => drop(stack.pop()?),
        LocOp::Pick(n) => {
            let at = stack.len().checked_sub(1 + *n as usize)?;
            stack.push(stack[at].clone());
        }
        LocOp::Swap => {
            let n = stack.len().checked_sub(2)?;
            stack.swap(n, n + 1);
        }
        LocOp::Rot => {
            let top = stack.pop()?;
            let at = stack.len().checked_sub(2)?;
            stack.insert(at, top);
        }
        LocOp::SignExtend(n) => extend(stack, *n, BinOp::Shr)?,
        LocOp::ZeroExtend(n) => extend(stack, *n, BinOp::UShr)?,
        _ => return None,
    }
    Some(())
}

fn extend(stack: &mut Vec<Addr>, bytes: u8, back: BinOp) -> Option<()> {
    let bits = 64 - 8 * i64::from(bytes.clamp(1, 8));
    let a = stack.pop()?;
    let up = Addr::Binary(BinOp::Shl, Box::new(a), Box::new(Addr::Const(bits)));
    stack.push(Addr::Binary(
        back,
        Box::new(up),
        Box::new(Addr::Const(bits)),
    ));
    Some(())
}
