// SPDX-License-Identifier: MIT
//! Moments as text.

use std::io::Write;
use time::OffsetDateTime;

/// RFC 3339 in UTC with nanoseconds: `2026-11-26T09:30:00.000000001Z`.
#[derive(Debug, Default)]
pub struct Text {
    second: u64,
    /// Of this second, up to its point.
    head: Vec<u8>,
}

impl Text {
    /// Appends a moment, in nanoseconds since the epoch.
    pub fn put(&mut self, ns: u64, out: &mut Vec<u8>) {
        let second = ns / 1_000_000_000;
        if self.head.is_empty() || second != self.second {
            self.second = second;
            self.head.clear();
            let t = OffsetDateTime::from_unix_timestamp(second as i64)
                .unwrap_or(OffsetDateTime::UNIX_EPOCH);
            let _ = write!(
                self.head,
                "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.",
                t.year(),
                u8::from(t.month()),
                t.day(),
                t.hour(),
                t.minute(),
                t.second()
            );
        }
        out.extend_from_slice(&self.head);
        let _ = write!(out, "{:09}Z", ns % 1_000_000_000);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_change() {
        let mut t = Text::default();
        let mut text = |ns| {
            let mut out = Vec::new();
            t.put(ns, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(5), "1970-01-01T00:00:00.000000005Z");
        assert_eq!(
            text(1_700_000_000_999_999_999),
            "2023-11-14T22:13:20.999999999Z"
        );
        assert_eq!(
            text(1_700_000_001_000_000_000),
            "2023-11-14T22:13:21.000000000Z"
        );
    }
}
