// SPDX-License-Identifier: MIT
//! C text, line by line.

#[derive(Default, Debug)]
pub(crate) struct Text {
    out: String,
}

impl Text {
    pub fn line(&mut self, text: impl AsRef<str>) {
        self.out.push_str(text.as_ref());
        self.out.push('\n');
    }

    pub fn blank(&mut self) {
        self.out.push('\n');
    }

    /// Text from elsewhere, as it is.
    pub fn verbatim(&mut self, text: &str) {
        self.out.push_str(text.trim_matches('\n'));
        self.out.push('\n');
    }

    pub fn append(&mut self, other: Text) {
        self.out.push_str(&other.out);
    }

    pub fn finish(self) -> String {
        self.out
    }
}

/// A C string literal; every byte that is not plain text is an octal escape.
pub(crate) fn c_string(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for &b in bytes {
        match b {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\t' => out.push_str("\\t"),
            // `?` could start a trigraph.
            0x20..=0x7e if b != b'?' => out.push(b as char),
            _ => out.push_str(&format!("\\{b:03o}")),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::c_string;

    #[test]
    fn every_byte_survives_a_c_literal() {
        assert_eq!(c_string(b"a\"b\\\n\x01\x80?"), r#""a\"b\\\n\001\200\077""#);
    }
}
