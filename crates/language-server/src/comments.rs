// SPDX-License-Identifier: MIT
//! The words that a file has for what it declares.

use std::collections::HashMap;

/// `/** a, b - what they do */`: the words by name.
pub fn named(text: &str) -> HashMap<&str, String> {
    let mut found = HashMap::new();
    for piece in text.split("/**").skip(1) {
        let Some((comment, _)) = piece.split_once("*/") else {
            continue;
        };
        let Some((names, words)) = comment.split_once(" - ") else {
            continue;
        };
        for name in names.split(',').map(str::trim) {
            found.insert(name, tidy(words));
        }
    }
    found
}

/// The comment that ends right before `at`.
pub fn before(text: &str, at: usize) -> Option<String> {
    let head = text.get(..at)?.trim_end_matches([' ', '\t']);
    let head = head.strip_suffix('\n')?;
    if let Some(open) = head.trim_end().strip_suffix("*/") {
        let comment = &open[open.rfind("/*")? + 2..];
        return Some(tidy(comment)).filter(|t| !t.is_empty());
    }
    let is_comment = |l: &&str| l.starts_with("//") || l.starts_with('#');
    let lines: Vec<&str> = head.lines().rev().take_while(is_comment).collect();
    let words = lines.iter().rev().map(|l| l.trim_start_matches(['/', '#']));
    // The first line of every file.
    let words = words.filter(|l| !l.contains("SPDX-License") && !l.starts_with('!'));
    let text = tidy(&words.collect::<Vec<_>>().join("\n"));
    Some(text).filter(|t| !t.is_empty())
}

/// Without the stars and blanks at the lines' ends.
fn tidy(comment: &str) -> String {
    let lines = comment.lines().map(|l| l.trim().trim_start_matches('*'));
    let lines: Vec<&str> = lines.map(str::trim).collect();
    lines.join("\n").trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_declarations() {
        let text = "/** a, b - does\n * it */\nfunction a() {}\nfunction b() {}\n";
        assert_eq!(named(text)["b"], "does\nit");
        let text = "#! /bin/x\n// one\n// two\nfunction f() {}\n/* three */\nglobal g\n\nglobal h";
        let before = |word| before(text, text.find(word).unwrap());
        assert_eq!(before("function f").as_deref(), Some("one\ntwo"));
        assert_eq!(before("global g").as_deref(), Some("three"));
        assert_eq!(before("global h"), None);
    }
}
