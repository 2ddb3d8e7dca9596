// SPDX-License-Identifier: MIT
//! The list of its symbols that a kernel has in itself, and its file where no symbol table is left, too. Nothing tells where
//! it lies, so it is known by its form: the count of names, the names in the order of their addresses, where each 256th of
//! them begins; behind that tokens, and where each of these begins. A name is a length and bytes; each stands for a token.

use trapless_machine::ByteOrder;

const TOKENS: usize = 256;
/// A digit is no more than itself.
const DIGITS: &[u8] = b"0\x001\x002\x003\x004\x005\x006\x007\x008\x009\x00";
/// Of a token, in bytes.
const LONGEST: usize = 64;
/// No kernel has fewer symbols, and shorter lists are not told from other data.
const FEWEST: u64 = 1000;
const MARKED: u64 = 256;
/// All these parts begin at multiples of it, in bytes.
const UNIT: usize = 8;

/// Of `nm`, and the name.
pub type Symbol = (u8, String);

/// In the order of addresses. `None`: there is no such list in the data.
pub fn symbols(data: &[u8], order: ByteOrder) -> Option<Vec<Symbol>> {
    let mut digits = memchr::memmem::find_iter(data, DIGITS);
    let tokens = digits.find_map(|at| Tokens::around(data, at, order))?;
    let before = &data[..tokens.start];
    let mut places = (0..before.len() / UNIT).rev().map(|n| n * UNIT);
    let names = places.find_map(|at| names_at(before, at, order))?;
    Some(names.iter().filter_map(|n| tokens.symbol(n)).collect())
}

struct Tokens<'a> {
    start: usize,
    texts: Vec<&'a [u8]>,
}

impl<'a> Tokens<'a> {
    /// `zero`: where the token of the digit is.
    fn around(data: &'a [u8], zero: usize, order: ByteOrder) -> Option<Tokens<'a>> {
        let first = zero.saturating_sub(usize::from(b'0') * LONGEST);
        let mut starts = (first..=zero).rev().filter(|at| at % UNIT == 0);
        starts.find_map(|at| Tokens::at(data, at, zero, order))
    }

    fn at(data: &'a [u8], start: usize, zero: usize, order: ByteOrder) -> Option<Tokens<'a>> {
        let (mut texts, mut starts, mut next) = (Vec::new(), Vec::new(), start);
        for n in 0..TOKENS {
            if n == usize::from(b'0') && next != zero {
                return None;
            }
            let length = memchr::memchr(0, data.get(next..)?)?;
            texts.push(&data[next..next + length]);
            starts.push(Some((next - start) as u64));
            next += length + 1;
        }
        let at = next.next_multiple_of(UNIT);
        let told = (0..TOKENS).map(|n| order.read_at(data, at + 2 * n, 2));
        told.eq(starts).then_some(Tokens { start, texts })
    }

    fn symbol(&self, packed: &[u8]) -> Option<Symbol> {
        let texts = packed.iter().map(|b| self.texts[usize::from(*b)]);
        let text = texts.collect::<Vec<_>>().concat();
        let (kind, name) = text.split_first()?;
        Some((*kind, std::str::from_utf8(name).ok()?.into()))
    }
}

/// Packed, if their count is here.
fn names_at(data: &[u8], at: usize, order: ByteOrder) -> Option<Vec<&[u8]>> {
    let count = order.read_at(data, at, 4).filter(|n| *n >= FEWEST)?;
    order.read_at(data, at + 4, 4).filter(|pad| *pad == 0)?;
    let begin = at + UNIT;
    let (mut names, mut marks, mut next) = (Vec::new(), Vec::new(), begin);
    for n in 0..count {
        if n % MARKED == 0 {
            marks.push(Some((next - begin) as u64));
        }
        let (length, from) = length_at(data, next)?;
        next = from + length;
        names.push(data.get(from..next).filter(|name| !name.is_empty())?);
    }
    let at = next.next_multiple_of(UNIT);
    let told = (0..marks.len()).map(|n| order.read_at(data, at + 4 * n, 4));
    told.eq(marks).then_some(names)
}

/// And where the name begins.
fn length_at(data: &[u8], at: usize) -> Option<(usize, usize)> {
    let low = usize::from(*data.get(at)?);
    if low < 0x80 {
        return Some((low, at + 1));
    }
    let high = usize::from(*data.get(at + 1)?);
    Some((low & 0x7f | high << 7, at + 2))
}

#[cfg(test)]
mod tests {
    use super::{symbols, DIGITS, UNIT};
    use trapless_machine::ByteOrder::Little;

    fn padded(mut part: Vec<u8>) -> Vec<u8> {
        part.resize(part.len().next_multiple_of(UNIT), 0);
        part
    }

    /// Each byte stands for itself, but 1, which is `Tname_`.
    fn list(count: u32) -> Vec<u8> {
        let (mut names, mut marks) = (Vec::new(), Vec::new());
        for n in 0..count {
            if n % 256 == 0 {
                marks.extend((names.len() as u32).to_le_bytes());
            }
            let digits = n.to_string();
            names.extend([1 + digits.len() as u8, 1]);
            names.extend(digits.bytes());
        }
        let (mut tokens, mut starts) = (Vec::new(), Vec::new());
        for byte in 0..=255u8 {
            starts.extend((tokens.len() as u16).to_le_bytes());
            match byte {
                0 => {}
                1 => tokens.extend(b"Tname_"),
                byte => tokens.push(byte),
            }
            tokens.push(0);
        }
        let count = count.to_le_bytes().to_vec();
        let before = [b"text\0".as_slice(), DIGITS].concat();
        [before, count, names, marks, tokens, starts]
            .map(padded)
            .concat()
    }

    #[test]
    fn a_list_is_found_by_its_form() {
        let found = symbols(&list(1500), Little).unwrap();
        assert_eq!(found.len(), 1500);
        assert_eq!(found[1499], (b'T', "name_1499".to_string()));
        assert!(symbols(&list(10), Little).is_none());
        assert!(symbols(&[], Little).is_none());
    }

    #[test]
    fn damaged_lists_never_panic() {
        let whole = list(1200);
        for n in 0..300 {
            let mut damaged = whole.clone();
            let at = n * whole.len() / 300;
            damaged[at] ^= (n * 37) as u8 | 0x11;
            let _ = symbols(&damaged, Little);
            let _ = symbols(&whole[..at], Little);
        }
    }
}
