// SPDX-License-Identifier: MIT
//! Names as the source has them: demangled, without parameters, in their `::` parts.

/// Suffixes that compilers put behind a symbol when they clone a function.
const CLONES: [&str; 5] = [
    ".isra.",
    ".constprop.",
    ".lto_priv.",
    ".llvm.",
    ".specialized.",
];

/// The function whose part a symbol names that is no function (gcc's and clang's `.cold`, clang's `.__part.N`).
pub(crate) fn whole_of_part(symbol: &str) -> Option<&str> {
    let words = [".cold", ".__part."];
    let inside = words.iter().find_map(|w| symbol.split_once(w));
    inside
        .map(|(whole, _)| whole)
        .filter(|whole| !whole.is_empty())
}

/// The symbol without its clone suffixes; `None` for a fragment of a function (`.cold`, `.part.N`),
/// which is no function that the source could call.
pub(crate) fn strip_clone(symbol: &str) -> Option<&str> {
    let Some(dot) = symbol.get(1..).and_then(|s| s.find('.')).map(|i| i + 1) else {
        return Some(symbol);
    };
    let suffix = &symbol[dot..];
    if suffix.contains(".part.") || whole_of_part(symbol).is_some() {
        return None;
    }
    // `f.0`: gcc numbers functions inside functions.
    let number = suffix[1..].split('.').next().unwrap_or_default();
    let numbered = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    match numbered || CLONES.iter().any(|c| suffix.starts_with(c)) {
        true => Some(&symbol[..dot]),
        false => Some(symbol),
    }
}

/// `ns::C::f` of a mangled C++ or Rust symbol, as the source has it: without parameters, and without
/// what it does not say where it calls (ABI tags, `::` before type arguments); `None` if it is not one.
pub(crate) fn demangle(symbol: &str) -> Option<String> {
    if !(symbol.starts_with("_Z") || symbol.starts_with("_R")) || symbol.len() > 8192 {
        return None;
    }
    if let Ok(d) = rustc_demangle::try_demangle(symbol) {
        return Some(tidy_rust(format!("{d:#}")));
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
    Some(match name.contains(")::") {
        true => without_parameters(&name),
        false => name,
    })
}

/// `f::C::g` of `f(int)::C::g const`: the functions that it stands in without their parameters.
fn without_parameters(name: &str) -> String {
    let function = |part: &str| {
        let mut depth = 0;
        let open = part.bytes().position(|b| {
            depth += i32::from(b == b'<') - i32::from(b == b'>');
            b == b'(' && depth == 0
        });
        let named = !part.starts_with(['{', '(']) && !part.starts_with("operator");
        part[..open.filter(|_| named).unwrap_or(part.len())].to_owned()
    };
    let name = name.trim_end_matches(" const");
    let parts: Vec<String> = components(name).into_iter().map(function).collect();
    parts.join("::")
}

/// `<C<T>>::f::<U>` is `C<T>::f<U>`.
fn tidy_rust(mut name: String) -> String {
    let mut from = 0;
    while let Some(at) = name[from..].find("::<").map(|i| from + i) {
        from = at + 1;
        if !name[at..].starts_with("::<impl ") {
            name.replace_range(at..at + 2, "");
        }
    }
    let inherent = components(&name)[0].strip_prefix('<');
    let inherent = inherent.and_then(|p| p.strip_suffix('>'));
    match inherent.filter(|p| apart(p, " as ").is_none()) {
        Some(own) => format!("{own}{}", &name[own.len() + 2..]),
        None => name,
    }
}

/// Longer names lose their type arguments where they are shown.
const SHOWN: usize = 200;

/// A symbol as stacks show it: a mangled one as the source has it, with its clone suffix.
pub fn shown_name(symbol: &str) -> String {
    if !symbol.starts_with('_') {
        return symbol.into();
    }
    let suffixed = || {
        let dot = symbol.find('.')?;
        Some(demangle(&symbol[..dot])? + &symbol[dot..])
    };
    let Some(name) = suffixed().or_else(|| demangle(symbol)) else {
        return symbol.into();
    };
    if name.len() <= SHOWN {
        return name;
    }
    let without = |part: &str| without_arguments(part).unwrap_or(part).to_owned();
    let parts: Vec<String> = components(&name).into_iter().map(without).collect();
    let mut name = parts.join("::");
    let end = (0..=SHOWN.min(name.len()))
        .rev()
        .find(|i| name.is_char_boundary(*i));
    name.truncate(end.unwrap_or(0));
    name
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
            b'>' if i > 0 && b[i - 1] == b'-' => {} // what a function type returns
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

/// The text before and behind a word that is not in brackets.
pub(crate) fn apart<'a>(text: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    let mut depth = 0;
    let at = text.char_indices().position(|(i, c)| {
        let returns = c == '>' && text[..i].ends_with('-');
        depth += i32::from("<([{".contains(c)) - i32::from(">)]}".contains(c) && !returns);
        depth == 0 && text[i..].starts_with(word)
    })?;
    let at = text.char_indices().nth(at)?.0;
    Some((&text[..at], &text[at + word.len()..]))
}

/// `vector` of `vector<int>`, `operator()` of `operator()<int>`.
pub(crate) fn without_arguments(part: &str) -> Option<&str> {
    const CALL: &str = "operator()";
    if part.strip_prefix(CALL).is_some_and(|r| r.starts_with('<')) {
        return Some(CALL);
    }
    let open = part.find('<').filter(|i| *i > 0)?;
    (!part.starts_with("operator")).then(|| &part[..open])
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
    fn names_are_shown_as_the_source_has_them() {
        for (symbol, name) in [
            ("main.cold", "main.cold"),
            ("_ZN2ns1C3getEi", "ns::C::get"),
            ("_ZN2ns1C3getEi.isra.0", "ns::C::get.isra.0"),
            ("_ZN2ns1fB5cxx11Ev", "ns::f"),
            ("_ZZ5outerlEN5Local6sharedEl", "outer::Local::shared"),
            ("_ZZL5outerlENK5Local6memberEl", "outer::Local::member"),
            (
                "_ZZZ5outerlEN4Deep4lastElENKUllE_clEl",
                "outer::Deep::last::{lambda(long)#1}::operator()",
            ),
            ("_Z", "_Z"),
            (
                "_ZN1r14Stack$LT$T$GT$3put17hc631994cbee4baddE",
                "r::Stack<T>::put",
            ),
            (
                "_RINvNtNtCs6GmmlP4bgsG_1r4deep2er5twicelEB6_",
                "r::deep::er::twice<i32>",
            ),
            (
                "_RNvMCs6GmmlP4bgsG_1rINtB2_5StacklE3putB2_",
                "r::Stack<i32>::put",
            ),
            (
                "_RNvXs0_Cs6GmmlP4bgsG_1rNtB5_6CircleNtB5_5Shape4area",
                "<r::Circle as r::Shape>::area",
            ),
        ] {
            assert_eq!(shown_name(symbol), name);
        }
        let long = format!("_ZN2nsI100{}100{}E1fEv", "x".repeat(100), "y".repeat(100));
        assert_eq!(shown_name(&long), "ns::f");
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
