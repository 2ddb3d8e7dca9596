// SPDX-License-Identifier: MIT
//! printf's text, by runtime/format.c.

use std::ffi::{c_char, c_int, c_void, CStr};

/// `struct tl_fmt_arg`
#[repr(C)]
struct CArg {
    number: i64,
    text: *const u8,
    len: u32,
}

type Put = unsafe extern "C" fn(*mut c_void, *const u8, usize) -> c_int;

extern "C" {
    fn tl_format(
        fmt: *const c_char,
        args: *const CArg,
        n: u32,
        out: Put,
        arg: *mut c_void,
    ) -> c_int;
}

/// One argument of a print.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arg<'a> {
    Number(i64),
    Text(&'a [u8]),
}

unsafe extern "C" fn append(out: *mut c_void, text: *const u8, n: usize) -> c_int {
    // SAFETY: `out` is the vector that format() below lends; the text is n bytes.
    unsafe {
        let out = &mut *out.cast::<Vec<u8>>();
        out.extend_from_slice(std::slice::from_raw_parts(text, n));
    }
    0
}

/// Appends the text to `out`.
pub fn format(fmt: &CStr, args: &[Arg<'_>], out: &mut Vec<u8>) {
    let to_c = |a: &Arg<'_>| match a {
        Arg::Number(number) => CArg {
            number: *number,
            text: std::ptr::null(),
            len: 0,
        },
        Arg::Text(text) => CArg {
            number: 0,
            text: text.as_ptr(),
            len: text.len() as u32,
        },
    };
    let args: Vec<CArg> = args.iter().map(to_c).collect();
    let out: *mut Vec<u8> = out;
    // SAFETY: tl_format() reads the arguments and their texts, and calls append() meanwhile only.
    unsafe {
        tl_format(
            fmt.as_ptr(),
            args.as_ptr(),
            args.len() as u32,
            append,
            out.cast(),
        )
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(fmt: &CStr, args: &[Arg<'_>]) -> Vec<u8> {
        let mut out = Vec::new();
        format(fmt, args, &mut out);
        out
    }

    #[test]
    fn it_is_the_runtimes_text() {
        let args = [Arg::Number(-5), Arg::Text(b"a\xffb")];
        assert_eq!(text(c"%d|%5s|%%\n", &args), b"-5|  a\xffb|%\n");
        assert_eq!(
            text(c"%#x %c", &[Arg::Number(255), Arg::Number(65)]),
            b"0xff A"
        );
    }
}
