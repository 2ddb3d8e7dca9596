// SPDX-License-Identifier: MIT
//! What maps and variables hold. It is learned by translating again and again until nothing new is known.

use crate::ast::Type;
use crate::error::{wrong, At, Result};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ty {
    Number,
    Text,
    /// text of several lines
    Stack,
    Unknown,
}

impl Ty {
    fn words(self) -> &'static str {
        match self {
            Ty::Number => "a number",
            Ty::Text => "text",
            Ty::Stack => "a stack",
            Ty::Unknown => "unknown",
        }
    }
}

/// What a map gathers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gather {
    Count,
    Sum,
    Avg,
    Min,
    Max,
    Stats,
    Hist,
    Lhist(i64, i64, i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    One(Ty),
    Many(Gather),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    pub keys: Vec<Ty>,
    pub held: Held,
    /// of a pointer: to what
    pub points: Option<Type>,
    pub at: At,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Var {
    pub ty: Ty,
    pub points: Option<Type>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Types {
    pub maps: BTreeMap<String, Map>,
    /// of each probe by its number
    pub vars: BTreeMap<(usize, String), Var>,
}

/// One type from two.
fn join(a: Ty, b: Ty) -> Option<Ty> {
    match (a, b) {
        (Ty::Unknown, other) | (other, Ty::Unknown) => Some(other),
        (Ty::Text | Ty::Stack, Ty::Text | Ty::Stack) if a != b => Some(Ty::Text),
        _ if a == b => Some(a),
        _ => None,
    }
}

impl Types {
    /// A map is used with these keys.
    pub fn keys(&mut self, name: &str, keys: &[Ty], at: At) -> Result<()> {
        let new = || Map {
            keys: keys.to_vec(),
            held: Held::One(Ty::Unknown),
            points: None,
            at,
        };
        let map = self.maps.entry(name.to_string()).or_insert_with(new);
        if map.keys.len() != keys.len() {
            let what = format!(
                "@{name} has {} here, and {} elsewhere",
                counted(keys.len()),
                counted(map.keys.len())
            );
            return wrong(
                at,
                what,
                "a map has the same keys everywhere; use a second map",
            );
        }
        for (n, (known, key)) in map.keys.iter_mut().zip(keys).enumerate() {
            let Some(both) = join(*known, *key) else {
                let what = format!(
                    "key {} of @{name} is {} here, and {} elsewhere",
                    n + 1,
                    key.words(),
                    known.words()
                );
                return wrong(
                    at,
                    what,
                    "a key has the same type everywhere; use a second map",
                );
            };
            *known = both;
        }
        Ok(())
    }

    /// A map is set to this.
    pub fn held(&mut self, name: &str, held: Held, points: Option<&Type>, at: At) -> Result<()> {
        let Some(map) = self.maps.get_mut(name) else {
            return Ok(());
        };
        let both = match (map.held, held) {
            (Held::One(a), Held::One(b)) => join(a, b).map(Held::One),
            (Held::One(Ty::Unknown), many) => Some(many),
            (a, b) => (a == b).then_some(a),
        };
        let Some(both) = both else {
            let what = format!(
                "@{name} holds {} here, and {} elsewhere",
                words(held),
                words(map.held)
            );
            return wrong(at, what, "a map holds one kind of value; use a second map");
        };
        map.held = both;
        map.points = map.points.take().or_else(|| points.cloned());
        Ok(())
    }

    /// A variable is set to this.
    pub fn var(&mut self, probe: usize, name: &str, value: Var, at: At) -> Result<()> {
        let entry = self
            .vars
            .entry((probe, name.to_string()))
            .or_insert_with(|| value.clone());
        let Some(both) = join(entry.ty, value.ty) else {
            let what = format!(
                "${name} is {} here, and {} before",
                value.ty.words(),
                entry.ty.words()
            );
            return wrong(at, what, "a variable has one type; use a second one");
        };
        entry.ty = both;
        entry.points = entry.points.take().or(value.points);
        Ok(())
    }
}

fn counted(keys: usize) -> String {
    match keys {
        0 => "no key".to_string(),
        1 => "one key".to_string(),
        n => format!("{n} keys"),
    }
}

fn words(held: Held) -> String {
    match held {
        Held::One(ty) => ty.words().to_string(),
        Held::Many(gather) => format!("what {}() gathers", gather.name()),
    }
}

impl Gather {
    pub fn name(self) -> &'static str {
        match self {
            Gather::Count => "count",
            Gather::Sum => "sum",
            Gather::Avg => "avg",
            Gather::Min => "min",
            Gather::Max => "max",
            Gather::Stats => "stats",
            Gather::Hist => "hist",
            Gather::Lhist(..) => "lhist",
        }
    }

    /// By what the elements of a map are sorted.
    pub fn order(self) -> &'static str {
        match self {
            Gather::Sum => "@sum",
            Gather::Avg => "@avg",
            Gather::Min => "@min",
            Gather::Max => "@max",
            _ => "@count",
        }
    }
}
