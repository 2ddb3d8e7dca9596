// SPDX-License-Identifier: MIT
//! What the fuzzers written in Rust share: numbers that are the same in every run unless
//! `SEED=n` asks for others, and the time that `FUZZ_SECONDS=n` gives each of them.
#![allow(dead_code)] // each program uses a part

use std::time::{Duration, Instant};

fn from_env(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

pub struct Random(u64);

impl Random {
    pub fn new(salt: u64) -> Random {
        let seed = from_env("SEED").unwrap_or(1);
        println!("SEED={seed}"); // a failing test shows it
        Random((seed << 8 | salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n.max(1)
    }

    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// Cut a file short, or change some of its bytes.
    pub fn damage(&mut self, bytes: &mut Vec<u8>) {
        match self.below(4) {
            0 => bytes.truncate(self.below(bytes.len())),
            1 => {
                for byte in bytes.iter_mut().take(64) {
                    *byte ^= u8::from(self.below(20) == 0) * 255;
                }
            }
            _ => {}
        }
        for _ in 0..1 + self.below(24) {
            if !bytes.is_empty() {
                let (at, bit) = (self.below(bytes.len()), self.below(8));
                bytes[at] =
                    [bytes[at] ^ (1 << bit), 0xff, 0, bytes[at].wrapping_add(1)][self.below(4)];
            }
        }
    }
}

/// When to stop: in some seconds, unless `FUZZ_SECONDS` says otherwise.
pub fn deadline(seconds: u64) -> Instant {
    Instant::now() + Duration::from_secs(from_env("FUZZ_SECONDS").unwrap_or(seconds))
}
