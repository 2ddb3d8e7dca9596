// SPDX-License-Identifier: MIT
//! `jmp *slot(%rip)`: entries of linkage tables, and ours.

use crate::{ByteOrder, Linkage, LinkageJump};

const JUMP: [u8; 2] = [0xff, 0x25];
const ENDBR: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
const BND: u8 = 0xf2;
/// With the distance from its end.
const SIZE: usize = 6;

pub const LINKAGE: Linkage = Linkage {
    jumps,
    // Aligned.
    stub_size: 8,
    stub,
    filler: 0xcc,
};

/// `bnd` and `endbr64` may precede it.
fn jumps(at: u64, code: &[u8], found: &mut dyn FnMut(LinkageJump)) {
    for jump in memchr::memmem::find_iter(code, &JUMP) {
        let Some(distance) = ByteOrder::Little.read_at(code, jump + JUMP.len(), 4) else {
            continue;
        };
        let end = at + (jump + SIZE) as u64;
        let bnd = jump - usize::from(code[..jump].ends_with(&[BND]));
        let endbr = code[..bnd].ends_with(&ENDBR);
        let start = bnd - if endbr { ENDBR.len() } else { 0 };
        found(LinkageJump {
            start: at + start as u64,
            end,
            slot: end.wrapping_add_signed((distance as u32 as i32).into()),
        });
    }
}

fn stub(at: u64, slot: u64) -> Option<Vec<u8>> {
    let distance = slot.wrapping_sub(at).wrapping_sub(SIZE as u64) as i64;
    let distance = i32::try_from(distance).ok()?;
    let mut code = JUMP.to_vec();
    ByteOrder::Little.append(&mut code, distance as u64, 4);
    Some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_begin_with_what_precedes_the_jump() {
        let mut code = vec![0x90; 16];
        code.extend([0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25]);
        code.extend((0x3000u32 - 0x101b).to_le_bytes());
        code.extend([0xff, 0x25]); // cut
        let mut found = Vec::new();
        jumps(0x1000, &code, &mut |j| found.push(j));
        let jump = LinkageJump {
            start: 0x1010,
            end: 0x101b,
            slot: 0x3000,
        };
        assert_eq!(found, [jump]);
    }

    #[test]
    fn a_stub_is_such_a_jump() {
        let code = stub(0x1000, 0x800).unwrap();
        let mut found = Vec::new();
        jumps(0x1000, &code, &mut |j| found.push((j.start, j.slot)));
        assert_eq!(found, [(0x1000, 0x800)]);
        assert_eq!(stub(0, 1 << 32), None);
    }
}
