// SPDX-License-Identifier: MIT
//! Operands as assemblers for x86-64 write them: `%eax`, `$7`, `8(%rbp,%rcx,4)`.

use crate::Operand;

pub fn parse(text: &str) -> Operand<'_> {
    let no = Operand::Unreadable;
    if let Some(value) = text.strip_prefix('$') {
        return Operand::Constant(value);
    }
    if let Some(name) = text.strip_prefix('%') {
        return match register(name) {
            Some((register, shift)) => Operand::Register { register, shift },
            None if name.contains(':') => no("it is thread-local"),
            None => no("it is in a floating-point or vector register"),
        };
    }
    let (displacement, inner) = match text.strip_suffix(')').and_then(|t| t.split_once('(')) {
        Some((displacement, inner)) => (displacement, inner),
        None => (text, ""),
    };
    let by_instruction = matches!(inner, "%rip" | "%eip");
    let inside = match inner {
        "" | "%rip" | "%eip" => Some((None, None)),
        _ => indexed(inner),
    };
    match inside {
        Some((base, index)) => Operand::Memory {
            base,
            index,
            displacement,
            by_instruction,
        },
        None => no("its address is not understood"),
    }
}

/// Base, and index with scale, of `%base,%index,scale`.
type Indexed = (Option<u16>, Option<(u16, u8)>);

fn indexed(text: &str) -> Option<Indexed> {
    let whole = |t: &str| match t.trim() {
        "" => Some(None),
        t => match register(t.strip_prefix('%')?)? {
            (reg, 0) => Some(Some(reg)),
            _ => None,
        },
    };
    let mut parts = text.split(',');
    let base = whole(parts.next()?)?;
    let index = whole(parts.next().unwrap_or(""))?;
    let scale = match parts.next() {
        Some(s) => s.trim().parse().ok().filter(|s| [1, 2, 4, 8].contains(s))?,
        None => 1,
    };
    Some((base, index.map(|i| (i, scale))))
}

/// By DWARF number; the lowest bit that the name stands for.
fn register(name: &str) -> Option<(u16, u8)> {
    const OLD: [&str; 8] = ["ax", "dx", "cx", "bx", "si", "di", "bp", "sp"];
    let old = |n: &str| OLD.iter().position(|o| *o == n).map(|i| i as u16);
    if let Some(number) = name.strip_prefix('r') {
        if let Ok(n @ 8..=15) = number.trim_end_matches(['d', 'w', 'b']).parse() {
            return Some((n, 0));
        }
    }
    // rax, eax, ax; sil; al, ah
    let word = name.strip_prefix(['r', 'e']).unwrap_or(name);
    if let Some(n) = old(word) {
        return Some((n, 0));
    }
    let (stem, last) = name.split_at_checked(name.len().checked_sub(1)?)?;
    match last {
        "l" if stem.len() == 2 => old(stem).filter(|n| *n >= 4).map(|n| (n, 0)),
        "l" | "h" => {
            let n = old(&format!("{stem}x")).filter(|n| *n < 4)?;
            Some((n, if last == "h" { 8 } else { 0 }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_have_their_numbers() {
        for (name, want) in [
            ("rax", (0, 0)),
            ("edi", (5, 0)),
            ("sp", (7, 0)),
            ("sil", (4, 0)),
            ("dl", (1, 0)),
            ("ch", (2, 8)),
            ("r8", (8, 0)),
            ("r15d", (15, 0)),
            ("r10b", (10, 0)),
        ] {
            assert_eq!(register(name), Some(want), "{name}");
        }
        for name in ["xmm0", "st", "fs:0", "r16", "rip", "sih", "", "l"] {
            assert_eq!(register(name), None, "{name}");
        }
    }

    #[test]
    fn addresses_have_parts() {
        assert_eq!(indexed("%rax"), Some((Some(0), None)));
        assert_eq!(indexed("%rsp,%rcx"), Some((Some(7), Some((2, 1)))));
        assert_eq!(indexed(",%r9,8"), Some((None, Some((9, 8)))));
        assert_eq!(indexed("%rax,%rcx,3"), None);
        assert_eq!(indexed("%ah"), None);
    }
}
