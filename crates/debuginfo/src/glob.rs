// SPDX-License-Identifier: MIT
//! Shell wildcards: `*`, `?`, `[abc]`, `[a-z]`, `[!a]`, `\x`.

/// Whether `s` holds a wildcard.
pub fn is_glob(s: &str) -> bool {
    s.bytes().any(|b| matches!(b, b'*' | b'?' | b'['))
}

/// Match the whole of `text`. Linear in practice: only the latest `*` is ever retried.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (p, t) = (pattern.as_bytes(), text.as_bytes());
    let (mut i, mut j) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        let step = match p.get(i) {
            Some(b'*') => {
                star = Some((i + 1, j));
                i += 1;
                continue;
            }
            None if j == t.len() => return true,
            None => None,
            Some(_) => t.get(j).and_then(|&c| one(p, i, c)),
        };
        if let Some(next) = step {
            i = next;
            j += 1;
            continue;
        }
        let Some((after, from)) = star else {
            return false;
        };
        if from >= t.len() {
            return false;
        }
        star = Some((after, from + 1));
        (i, j) = (after, from + 1);
    }
}

/// Match one character against the pattern element at `i`; where the next element begins.
fn one(p: &[u8], i: usize, c: u8) -> Option<usize> {
    match p[i] {
        b'?' => Some(i + 1),
        b'[' => match class(p, i, c) {
            Some((true, next)) => Some(next),
            Some((false, _)) => None,
            None => (c == b'[').then_some(i + 1), // no closing bracket: an ordinary character
        },
        b'\\' if i + 1 < p.len() => (p[i + 1] == c).then_some(i + 2),
        x => (x == c).then_some(i + 1),
    }
}

fn class(p: &[u8], start: usize, c: u8) -> Option<(bool, usize)> {
    let mut i = start + 1;
    let negate = matches!(p.get(i), Some(b'!' | b'^'));
    if negate {
        i += 1;
    }
    let first = i;
    let mut hit = false;
    loop {
        let low = *p.get(i)?;
        if low == b']' && i > first {
            return Some((hit != negate, i + 1));
        }
        match (p.get(i + 1), p.get(i + 2)) {
            (Some(b'-'), Some(&high)) if high != b']' => {
                hit |= (low..=high).contains(&c);
                i += 3;
            }
            _ => {
                hit |= low == c;
                i += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn wildcards() {
        for (p, t) in [
            ("f", "f"),
            ("*", ""),
            ("*", "abc"),
            ("a*c", "abbc"),
            ("a*b*c", "aXbYbZc"),
            ("?at", "cat"),
            ("[a-c]x", "bx"),
            ("[!a]x", "bx"),
            ("[]]", "]"),
            ("a[", "a["),
            (r"a\*", "a*"),
            ("*.so*", "libc.so.6"),
        ] {
            assert!(matches(p, t), "{p} {t}");
        }
        for (p, t) in [
            ("f", "ff"),
            ("?", ""),
            ("[a-c]x", "dx"),
            ("a*c", "ab"),
            (r"a\*", "ab"),
        ] {
            assert!(!matches(p, t), "{p} {t}");
        }
    }
}
