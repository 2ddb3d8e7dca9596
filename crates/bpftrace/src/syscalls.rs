// SPDX-License-Identifier: MIT
//! System calls by the names of the kernel's tracepoints, and their parameters.

const TABLE: &str = include_str!("syscalls.txt");

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub number: u16,
    pub name: &'static str,
    pub parameters: Vec<&'static str>,
}

pub fn all() -> impl Iterator<Item = Call> {
    TABLE
        .lines()
        .filter(|l| !l.starts_with('#'))
        .filter_map(call)
}

fn call(line: &'static str) -> Option<Call> {
    let mut words = line.split(' ');
    Some(Call {
        number: words.next()?.parse().ok()?,
        name: words.next()?,
        parameters: words.collect(),
    })
}

/// `*` and `?` in a pattern stand for others.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&c) if c == b'?' || c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    p = at + 1;
                    n = from + 1;
                    star = Some((at, n));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        let calls: Vec<Call> = all().collect();
        assert_eq!(
            calls.len(),
            TABLE.lines().filter(|l| !l.starts_with('#')).count()
        );
        assert!(calls.windows(2).all(|w| w[0].number < w[1].number));
        assert!(calls.iter().all(|c| c.parameters.len() <= 6));
        let openat = calls.iter().find(|c| c.name == "openat").expect("openat");
        assert_eq!((openat.number, openat.parameters[1]), (257, "filename"));
    }

    #[test]
    fn patterns() {
        assert!(matches("open*", "openat2") && matches("*at", "openat") && matches("r?ad", "read"));
        assert!(!matches("open", "openat") && !matches("*x", "openat") && matches("*", ""));
    }
}
