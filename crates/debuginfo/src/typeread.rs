// SPDX-License-Identifier: MIT
//! Types out of DWARF entries.

use crate::bitfield;
use crate::die::{is_composite, text, DieRef, Value};
use crate::dwarf::Dwarf;
use crate::types::{
    Composite, CompositeKind, Encoding, Enumerator, Member, Qualifier, Type, TypeId, TypeSource,
    Types, Variant, Variants,
};
use gimli::{constants as dw, AttributeValue};
use std::sync::Weak;
use trapless_machine::ByteOrder;

impl TypeSource for Dwarf {
    fn lower(&self, key: u64, types: &Types) -> Type {
        self.read_type(DieRef::from_key(key), types, 0)
    }

    fn complete(&self, key: u64, types: &Types) -> Option<TypeId> {
        let r = DieRef::from_key(key);
        let name = self.name(r)?;
        let full = self.qualified(r)?;
        let found = self.named(name).into_iter().find(|(unit, e)| {
            let at = DieRef {
                unit: *unit,
                offset: e.offset,
            };
            is_composite(e.tag) && !e.declaration && self.qualified(at).is_some_and(|q| q == full)
        });
        found.map(|(unit, e)| {
            self.type_id(
                DieRef {
                    unit,
                    offset: e.offset,
                },
                types,
            )
        })
    }
}

impl Dwarf {
    /// The arena's name for the type at `r`; nothing is read yet.
    pub fn type_id(&self, r: DieRef, types: &Types) -> TypeId {
        let source: Weak<dyn TypeSource> = self.me.clone();
        types.lazy(&source, r.key())
    }

    /// The type that DW_AT_type of `r` (or of its origin) names; void where it names none.
    pub fn type_of(&self, r: DieRef, types: &Types) -> TypeId {
        let to = match self.attr(r, dw::DW_AT_type) {
            None => types.void(),
            Some((v, at)) => match self.target(v, at.unit) {
                Some(to) => self.type_id(to, types),
                None => types.add(Type::Unknown {
                    why: "a reference that leads nowhere".into(),
                }),
            },
        };
        match self.is_swapped(r) {
            true => types.swapped(to),
            false => to,
        }
    }

    /// What a pointer or reference leads to. Where it is a member of a structure in the other byte order, gcc tells the
    /// same of a number that it leads to, though C has no pointers to such.
    fn pointed_to(&self, r: DieRef, types: &Types) -> TypeId {
        let to = self.type_of(r, types);
        match self.number_type(r).is_some_and(|t| self.is_swapped(t)) {
            true => types.ordered(to, Qualifier::Native),
            false => to,
        }
    }

    /// Whether a base type or a variable is in the other byte order.
    pub fn is_swapped(&self, r: DieRef) -> bool {
        let other = match self.order() {
            ByteOrder::Little => dw::DW_END_big,
            ByteOrder::Big => dw::DW_END_little,
        };
        let told = self.attr(r, dw::DW_AT_endianity);
        matches!(told, Some((AttributeValue::Endianity(e), _)) if e == other)
    }

    fn read_type(&self, r: DieRef, types: &Types, depth: u32) -> Type {
        let unknown = |why: &str| Type::Unknown { why: why.into() };
        let Ok(die) = self.die(r) else {
            return unknown("a damaged entry");
        };
        let to = || self.type_of(r, types);
        let size = || self.number(r, dw::DW_AT_byte_size);
        let name = || self.name(r).map(text).unwrap_or_default();
        let pointer_size = || {
            let own = self.unit(r.unit).map_or(8, |u| u.header.address_size());
            size().and_then(|s| u8::try_from(s).ok()).unwrap_or(own)
        };
        let qualified = |qualifier| Type::Qualified {
            qualifier,
            to: to(),
        };
        match die.tag() {
            dw::DW_TAG_base_type => {
                let base = Type::Base {
                    name: name(),
                    size: size().unwrap_or_else(|| {
                        self.number(r, dw::DW_AT_bit_size)
                            .map_or(0, |b| b.div_ceil(8))
                    }),
                    encoding: self.encoding_of(r),
                };
                match self.is_swapped(r) {
                    true => Type::Qualified {
                        qualifier: Qualifier::Swapped,
                        to: types.add(base),
                    },
                    false => base,
                }
            }
            dw::DW_TAG_pointer_type => {
                let pointer = Type::Pointer {
                    to: self.pointed_to(r, types),
                    size: pointer_size(),
                };
                match name().starts_with("alloc::boxed::Box<") {
                    true => Type::Qualified {
                        qualifier: Qualifier::Owning,
                        to: types.add(pointer),
                    },
                    false => pointer,
                }
            }
            dw::DW_TAG_reference_type => Type::Reference {
                to: self.pointed_to(r, types),
                size: pointer_size(),
                rvalue: false,
            },
            dw::DW_TAG_rvalue_reference_type => Type::Reference {
                to: self.pointed_to(r, types),
                size: pointer_size(),
                rvalue: true,
            },
            dw::DW_TAG_typedef | dw::DW_TAG_template_alias => Type::Typedef {
                name: self.qualified(r).unwrap_or_else(name),
                to: to(),
            },
            dw::DW_TAG_const_type => qualified(Qualifier::Const),
            dw::DW_TAG_volatile_type => qualified(Qualifier::Volatile),
            dw::DW_TAG_restrict_type => qualified(Qualifier::Restrict),
            dw::DW_TAG_atomic_type => qualified(Qualifier::Atomic),
            dw::DW_TAG_packed_type | dw::DW_TAG_shared_type | dw::DW_TAG_immutable_type => {
                match self
                    .attr(r, dw::DW_AT_type)
                    .and_then(|(v, at)| self.target(v, at.unit))
                {
                    Some(inner) if depth < 16 => self.read_type(inner, types, depth + 1),
                    _ => unknown("an empty qualifier"),
                }
            }
            tag if is_composite(tag) => self.read_composite(r, tag, types, depth),
            dw::DW_TAG_array_type => self.read_array(r, types),
            dw::DW_TAG_enumeration_type => self.read_enum(r, types),
            dw::DW_TAG_subroutine_type | dw::DW_TAG_subprogram => self.read_function(r, types),
            dw::DW_TAG_ptr_to_member_type => Type::Base {
                name: "pointer to member".into(),
                size: size().unwrap_or(8),
                encoding: Encoding::Other,
            },
            dw::DW_TAG_unspecified_type => match size() {
                Some(size) => Type::Base {
                    name: name(),
                    size,
                    encoding: Encoding::Other,
                },
                // decltype(nullptr) is a pointer; assembler code has no types at all.
                None if name() == "decltype(nullptr)" => Type::Pointer {
                    to: types.void(),
                    size: pointer_size(),
                },
                None => unknown("not specified"),
            },
            tag => unknown(&format!("a type of kind {tag}")),
        }
    }

    fn encoding_of(&self, r: DieRef) -> Encoding {
        let Some((AttributeValue::Encoding(e), _)) = self.attr(r, dw::DW_AT_encoding) else {
            return Encoding::Other;
        };
        match e {
            dw::DW_ATE_signed => Encoding::Signed,
            dw::DW_ATE_unsigned | dw::DW_ATE_address => Encoding::Unsigned,
            dw::DW_ATE_signed_char => Encoding::SignedChar,
            dw::DW_ATE_unsigned_char => Encoding::UnsignedChar,
            dw::DW_ATE_boolean => Encoding::Bool,
            dw::DW_ATE_float => Encoding::Float,
            dw::DW_ATE_UTF => Encoding::Utf,
            _ => Encoding::Other,
        }
    }

    fn read_composite(&self, r: DieRef, tag: dw::DwTag, types: &Types, depth: u32) -> Type {
        // The body may be in a type unit.
        if let Some(sig) = self.own_attr(r, dw::DW_AT_signature) {
            if let Some(body) = self.target(sig, r.unit).filter(|b| *b != r && depth < 16) {
                return self.read_type(body, types, depth + 1);
            }
        }
        let kind = match tag {
            dw::DW_TAG_union_type => CompositeKind::Union,
            dw::DW_TAG_class_type => CompositeKind::Class,
            _ => CompositeKind::Struct,
        };
        let name = self.name(r).map(|_| self.qualified(r).unwrap_or_default());
        if self.flag(r, dw::DW_AT_declaration) {
            return Type::Composite(Composite {
                kind,
                name,
                size: None,
                members: Vec::new(),
                variants: Variants::default(),
                arguments: Vec::new(),
            });
        }
        let mut members = Vec::new();
        let mut variants = Variants::default();
        let mut arguments = Vec::new();
        let children = self.children(r);
        let swapped = self.has_swapped(&children);
        for (m, tag) in children {
            match tag {
                dw::DW_TAG_template_type_parameter => arguments.push(self.type_of(m, types)),
                dw::DW_TAG_variant_part => variants = self.read_variants(m, types),
                dw::DW_TAG_member => members.extend(self.read_member(m, types, swapped)),
                dw::DW_TAG_inheritance => {
                    let place = self.own_attr(m, dw::DW_AT_data_member_location);
                    let virtual_at = match &place {
                        Some(AttributeValue::Exprloc(e)) => {
                            virtual_place(e.0.slice(), self.order())
                        }
                        _ => None,
                    };
                    let offset = match virtual_at {
                        Some(_) => Some(0),
                        None => place.and_then(|v| v.udata_value()),
                    };
                    if let Some(offset) = offset {
                        members.push(Member {
                            name: None,
                            ty: self.type_of(m, types),
                            offset,
                            bits: None,
                            base: true,
                            virtual_at,
                        });
                    }
                }
                _ => {}
            }
        }
        let size = Some(self.number(r, dw::DW_AT_byte_size).unwrap_or(0));
        Type::Composite(Composite {
            kind,
            name,
            size,
            members,
            variants,
            arguments,
        })
    }

    fn read_variants(&self, part: DieRef, types: &Types) -> Variants {
        let tag = self.own_attr(part, dw::DW_AT_discr);
        let tag = tag.and_then(|v| self.target(v, part.unit));
        let tag = tag.and_then(|m| self.read_member(m, types, false));
        let size = tag.as_ref().and_then(|t| types.size(t.ty)).unwrap_or(8);
        let signed = tag.as_ref().is_some_and(|t| types.is_signed(t.ty));
        let value = |v: Value| {
            let unused = 64 - 8 * size.clamp(1, 8) as u32;
            let n = v
                .udata_value()
                .or_else(|| v.sdata_value().map(|n| n as u64))?
                << unused;
            Some(match signed {
                true => n as i64 >> unused,
                false => (n >> unused) as i64,
            })
        };
        let mut list = Vec::new();
        for (v, _) in self
            .children(part)
            .into_iter()
            .filter(|c| c.1 == dw::DW_TAG_variant)
        {
            let children = self.children(v).into_iter();
            let mut own = children.filter(|c| c.1 == dw::DW_TAG_member);
            if let Some(member) = own.next().and_then(|c| self.read_member(c.0, types, false)) {
                let value = self.own_attr(v, dw::DW_AT_discr_value).and_then(value);
                list.push(Variant { value, member });
            }
        }
        Variants { tag, list }
    }

    /// Whether numbers among the members are in the other byte order: then all are, enumerations, too, of which
    /// gcc does not tell.
    fn has_swapped(&self, members: &[(DieRef, dw::DwTag)]) -> bool {
        let own = |m: &DieRef| self.number_type(*m).is_some_and(|t| self.is_swapped(t));
        let members = members.iter().filter(|m| m.1 == dw::DW_TAG_member);
        members.map(|m| m.0).any(|m| own(&m))
    }

    /// The type of an entry where that is a number, or an array of them, found without asking for the type itself: in a
    /// damaged file a bit-field may have the very structure that it is in.
    fn number_type(&self, r: DieRef) -> Option<DieRef> {
        let mut at = r;
        for _ in 0..64 {
            at = self
                .attr(at, dw::DW_AT_type)
                .and_then(|(v, from)| self.target(v, from.unit))?;
            let tag = self.die(at).ok()?.tag();
            if matches!(tag, dw::DW_TAG_base_type | dw::DW_TAG_enumeration_type) {
                return Some(at);
            }
            if is_composite(tag) || tag == dw::DW_TAG_pointer_type {
                return None;
            }
        }
        None
    }

    /// `swapped`: what the structure's numbers are.
    fn read_member(&self, m: DieRef, types: &Types, swapped: bool) -> Option<Member> {
        // A static member has no place in the structure.
        if self.flag(m, dw::DW_AT_external) || self.flag(m, dw::DW_AT_declaration) {
            return None;
        }
        let number = self.number_type(m);
        let is_enum = |t| {
            self.die(t)
                .is_ok_and(|d| d.tag() == dw::DW_TAG_enumeration_type)
        };
        let untold = swapped && number.is_some_and(is_enum);
        let ty = match untold {
            true => types.swapped(self.type_of(m, types)),
            false => self.type_of(m, types),
        };
        let name = self.name(m).map(text);
        let at = match self.own_attr(m, dw::DW_AT_data_member_location) {
            None => 0,
            Some(AttributeValue::Exprloc(e)) => constant_offset(e.0.slice())?,
            Some(v) => v.udata_value()?,
        };
        let Some(width) = self.number(m, dw::DW_AT_bit_size) else {
            return Some(Member {
                name,
                ty,
                offset: at,
                bits: None,
                base: false,
                virtual_at: None,
            });
        };
        let other = untold || self.is_swapped(m) || number.is_some_and(|t| self.is_swapped(t));
        let little = (self.order() == ByteOrder::Little) != other;
        let declared = self
            .number(m, dw::DW_AT_byte_size)
            .or_else(|| self.number(number?, dw::DW_AT_byte_size))
            .unwrap_or(4);
        // The bit's number from the start of the structure.
        let first = match self.number(m, dw::DW_AT_data_bit_offset) {
            Some(bit) => at * 8 + bit,
            None => {
                // DWARF 2: counted from the most significant bit of the storage unit.
                let from_top = self.number(m, dw::DW_AT_bit_offset)?;
                match little {
                    true => (at * 8 + declared * 8).checked_sub(from_top + width)?,
                    false => at * 8 + from_top,
                }
            }
        };
        let (offset, bits) = bitfield::storage(first, width, declared, little)?;
        Some(Member {
            name,
            ty,
            offset,
            bits: Some(bits),
            base: false,
            virtual_at: None,
        })
    }

    fn read_array(&self, r: DieRef, types: &Types) -> Type {
        let mut counts = Vec::new();
        for (d, tag) in self.children(r) {
            if tag == dw::DW_TAG_subrange_type {
                counts.push(self.count_of(d));
            } else if tag == dw::DW_TAG_enumeration_type {
                counts.push(None);
            }
        }
        if counts.is_empty() {
            counts.push(None);
        }
        Type::Array {
            of: self.type_of(r, types),
            counts,
        }
    }

    fn count_of(&self, d: DieRef) -> Option<u64> {
        if let Some(n) = self.number(d, dw::DW_AT_count) {
            return Some(n);
        }
        let upper = self.own_attr(d, dw::DW_AT_upper_bound)?;
        let upper = upper
            .udata_value()
            .or_else(|| upper.sdata_value().map(|n| n as u64))?;
        let lower = self.number(d, dw::DW_AT_lower_bound).unwrap_or(0);
        // `[0]` may be written as an upper bound of -1.
        Some(upper.wrapping_add(1).wrapping_sub(lower)).filter(|&n| n <= 1 << 40)
    }

    fn read_enum(&self, r: DieRef, types: &Types) -> Type {
        let mut raw = Vec::new();
        for (d, tag) in self.children(r) {
            if tag == dw::DW_TAG_enumerator {
                let value = self.own_attr(d, dw::DW_AT_const_value);
                raw.extend(self.name(d).map(text).zip(value));
            }
        }
        let underlying = self.attr(r, dw::DW_AT_type).map(|_| self.type_of(r, types));
        let negative = |v: &Value| matches!(v, AttributeValue::Sdata(n) if *n < 0);
        let signed = match underlying {
            Some(t) => types.is_signed(t),
            None => raw.iter().any(|(_, v)| negative(v)),
        };
        let size = self
            .number(r, dw::DW_AT_byte_size)
            .or_else(|| types.size(underlying?))
            .unwrap_or(4);
        // Fixed-size forms carry no sign: the type decides.
        let read = |v: Value| match signed {
            true => v.sdata_value(),
            false => v
                .udata_value()
                .map(|n| n as i64)
                .or_else(|| v.sdata_value()),
        };
        let values = raw
            .into_iter()
            .filter_map(|(name, v)| {
                Some(Enumerator {
                    name,
                    value: read(v)?,
                })
            })
            .collect();
        let name = self.name(r).map(|_| self.qualified(r).unwrap_or_default());
        Type::Enum {
            name,
            size,
            signed,
            values,
        }
    }

    fn read_function(&self, r: DieRef, types: &Types) -> Type {
        let mut params = Vec::new();
        let mut variadic = false;
        for (d, tag) in self.children(r) {
            match tag {
                dw::DW_TAG_formal_parameter => params.push(self.type_of(d, types)),
                dw::DW_TAG_unspecified_parameters => variadic = true,
                _ => {}
            }
        }
        Type::Function {
            returns: self.type_of(r, types),
            params,
            variadic,
        }
    }
}

/// `dup, deref, N, minus, deref, plus`: the word N bytes before the table of virtual functions is added.
fn virtual_place(e: &[u8], order: ByteOrder) -> Option<u64> {
    let (n, rest) = match e.strip_prefix(&[0x12, 0x06])? {
        [lit @ 0x30..=0x4f, rest @ ..] => (u64::from(lit - 0x30), rest),
        [0x08, n, rest @ ..] => (u64::from(*n), rest),
        [0x0a, a, b, rest @ ..] => (order.read(&[*a, *b]), rest),
        [0x10, a @ 0..=0x7f, rest @ ..] => (u64::from(*a), rest),
        [0x10, a, b @ 0..=0x7f, rest @ ..] => (u64::from(a & 0x7f) | u64::from(*b) << 7, rest),
        _ => return None,
    };
    (rest == [0x1c, 0x06, 0x22]).then_some(n)
}

/// `DW_OP_plus_uconst N`, as older compilers write a member's place.
fn constant_offset(e: &[u8]) -> Option<u64> {
    let (&0x23, rest) = e.split_first()? else {
        return None;
    };
    let mut n = 0u64;
    for (i, &b) in rest.iter().enumerate().take(9) {
        n |= u64::from(b & 0x7f) << (7 * i);
        if b & 0x80 == 0 {
            return Some(n);
        }
    }
    None
}
