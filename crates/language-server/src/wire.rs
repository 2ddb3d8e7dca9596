// SPDX-License-Identifier: MIT
//! Messages on the streams: a header with the length, an empty line, JSON.

use lsp_server::Message;
use std::io::{self, BufRead, Read, Write};

/// What came in.
pub enum Incoming {
    Message(Box<Message>),
    /// The bytes were read, but are no message: why.
    Malformed(String),
}

/// No script is as long.
const MOST: u64 = 64 << 20;

/// The next message; `None`: the stream has ended, or nobody knows where the next one begins.
pub fn read(input: &mut dyn BufRead) -> Option<Incoming> {
    let Some(length) = header(input)? else {
        return Some(Incoming::Malformed(
            "a header without Content-Length".into(),
        ));
    };
    if length > MOST {
        return None;
    }
    let mut body = Vec::new();
    let read = input.take(length).read_to_end(&mut body).ok()?;
    if (read as u64) < length {
        return None;
    }
    Some(match serde_json::from_slice(&body) {
        Ok(message) => Incoming::Message(Box::new(message)),
        Err(e) => Incoming::Malformed(e.to_string()),
    })
}

/// The length that a header tells; the inner `None`: it has none.
fn header(input: &mut dyn BufRead) -> Option<Option<u64>> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        if input.take(1024).read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
        let line = String::from_utf8_lossy(&line);
        let Some((name, value)) = line.split_once(':') else {
            if line.trim().is_empty() {
                return Some(length);
            }
            continue;
        };
        if name.trim().eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok();
        }
    }
}

/// The protocol's answer to what has no number: lsp-server's own message needs one.
pub fn write_parse_error(output: &mut dyn Write, why: &str) -> io::Result<()> {
    let error = serde_json::json!({
        "jsonrpc": "2.0",
        "id": null,
        "error": { "code": lsp_server::ErrorCode::ParseError as i32, "message": why },
    });
    let text = error.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut bytes: &[u8]) -> Vec<bool> {
        let next = || read(&mut bytes).map(|i| matches!(i, Incoming::Message(_)));
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn goes_on_behind_what_is_malformed() {
        let good = r#"{"jsonrpc":"2.0","method":"exit"}"#;
        let framed = |text: &str| format!("Content-Length: {}\r\n\r\n{text}", text.len());
        let text = framed("{no") + &framed(good) + "nonsense\r\n\r\n" + &framed(good);
        assert_eq!(all(text.as_bytes()), [false, true, false, true]);
        assert!(all(b"content-length: 9\r\n\r\n{}").is_empty());
        assert!(all(b"Content-Length: 99999999999\r\n\r\n{}").is_empty());
    }
}
