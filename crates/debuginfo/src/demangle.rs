// SPDX-License-Identifier: MIT
//! Names as the source has them: demangled, without parameters, in their `::` parts.

use crate::glob;

/// Suffixes that compilers put behind a symbol when they clone a function.
const CLONES: [&str; 5] = [
    ".isra.",
    ".constprop.",
    ".lto_priv.",
    ".llvm.",
    ".specialized.",
];

/// The symbol without its clone suffixes; `None` for a fragment of a function (`.cold`, `.part.N`),
/// which is no function that the source could call.
pub(crate) fn strip_clone(symbol: &str) -> Option<&str> {
    let Some(dot) = symbol.get(1..).and_then(|s| s.find('.')).map(|i| i + 1) else {
        return Some(symbol);
    };
    let suffix = &symbol[dot..];
    if suffix.contains(".cold") || suffix.contains(".part.") {
        return None;
    }
    match CLONES.iter().any(|c| suffix.starts_with(c)) {
        true => Some(&symbol[..dot]),
        false => Some(symbol),
    }
}

/// `ns::C::f` of a mangled C++ or Rust symbol, without parameters and ABI tags, which the source
/// does not say where it calls; `None` if it is not one.
pub fn demangle(symbol: &str) -> Option<String> {
    if !(symbol.starts_with("_Z") || symbol.starts_with("_R")) || symbol.len() > 8192 {
        return None;
    }
    if let Ok(d) = rustc_demangle::try_demangle(symbol) {
        return Some(format!("{d:#}"));
    }
    let options = cpp_demangle::DemangleOptions::new()
        .no_params()
        .no_return_type();
    let parsed = cpp_demangle::Symbol::new(symbol).ok()?;
    let mut name = parsed.demangle_with_options(&options).ok()?;
    while let Some(tag) = name.find("[abi:") {
        let end = name[tag..].find(']')?;
        name.replace_range(tag..=tag + end, "");
    }
    Some(name)
}

/// The parts between `::`, not looking into `<...>`, `(...)` and `{...}`.
pub(crate) fn components(name: &str) -> Vec<&str> {
    let b = name.as_bytes();
    let mut parts = Vec::new();
    let (mut depth, mut start, mut i) = (0i32, 0, 0);
    while i < b.len() {
        match b[i] {
            // An operator's name may hold any bracket.
            _ if depth == 0 && i == start && name[i..].starts_with("operator") => break,
            b'<' | b'(' | b'{' => depth += 1,
            b'>' | b')' | b'}' => depth -= 1,
            b':' if depth <= 0 && b.get(i + 1) == Some(&b':') => {
                parts.push(&name[start..i]);
                i += 1;
                start = i + 1;
            }
            _ => {}
        }
        i += 1;
    }
    parts.push(&name[start..]);
    parts
}

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
        let parts = components(name);
        if parts.len() < self.parts.len() || (self.anchored && parts.len() != self.parts.len()) {
            return false;
        }
        let tail = &parts[parts.len() - self.parts.len()..];
        self.parts.iter().zip(tail).all(|(p, n)| part_matches(p, n))
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

/// One part; a name's template arguments may be left out.
fn part_matches(pattern: &str, name: &str) -> bool {
    if glob::matches(pattern, name) {
        return true;
    }
    match name.find('<') {
        Some(i) if i > 0 && !pattern.contains('<') && !name.starts_with("operator") => {
            glob::matches(pattern, &name[..i])
        }
        _ => false,
    }
}

/// The names most like `name`, best first.
pub(crate) fn nearest<'a>(
    name: &str,
    all: impl Iterator<Item = &'a str>,
    most: usize,
) -> Vec<String> {
    let limit = (name.len() / 3).clamp(1, 4);
    let mut found: Vec<(usize, &str)> = all
        .filter(|c| c.len().abs_diff(name.len()) <= limit)
        .filter_map(|c| Some((distance(name, c)?, c)).filter(|d| d.0 <= limit))
        .collect();
    found.sort();
    found.dedup();
    found
        .into_iter()
        .take(most)
        .map(|(_, c)| c.to_owned())
        .collect()
}

/// The same for a function: its symbols are held against as many parts as `name` has, and one that
/// only lies in another scope is near, too.
pub(crate) fn nearest_functions<'a>(
    name: &str,
    symbols: impl Iterator<Item = &'a str>,
    most: usize,
) -> Vec<String> {
    let source = |s| demangle(s).unwrap_or_else(|| s.to_owned());
    let all: Vec<String> = symbols.filter_map(strip_clone).map(source).collect();
    let wanted = components(name);
    let tails = all.iter().filter_map(|n| {
        let n = n.find('<').filter(|i| *i > 0).map_or(&n[..], |i| &n[..i]);
        let parts = components(n);
        let first = parts.len().checked_sub(wanted.len())?;
        Some((parts[first..].join("::"), parts.last() == wanted.last()))
    });
    let (mut same, mut others) = (Vec::new(), Vec::new());
    for (tail, is_same) in tails {
        match is_same {
            true => same.push(tail),
            false => others.push(tail),
        }
    }
    same.sort_by_cached_key(|n| (distance(name, n).unwrap_or(usize::MAX), n.clone()));
    same.dedup();
    same.truncate(most);
    match same.is_empty() {
        true => nearest(name, others.iter().map(String::as_str), most),
        false => same,
    }
}

/// Edits between two names, a swap being one; `None` for very long names.
fn distance(a: &str, b: &str) -> Option<usize> {
    (a.len() <= 128 && b.len() <= 128).then(|| strsim::osa_distance(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fall_into_parts() {
        assert_eq!(components("a::b<c::d>::e"), ["a", "b<c::d>", "e"]);
        assert_eq!(components("f"), ["f"]);
        assert_eq!(components("ns::operator<<"), ["ns", "operator<<"]);
        assert_eq!(
            components("(anonymous namespace)::g"),
            ["(anonymous namespace)", "g"]
        );
    }

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
    fn nearest_names() {
        let all = ["malloc", "mallog", "free", "main"];
        assert_eq!(nearest("maloc", all.into_iter(), 2), ["malloc"]);
        assert_eq!(nearest("mian", all.into_iter(), 2), ["main"]);
        let functions = |name| {
            let all = ["_ZN2ns1C3getEi", "_Z5twiceIiET_S0_", "main.cold", "main"];
            nearest_functions(name, all.into_iter(), 2)
        };
        assert_eq!(functions("C::gte"), ["C::get"]);
        assert_eq!(functions("other::get"), ["C::get"]);
        assert_eq!(functions("ns::D::get"), ["ns::C::get"]);
        assert_eq!(functions("twcie"), ["twice"]);
        let scopes = ["_ZN2ns1C3getEi", "_ZN2of1C3getEi"];
        assert_eq!(
            nearest_functions("oo::C::get", scopes.into_iter(), 1),
            ["of::C::get"]
        );
        assert_eq!(functions("mian"), ["main"]);
        assert!(functions("a::b::c::d").is_empty());
    }
}
