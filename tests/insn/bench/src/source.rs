// SPDX-License-Identifier: MIT
//! Bytes to decode: code of real programs, and random strings that look like code.

/// xorshift64*: seeded, so that a failure can be repeated.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n
    }

    fn byte(&mut self) -> u8 {
        self.next() as u8
    }

    /// `n` in 256.
    fn chance(&mut self, n: u8) -> bool {
        self.byte() < n
    }
}

/// A case for one row of the tables, as `gen/decoder-tables --cases` prints it.
pub struct Case {
    pub row: usize,
    pub wide: bool,
    pub head: usize,
    pub bytes: Vec<u8>,
    pub text: String,
}

const PREFIXES: [u8; 11] = [
    0x66, 0xf2, 0xf3, 0x67, 0xf0, 0x66, 0x3e, 0x2e, 0x64, 0x65, 0x36,
];
const LONG: usize = 18;

pub struct Source<'a> {
    pub rng: Rng,
    pub cases: &'a [Case],
    pub wide: bool,
}

impl Source<'_> {
    /// One string: half of them stand near a row of the tables, half are made of prefixes and
    /// random bytes.
    pub fn next(&mut self) -> Vec<u8> {
        let mut s = Vec::with_capacity(40);
        while self.rng.chance(90) {
            s.push(PREFIXES[self.rng.below(PREFIXES.len())]);
        }
        if self.wide && self.rng.chance(70) {
            s.push(0x40 | self.rng.byte() & 15);
        }
        if self.rng.chance(128) {
            self.near_a_row(&mut s);
        } else {
            self.any(&mut s);
        }
        while s.len() < LONG {
            let b = self.rng.byte();
            s.push(b);
        }
        s.truncate(LONG);
        s
    }

    fn near_a_row(&mut self, s: &mut Vec<u8>) {
        let case = &self.cases[self.rng.below(self.cases.len())];
        let vector = matches!(case.bytes[0], 0x62 | 0xc4 | 0xc5 | 0x8f) && case.head > 2;
        if vector && !self.rng.chance(8) {
            s.clear();
            while self.rng.chance(20) {
                s.push([0x67, 0x3e, 0x64, 0x2e][self.rng.below(4)]);
            }
        }
        let start = s.len();
        s.extend_from_slice(&case.bytes);
        if self.rng.chance(200) {
            let modrm = start + case.head;
            if modrm < s.len() {
                s[modrm] = self.rng.byte();
            }
        }
        for _ in 0..self.rng.below(4) {
            let at = start + self.rng.below(case.head + 1);
            if at < s.len() {
                s[at] ^= 1 << self.rng.below(8);
            }
        }
    }

    fn any(&mut self, s: &mut Vec<u8>) {
        let r = self.rng.byte();
        match r {
            0..=79 => {}
            80..=129 => s.push(0x0f),
            130..=149 => s.extend([0x0f, if r & 1 == 0 { 0x38 } else { 0x3a }]),
            150..=159 => s.push(0xc5),
            160..=184 => {
                let rxb = self.rng.byte() & 0xe0;
                s.extend([0xc4, rxb | (1 + self.rng.below(3)) as u8]);
            }
            185..=234 => {
                s.push(0x62);
                let (a, b, c) = (self.rng.byte(), self.rng.byte(), self.rng.byte());
                let map = [1, 1, 2, 2, 3, 5, 6, 4][self.rng.below(8)];
                s.push(a & 0xf0 | map | if self.rng.chance(20) { 8 } else { 0 });
                s.push(if r & 1 == 0 { b | 4 } else { b & 0x83 | 0x7c });
                s.push(if r & 2 == 0 { c & 0x60 | 8 } else { c });
            }
            235..=244 => {
                let rxb = self.rng.byte() & 0xe0;
                s.extend([0x8f, rxb | (8 + self.rng.below(3)) as u8]);
            }
            245..=248 => s.push(0xd5),
            _ => s.extend([0x0f, 0x0f]),
        }
    }
}

fn word(b: &[u8], at: usize, n: usize) -> Option<usize> {
    let bytes = b.get(at..at + n)?;
    Some(bytes.iter().rev().fold(0, |v, x| v << 8 | *x as usize))
}

/// What follows a ModRM byte in the exhaustive runs: a SIB byte with two registers, and so on.
const TAIL: [u8; 14] = [0x51, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];

fn with_tail(head: &[u8], see: &mut dyn FnMut(&[u8])) {
    let mut bytes = [0; 24];
    bytes[..head.len()].copy_from_slice(head);
    bytes[head.len()..][..TAIL.len()].copy_from_slice(&TAIL);
    see(&bytes[..18]);
}

fn each_modrm(head: &mut Vec<u8>, see: &mut dyn FnMut(&[u8])) {
    each_opcode(head, &Vec::from_iter(0..=255), see);
}

fn each_opcode(head: &mut Vec<u8>, modrms: &[u8], see: &mut dyn FnMut(&[u8])) {
    for opcode in 0..=255 {
        head.push(opcode);
        for modrm in modrms {
            head.push(*modrm);
            with_tail(head, see);
            head.pop();
        }
        head.pop();
    }
}

/// Legacy maps with every combination of prefixes that can select a row.
pub fn every_legacy(wide: bool, see: &mut dyn FnMut(&[u8])) {
    let prefixes: [&[u8]; 9] = [
        &[],
        &[0x66],
        &[0xf3],
        &[0xf2],
        &[0x66, 0xf3],
        &[0x66, 0xf2],
        &[0xf0],
        &[0x67],
        &[0x66, 0x67],
    ];
    let rex: &[&[u8]] = if wide {
        &[&[], &[0x48], &[0x44], &[0x41], &[0x4f]]
    } else {
        &[&[]]
    };
    let maps: [&[u8]; 5] = [&[], &[0x0f], &[0x0f, 0x38], &[0x0f, 0x3a], &[0x0f, 0x0f]];
    for p in prefixes {
        for r in rex {
            for m in maps {
                each_modrm(&mut [p, r, m].concat(), see);
            }
        }
    }
}

/// VEX and XOP maps with every pp, W, L, with vvvv unused, low and high.
pub fn every_vex(see: &mut dyn FnMut(&[u8])) {
    for (escape, maps) in [(0xc4, 0..=31u8), (0x8f, 8..=10)] {
        for map in maps {
            for low in 0..8u8 {
                for (w, vvvv) in [(0, 0x78), (0x80, 0x78), (0, 0x70), (0x80, 0x20)] {
                    // map numbers that do not exist are checked with one pp only
                    if map < 8 || escape == 0x8f || low == 0 {
                        each_modrm(&mut vec![escape, 0xe0 | map, w | vvvv | low], see);
                    }
                }
            }
        }
    }
}

/// EVEX maps with every pp, W, length, broadcast bit, and no mask, a mask, zeroing; of ModRM
/// every reg with memory (plain, SIB, RIP, displaced) and a register.
pub fn every_evex(see: &mut dyn FnMut(&[u8])) {
    let mut modrms = Vec::new();
    for reg in 0..8 {
        modrms.extend([0x03, 0x04, 0x05, 0x44, 0xc1].map(|m| m | reg << 3));
    }
    for map in 0..8u8 {
        for pp in 0..4u8 {
            for p1 in [0x7c, 0xfc, 0x74, 0xf4] {
                for p2 in [0x08, 0x09, 0x89, 0x88, 0x00] {
                    for lb in 0..8u8 {
                        each_opcode(
                            &mut vec![0x62, 0xf0 | map, p1 | pp, p2 | lb << 4],
                            &modrms,
                            see,
                        );
                    }
                }
            }
        }
    }
}

/// Executable sections of an x86 ELF file, and whether its code is 64-bit; None if it is not one.
pub fn code_of(file: &[u8]) -> Option<(bool, Vec<&[u8]>)> {
    let wide = match (file.get(..6)?, word(file, 18, 2)?) {
        (b"\x7fELF\x02\x01", 62) => true,
        (b"\x7fELF\x01\x01", 3) => false,
        _ => return None,
    };
    let n = if wide { 8 } else { 4 }; // size of an address
    let table = word(file, if wide { 40 } else { 32 }, n)?;
    let at = if wide { 58 } else { 46 };
    let (size, count) = (word(file, at, 2)?, word(file, at + 2, 2)?);
    let mut out = Vec::new();
    for i in 0..count {
        let s = table + i * size;
        let (kind, flags) = (word(file, s + 4, 4)?, word(file, s + 8, n)?);
        if kind == 1 && flags & 4 != 0 {
            let at = s + 8 + 2 * n; // flags, address, offset, size
            let (at, len) = (word(file, at, n)?, word(file, at + n, n)?);
            out.push(file.get(at..at + len)?);
        }
    }
    Some((wide, out))
}
