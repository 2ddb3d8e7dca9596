// SPDX-License-Identifier: MIT
//! Structures, references, texts and slices of Rust.

pub struct Point {
    x: i32,
    y: i64,
    name: &'static str,
}

#[derive(Clone, Copy)]
pub enum Kind {
    A = 1,
    B = 7,
}

mod geo {
    #[inline(never)]
    pub fn show(p: &super::Point, kind: super::Kind, b: Box<super::Point>, text: &str, list: &[u16]) -> usize {
        std::hint::black_box((p, kind as u8, &b, text, list)).3.len() + list.len()
    }
}

fn main() {
    let arg = std::env::args().count();
    let p = Point { x: 3, y: -4, name: "p\0q" };
    let b = Box::new(Point { x: 1, y: 2, name: "" });
    let text = "text".repeat(arg);
    let kind = if arg > 0 { Kind::B } else { Kind::A };
    assert_eq!(geo::show(&p, kind, b, &text, &vec![8; 2 * arg]), 6);
}
