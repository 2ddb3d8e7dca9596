// SPDX-License-Identifier: MIT
//! Numbers in a machine's byte order.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    /// The unsigned number that the bytes are, of which there are at most eight.
    pub fn read(self, bytes: &[u8]) -> u64 {
        let add = |n: u64, b: &u8| n << 8 | u64::from(*b);
        match self {
            ByteOrder::Little => bytes.iter().rev().fold(0, add),
            ByteOrder::Big => bytes.iter().fold(0, add),
        }
    }

    /// That of `size` bytes at a place; `None`: the bytes end before.
    pub fn read_at(self, bytes: &[u8], at: usize, size: u8) -> Option<u64> {
        let end = at.checked_add(size.into())?;
        Some(self.read(bytes.get(at..end)?))
    }

    /// The low bytes of a number, to the whole of `to`.
    pub fn write(self, to: &mut [u8], n: u64) {
        let size = to.len();
        for (i, byte) in to.iter_mut().enumerate() {
            let place = match self {
                ByteOrder::Little => i,
                ByteOrder::Big => size - 1 - i,
            };
            *byte = (n >> (8 * place)) as u8;
        }
    }

    pub fn append(self, to: &mut Vec<u8>, n: u64, size: u8) {
        let at = to.len();
        to.resize(at + usize::from(size), 0);
        self.write(&mut to[at..], n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders() {
        for (order, bytes) in [(ByteOrder::Little, [3, 2, 1]), (ByteOrder::Big, [1, 2, 3])] {
            let mut out = vec![9];
            order.append(&mut out, 0x01_02_03, 3);
            assert_eq!(out[1..], bytes);
            assert_eq!(order.read(&bytes), 0x01_02_03);
            assert_eq!(order.read_at(&bytes, 1, 3), None);
        }
    }
}
