// SPDX-License-Identifier: MIT
//! Enums with fields: tags of their own, tags in what a field cannot be, negative tags.

pub enum Message {
    Quit,
    Move { x: i32, y: i32 },
    Write(String),
    Color(u8, u16, u8),
}

#[repr(i8)]
pub enum Signed {
    Minus(u16) = -2,
    Plus = 3,
}

pub struct Holder<'a> {
    inner: Option<Option<bool>>,
    name: Option<&'a str>,
    only: One,
}

pub enum One {
    Single(u8, i64),
}

#[inline(never)]
fn handle(m: &Message, o: &Option<u32>, b: &Option<Box<i32>>, r: &Result<i32, String>, s: &Signed, h: &Holder) -> usize {
    std::hint::black_box((m, o, b, r, s, h)).1.is_some() as usize
}

fn main() {
    let none = std::env::args().count() > 100;
    for m in [Message::Quit, Message::Move { x: 1, y: -2 }, Message::Write("hi".into()), Message::Color(1, 2, 3)] {
        let odd = !none && matches!(m, Message::Move { .. } | Message::Color(..));
        let holder = Holder { inner: if odd { Some(None) } else { Some(Some(true)) }, name: odd.then_some("n"), only: One::Single(9, -9) };
        let r = if odd { Ok(-4) } else { Err("bad".to_string()) };
        let s = if odd { Signed::Plus } else { Signed::Minus(700) };
        handle(&m, &odd.then_some(7), &odd.then(|| Box::new(5)), &r, &s, &holder);
    }
}
