// SPDX-License-Identifier: MIT
//! FUNCTION and LIBRARY:FUNCTION as probe points.

/// Behind `process.`, with commas. Functions of the program that `otherwise` names need not be there where libraries are.
pub fn list(words: &[String], libraries: &[String], otherwise: &str) -> Result<String, String> {
    let mut points = Vec::new();
    for word in words {
        points.push(point(word)?);
    }
    if words.is_empty() && libraries.is_empty() {
        points.push(function(otherwise));
    } else if words.is_empty() {
        points.push(function(otherwise) + "?");
    }
    let all = |library: &String| format!("library(\"{library}\").function(\"*\")");
    points.extend(libraries.iter().map(all));
    Ok(points.join(","))
}

fn point(word: &str) -> Result<String, String> {
    let word = plain(word)?;
    Ok(match library_of(&word) {
        Some((library, name)) => format!("library(\"{library}\").{}", function(name)),
        None => function(&word),
    })
}

fn function(name: &str) -> String {
    format!("function(\"{name}\")")
}

/// Neither `scope::name` nor `name@file:line` has one.
fn library_of(word: &str) -> Option<(&str, &str)> {
    let (library, name) = word.split_once(':')?;
    let is_library = !library.is_empty() && !library.contains(['@', '(', '<']);
    (is_library && !name.is_empty() && !name.starts_with(':')).then_some((library, name))
}

/// What can stand between a script's quotes.
pub fn plain(text: &str) -> Result<String, String> {
    match text.is_empty() || text.contains(['"', '\\', '\n']) {
        true => Err("a name is wanted, without quotes and backslashes".into()),
        false => Ok(text.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &[&str], want: &str) {
        let words: Vec<String> = words.iter().map(|w| w.to_string()).collect();
        assert_eq!(list(&words, &[], "*").as_deref(), Ok(want));
    }

    #[test]
    fn functions_of_the_program_and_of_libraries() {
        check(&[], r#"function("*")"#);
        check(&["a", "b*"], r#"function("a"),function("b*")"#);
        check(
            &["libc.so.6:mem*"],
            r#"library("libc.so.6").function("mem*")"#,
        );
        check(
            &["libx.so:ns::f"],
            r#"library("libx.so").function("ns::f")"#,
        );
    }

    #[test]
    fn colons_that_name_no_library() {
        for word in ["ns::f", "ns::C::f(int)", "f@file.c:12", "v<a:b>", ":f"] {
            check(&[word], &format!("function(\"{word}\")"));
        }
    }

    #[test]
    fn libraries_go_with_what_the_program_has() {
        let point = list(&[], &["libz.so.1".into()], "*");
        let want = r#"function("*")?,library("libz.so.1").function("*")"#;
        assert_eq!(point.as_deref(), Ok(want));
    }

    #[test]
    fn quotes_are_refused() {
        assert!(list(&["a\"b".into()], &[], "").is_err());
    }
}
