// SPDX-License-Identifier: MIT
//! Calls and jumps to an address that they hold.

use crate::{Branch, ByteOrder};

pub const CALLS: &[Branch] = &[Branch {
    size: 5,
    target: call,
}];

pub const JUMPS: &[Branch] = &[
    Branch {
        size: 5,
        target: jump,
    },
    Branch {
        size: 2,
        target: short_jump,
    },
];

fn call(at: u64, code: &[u8]) -> Option<u64> {
    led_to(at, code, 0xe8, 4)
}

fn jump(at: u64, code: &[u8]) -> Option<u64> {
    led_to(at, code, 0xe9, 4)
}

fn short_jump(at: u64, code: &[u8]) -> Option<u64> {
    led_to(at, code, 0xeb, 1)
}

/// An opcode and a distance of so many bytes, from the instruction's end.
fn led_to(at: u64, code: &[u8], opcode: u8, size: u8) -> Option<u64> {
    let (_, rest) = code.split_first().filter(|(first, _)| **first == opcode)?;
    let distance = ByteOrder::Little.read_at(rest, 0, size)?;
    let unused = 64 - 8 * u32::from(size);
    let distance = (distance << unused) as i64 >> unused;
    Some((at + 1 + u64::from(size)).wrapping_add_signed(distance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_count_from_their_end() {
        assert_eq!(call(0x1000, &[0xe8, 0xfb, 0xff, 0xff, 0xff]), Some(0x1000));
        assert_eq!(jump(0x1000, &[0xe9, 1, 0, 0, 0]), Some(0x1006));
        assert_eq!(short_jump(0x1000, &[0xeb, 0xfe]), Some(0x1000));
        assert_eq!(call(0x1000, &[0xe9, 0, 0, 0, 0]), None);
        assert_eq!(jump(0x1000, &[0xe9, 0, 0, 0]), None);
    }
}
