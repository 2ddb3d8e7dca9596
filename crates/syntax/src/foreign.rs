// SPDX-License-Identifier: MIT
//! Words that other languages have for what a script says in another way: C, awk, shells, bpftrace, D.

use crate::lexer::TokenKind;

/// What to write instead of a word that means nothing here.
pub fn instead(word: &str) -> Option<String> {
    let found = WORDS
        .iter()
        .find(|(words, _)| words.split(' ').any(|w| w == word));
    found.map(|(_, help)| help.to_string())
}

const WORDS: &[(&str, &str)] = &[
    ("BEGIN END", "write `probe begin { ... }`, `probe end { ... }`"),
    (
        "uprobe usdt uretprobe",
        "write `probe process(\"/path\").function(\"name\") { ... }`; .mark(\"name\") for static marks, .return for results",
    ),
    (
        "kprobe kretprobe tracepoint fbt",
        "write `probe process(\"/path\").function(\"name\") { ... }`: the kernel is not probed",
    ),
    ("interval profile tick", "write `probe timer.s(1) { ... }`, or timer.ms(n), timer.profile"),
    ("var let int char double auto unsigned my local", "variables need no declaration: x = 1"),
    ("elif elsif elseif", "write `else if`"),
    ("then fi done endif", "write `if (x) { ... } else { ... }`"),
    ("switch case", "write if (x == 1) { ... } else if (x == 2) { ... }"),
    ("do", "write while (1) { ...; if (!x) break }"),
    ("NULL null nil false", "write 0"),
    ("true", "write 1"),
    ("strcmp strncmp streq", "strings are compared by == != < >"),
    ("strcat concat", "strings are joined by a dot: a . b"),
    ("strstr", "isinstr(s, part) is 1 or 0, strpos(s, part) the place"),
    ("atoi atol strtoul strtoll", "strtol(s, 10) makes a number of a string"),
    ("str copyinstr", "user_string(address) reads a string of the program"),
    ("sizeof", "write @cast_sizeof(\"struct name\")"),
    ("offsetof", "write &@cast(0, \"struct name\")->member"),
    ("count sum avg min max stats quantize hist lhist", "declare `global x`, add samples by x <<< n, read them by @count(x), @sum(x), @avg(x), @hist_log(x)"),
    ("@mean @average", "write @avg(x)"),
    ("@hist @histogram", "write @hist_log(x) or @hist_linear(x, low, high, width)"),
    ("comm", "write execname()"),
    ("nsecs", "write gettimeofday_ns()"),
    ("retval", "write $return, in a .return probe"),
    ("ustack", "write ubacktrace() or print_ubacktrace()"),
    ("func probefunc", "write ppfunc()"),
    ("arg0 arg1 arg2 arg3 arg4 arg5", "write $name, or int_arg(1), pointer_arg(2) ..., counted from 1"),
    ("fprintf", "write printf(...), or warn(...) for the error output"),
    ("malloc free", "arrays are global: `global a`, and grow as they are written"),
];

pub const WHOLE: &str = "numbers are whole: count in a smaller unit, or string_to_fp(\"0.5\") with fp_add() and its kin";

/// What to write where something else is expected: habits of other languages again.
pub fn where_expected(what: &str, [before, found, next]: [&TokenKind; 3]) -> Option<String> {
    let help = match (what, found) {
        ("`(`", _) => return bracket_after(before, found),
        ("a literal number or string", TokenKind::Word(word)) if !word.starts_with('$') => {
            return Some(format!("write \"{word}\" for a text; only literals may stand here"));
        }
        ("a literal pattern (a string)", _) => {
            "a pattern is compiled before the script runs; isinstr(s, part) looks for a text that is computed"
        }
        ("a type (a string)", _) => "write it in quotes: \"struct name\"",
        ("`in`", TokenKind::Op(",")) => {
            "two keys: foreach ([a, b] in x); the value, too: foreach (value = key in x)"
        }
        ("`;`", TokenKind::Op(")")) => "to walk an array write foreach (key in x)",
        ("`,` or `)`", TokenKind::Word(_)) => "types stand behind a colon: (x:long, s:string), or nowhere",
        ("`,`, `{`, `=` or `+=`", TokenKind::Op("/")) => {
            "write the condition in the handler: if (!(x)) next"
        }
        ("a literal number or string", TokenKind::Op(")")) => {
            "behind a comma and in braces stand points, a.{b,c}: is there a comma too many before the body?"
        }
        ("`,`", TokenKind::Op(")")) => {
            "an argument is missing: @hist_linear(x, low, high, width), @cast(x, \"type\")"
        }
        ("`:`", _) => "write a ? b : c",
        ("a value", TokenKind::Op(".")) => WHOLE,
        ("a value", TokenKind::Op("*")) => {
            "there is no operator for powers, nor for what a pointer points to: write $p[0], @cast(p, \"type\")->member, or user_int(p)"
        }
        ("a value", TokenKind::Op(":")) if before == &TokenKind::Op("?") => {
            "between `?` and `:` stands a value, too: x ? x : y"
        }
        ("a value", TokenKind::Op(":")) if next == &TokenKind::Op("=") => "there is no `:=`: write x = 1",
        ("a value", TokenKind::Op(":")) => {
            "there is no switch: write if (x == 1) { ... } else if (x == 2) { ... } else { ... }"
        }
        ("a value", TokenKind::Op("{")) => "arrays are global, and set by elements: a[1] = 2",
        _ => return None,
    };
    Some(help.to_string())
}

/// What is called or asked has its parentheses.
fn bracket_after(before: &TokenKind, found: &TokenKind) -> Option<String> {
    let TokenKind::Word(word) = before else {
        return None;
    };
    let (_, help) = AFTER
        .iter()
        .find(|(words, _)| words.split(' ').any(|w| w == word))?;
    let none = word == "if" && found == &TokenKind::Op("{");
    Some(match none {
        true => {
            "a condition is missing: if (x) { ... }; what is done else stands behind `else` alone"
                .to_string()
        }
        false => format!("put {help} in parentheses: {word}(...)"),
    })
}

const AFTER: &[(&str, &str)] = &[
    (
        "print println printf printdln printd sprint sprintf sprintln",
        "what is printed",
    ),
    ("if while", "the condition"),
    ("for", "the three parts"),
    ("foreach", "what is walked"),
];

#[cfg(test)]
mod tests {
    use super::{instead, WORDS};

    #[test]
    fn each_word_is_there_once() {
        let all: Vec<&str> = WORDS
            .iter()
            .flat_map(|(words, _)| words.split(' '))
            .collect();
        for word in &all {
            assert_eq!(all.iter().filter(|w| w == &word).count(), 1, "{word}");
            assert!(instead(word).is_some());
        }
        assert_eq!(instead("printf"), None);
    }
}
