// SPDX-License-Identifier: MIT
//! A kernel's types as plain data.

use super::btf::{Btf, Entry, Kind};
use crate::bitfield;
use crate::types::{
    Composite, CompositeKind, Encoding, Enumerator, Member, Qualifier, Type, TypeId, TypeSource,
    Types, Variants,
};
use std::sync::{Arc, Weak};
use trapless_machine::ByteOrder;

/// The bits of a number's word that tell what it is.
const SIGNED: u32 = 1 << 24;
const BOOL: u32 = 1 << 26;

/// Types that name others, one after the other, in a file that is not damaged.
const DEEPEST: u32 = 64;

/// BTF that an arena of types reads from.
pub struct Source {
    pub btf: Arc<Btf>,
    /// A module's: that of its kernel, which tells the kernel's types.
    pub base: Option<Arc<Source>>,
    /// Bytes of a pointer.
    pub word: u8,
    pub me: Weak<Source>,
}

impl TypeSource for Source {
    fn lower(&self, key: u64, types: &Types) -> Type {
        match self.btf.entry(key as u32) {
            Some(entry) => self.read(&entry, types, 0),
            None => Type::Void,
        }
    }

    fn complete(&self, key: u64, types: &Types) -> Option<TypeId> {
        let forward = self.btf.entry(key as u32)?;
        let kind = if forward.flag {
            Kind::Union
        } else {
            Kind::Struct
        };
        let id = self.btf.named(self.btf.name(&forward), &[kind])?;
        Some(self.id(id, types))
    }
}

impl Source {
    pub fn new(btf: Btf, base: Option<Arc<Source>>, word: u8) -> Arc<Source> {
        Arc::new_cyclic(|me| Source {
            btf: Arc::new(btf),
            base,
            word,
            me: me.clone(),
        })
    }

    /// The arena's name for a type by number; nothing is read yet.
    pub fn id(&self, number: u32, types: &Types) -> TypeId {
        match (number, &self.base) {
            (0, _) => types.void(),
            (_, Some(base)) if number < self.btf.first() => base.id(number, types),
            _ => {
                let source: Weak<dyn TypeSource> = self.me.clone();
                types.lazy(&source, number.into())
            }
        }
    }

    fn read(&self, entry: &Entry, types: &Types, depth: u32) -> Type {
        let name = || self.btf.name(entry).to_string();
        let to = || self.id(entry.value, types);
        let qualified = |qualifier| Type::Qualified {
            qualifier,
            to: to(),
        };
        match entry.kind {
            Kind::Int => self.number(entry),
            Kind::Float => Type::Base {
                name: name(),
                size: entry.value.into(),
                encoding: Encoding::Float,
            },
            Kind::Pointer => Type::Pointer {
                to: to(),
                size: self.word,
            },
            Kind::Array => Type::Array {
                of: self.id(self.btf.word_of(entry, 0), types),
                // of none: as long as whoever made it says
                counts: vec![match self.btf.word_of(entry, 2) {
                    0 => None,
                    n => Some(n.into()),
                }],
            },
            Kind::Struct | Kind::Union | Kind::Forward => self.composite(entry, types),
            Kind::Enum | Kind::Enum64 => self.enumeration(entry),
            Kind::Typedef => Type::Typedef {
                name: name(),
                to: to(),
            },
            Kind::Volatile => qualified(Qualifier::Volatile),
            Kind::Const => qualified(Qualifier::Const),
            Kind::Restrict => qualified(Qualifier::Restrict),
            Kind::Prototype => self.prototype(entry, types),
            // These are about another type, and none themselves.
            Kind::Function | Kind::TypeTag | Kind::Variable | Kind::DeclTag if depth < DEEPEST => {
                match self.btf.entry(entry.value) {
                    Some(inner) => self.read(&inner, types, depth + 1),
                    None => Type::Void,
                }
            }
            _ => Type::Unknown {
                why: "no type of the kernel's".into(),
            },
        }
    }

    /// A letter's type is known by its name alone.
    fn number(&self, entry: &Entry) -> Type {
        let told = self.btf.word_of(entry, 0);
        let name = self.btf.name(entry).to_string();
        let letter = entry.value == 1 && name.contains("char");
        let encoding = match (told & BOOL != 0, letter, told & SIGNED != 0) {
            (true, _, _) => Encoding::Bool,
            (_, true, signed) if signed || name == "char" => Encoding::SignedChar,
            (_, true, _) => Encoding::UnsignedChar,
            (_, _, true) => Encoding::Signed,
            _ => Encoding::Unsigned,
        };
        Type::Base {
            name,
            size: entry.value.into(),
            encoding,
        }
    }

    fn composite(&self, entry: &Entry, types: &Types) -> Type {
        let declared = entry.kind == Kind::Forward;
        let is_union = entry.kind == Kind::Union || declared && entry.flag;
        let members =
            (0..if declared { 0 } else { entry.count }).map(|n| self.member(entry, n, types));
        Type::Composite(Composite {
            kind: match is_union {
                true => CompositeKind::Union,
                false => CompositeKind::Struct,
            },
            name: some(self.btf.name(entry)),
            size: (!declared).then_some(entry.value.into()),
            members: members.collect(),
            variants: Variants::default(),
            arguments: Vec::new(),
        })
    }

    /// With the flag a place has a width in its high byte: 0 where it is no bit-field.
    fn member(&self, entry: &Entry, n: usize, types: &Types) -> Member {
        let [name, number, place] = [0, 1, 2].map(|i| self.btf.word_of(entry, 3 * n + i));
        let (first, width) = match entry.flag {
            true => (place & 0xff_ffff, place >> 24),
            false => (place, 0),
        };
        let ty = self.id(number, types);
        let little = self.btf.order == ByteOrder::Little;
        let field = (width > 0)
            .then(|| {
                bitfield::storage(first.into(), width.into(), self.number_size(number), little)
            })
            .flatten();
        Member {
            name: some(self.btf.text(name)),
            ty,
            offset: field.map_or(u64::from(first) / 8, |f| f.0),
            bits: field.map(|f| f.1),
            base: false,
            virtual_at: None,
        }
    }

    /// Of the number's type that a bit-field is declared with.
    fn number_size(&self, number: u32) -> u64 {
        let mut number = number;
        for _ in 0..DEEPEST {
            match self.btf.entry(number) {
                Some(e) if matches!(e.kind, Kind::Int | Kind::Enum | Kind::Enum64) => {
                    return e.value.into();
                }
                Some(e) => number = e.value,
                None => break,
            }
        }
        0
    }

    fn enumeration(&self, entry: &Entry) -> Type {
        Type::Enum {
            name: some(self.btf.name(entry)),
            size: entry.value.into(),
            signed: entry.flag,
            values: self.enumerators(entry),
        }
    }

    pub fn enumerators(&self, entry: &Entry) -> Vec<Enumerator> {
        let wide = entry.kind == Kind::Enum64;
        let words = if wide { 3 } else { 2 };
        let value = |n: usize| {
            let word = |i| self.btf.word_of(entry, words * n + i);
            let (name, low, high) = (word(0), word(1), word(2));
            Enumerator {
                name: self.btf.text(name).to_string(),
                value: match (wide, entry.flag) {
                    (true, _) => (u64::from(high) << 32 | u64::from(low)) as i64,
                    (false, true) => i64::from(low as i32),
                    (false, false) => low.into(),
                },
            }
        };
        (0..entry.count).map(value).collect()
    }

    fn prototype(&self, entry: &Entry, types: &Types) -> Type {
        let mut params: Vec<u32> = (0..entry.count)
            .map(|n| self.btf.word_of(entry, 2 * n + 1))
            .collect();
        // A last one without a type stands for any number of them.
        let variadic = params.last() == Some(&0);
        params.retain(|p| *p != 0);
        Type::Function {
            returns: self.id(entry.value, types),
            params: params.into_iter().map(|p| self.id(p, types)).collect(),
            variadic,
        }
    }
}

fn some(name: &str) -> Option<String> {
    (!name.is_empty()).then(|| name.to_string())
}
