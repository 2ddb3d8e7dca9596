// SPDX-License-Identifier: MIT
//! Types of hooks' parameters, as the program's source writes them: `const struct packet *`. What C itself has is known by
//! its name, all else is only named.

use crate::binary::Binary;
use crate::error::{Error, Result};
use crate::hooks::{HookClass, HookParameter};
use crate::type_name::base_name;
use crate::types::{Encoding, Qualifier, Type, TypeId, Types};

/// What is written behind the innermost type's name, and what it is qualified by.
#[derive(Clone, Copy)]
enum Layer {
    Pointer,
    Qualified(Qualifier),
}

const QUALIFIERS: [(&str, Qualifier); 7] = [
    ("const", Qualifier::Const),
    ("volatile", Qualifier::Volatile),
    ("restrict", Qualifier::Restrict),
    ("__restrict", Qualifier::Restrict),
    ("__restrict__", Qualifier::Restrict),
    ("_Atomic", Qualifier::Atomic),
    ("typename", Qualifier::Native), // says nothing
];

/// Numbers whose size a machine's word tells, where it is 0.
const KNOWN: [(&str, u64, Encoding); 26] = [
    ("char", 1, Encoding::SignedChar),
    ("signed char", 1, Encoding::SignedChar),
    ("unsigned char", 1, Encoding::UnsignedChar),
    ("short int", 2, Encoding::Signed),
    ("short unsigned int", 2, Encoding::Unsigned),
    ("int", 4, Encoding::Signed),
    ("unsigned int", 4, Encoding::Unsigned),
    ("long int", 0, Encoding::Signed),
    ("long unsigned int", 0, Encoding::Unsigned),
    ("long long int", 8, Encoding::Signed),
    ("long long unsigned int", 8, Encoding::Unsigned),
    ("_Bool", 1, Encoding::Bool),
    ("bool", 1, Encoding::Bool),
    ("float", 4, Encoding::Float),
    ("double", 8, Encoding::Float),
    ("int8_t", 1, Encoding::Signed),
    ("uint8_t", 1, Encoding::Unsigned),
    ("int16_t", 2, Encoding::Signed),
    ("uint16_t", 2, Encoding::Unsigned),
    ("int32_t", 4, Encoding::Signed),
    ("uint32_t", 4, Encoding::Unsigned),
    ("int64_t", 8, Encoding::Signed),
    ("uint64_t", 8, Encoding::Unsigned),
    ("size_t", 0, Encoding::Unsigned),
    ("ssize_t", 0, Encoding::Signed),
    ("uintptr_t", 0, Encoding::Unsigned),
];

impl HookParameter {
    /// Its type, by nothing but the table; on a machine with such words.
    pub fn type_in(&self, types: &Types, word: u8) -> TypeId {
        let (layers, name) = taken_apart(&self.ty);
        let is_pointer = layers.iter().any(|l| matches!(l, Layer::Pointer));
        let innermost = match is_pointer {
            true => pointed(&name, types, word),
            false => self.innermost(&name, types, word),
        };
        let around = |to, layer| match layer {
            Layer::Pointer => types.pointer_to(to, word),
            Layer::Qualified(qualifier) => types.add(Type::Qualified { qualifier, to }),
        };
        layers.into_iter().fold(innermost, around)
    }

    /// The table tells the size of what it has by value.
    fn innermost(&self, name: &str, types: &Types, word: u8) -> TypeId {
        let number = |encoding| Type::Base {
            name: name.into(),
            size: self.size.into(),
            encoding,
        };
        types.add(match (self.class, known(name, word)) {
            (HookClass::Other, _) => Type::Named {
                name: name.into(),
                size: Some(self.size.into()),
            },
            (HookClass::Pointer, _) => Type::Typedef {
                name: name.into(),
                to: types.pointer_to(pointed(&format!("*{name}"), types, word), word),
            },
            (HookClass::Float, _) => number(Encoding::Float),
            (_, Some((size, encoding))) if size == u64::from(self.size) => number(encoding),
            (_, _) if self.signed => number(Encoding::Signed),
            (_, _) => number(Encoding::Unsigned),
        })
    }
}

impl Types {
    /// The type of which only this name is known, and its size where that is; of a pointer that to which it leads.
    pub fn only_named(&self, ty: TypeId) -> Option<(String, Option<u64>)> {
        let ty = self.strip_refs(ty);
        let inner = match &*self.get(ty) {
            Type::Pointer { to, .. } => self.strip(*to),
            _ => ty,
        };
        match &*self.get(inner) {
            Type::Named { name, size } => Some((name.clone(), *size)),
            _ => None,
        }
    }
}

impl Binary {
    /// What debug information has of such a type.
    pub fn type_described(&self, name: &str) -> Result<TypeId> {
        let pointer = name.strip_prefix('*');
        let found = self.find_type(pointer.unwrap_or(name))?;
        let types = self.types();
        let found = match pointer {
            Some(_) => types.target(found).unwrap_or(found),
            None => found,
        };
        let is_declared = matches!(&*types.get(types.strip(found)), Type::Composite(_));
        match types.size(found) {
            None if is_declared => Err(Error::IncompleteType { ty: name.into() }),
            _ => Ok(found),
        }
    }

    /// The type, or pointer, with what debug information has of it.
    pub fn with_described(&self, ty: TypeId) -> TypeId {
        let types = self.types();
        let named = types.only_named(ty);
        let Some(found) = named.and_then(|n| self.type_described(&n.0).ok()) else {
            return ty;
        };
        match &*types.get(types.strip_refs(ty)) {
            Type::Pointer { size, .. } => types.pointer_to(found, *size),
            _ => found,
        }
    }
}

fn pointed(name: &str, types: &Types, word: u8) -> TypeId {
    match (name, known(name, word)) {
        ("void", _) => types.void(),
        (_, Some((size, encoding))) => types.add(Type::Base {
            name: name.into(),
            size,
            encoding,
        }),
        (_, None) => types.add(Type::Named {
            name: name.into(),
            size: None,
        }),
    }
}

fn known(name: &str, word: u8) -> Option<(u64, Encoding)> {
    let &(_, size, encoding) = KNOWN.iter().find(|k| k.0 == name)?;
    let size = if size == 0 { word.into() } else { size };
    Some((size, encoding))
}

/// Layers from the inside to the outside, and the innermost type's name. A reference is what it refers to: so it is passed.
fn taken_apart(text: &str) -> (Vec<Layer>, String) {
    let mut rest = text.trim().trim_end_matches('&').trim_end();
    let mut layers = Vec::new();
    loop {
        if let Some(inner) = rest.strip_suffix('*') {
            layers.push(Layer::Pointer);
            rest = inner.trim_end();
            continue;
        }
        // What stands behind the name is a word of its own, or stands behind a star.
        let start = rest.rfind([' ', '\t', '*']).map_or(0, |at| at + 1);
        match qualifier(&rest[start..]).filter(|_| start > 0) {
            Some(q) => {
                layers.push(Layer::Qualified(q));
                rest = rest[..start].trim_end();
            }
            None => break,
        }
    }
    let mut words: Vec<&str> = rest.split_whitespace().collect();
    while words.len() > 1 {
        let Some(q) = qualifier(words[0]) else { break };
        layers.push(Layer::Qualified(q));
        words.remove(0);
    }
    layers.retain(|l| !matches!(l, Layer::Qualified(Qualifier::Native)));
    layers.reverse();
    (layers, base_name(&words))
}

fn qualifier(word: &str) -> Option<Qualifier> {
    let known = QUALIFIERS.iter().find(|q| q.0 == word);
    known.map(|q| q.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::Operand;

    fn listed(ty: &str, class: HookClass, size: u16, signed: bool) -> String {
        let types = Types::new();
        let parameter = HookParameter {
            name: "p".into(),
            ty: ty.into(),
            class,
            size,
            signed,
            text: String::new(),
            place: Operand::Const(0),
        };
        let id = parameter.type_in(&types, 8);
        let size = types.size(id).map_or("?".to_string(), |s| s.to_string());
        let sign = if types.is_signed(id) { "-" } else { "" };
        format!("{} {sign}{size}", types.listed(id))
    }

    #[test]
    fn types_are_read_as_c_writes_them() {
        use HookClass::{Float, Number, Other, Pointer};
        for (ty, class, size, signed, shown) in [
            ("long", Number, 8, true, "long int -8"),
            ("unsigned", Number, 4, false, "unsigned int 4"),
            ("const uint32_t", Number, 4, false, "uint32_t const 4"),
            ("enum color", Number, 4, false, "enum color 4"),
            ("mine_t", Number, 2, true, "mine_t -2"),
            ("double", Float, 8, false, "double 8"),
            ("const char *", Pointer, 8, false, "char const* 8"),
            ("char const*const", Pointer, 8, false, "char const* const 8"),
            ("char **restrict", Pointer, 8, false, "char** restrict 8"),
            (
                "const struct packet *",
                Pointer,
                8,
                false,
                "struct packet const* 8",
            ),
            ("void*", Pointer, 8, false, "void* 8"),
            ("handle", Pointer, 8, false, "handle 8"),
            ("struct pair", Other, 16, false, "struct pair 16"),
            (
                "const ns::pair<int, char *> &",
                Other,
                8,
                false,
                "ns::pair<int, char *> const 8",
            ),
            ("*", Pointer, 8, false, "int* 8"),
            ("const", Number, 4, true, "const -4"),
        ] {
            assert_eq!(listed(ty, class, size, signed), shown, "{ty}");
        }
    }

    #[test]
    fn what_is_pointed_to_is_known_where_c_has_it() {
        let types = Types::new();
        for (name, size) in [("char", Some(1)), ("long int", Some(8)), ("struct x", None)] {
            assert_eq!(types.size(pointed(name, &types, 8)), size);
        }
    }
}
