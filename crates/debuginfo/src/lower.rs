// SPDX-License-Identifier: MIT
//! DWARF expressions lowered to [`Location`]s.

use crate::cfi::{Cfa, Cfi};
use crate::die::{DieRef, Value, R};
use crate::dwarf::Dwarf;
use crate::error::{Error, Result};
use crate::location::{LocOp, Location, Piece, Pointed};
use gimli::{constants as dw, AttributeValue, Encoding, Expression, Operation, UnitOffset};

/// Where an expression is evaluated.
pub(crate) struct Place<'a> {
    pub dwarf: &'a Dwarf,
    pub cfi: &'a Cfi,
    pub unit: u32,
    pub pc: u64,
    /// The out-of-line function around `pc`.
    pub function: Option<DieRef>,
    /// `pc` is that function's first instruction.
    pub at_entry: bool,
}

/// A base type as typed expressions name it.
#[derive(Clone, Copy, PartialEq)]
enum Base {
    Generic,
    Signed(u8),
    Unsigned(u8),
}

impl Place<'_> {
    /// The value of a location attribute at `pc`; `None`: a list, and no entry covers `pc`.
    pub fn location(&self, v: Value) -> Result<Option<Location>> {
        match self.expression(v)? {
            Some(e) => self.lower(e).map(Some),
            None => Ok(None),
        }
    }

    fn expression(&self, v: Value) -> Result<Option<Expression<R>>> {
        if let AttributeValue::Exprloc(e) = v {
            return Ok(Some(e));
        }
        if let AttributeValue::Block(b) = v {
            return Ok(Some(Expression(b)));
        }
        let unit = self.dwarf.unit(self.unit)?;
        let bad = |e: gimli::Error| self.dwarf.corrupt(&format!("location list: {e}"));
        let Some(mut list) = self
            .dwarf
            .dwarf_of(self.unit)
            .attr_locations(unit, v)
            .map_err(bad)?
        else {
            return Err(Error::Unsupported {
                what: "a location that is no expression".into(),
            });
        };
        while let Some(e) = list.next().map_err(bad)? {
            if e.range.begin <= self.pc && self.pc < e.range.end {
                return Ok(Some(e.data));
            }
        }
        Ok(None)
    }

    fn encoding(&self) -> Result<Encoding> {
        Ok(self.dwarf.unit(self.unit)?.encoding())
    }

    pub fn lower(&self, e: Expression<R>) -> Result<Location> {
        self.lower_nested(e, 0)
    }

    fn lower_nested(&self, e: Expression<R>, depth: u32) -> Result<Location> {
        let bad = |e: gimli::Error| self.dwarf.corrupt(&format!("location: {e}"));
        let mut out = Build::default();
        let mut ops = e.operations(self.encoding()?);
        while let Some(op) = ops.next().map_err(bad)? {
            self.step(&mut out, op, depth)?;
            if out.ops.len() > 512 {
                return Err(Error::Unsupported {
                    what: "a very long location".into(),
                });
            }
        }
        out.finish()
    }

    fn step(&self, out: &mut Build, op: Operation<R>, depth: u32) -> Result<()> {
        use Operation as O;
        if let Some(simple) = simple_op(&op) {
            out.ops.push(simple);
            return Ok(());
        }
        match op {
            O::Nop => {}
            O::Deref {
                base_type,
                size,
                space: false,
            } => {
                out.ops.push(LocOp::Deref(size));
                self.extend(out, base_type)?;
            }
            O::RegisterOffset {
                register,
                offset,
                base_type,
            } => {
                out.ops.push(LocOp::Reg(register.0));
                if offset != 0 {
                    out.ops.push(LocOp::PlusConst(offset as u64));
                }
                self.extend(out, base_type)?;
            }
            O::FrameOffset { offset } => {
                out.ops.extend(self.frame_base(depth)?);
                out.plus(offset as u64);
            }
            O::CallFrameCFA => out.ops.extend(self.cfa(depth)?),
            O::Register { register } => out.place = Some(Location::Register(register.0)),
            O::StackValue => out.is_value = true,
            O::ImplicitValue { data } => out.place = Some(Location::Bytes(data.slice().to_vec())),
            O::ImplicitPointer { value, byte_offset } => {
                let die = self.dwarf.in_info(self.unit, value.0);
                out.place = Some(die.map_or(Location::OptimizedOut, |die| {
                    Location::Pointer(Pointed {
                        die,
                        size: 0,
                        offset: byte_offset,
                    })
                }));
            }
            O::Piece {
                size_in_bits,
                bit_offset,
            } => out.piece(size_in_bits, bit_offset)?,
            O::Address { address } => out.ops.push(LocOp::Addr(address)),
            O::AddressIndex { index } | O::ConstantIndex { index } => {
                let unit = self.dwarf.unit(self.unit)?;
                let dwarf = self.dwarf.dwarf_of(self.unit);
                let address = dwarf
                    .address(unit, index)
                    .map_err(|e| self.dwarf.corrupt(&format!(".debug_addr: {e}")))?;
                let place = matches!(op, O::AddressIndex { .. });
                out.ops.push(if place {
                    LocOp::Addr(address)
                } else {
                    LocOp::Const(address)
                });
            }
            O::TLS => match out.ops.pop() {
                Some(LocOp::Const(offset) | LocOp::Addr(offset)) => {
                    out.ops.push(LocOp::Tls(offset));
                }
                _ => return unsupported("a computed thread-local offset"),
            },
            O::EntryValue { expression } => self.entry_value(out, Expression(expression), depth)?,
            O::Convert { base_type } | O::Reinterpret { base_type } => {
                self.extend(out, base_type)?;
            }
            O::TypedLiteral { base_type, value } => {
                let b = value.slice();
                if b.len() > 8 {
                    return unsupported("a constant of more than 8 bytes in a location");
                }
                out.ops.push(LocOp::Const(self.dwarf.order().read(b)));
                self.extend(out, base_type)?;
            }
            O::ParameterRef { .. } => out.place = Some(Location::OptimizedOut),
            O::Bra { .. } | O::Skip { .. } => return unsupported("a location with branches"),
            _ => return unsupported("an unusual location operation"),
        }
        Ok(())
    }

    /// DW_OP_entry_value: only of a register, or of memory at a register plus offset.
    fn entry_value(&self, out: &mut Build, e: Expression<R>, depth: u32) -> Result<()> {
        if depth > 4 {
            return unsupported("deeply nested entry values");
        }
        let reg = |r| {
            if self.at_entry {
                LocOp::Reg(r)
            } else {
                LocOp::EntryReg(r)
            }
        };
        match self.lower_nested(e, depth + 1)? {
            Location::Register(r) => out.ops.push(reg(r)),
            Location::Memory(ops) | Location::Value(ops) if self.at_entry => out.ops.extend(ops),
            _ => return unsupported("an entry value of more than a register"),
        }
        Ok(())
    }

    fn extend(&self, out: &mut Build, base: UnitOffset) -> Result<()> {
        match self.base_type(base)? {
            Base::Generic => {}
            Base::Signed(n) if n < 8 => out.ops.push(LocOp::SignExtend(n)),
            Base::Unsigned(n) if n < 8 => out.ops.push(LocOp::ZeroExtend(n)),
            Base::Signed(8) | Base::Unsigned(8) => {}
            _ => return unsupported("arithmetic on more than 8 bytes in a location"),
        }
        Ok(())
    }

    fn base_type(&self, offset: UnitOffset) -> Result<Base> {
        if offset.0 == 0 {
            return Ok(Base::Generic);
        }
        let r = DieRef {
            unit: self.unit,
            offset: offset.0,
        };
        if self.dwarf.is_swapped(r) {
            return unsupported("arithmetic in the other byte order in a location");
        }
        let size = self.dwarf.number(r, dw::DW_AT_byte_size).unwrap_or(0);
        let size = u8::try_from(size).unwrap_or(u8::MAX);
        match self.dwarf.attr(r, dw::DW_AT_encoding).map(|a| a.0) {
            Some(AttributeValue::Encoding(
                dw::DW_ATE_float | dw::DW_ATE_complex_float | dw::DW_ATE_decimal_float,
            )) => unsupported("floating-point arithmetic in a location"),
            Some(AttributeValue::Encoding(dw::DW_ATE_signed | dw::DW_ATE_signed_char)) => {
                Ok(Base::Signed(size))
            }
            _ => Ok(Base::Unsigned(size)),
        }
    }

    /// The frame base of the function, as operations that leave an address.
    fn frame_base(&self, depth: u32) -> Result<Vec<LocOp>> {
        let none = Error::NoFrameRule { pc: self.pc };
        let f = self.function.ok_or(none.clone())?;
        if depth > 4 {
            return unsupported("a frame base that needs itself");
        }
        let v = self
            .dwarf
            .own_attr(f, dw::DW_AT_frame_base)
            .ok_or(none.clone())?;
        let e = self.expression(v)?.ok_or(none)?;
        match self.lower_nested(e, depth + 1)? {
            Location::Register(r) => Ok(vec![LocOp::Reg(r)]),
            Location::Memory(ops) | Location::Value(ops) => Ok(ops),
            _ => unsupported("a frame base of an unusual kind"),
        }
    }

    pub fn frame_address(&self) -> Result<Vec<LocOp>> {
        self.cfa(0)
    }

    fn cfa(&self, depth: u32) -> Result<Vec<LocOp>> {
        match self.cfi.cfa(self.pc) {
            Some(Cfa::Register(r, offset)) => {
                let mut ops = vec![LocOp::Reg(r)];
                if offset != 0 {
                    ops.push(LocOp::PlusConst(offset as u64));
                }
                Ok(ops)
            }
            Some(Cfa::Expression(e)) if depth < 4 => match self.lower_nested(e, depth + 1)? {
                Location::Memory(ops) | Location::Value(ops) => Ok(ops),
                _ => unsupported("a frame rule of an unusual kind"),
            },
            _ => Err(Error::NoFrameRule { pc: self.pc }),
        }
    }
}

fn unsupported<T>(what: &str) -> Result<T> {
    Err(Error::Unsupported { what: what.into() })
}

fn simple_op(op: &Operation<R>) -> Option<LocOp> {
    use Operation as O;
    Some(match op {
        O::Drop => LocOp::Drop,
        O::Pick { index } => LocOp::Pick(*index),
        O::Swap => LocOp::Swap,
        O::Rot => LocOp::Rot,
        O::Abs => LocOp::Abs,
        O::And => LocOp::And,
        O::Div => LocOp::Div,
        O::Minus => LocOp::Minus,
        O::Mod => LocOp::Mod,
        O::Mul => LocOp::Mul,
        O::Neg => LocOp::Neg,
        O::Not => LocOp::Not,
        O::Or => LocOp::Or,
        O::Plus => LocOp::Plus,
        O::PlusConstant { value } => LocOp::PlusConst(*value),
        O::Shl => LocOp::Shl,
        O::Shr => LocOp::Shr,
        O::Shra => LocOp::Sar,
        O::Xor => LocOp::Xor,
        O::Eq => LocOp::Eq,
        O::Ge => LocOp::Ge,
        O::Gt => LocOp::Gt,
        O::Le => LocOp::Le,
        O::Lt => LocOp::Lt,
        O::Ne => LocOp::Ne,
        O::UnsignedConstant { value } => LocOp::Const(*value),
        O::SignedConstant { value } => LocOp::Const(*value as u64),
        _ => return None,
    })
}

/// A location under construction.
#[derive(Default)]
struct Build {
    ops: Vec<LocOp>,
    is_value: bool,
    place: Option<Location>,
    pieces: Vec<Piece>,
}

impl Build {
    fn plus(&mut self, n: u64) {
        match self.ops.last_mut() {
            Some(LocOp::PlusConst(m)) => *m = m.wrapping_add(n),
            _ => self.ops.push(LocOp::PlusConst(n)),
        }
        if self.ops.last() == Some(&LocOp::PlusConst(0)) {
            self.ops.pop();
        }
    }

    fn take(&mut self) -> Location {
        let ops = std::mem::take(&mut self.ops);
        let is_value = std::mem::take(&mut self.is_value);
        match self.place.take() {
            Some(place) => place,
            None if ops.is_empty() => Location::OptimizedOut,
            None if is_value => Location::Value(ops),
            None => Location::Memory(ops),
        }
    }

    fn piece(&mut self, bits: u64, offset: Option<u64>) -> Result<()> {
        let place = self.take();
        let (Ok(bits), Ok(bit_offset)) = (u32::try_from(bits), u32::try_from(offset.unwrap_or(0)))
        else {
            return unsupported("a very large piece");
        };
        self.pieces.push(Piece {
            bits,
            bit_offset,
            place,
        });
        Ok(())
    }

    fn finish(mut self) -> Result<Location> {
        if self.pieces.is_empty() {
            return Ok(self.take());
        }
        if !self.ops.is_empty() || self.place.is_some() {
            return unsupported("a location half in pieces");
        }
        let gone = self
            .pieces
            .iter()
            .all(|p| p.place == Location::OptimizedOut);
        Ok(if gone {
            Location::OptimizedOut
        } else {
            Location::Pieces(self.pieces)
        })
    }
}
