// SPDX-License-Identifier: MIT
//! Parameter lists behind C++ names: `f(int, char const*)` picks one of several overloads.

use crate::demangle::strip_clone;

/// What `std::string` is in symbols.
const STRING: &str = "std::__cxx11::basic_string < char , std::char_traits < char > , \
                      std::allocator < char > >";

/// A parameter list in one spelling, however it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameters {
    list: Vec<String>,
    /// `const` and the like behind the list.
    qualifiers: String,
}

/// Name and parameter list, where the text ends with one.
pub(crate) fn split(text: &str) -> (&str, Option<Parameters>) {
    let none = (text, None);
    let Some((open, close)) = last_list(text) else {
        return none;
    };
    let name = text[..open].trim_end();
    // These are names themselves: `operator()`, `(anonymous namespace)`, Go's `main.(*T)`.
    let is_name = name.is_empty() || name.ends_with([':', '.']) || name.ends_with("operator");
    let qualifiers = text[close + 1..].trim();
    let only_words = |c: char| c.is_ascii_alphabetic() || c == '&' || c == ' ';
    if is_name || !qualifiers.chars().all(only_words) {
        return none;
    }
    let parameters = Parameters {
        list: spell(&text[open + 1..close]),
        qualifiers: qualifiers.into(),
    };
    (name, Some(parameters))
}

/// Where the last parenthesis closes, and where it was opened.
fn last_list(text: &str) -> Option<(usize, usize)> {
    let close = text.rfind(')')?;
    let mut depth = 0;
    let open = text[..=close].rfind(|c| {
        depth += i32::from(c == ')') - i32::from(c == '(');
        depth == 0
    })?;
    Some((open, close))
}

impl Parameters {
    /// Whether the function of that symbol takes them. A lone `*` stands for any parameters, and
    /// qualifiers may be left out.
    pub fn fit(&self, linkage: &str) -> bool {
        let Some((_, Some(own))) = signature(linkage).as_deref().map(split) else {
            return false;
        };
        let qualified = self.qualifiers.is_empty() || self.qualifiers == own.qualifiers;
        qualified && fit(&self.list, &own.list)
    }
}

fn fit(wanted: &[String], own: &[String]) -> bool {
    match wanted.split_first() {
        None => own.is_empty(),
        Some((first, rest)) if first == "*" => (0..=own.len()).any(|n| fit(rest, &own[n..])),
        Some((first, rest)) => own.first() == Some(first) && fit(rest, &own[1..]),
    }
}

/// `ns::C::f(int) const` of a mangled C++ symbol.
pub(crate) fn signature(linkage: &str) -> Option<String> {
    let symbol = cpp_demangle::Symbol::new(strip_clone(linkage)?).ok()?;
    let options = cpp_demangle::DemangleOptions::new().no_return_type();
    symbol.demangle_with_options(&options).ok()
}

/// The types of a list, each in one spelling: words apart, `const` behind what it belongs to.
fn spell(list: &str) -> Vec<String> {
    let mut tokens = tokens(list);
    for i in 0..tokens.len() {
        let begins = i == 0 || ["<", "(", ","].contains(&tokens[i - 1]);
        if begins && ["const", "volatile"].contains(&tokens[i]) {
            let end = i + base_type(&tokens[i..]);
            tokens[i..end].rotate_left(1);
        }
    }
    let mut depth = 0;
    let types = tokens.split(|t| {
        depth += i32::from("<([".contains(t)) - i32::from(">)]".contains(t));
        *t == "," && depth == 0
    });
    let types: Vec<String> = types
        .map(|t| t.join(" ").replace(STRING, "std::string"))
        .collect();
    match types[0].as_str() {
        "" | "void" => Vec::new(),
        _ => types,
    }
}

/// How many tokens name the type in front of `*`, `&` and the like.
fn base_type(tokens: &[&str]) -> usize {
    let mut depth = 0;
    let ends = |t: &&str| {
        let ends = depth == 0 && ["*", "&", ",", ")", ">", "(", "["].contains(t);
        depth += i32::from(*t == "<") - i32::from(*t == ">");
        ends
    };
    tokens.iter().position(ends).unwrap_or(tokens.len())
}

/// Words, and every other character alone.
fn tokens(text: &str) -> Vec<&str> {
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let mut rest = text.trim_start();
    let mut out = Vec::new();
    while let Some(c) = rest.chars().next() {
        let end = match word(c) {
            true => rest.find(|c| !word(c)).unwrap_or(rest.len()),
            false => c.len_utf8(),
        };
        out.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_told_from_names() {
        let list = |text| split(text).1.map(|p| p.list.join("; "));
        for name in [
            "f",
            "operator()",
            "ns::(anonymous namespace)",
            "main.(*T)",
            "a.(*T).f",
            "f)",
        ] {
            assert_eq!(split(name), (name, None), "{name}");
        }
        assert_eq!(split("ns::C::operator()(int) const").0, "ns::C::operator()");
        assert_eq!(list("f()").as_deref(), Some(""));
        assert_eq!(list("f( void )").as_deref(), Some(""));
        assert_eq!(
            list("f (const char *, std::map<int,const ns::X&> const&)").as_deref(),
            Some("char const *; std::map < int , ns::X const & > const &")
        );
        assert_eq!(
            list("f(void (*)(const int), unsigned  long)").as_deref(),
            Some("void ( * ) ( int const ); unsigned long")
        );
        assert_eq!(
            list("f(const std::vector<int>&)"),
            list("f(std::vector<int> const &)")
        );
    }

    #[test]
    fn symbols_fit() {
        let fits = |text, symbol| split(text).1.unwrap().fit(symbol);
        for text in [
            "f(int, const char*)",
            "f(int,*)",
            "f(*)",
            "f(*, char const *)",
            "f(*,int,*)",
        ] {
            assert!(fits(text, "_Z1fiPKc"), "{text}");
        }
        for text in [
            "f()",
            "f(int)",
            "f(int, char*)",
            "f(char const*, int)",
            "f(int, char const*) const",
        ] {
            assert!(!fits(text, "_Z1fiPKc"), "{text}");
        }
        assert!(fits("get(int)", "_ZNK2ns5Shape3getEi.isra.0"));
        assert!(fits("get(int) const", "_ZNK2ns5Shape3getEi"));
        assert!(fits("twice(int)", "_Z5twiceIiET_S0_"));
        assert!(fits(
            "f(const std::string&)",
            "_Z1fRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
        ));
        assert!(fits("C(int)", "_ZN1CC4Ei"), "a constructor without code");
        assert!(!fits("main()", "main"), "C names have no parameters");
    }
}
