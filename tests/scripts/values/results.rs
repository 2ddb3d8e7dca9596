// SPDX-License-Identifier: MIT
// Results as rustc returns them: in one register, in two, packed, or where the caller says.
use std::fmt::{Debug, Error};
use std::hint::black_box;

#[derive(Debug)]
pub struct Three { x: u32, y: u32, z: u32 }
#[derive(Debug)]
pub struct Mixed { small: u8, large: u64 }
#[derive(Debug)]
pub struct Around((u32, u16));
#[derive(Debug)]
pub enum Message { Quit, Move { x: i32, y: i32 }, Say(String), Color(u8, u8, u8) }

#[inline(never)]
fn number(i: u32) -> Option<u32> { if i > 2 { None } else { Some(i + 40) } }
#[inline(never)]
fn long(i: u32) -> Option<u64> { if i > 2 { None } else { Some(u64::from(i) + 50) } }
#[inline(never)]
fn byte(i: u32) -> Option<u8> { if i > 2 { None } else { Some(i as u8 + 60) } }
#[inline(never)]
fn packed(i: u32) -> Result<u8, u32> { if i > 2 { Err(i) } else { Ok(i as u8) } }
#[inline(never)]
fn pair(i: u32) -> (u32, u16) { (i + 5, 9) }
#[inline(never)]
fn around(i: u32) -> Around { Around((i + 6, 8)) }
#[inline(never)]
fn three(i: u32) -> Three { Three { x: i, y: i + 100, z: i + 200 } }
#[inline(never)]
fn mixed(i: u32) -> Mixed { Mixed { small: i as u8, large: 77 } }
#[inline(never)]
fn character(i: u32) -> Option<char> { if i > 2 { None } else { char::from_u32(65 + i) } }
#[inline(never)]
fn wide(i: u32) -> Option<char> { "_\u{9f}\u{e9}\u{20ac}\u{1f600}".chars().nth(i as usize) }
#[inline(never)]
fn nothing(i: u32) -> Result<(), Error> { if i > 2 { Err(Error) } else { Ok(()) } }
#[inline(never)]
fn text(i: u32) -> &'static str { if i > 2 { "big" } else { "small" } }
#[inline(never)]
fn maybe(i: u32) -> Option<String> { if i > 2 { None } else { Some(format!("text {i}")) } }
#[inline(never)]
fn result(i: u32) -> Result<u32, String> { if i > 2 { Err(format!("bad {i}")) } else { Ok(i * 10) } }
#[inline(never)]
fn message(i: u32) -> Message {
    match i {
        1 => Message::Quit,
        2 => Message::Move { x: -1, y: 2 },
        3 => Message::Say("hi".to_string()),
        _ => Message::Color(1, 2, 3),
    }
}

// One call that is known: what is put at the caller's place need not be told in rax.
#[inline(never)]
fn all<T: Debug>(f: fn(u32) -> T) {
    for i in 1..5 {
        black_box(f(i));
    }
}

fn main() {
    all(black_box(number as fn(u32) -> _));
    all(black_box(long as fn(u32) -> _));
    all(black_box(byte as fn(u32) -> _));
    all(black_box(packed as fn(u32) -> _));
    all(black_box(pair as fn(u32) -> _));
    all(black_box(around as fn(u32) -> _));
    all(black_box(three as fn(u32) -> _));
    all(black_box(mixed as fn(u32) -> _));
    all(black_box(character as fn(u32) -> _));
    all(black_box(wide as fn(u32) -> _));
    all(black_box(nothing as fn(u32) -> _));
    all(black_box(text as fn(u32) -> _));
    all(black_box(maybe as fn(u32) -> _));
    for i in 1..5 {
        black_box(&result(i));
        black_box(&message(i));
    }
}
