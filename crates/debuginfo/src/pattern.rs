// SPDX-License-Identifier: MIT
//! Patterns of function names, held against the names of symbols and of debug information.

use crate::demangle::{apart, components, demangle, strip_clone, without_arguments};
use crate::glob;

/// A function name pattern, taken apart once.
pub(crate) struct NamePattern<'a> {
    whole: &'a str,
    parts: Vec<&'a str>,
    anchored: bool,
    /// Plain words of the pattern that every mangled name of a match must contain.
    words: Vec<&'a str>,
}

impl<'a> NamePattern<'a> {
    pub fn new(pattern: &'a str) -> NamePattern<'a> {
        let anchored = pattern.starts_with("::");
        let parts = components(pattern.trim_start_matches("::"));
        let mut words = Vec::new();
        for part in parts.iter().filter(|p| !p.contains(['[', '\\', '(', '{'])) {
            let part = part.split('<').next().unwrap_or(part); // types have letters of their own
            words.extend(
                part.split(|c: char| !c.is_alphanumeric() && c != '_')
                    .filter(|w| {
                        // Names that mangling abbreviates (St, Sa, Ss, operators) or rewrites.
                        let special = ["std", "alloc", "string", "stream", "operator", "char"];
                        w.len() > 1 && !special.iter().any(|s| w.contains(s))
                    }),
            );
        }
        NamePattern {
            whole: pattern,
            parts,
            anchored,
            words,
        }
    }

    /// The last part, which is what DW_AT_name holds.
    pub fn last(&self) -> &'a str {
        self.parts.last().copied().unwrap_or("")
    }

    /// A name without scopes.
    pub fn is_simple(&self) -> bool {
        self.parts.len() == 1 && !self.anchored
    }

    /// Whether the pattern is this linkage name itself.
    pub fn is_exactly(&self, linkage: &str) -> bool {
        self.whole == linkage
    }

    /// Whether one part of a pattern matches one part of a name.
    pub fn part(pattern: &str, name: &str) -> bool {
        part_matches(pattern, name)
    }

    /// Whether a qualified name matches: its last parts, one by one.
    pub fn matches(&self, name: &str) -> bool {
        if self.parts.len() == 1 && !name.contains("::") {
            return part_matches(self.parts[0], name);
        }
        readings(name).iter().any(|parts| {
            let last = match self.anchored {
                true => 0,
                false => parts.len(),
            };
            (0..=last).any(|first| parts_match(&self.parts, &parts[first..]))
        })
    }

    /// The source name of a symbol, if it matches.
    pub fn match_symbol(&self, symbol: &str) -> Option<String> {
        if symbol == self.whole {
            let base = strip_clone(symbol).unwrap_or(symbol);
            return Some(demangle(base).unwrap_or_else(|| symbol.into()));
        }
        let base = strip_clone(symbol)?;
        if !(base.starts_with("_Z") || base.starts_with("_R")) {
            return self.matches(base).then(|| base.into());
        }
        if self.whole == "*" || !self.words.iter().all(|w| base.contains(w)) {
            return (glob::matches(self.whole, symbol))
                .then(|| demangle(base).unwrap_or_else(|| symbol.into()));
        }
        match demangle(base) {
            Some(name) if self.matches(&name) || glob::matches(self.whole, symbol) => Some(name),
            None if glob::matches(self.whole, symbol) => Some(symbol.into()),
            _ => None,
        }
    }
}

/// The ways to say a name: `<C as T>::f` is also `C::f` and `T::f`, as is `<impl T for C>::f`.
fn readings(name: &str) -> Vec<Vec<&str>> {
    let whole = components(name);
    let scopes = &whole[..whole.len() - 1];
    let mut out = Vec::new();
    let qualified = scopes
        .iter()
        .rposition(|p| p.starts_with('<') && p.ends_with('>'));
    if let Some(i) = qualified {
        let inside = whole[i][1..whole[i].len() - 1].trim_start_matches("impl ");
        let two = apart(inside, " as ").or_else(|| apart(inside, " for "));
        let (a, b) = two.unwrap_or((inside, ""));
        for side in [a, b].into_iter().filter(|s| !s.is_empty()) {
            out.push([&components(side), &whole[i + 1..]].concat());
        }
    }
    out.push(whole);
    out
}

/// Part by part. One that begins with `*` and has more takes scopes before it, too.
fn parts_match(pattern: &[&str], name: &[&str]) -> bool {
    let Some((first, rest)) = pattern.split_first() else {
        return name.is_empty();
    };
    let reach = match first.starts_with('*') && first.len() > 1 {
        true => name.len(),
        false => name.len().min(1),
    };
    (0..reach).any(|n| part_matches(first, name[n]) && parts_match(rest, &name[n + 1..]))
}

/// One part; a name's template arguments may be left out.
fn part_matches(pattern: &str, name: &str) -> bool {
    if glob::matches(pattern, name) {
        return true;
    }
    if !pattern.contains('<') {
        return without_arguments(name).is_some_and(|n| glob::matches(pattern, n));
    }
    if let (Some((a, b)), Some((c, d))) = (trait_of(pattern), trait_of(name)) {
        return NamePattern::new(a).matches(c) && NamePattern::new(b).matches(d);
    }
    let spaceless = |s: &str| s.replace(' ', "");
    glob::matches(&spaceless(pattern), &spaceless(name))
}

/// `C` and `T` of `<C as T>`.
fn trait_of(part: &str) -> Option<(&str, &str)> {
    apart(part.strip_prefix('<')?.strip_suffix('>')?, " as ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_symbols() {
        let yes = |p, s, name: &str| {
            assert_eq!(
                NamePattern::new(p).match_symbol(s).as_deref(),
                Some(name),
                "{p} {s}"
            );
        };
        let no = |p, s| assert_eq!(NamePattern::new(p).match_symbol(s), None, "{p} {s}");
        yes("f", "f", "f");
        yes("f", "f.isra.0", "f");
        yes("f", "f.0", "f");
        yes("f", "f.12.constprop.0", "f");
        no("f", "f.0.cold");
        no("f*", "f.__part.1");
        no("f", "f.0x");
        yes("f.isra.0", "f.isra.0", "f.isra.0");
        yes("f.cold", "f.cold", "f.cold");
        no("f", "f.cold");
        no("f", "f.part.0");
        yes("f*", "foo", "foo");
        yes("ns::C::get", "_ZN2ns1C3getEi", "ns::C::get");
        yes("C::get", "_ZN2ns1C3getEi", "ns::C::get");
        yes("get", "_ZN2ns1C3getEi", "ns::C::get");
        yes("_ZN2ns1C3getEi", "_ZN2ns1C3getEi", "ns::C::get");
        yes("ns::*::g*", "_ZN2ns1C3getEi", "ns::C::get");
        no("ns::get", "_ZN2ns1C3getEi");
        no("::C::get", "_ZN2ns1C3getEi");
        yes("twice", "_Z5twiceIiET_S0_", "twice<int>");
        yes("~C", "_ZN2ns1CD1Ev", "ns::C::~C");
        yes("ns::f", "_ZN2ns1fB5cxx11Ev", "ns::f");
    }

    #[test]
    fn scopes_and_arguments_have_wildcards() {
        let of = |p: &str, n: &str| NamePattern::new(p).matches(n);
        let push = "std::vector<int, std::allocator<int> >::push_back";
        for p in [
            "std::*push_back*",
            "std::vec*::push_back",
            "vector<*>::push_back",
            "*tor<int, *>::push_back",
        ] {
            assert!(of(p, push), "{p}");
        }
        assert!(of("vector<int,std::allocator<int>>::*", push));
        assert!(of("::**", push) && of("::std::**", push));
        for p in [
            "std::push_back",
            "std::*",
            "::*::push_back",
            "std::*push",
            "vector<long*>::push_back",
        ] {
            assert!(!of(p, push), "{p}");
        }
        let area = "<alloc::vec::Vec<r::Square> as r::Shape>::area";
        for p in [
            "Vec::area",
            "Vec<*Square>::area",
            "Shape::area",
            "r::Shape::area",
            "<Vec as Shape>::area",
            "<* as Shape>::*",
            area,
        ] {
            assert!(of(p, area), "{p}");
        }
        for p in ["Square::area", "alloc::Shape::area", "<Shape as Vec>::area"] {
            assert!(!of(p, area), "{p}");
        }
        let fmt = "core::fmt::num::<impl core::fmt::Display for i32>::fmt";
        assert!(of("Display::fmt", fmt) && of("i32::fmt", fmt) && of(fmt, fmt));
        assert!(of("ns::operator<", "ns::operator<"));
        let call = "f::{lambda(auto:1)#1}::operator()<long>";
        assert!(of("f::*operator()", call) && of("operator()", call) && !of("operator", call));
    }
}
