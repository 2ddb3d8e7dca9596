// SPDX-License-Identifier: MIT
//! The literal formats of `printf` and `sprintf`, taken apart.
//!
//! A conversion reads `% [- + # or 0, one of them] [WIDTH] [.PRECISION] [l] LETTER`, where
//! width and precision are digits or `*` (a further argument).

/// One part of a format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece {
    /// Printed as it is; `%%` is already one `%`.
    Text(Vec<u8>),
    Conversion(Conversion),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conversion {
    pub flag: Option<Flag>,
    pub zero: bool,
    pub width: Size,
    pub precision: Size,
    pub kind: Kind,
    /// The byte range in the format.
    pub at: std::ops::Range<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Flag {
    /// `-`
    Left,
    /// `+`
    Sign,
    /// A space.
    Blank,
    /// `#`
    Special,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Size {
    No,
    Fixed(u32),
    /// `*`: taken from the arguments.
    Arg,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// `%d`, `%i`
    Signed,
    /// `%u`
    Unsigned,
    /// `%o`
    Octal,
    /// `%x`
    Hex,
    /// `%X`
    UpperHex,
    /// `%p`
    Pointer,
    /// `%s`
    String,
    /// `%c`
    Char,
    /// `%b`: the bytes of a number.
    Binary,
    /// `%m`: memory as it is.
    Memory,
    /// `%M`: memory in hexadecimal.
    MemoryHex,
}

impl Conversion {
    /// How many arguments it takes: one for each `*`, and the value.
    pub fn args(&self) -> usize {
        let star = |size| usize::from(size == Size::Arg);
        star(self.width) + star(self.precision) + 1
    }

    /// As the runtime reads it: what has no effect is left out.
    pub fn text(&self) -> String {
        let flag = self.flag.map_or("", Flag::text);
        let zero = if self.zero { "0" } else { "" };
        let point = if self.precision == Size::No { "" } else { "." };
        let (width, precision) = (self.width.text(), self.precision.text());
        format!(
            "%{flag}{zero}{width}{point}{precision}{}",
            self.kind.letter()
        )
    }
}

impl Flag {
    fn text(self) -> &'static str {
        match self {
            Flag::Left => "-",
            Flag::Sign => "+",
            Flag::Blank => " ",
            Flag::Special => "#",
        }
    }
}

impl Size {
    fn text(self) -> String {
        match self {
            Size::No => String::new(),
            Size::Fixed(n) => n.to_string(),
            Size::Arg => "*".to_string(),
        }
    }
}

impl Kind {
    fn letter(self) -> char {
        match self {
            Kind::Signed => 'd',
            Kind::Unsigned => 'u',
            Kind::Octal => 'o',
            Kind::Hex => 'x',
            Kind::UpperHex => 'X',
            Kind::Pointer => 'p',
            Kind::String => 's',
            Kind::Char => 'c',
            Kind::Binary => 'b',
            Kind::Memory => 'm',
            Kind::MemoryHex => 'M',
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormatError {
    /// The byte range of the conversion in the format.
    pub at: std::ops::Range<usize>,
    pub message: String,
}

/// Widths and precisions are cut here; no line is this long.
const MAX_SIZE: u32 = 1_000_000;

pub fn parse_format(format: &[u8]) -> Result<Vec<Piece>, FormatError> {
    let mut pieces = Vec::new();
    let mut text = Vec::new();
    let mut at = 0;
    while at < format.len() {
        if format[at] != b'%' {
            text.push(format[at]);
            at += 1;
        } else if format.get(at + 1) == Some(&b'%') {
            text.push(b'%');
            at += 2;
        } else {
            let conversion = conversion(format, at)?;
            at = conversion.at.end;
            if !text.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut text)));
            }
            pieces.push(Piece::Conversion(conversion));
        }
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

/// The conversion whose `%` is at `start`.
fn conversion(format: &[u8], start: usize) -> Result<Conversion, FormatError> {
    let mut at = start + 1;
    let byte = |at: usize| format.get(at).copied();
    let flag = match byte(at) {
        Some(b'-') => Some(Flag::Left),
        Some(b'+') => Some(Flag::Sign),
        Some(b' ') => Some(Flag::Blank),
        Some(b'#') => Some(Flag::Special),
        _ => None,
    };
    at += usize::from(flag.is_some());
    // behind another flag it is a digit of the width
    let zero = flag.is_none() && byte(at) == Some(b'0');
    at += usize::from(zero);
    let width = size(format, &mut at);
    let mut precision = Size::No;
    if byte(at) == Some(b'.') {
        at += 1;
        precision = size(format, &mut at); // none behind the point: no precision
    }
    at += usize::from(byte(at) == Some(b'l'));
    let kind = match byte(at) {
        Some(b'd' | b'i') => Kind::Signed,
        Some(b'u') => Kind::Unsigned,
        Some(b'o') => Kind::Octal,
        Some(b'x') => Kind::Hex,
        Some(b'X') => Kind::UpperHex,
        Some(b'p') => Kind::Pointer,
        Some(b's') => Kind::String,
        Some(b'c') => Kind::Char,
        Some(b'b') => Kind::Binary,
        Some(b'm') => Kind::Memory,
        Some(b'M') => Kind::MemoryHex,
        other => return Err(error(format, start, at, other)),
    };
    Ok(Conversion {
        flag,
        zero,
        width,
        precision,
        kind,
        at: start..at + 1,
    })
}

fn size(format: &[u8], at: &mut usize) -> Size {
    if format.get(*at) == Some(&b'*') {
        *at += 1;
        return Size::Arg;
    }
    let mut value = None;
    while let Some(digit) = format.get(*at).filter(|b| b.is_ascii_digit()) {
        let next = value.unwrap_or(0u32).saturating_mul(10) + u32::from(digit - b'0');
        value = Some(next.min(MAX_SIZE));
        *at += 1;
    }
    value.map_or(Size::No, Size::Fixed)
}

fn error(format: &[u8], start: usize, at: usize, found: Option<u8>) -> FormatError {
    let end = (at + 1).min(format.len());
    let shown = String::from_utf8_lossy(&format[start..end]).into_owned();
    let message = match found {
        None => format!("the conversion `{shown}` at the end of the format is not complete"),
        Some(_) => format!("`{shown}` is not a conversion"),
    };
    FormatError {
        at: start..end,
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversions(format: &str) -> Vec<Conversion> {
        let pieces = parse_format(format.as_bytes()).unwrap();
        let only = |p| match p {
            Piece::Conversion(c) => Some(c),
            Piece::Text(_) => None,
        };
        pieces.into_iter().filter_map(only).collect()
    }

    #[test]
    fn takes_a_format_apart() {
        let pieces = parse_format(b"a%%b %-08.3ld\n").unwrap();
        assert_eq!(pieces[0], Piece::Text(b"a%b ".to_vec()));
        assert_eq!(pieces[2], Piece::Text(b"\n".to_vec()));
        let c = &conversions("a%%b %-08.3ld\n")[0];
        assert_eq!((c.flag, c.zero), (Some(Flag::Left), false));
        assert_eq!(c.text(), "%-8.3d");
        assert_eq!((c.width, c.precision), (Size::Fixed(8), Size::Fixed(3)));
        assert_eq!((c.kind, c.args()), (Kind::Signed, 1));
    }

    #[test]
    fn stars_take_arguments() {
        let c = &conversions("%*.*s")[0];
        assert_eq!((c.width, c.precision, c.args()), (Size::Arg, Size::Arg, 3));
        assert_eq!(conversions("%.s")[0].precision, Size::No);
        assert_eq!(conversions("%.0s")[0].text(), "%.0s");
        assert_eq!(conversions("%05.*li")[0].text(), "%05.*d");
        assert_eq!(conversions("%99999999999d")[0].width, Size::Fixed(MAX_SIZE));
    }

    #[test]
    fn refuses_what_is_no_conversion() {
        for bad in [
            "%z", "%", "%5", "%lld", "%-+d", "%5%", "%*5d", "%.-3d", "%hd", "%.*",
        ] {
            assert!(parse_format(bad.as_bytes()).is_err(), "{bad}");
        }
        assert_eq!(parse_format(b"ab%zc").unwrap_err().at, 2..4);
    }
}
