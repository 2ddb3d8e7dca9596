// SPDX-License-Identifier: MIT
//! A type's name as scripts have it, taken apart.

pub(crate) struct TypeName<'a> {
    /// `struct`, `class`, `union` or `enum`.
    pub tag: Option<&'a str>,
    pub name: String,
    /// So many pointers to it.
    pub stars: usize,
}

impl TypeName<'_> {
    /// `None`: it names nothing.
    pub fn parse(text: &str) -> Option<TypeName<'_>> {
        let mut name = text.trim();
        let mut stars = 0;
        while let Some(inner) = name.strip_suffix('*') {
            stars += 1;
            name = inner.trim_end();
        }
        let mut words: Vec<&str> = name.split_whitespace().collect();
        words.retain(|w| !matches!(*w, "const" | "volatile"));
        let (tag, name) = match words.first()? {
            &t @ ("struct" | "class" | "union" | "enum") => (Some(t), words[1..].join(" ")),
            _ => (None, base_name(&words)),
        };
        Some(TypeName { tag, name, stars })
    }
}

/// How DWARF spells C's integer types, whatever order their words come in.
pub(crate) fn base_name(words: &[&str]) -> String {
    let count = |w: &str| words.iter().filter(|x| **x == w).count();
    let known = ["signed", "unsigned", "long", "short", "int", "char"];
    if !words.iter().all(|w| known.contains(w)) {
        return words.join(" ");
    }
    let unsigned = count("unsigned") > 0;
    match (count("char"), count("short"), count("long"), unsigned) {
        (1.., .., true) => "unsigned char",
        (1.., ..) if count("signed") > 0 => "signed char",
        (1.., ..) => "char",
        (_, 1.., _, true) => "short unsigned int",
        (_, 1.., ..) => "short int",
        (_, _, 0, true) => "unsigned int",
        (_, _, 0, false) => "int",
        (_, _, 1, true) => "long unsigned int",
        (_, _, 1, false) => "long int",
        (_, _, _, true) => "long long unsigned int",
        _ => "long long int",
    }
    .into()
}

/// clang puts `unsigned` first and leaves `int` out.
pub(crate) fn clang_name(name: &str) -> String {
    let mut words: Vec<&str> = name.split(' ').collect();
    if words.len() > 1 && words.last() == Some(&"int") && words[0] != "unsigned" {
        words.pop();
    }
    let mut sorted: Vec<&str> = words
        .iter()
        .filter(|w| **w == "unsigned")
        .copied()
        .collect();
    sorted.extend(words.iter().filter(|w| **w != "unsigned"));
    sorted.join(" ")
}

#[cfg(test)]
mod tests {
    use super::base_name;

    #[test]
    fn integer_types_are_spelt_as_dwarf_does() {
        for (c, dwarf) in [
            ("unsigned", "unsigned int"),
            ("unsigned long", "long unsigned int"),
            ("long long", "long long int"),
            ("short", "short int"),
            ("unsigned char", "unsigned char"),
            ("size_t", "size_t"),
            ("long double", "long double"),
        ] {
            let words: Vec<&str> = c.split(' ').collect();
            assert_eq!(base_name(&words), dwarf);
        }
        assert_eq!(super::clang_name("long unsigned int"), "unsigned long");
        assert_eq!(super::clang_name("short int"), "short");
        assert_eq!(super::clang_name("unsigned int"), "unsigned int");
    }
}
