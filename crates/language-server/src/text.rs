// SPDX-License-Identifier: MIT
//! Places in a text: bytes here, lines and columns in the protocol, files as URIs.

use lsp_types::{Location, Position, PositionEncodingKind, Range, Uri};
use std::path::{Path, PathBuf};

/// What a column counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Columns {
    Utf8,
    #[default]
    Utf16,
}

impl Columns {
    /// Bytes where the editor can; else what the protocol began with.
    pub fn negotiate(offered: Option<&[PositionEncodingKind]>) -> Columns {
        match offered.is_some_and(|all| all.contains(&PositionEncodingKind::UTF8)) {
            true => Columns::Utf8,
            false => Columns::Utf16,
        }
    }

    pub fn kind(self) -> PositionEncodingKind {
        match self {
            Columns::Utf8 => PositionEncodingKind::UTF8,
            Columns::Utf16 => PositionEncodingKind::UTF16,
        }
    }

    fn width(self, c: char) -> usize {
        match self {
            Columns::Utf8 => c.len_utf8(),
            Columns::Utf16 => c.len_utf16(),
        }
    }

    pub fn position(self, text: &str, at: usize) -> Position {
        let before = &text[..floor(text, at)];
        let line = before.bytes().filter(|b| *b == b'\n').count();
        let start = before.rfind('\n').map_or(0, |n| n + 1);
        let column: usize = before[start..].chars().map(|c| self.width(c)).sum();
        Position::new(line as u32, column as u32)
    }

    pub fn range(self, text: &str, lo: usize, hi: usize) -> Range {
        Range::new(self.position(text, lo), self.position(text, hi.max(lo)))
    }

    /// Behind a line's end is its end, behind the text the text's.
    pub fn offset(self, text: &str, position: Position) -> usize {
        let mut lines = text.split_inclusive('\n');
        let before = lines.by_ref().take(position.line as usize);
        let start: usize = before.map(str::len).sum();
        let line = lines.next().unwrap_or("").trim_end_matches(['\n', '\r']);
        let (mut at, mut column) = (start, 0);
        for c in line.chars() {
            if column >= position.character as usize {
                break;
            }
            column += self.width(c);
            at += c.len_utf8();
        }
        at
    }
}

/// The last place between characters that is not behind `at`.
pub fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

pub fn path_of(uri: &Uri) -> Option<PathBuf> {
    let file = uri.scheme().is_some_and(|s| s.as_str() == "file");
    let path = uri.path().as_estr().decode().into_string().ok()?;
    file.then(|| PathBuf::from(path.into_owned()))
}

pub fn uri_of(path: &Path) -> Option<Uri> {
    let mut uri = "file://".to_string();
    for byte in path.to_str()?.bytes() {
        match byte.is_ascii_alphanumeric() || b"/-._~+,".contains(&byte) {
            true => uri.push(char::from(byte)),
            false => uri += &format!("%{byte:02X}"),
        }
    }
    uri.parse().ok()
}

/// A place in a file that is there.
pub fn location(path: &Path, range: Range) -> Option<Location> {
    Some(Location::new(uri_of(path)?, range))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_what_was_agreed() {
        let text = "a\nß😀x\r\n";
        let x = text.find('x').unwrap();
        assert_eq!(Columns::Utf16.position(text, x), Position::new(1, 3));
        assert_eq!(Columns::Utf8.position(text, x), Position::new(1, 6));
        for columns in [Columns::Utf8, Columns::Utf16] {
            let end = columns.offset(text, Position::new(1, 99));
            assert_eq!(end, x + 1);
            assert_eq!(columns.offset(text, Position::new(9, 9)), text.len());
            for (at, _) in text.char_indices().filter(|(_, c)| *c != '\n') {
                assert_eq!(columns.offset(text, columns.position(text, at)), at);
            }
        }
    }

    #[test]
    fn paths_and_uris() {
        let path = Path::new("/tmp/a b/ß%.stp");
        let uri = uri_of(path).unwrap();
        assert_eq!(uri.as_str(), "file:///tmp/a%20b/%C3%9F%25.stp");
        assert_eq!(path_of(&uri).as_deref(), Some(path));
        assert_eq!(path_of(&"untitled:1".parse().unwrap()), None);
    }
}
