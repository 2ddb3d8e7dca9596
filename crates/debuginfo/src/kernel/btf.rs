// SPDX-License-Identifier: MIT
//! BTF (Documentation/bpf/btf.rst): a kernel's types and functions, in five megabytes that are indexed and then read where
//! they are asked for. Types have numbers in the order in which they stand; 0 is void.

use std::ops::Range;
use std::sync::Arc;
use trapless_machine::ByteOrder;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Int,
    Pointer,
    Array,
    Struct,
    Union,
    Enum,
    Forward,
    Typedef,
    Volatile,
    Const,
    Restrict,
    Function,
    Prototype,
    Variable,
    Section,
    Float,
    DeclTag,
    TypeTag,
    Enum64,
}

/// By number, from 1 on, with the bytes that follow an entry: so many, and so many for each of its members.
const KINDS: [(Kind, usize, usize); 19] = [
    (Kind::Int, 4, 0),
    (Kind::Pointer, 0, 0),
    (Kind::Array, 12, 0),
    (Kind::Struct, 0, 12),
    (Kind::Union, 0, 12),
    (Kind::Enum, 0, 8),
    (Kind::Forward, 0, 0),
    (Kind::Typedef, 0, 0),
    (Kind::Volatile, 0, 0),
    (Kind::Const, 0, 0),
    (Kind::Restrict, 0, 0),
    (Kind::Function, 0, 0),
    (Kind::Prototype, 0, 8),
    (Kind::Variable, 4, 0),
    (Kind::Section, 0, 12),
    (Kind::Float, 0, 0),
    (Kind::DeclTag, 4, 0),
    (Kind::TypeTag, 0, 0),
    (Kind::Enum64, 0, 12),
];

const MAGIC: u64 = 0xeb9f;
/// A name, a word of kind, flag and count, and a size or type.
const HEAD: usize = 12;

/// One type, without what its members are.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    name: u32,
    pub kind: Kind,
    /// Members, parameters, names.
    pub count: usize,
    pub flag: bool,
    /// A size in bytes, or the number of a type.
    pub value: u32,
    /// Where the members begin ...
    rest: usize,
    /// ... in what a module's own BTF goes on from.
    in_base: bool,
}

pub struct Btf {
    data: Vec<u8>,
    pub order: ByteOrder,
    strings: Range<usize>,
    /// Where each type stands; that of void is of no use.
    at: Vec<u32>,
    /// A module's: that of its kernel, whose numbers and names go on here.
    base: Option<Arc<Btf>>,
}

impl Btf {
    /// `Err`: what is wrong with it.
    pub fn new(data: Vec<u8>) -> Result<Btf, &'static str> {
        Btf::behind(data, None)
    }

    /// A module's own, which goes on from its kernel's.
    pub fn behind(data: Vec<u8>, base: Option<Arc<Btf>>) -> Result<Btf, &'static str> {
        let order = [ByteOrder::Little, ByteOrder::Big];
        let order = order
            .into_iter()
            .find(|o| o.read_at(&data, 0, 2) == Some(MAGIC));
        let order = order.ok_or("it does not begin as BTF does")?;
        let word = |at| order.read_at(&data, at, 4).map(|n| n as usize);
        let part = |at| -> Option<Range<usize>> {
            let start = word(4)?.checked_add(word(at)?)?;
            let part = start..start.checked_add(word(at + 4)?)?;
            (part.end <= data.len()).then_some(part)
        };
        let types = part(8).ok_or("its types lie behind its end")?;
        let strings = part(16).ok_or("its names lie behind its end")?;
        let mut btf = Btf {
            order,
            strings,
            at: if base.is_some() { Vec::new() } else { vec![0] },
            data,
            base,
        };
        let mut at = types.start;
        while at < types.end {
            let entry = btf.read(at).ok_or("a type of an unknown kind")?;
            let (_, once, each) = KINDS[entry.kind as usize];
            btf.at.push(at as u32);
            at = entry.rest + once + each * entry.count;
        }
        (at == types.end)
            .then_some(btf)
            .ok_or("its types break off")
    }

    /// Of a module that has none.
    pub fn nothing_behind(base: Arc<Btf>) -> Btf {
        Btf {
            data: Vec::new(),
            order: base.order,
            strings: 0..0,
            at: Vec::new(),
            base: Some(base),
        }
    }

    fn word(&self, at: usize) -> Option<u32> {
        Some(self.order.read_at(&self.data, at, 4)? as u32)
    }

    fn read(&self, at: usize) -> Option<Entry> {
        let info = self.word(at + 4)?;
        let number = (info >> 24 & 0x1f) as usize;
        Some(Entry {
            name: self.word(at)?,
            kind: KINDS.get(number.checked_sub(1)?)?.0,
            count: (info & 0xffff) as usize,
            flag: info >> 31 != 0,
            value: self.word(at + 8)?,
            rest: at + HEAD,
            in_base: false,
        })
    }

    /// The first number that is its own.
    pub fn first(&self) -> u32 {
        self.base.as_ref().map_or(0, |b| b.end())
    }

    fn end(&self) -> u32 {
        self.first() + self.at.len() as u32
    }

    /// `None`: void, or no such type.
    pub fn entry(&self, id: u32) -> Option<Entry> {
        match (id.checked_sub(self.first()), &self.base) {
            (None, Some(base)) => Some(Entry {
                in_base: true,
                ..base.entry(id)?
            }),
            _ if id == 0 => None,
            (own, _) => self.read(*self.at.get(own? as usize)? as usize),
        }
    }

    /// All of its own, with their numbers.
    pub fn entries(&self) -> impl Iterator<Item = (u32, Entry)> + '_ {
        (self.first().max(1)..self.end()).filter_map(|id| Some((id, self.entry(id)?)))
    }

    /// A word of what follows the entry: of a structure's member n its name, type and place are `word_of(e, 3 * n)` and so on.
    pub fn word_of(&self, entry: &Entry, n: usize) -> u32 {
        let at = entry.rest + 4 * n;
        match &self.base {
            Some(base) if entry.in_base => base.word(at),
            _ => self.word(at),
        }
        .unwrap_or(0)
    }

    /// "" where it has none.
    pub fn name(&self, entry: &Entry) -> &str {
        self.text(entry.name)
    }

    pub fn text(&self, offset: u32) -> &str {
        let of_base = self.base.as_ref().map_or(0, |b| b.strings.len() as u32);
        let offset = match (offset.checked_sub(of_base), &self.base) {
            (None, Some(base)) => return base.text(offset),
            (own, _) => own.unwrap_or_default(),
        };
        let strings = self.data.get(self.strings.clone()).unwrap_or(&[]);
        let from = strings.get(offset as usize..).unwrap_or(&[]);
        let end = memchr::memchr(0, from).unwrap_or(0);
        std::str::from_utf8(&from[..end]).unwrap_or("")
    }

    /// The first of those kinds that has the name; a module's own go before its kernel's.
    pub fn named(&self, name: &str, kinds: &[Kind]) -> Option<u32> {
        let is = |e: &Entry| kinds.contains(&e.kind) && self.name(e) == name;
        let own = self.entries().find(|(_, e)| is(e)).map(|(id, _)| id);
        own.or_else(|| self.base.as_ref()?.named(name, kinds))
    }
}

/// The functions that it describes, by number.
pub fn described(btf: &Btf) -> impl Iterator<Item = (u32, &str)> {
    let functions = btf.entries().filter(|(_, e)| e.kind == Kind::Function);
    functions.map(|(id, e)| (id, btf.name(&e)))
}
