// SPDX-License-Identifier: MIT
//! Where we differ from references that agree with each other, and why. Every
//! class has a name, is counted in the output, and cites what makes us differ.
use crate::ours::{Insn, EVEX, REX2, VEX};

pub struct Exception {
    pub name: &'static str,
    pub why: &'static str,
    /// XED, which is newer than the other two, must give our length.
    pub xed: bool,
}

pub const LIST: &[Exception] = &[
    Exception {
        name: "apx-evex",
        why: "Intel APX Architecture Specification (355828), EVEX extension of VEX instructions \
              and of EVEX instructions with general registers",
        xed: true,
    },
    Exception {
        name: "user-msr",
        why: "Intel Architecture Instruction Set Extensions (319433), URDMSR and UWRMSR",
        xed: true,
    },
    Exception {
        name: "movrs",
        why: "Intel Architecture Instruction Set Extensions (319433), MOVRS: newer than all references",
        xed: false,
    },
];

/// The class that an instruction belongs to, if a difference there is expected.
pub fn class(ours: Option<&Insn>) -> Option<usize> {
    let i = ours?;
    let evex = i.flags & EVEX != 0;
    let vex = i.flags & VEX != 0;
    match (evex, i.map, i.opcode) {
        (true, 1, 0x90..=0x93)
        | (true, 2, 0x49 | 0x4b | 0xe0..=0xef | 0xf2..=0xf7)
        | (true, 3, 0xf0) => Some(0),
        // writes a general register above 15
        (true, 1 | 5, 0x2c | 0x2d | 0x78 | 0x79 | 0xc5) if i.egpr & 4 != 0 => Some(0),
        (false, 2, 0xf8) if !vex && i.bytes[i.modrm_off as usize] >= 0xc0 => Some(1),
        (false, 7, 0xf8) if vex => Some(1),
        (false, 2, 0x8a | 0x8b) if !vex => Some(2),
        _ => None,
    }
}

/// Encodings that only XED knows: there it is the reference.
pub fn is_apx(bytes: &[u8], wide: bool, ours: Option<&Insn>) -> bool {
    if !wide {
        return false;
    }
    if let Some(i) = ours {
        if i.flags & REX2 != 0 {
            return true;
        }
        let at = i.prefix_len as usize - if i.flags & EVEX != 0 { 4 } else { 0 };
        return i.flags & EVEX != 0 && evex_is_apx(&bytes[at..]);
    }
    let at = bytes.iter().position(|b| {
        !matches!(
            b,
            0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3
        )
    });
    match at.map(|n| &bytes[n..]) {
        Some(s) if s[0] == 0xd5 => true,
        Some(s) if s[0] == 0x62 && s.len() > 3 => evex_is_apx(s),
        _ => false,
    }
}

fn evex_is_apx(s: &[u8]) -> bool {
    s[1] & 7 == 4 || s[1] & 8 != 0 || s[2] & 4 == 0
}
