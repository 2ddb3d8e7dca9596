// SPDX-License-Identifier: MIT
//! Types as plain data, in an arena that fills itself as it is read.

use crate::error::{Error, Result};
use std::collections::HashMap;
use std::sync::{Arc, RwLock, Weak};

/// Names one type of a [`Types`] arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(u32);

/// How the bits of a base type are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Signed,
    Unsigned,
    SignedChar,
    UnsignedChar,
    Bool,
    Float,
    /// UTF-8/16/32 code unit.
    Utf,
    /// Complex, decimal, fixed point ...: only the size is known.
    Other,
}

/// `struct`, `union` or `class`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompositeKind {
    Struct,
    Union,
    Class,
}

/// `const` and its kin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Qualifier {
    Const,
    Volatile,
    Restrict,
    Atomic,
    /// Its numbers are not in the target's byte order.
    Swapped,
    /// They are, whatever the type itself says.
    Native,
    /// A pointer that owns what it leads to: Rust's Box.
    Owning,
}

/// One type, one level deep: what it refers to are further [`TypeId`]s.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    Void,
    Base {
        name: String,
        size: u64,
        encoding: Encoding,
    },
    Pointer {
        to: TypeId,
        size: u8,
    },
    /// C++ reference; the value is a pointer, read through it without saying so.
    Reference {
        to: TypeId,
        size: u8,
        rvalue: bool,
    },
    Composite(Composite),
    /// One entry per dimension; `None` where the count is not known (`[]`, VLA).
    Array {
        of: TypeId,
        counts: Vec<Option<u64>>,
    },
    Enum {
        name: Option<String>,
        size: u64,
        signed: bool,
        values: Vec<Enumerator>,
    },
    Typedef {
        name: String,
        to: TypeId,
    },
    Qualified {
        qualifier: Qualifier,
        to: TypeId,
    },
    Function {
        returns: TypeId,
        params: Vec<TypeId>,
        variadic: bool,
    },
    /// What nothing but a name is known of, and of some a size: a hook's table has no more. `*NAME` is what a NAME
    /// points to.
    Named {
        name: String,
        size: Option<u64>,
    },
    /// Something the debug information does not tell, or tells in a way not understood.
    Unknown {
        why: String,
    },
}

/// A structure, union or class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composite {
    pub kind: CompositeKind,
    /// Qualified in C++ (`ns::T`); `None` for an anonymous one.
    pub name: Option<String>,
    /// `None`: declared, but defined nowhere in this binary.
    pub size: Option<u64>,
    /// In order; base classes come as members with `base` set.
    pub members: Vec<Member>,
    /// What a Rust enum has besides: one of these at a time.
    pub variants: Variants,
    /// The types that a template was made with, or a generic type.
    pub arguments: Vec<TypeId>,
}

/// The variants of a structure, and the number that tells which one it has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Variants {
    /// `None` where there is but one.
    pub tag: Option<Member>,
    pub list: Vec<Variant>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// The tag's value; `None`: any that no other variant has.
    pub value: Option<i64>,
    /// Its name, and the structure of its fields.
    pub member: Member,
}

/// A member, or a base class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// `None` for an anonymous structure or union and for base classes.
    pub name: Option<String>,
    pub ty: TypeId,
    /// Bytes from the start of the structure; of the storage unit, for a bit-field.
    pub offset: u64,
    pub bits: Option<BitField>,
    pub base: bool,
    /// A virtual base lies as far from the structure as the word says that is so many bytes before
    /// what the structure's first word points to; `offset` is 0.
    pub virtual_at: Option<u64>,
}

/// The way to a virtual base: from `offset` bytes into a structure, by `Member::virtual_at`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    pub offset: u64,
    pub virtual_at: u64,
}

/// A bit-field: `(load(storage bytes at offset) >> shift) & (1 << width) - 1`, in target byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BitField {
    /// 1, 2, 4 or 8.
    pub storage: u8,
    pub shift: u8,
    pub width: u8,
}

/// One name of an enumeration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enumerator {
    pub name: String,
    pub value: i64,
}

/// A member found by name, anonymous members and base classes looked through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundMember {
    /// The virtual bases on the way, outermost first.
    pub hops: Vec<Hop>,
    /// From the start of the outermost structure, or of the last hop's base.
    pub offset: u64,
    pub ty: TypeId,
    pub bits: Option<BitField>,
}

/// Turns the `key` it once handed out into a type. Binaries implement it.
pub(crate) trait TypeSource: Send + Sync {
    fn lower(&self, key: u64, types: &Types) -> Type;
    /// The definition of a type that is only declared at `key`.
    fn complete(&self, key: u64, types: &Types) -> Option<TypeId>;
}

enum Slot {
    Pending {
        source: Weak<dyn TypeSource>,
        key: u64,
    },
    Ready {
        ty: Arc<Type>,
        source: Option<(Weak<dyn TypeSource>, u64)>,
    },
}

#[derive(Default)]
struct Arena {
    slots: Vec<Slot>,
    known: HashMap<(usize, u64), TypeId>,
    made: HashMap<Made, TypeId>,
}

#[derive(PartialEq, Eq, Hash)]
enum Made {
    Void,
    Pointer(TypeId),
    Ordered(TypeId, Qualifier),
    Long,
}

/// The arena: shared by every binary of a session, so that one `TypeId` says all. A type is read
/// from the debug information the first time somebody asks for it; the binaries must live as long.
#[derive(Default)]
pub struct Types {
    arena: RwLock<Arena>,
}

impl std::fmt::Debug for Types {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Types({})", self.read().slots.len())
    }
}

impl Types {
    pub fn new() -> Arc<Types> {
        Arc::new(Types::default())
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Arena> {
        self.arena.read().unwrap_or_else(|e| e.into_inner())
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Arena> {
        self.arena.write().unwrap_or_else(|e| e.into_inner())
    }

    /// The type itself, one level deep.
    pub fn get(&self, id: TypeId) -> Arc<Type> {
        let (weak, key) = match self.read().slots.get(id.0 as usize) {
            Some(Slot::Ready { ty, .. }) => return ty.clone(),
            Some(Slot::Pending { source, key }) => (source.clone(), *key),
            None => return unknown("no such type"),
        };
        let Some(source) = weak.upgrade() else {
            return unknown("the binary was closed");
        };
        let ty = Arc::new(source.lower(key, self));
        if let Some(slot) = self.write().slots.get_mut(id.0 as usize) {
            *slot = Slot::Ready {
                ty: ty.clone(),
                source: Some((weak, key)),
            };
        }
        ty
    }

    /// Put a type of one's own into the arena (a script's `long`, say; tests).
    pub fn add(&self, ty: Type) -> TypeId {
        self.push(Slot::Ready {
            ty: Arc::new(ty),
            source: None,
        })
    }

    /// The one `void`.
    pub fn void(&self) -> TypeId {
        self.made(Made::Void, || Type::Void)
    }

    /// A 64-bit signed integer, as `long` of the script language.
    pub fn long(&self) -> TypeId {
        self.made(Made::Long, || Type::Base {
            name: "long".into(),
            size: 8,
            encoding: Encoding::Signed,
        })
    }

    /// A pointer to `to`, on a machine with such words.
    pub fn pointer_to(&self, to: TypeId, size: u8) -> TypeId {
        self.made(Made::Pointer(to), || Type::Pointer { to, size })
    }

    /// `to` in the other byte order.
    pub fn swapped(&self, to: TypeId) -> TypeId {
        self.ordered(to, Qualifier::Swapped)
    }

    /// `to` in that byte order.
    pub(crate) fn ordered(&self, to: TypeId, qualifier: Qualifier) -> TypeId {
        let key = Made::Ordered(to, qualifier);
        self.made(key, || Type::Qualified { qualifier, to })
    }

    /// Whether its numbers, or those of what it refers to, are in the other byte order.
    pub fn is_swapped(&self, id: TypeId) -> bool {
        let mut id = id;
        for _ in 0..64 {
            match &*self.get(id) {
                Type::Qualified {
                    qualifier: order @ (Qualifier::Swapped | Qualifier::Native),
                    ..
                } => return *order == Qualifier::Swapped,
                Type::Typedef { to, .. }
                | Type::Qualified { to, .. }
                | Type::Reference { to, .. } => id = *to,
                _ => return false,
            }
        }
        false
    }

    /// Whether it is a pointer that owns what it leads to.
    pub fn is_owning(&self, id: TypeId) -> bool {
        let mut id = id;
        for _ in 0..64 {
            match &*self.get(id) {
                Type::Qualified {
                    qualifier: Qualifier::Owning,
                    ..
                } => return true,
                Type::Typedef { to, .. } | Type::Qualified { to, .. } => id = *to,
                _ => return false,
            }
        }
        false
    }

    fn made(&self, key: Made, make: impl FnOnce() -> Type) -> TypeId {
        if let Some(&id) = self.read().made.get(&key) {
            return id;
        }
        let id = self.add(make());
        *self.write().made.entry(key).or_insert(id)
    }

    fn push(&self, slot: Slot) -> TypeId {
        let mut a = self.write();
        a.slots.push(slot);
        TypeId(a.slots.len() as u32 - 1)
    }

    /// The id for `key` of a binary; nothing is read yet.
    pub(crate) fn lazy(&self, source: &Weak<dyn TypeSource>, key: u64) -> TypeId {
        let known = (source.as_ptr() as *const () as usize, key);
        if let Some(&id) = self.read().known.get(&known) {
            return id;
        }
        let mut a = self.write();
        if let Some(&id) = a.known.get(&known) {
            return id;
        }
        a.slots.push(Slot::Pending {
            source: source.clone(),
            key,
        });
        let id = TypeId(a.slots.len() as u32 - 1);
        a.known.insert(known, id);
        id
    }

    /// Through typedefs, qualifiers; a mere declaration becomes its definition where there is one.
    pub fn strip(&self, id: TypeId) -> TypeId {
        let mut id = id;
        for _ in 0..64 {
            match &*self.get(id) {
                Type::Typedef { to, .. } | Type::Qualified { to, .. } => id = *to,
                Type::Composite(c) if c.size.is_none() => return self.complete(id).unwrap_or(id),
                _ => return id,
            }
        }
        id
    }

    /// [`strip`](Types::strip), and through references as well.
    pub fn strip_refs(&self, id: TypeId) -> TypeId {
        let id = self.strip(id);
        match &*self.get(id) {
            Type::Reference { to, .. } => self.strip(*to),
            _ => id,
        }
    }

    fn complete(&self, id: TypeId) -> Option<TypeId> {
        let (weak, key) = match self.read().slots.get(id.0 as usize)? {
            Slot::Ready {
                source: Some((weak, key)),
                ..
            } => (weak.clone(), *key),
            _ => return None,
        };
        let to = weak.upgrade()?.complete(key, self)?;
        let definition = self.get(to);
        if let Some(slot) = self.write().slots.get_mut(id.0 as usize) {
            // From now on the declaration is as good as the definition.
            *slot = Slot::Ready {
                ty: definition,
                source: None,
            };
        }
        Some(id)
    }

    /// Bytes; `None` for functions, incomplete types and arrays without a count.
    pub fn size(&self, id: TypeId) -> Option<u64> {
        self.size_within(id, 0)
    }

    /// Arrays of arrays that are one another are in damaged files only.
    fn size_within(&self, id: TypeId, depth: u32) -> Option<u64> {
        let id = self.strip(id);
        match &*self.get(id) {
            Type::Base { size, .. } | Type::Enum { size, .. } => Some(*size),
            Type::Pointer { size, .. } | Type::Reference { size, .. } => Some(u64::from(*size)),
            Type::Composite(c) => c.size,
            Type::Named { size, .. } => *size,
            Type::Array { of, counts } => {
                let mut n = match depth {
                    0..64 => self.size_within(*of, depth + 1)?,
                    _ => return None,
                };
                for c in counts {
                    n = n.checked_mul((*c)?)?;
                }
                Some(n)
            }
            _ => None,
        }
    }

    /// Whether it is a signed integer (or enumeration), the way `printf("%d")` would extend it.
    pub fn is_signed(&self, id: TypeId) -> bool {
        match &*self.get(self.strip_refs(id)) {
            Type::Base { encoding, .. } => {
                matches!(encoding, Encoding::Signed | Encoding::SignedChar)
            }
            Type::Enum { signed, .. } => *signed,
            _ => false,
        }
    }

    /// What a pointer, reference or array leads to; `None` for anything else.
    pub fn target(&self, id: TypeId) -> Option<TypeId> {
        match &*self.get(self.strip(id)) {
            Type::Pointer { to, .. } | Type::Reference { to, .. } => Some(*to),
            Type::Array { of, counts } if counts.len() <= 1 => Some(*of),
            Type::Array { of, counts } => Some(self.add(Type::Array {
                of: *of,
                counts: counts[1..].to_vec(),
            })),
            _ => None,
        }
    }

    /// The member `name` of a structure, union or class (typedefs, qualifiers and references are
    /// looked through, pointers are not).
    pub fn member(&self, id: TypeId, name: &str) -> Result<FoundMember> {
        let id = self.strip_refs(id);
        let ty = self.get(id);
        let Type::Composite(c) = &*ty else {
            return Err(Error::NotAggregate { ty: self.name(id) });
        };
        if c.size.is_none() {
            return Err(Error::IncompleteType { ty: self.name(id) });
        }
        match self.find_member(c, name, 0, 0) {
            Some(found) => Ok(found),
            None => Err(Error::NoMember {
                ty: self.name(id),
                name: name.into(),
                members: self.member_names(id),
            }),
        }
    }

    fn find_member(&self, c: &Composite, name: &str, at: u64, depth: u32) -> Option<FoundMember> {
        for m in &c.members {
            if m.name.as_deref() == Some(name) {
                return Some(FoundMember {
                    hops: Vec::new(),
                    offset: at.wrapping_add(m.offset),
                    ty: m.ty,
                    bits: m.bits,
                });
            }
        }
        if depth > 32 {
            return None;
        }
        let variants = || c.variants.list.iter().map(|v| &v.member);
        if let Some(m) = variants().find(|m| m.name.as_deref() == Some(name)) {
            return Some(FoundMember {
                hops: Vec::new(),
                offset: at.wrapping_add(m.offset),
                ty: m.ty,
                bits: None,
            });
        }
        // A field of one variant only needs no variant's name.
        let mut fields = variants().filter_map(|m| match &*self.get(self.strip(m.ty)) {
            Type::Composite(inner) => self.find_member(inner, name, at + m.offset, depth + 1),
            _ => None,
        });
        if let (Some(found), None) = (fields.next(), fields.next()) {
            return Some(found);
        }
        for m in c.members.iter().filter(|m| m.name.is_none()) {
            if let Type::Composite(inner) = &*self.get(self.strip(m.ty)) {
                let here = at.wrapping_add(m.offset);
                let from = if m.virtual_at.is_some() { 0 } else { here };
                if let Some(mut found) = self.find_member(inner, name, from, depth + 1) {
                    let hop = |virtual_at| Hop {
                        offset: here,
                        virtual_at,
                    };
                    found.hops.splice(0..0, m.virtual_at.map(hop));
                    return Some(found);
                }
            }
        }
        None
    }

    /// The names `member` would accept.
    pub fn member_names(&self, id: TypeId) -> Vec<String> {
        let mut names = Vec::new();
        self.collect_names(self.strip_refs(id), &mut names, 0);
        names
    }

    fn collect_names(&self, id: TypeId, names: &mut Vec<String>, depth: u32) {
        let ty = self.get(id);
        let Type::Composite(c) = &*ty else { return };
        names.extend(c.variants.list.iter().filter_map(|v| v.member.name.clone()));
        for m in &c.members {
            match &m.name {
                Some(n) => names.push(n.clone()),
                None if depth < 32 => self.collect_names(self.strip(m.ty), names, depth + 1),
                None => {}
            }
        }
    }

    /// How C would write it: `struct foo *`, `int [4]`, `const char *`, `int (*)(void *, int)`.
    pub fn name(&self, id: TypeId) -> String {
        self.declare(id, String::new(), 0)
    }

    /// `name` declared with this type: `int a[4]`, `int (*f)(void)`.
    pub fn declaration(&self, id: TypeId, name: &str) -> String {
        self.declare(id, name.into(), 0)
    }

    fn declare(&self, id: TypeId, inner: String, depth: u32) -> String {
        if depth > 64 {
            return format!("...{inner}");
        }
        let ty = self.get(id);
        match &*ty {
            Type::Pointer { to, .. } => self.declare_pointer(*to, "*", inner, depth),
            Type::Reference { to, rvalue, .. } => {
                self.declare_pointer(*to, if *rvalue { "&&" } else { "&" }, inner, depth)
            }
            Type::Array { of, counts } => {
                let dims: String = counts
                    .iter()
                    .map(|c| c.map_or("[]".into(), |n| format!("[{n}]")))
                    .collect();
                self.declare(*of, format!("{inner}{dims}"), depth + 1)
            }
            Type::Function {
                returns,
                params,
                variadic,
            } => {
                let mut p: Vec<String> = params
                    .iter()
                    .map(|&p| self.declare(p, String::new(), depth + 1))
                    .collect();
                if *variadic {
                    p.push("...".into());
                }
                if p.is_empty() {
                    p.push("void".into());
                }
                self.declare(*returns, format!("{inner}({})", p.join(", ")), depth + 1)
            }
            Type::Qualified {
                qualifier: Qualifier::Swapped | Qualifier::Native | Qualifier::Owning,
                to,
            } => self.declare(*to, inner, depth + 1),
            Type::Qualified { qualifier, to } => {
                let q = qualifier_name(*qualifier);
                match &*self.get(*to) {
                    // The qualifier of a pointer stands behind its star.
                    Type::Pointer { to: t, .. } => {
                        let inner = if inner.is_empty() {
                            q.into()
                        } else {
                            format!("{q} {inner}")
                        };
                        self.declare_pointer(*t, "*", inner, depth)
                    }
                    // That of an array is that of its elements.
                    Type::Array { .. } => self.declare(*to, inner, depth + 1),
                    _ => format!("{q} {}", self.declare(*to, inner, depth + 1)),
                }
            }
            plain => join(&plain_name(plain), &inner),
        }
    }

    fn declare_pointer(&self, to: TypeId, star: &str, inner: String, depth: u32) -> String {
        let inner = format!("{star}{inner}");
        let wrap = matches!(&*self.get(to), Type::Array { .. } | Type::Function { .. });
        let inner = if wrap { format!("({inner})") } else { inner };
        self.declare(to, inner, depth + 1)
    }
}

fn unknown(why: &str) -> Arc<Type> {
    Arc::new(Type::Unknown { why: why.into() })
}

pub(crate) fn qualifier_name(q: Qualifier) -> &'static str {
    match q {
        Qualifier::Const => "const",
        Qualifier::Volatile => "volatile",
        Qualifier::Restrict => "restrict",
        Qualifier::Atomic => "_Atomic",
        Qualifier::Swapped | Qualifier::Native | Qualifier::Owning => "",
    }
}

fn join(base: &str, inner: &str) -> String {
    if inner.is_empty() {
        base.into()
    } else {
        format!("{base} {inner}")
    }
}

pub(crate) fn plain_name(ty: &Type) -> String {
    let tagged = |tag: &str, name: &Option<String>| match name {
        Some(n) => format!("{tag} {n}"),
        None => format!("{tag} {{...}}"),
    };
    match ty {
        Type::Void => "void".into(),
        Type::Base { name, .. } | Type::Typedef { name, .. } | Type::Named { name, .. } => {
            name.clone()
        }
        Type::Composite(c) => tagged(
            match c.kind {
                CompositeKind::Struct => "struct",
                CompositeKind::Union => "union",
                CompositeKind::Class => "class",
            },
            &c.name,
        ),
        Type::Enum { name, .. } => tagged("enum", name),
        _ => "?".into(),
    }
}
