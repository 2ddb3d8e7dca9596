// SPDX-License-Identifier: MIT
// Values of Rust's standard library: vectors, slices, smart pointers.
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;

pub enum Colour {
    Red,
    Green = 5,
}

pub struct Point {
    pub x: i32,
    pub y: i32,
}

pub struct Rows<'a> {
    pub none: Vec<i64>,
    pub few: Vec<i16>,
    pub many: Vec<u8>,
    pub words: Vec<String>,
    pub nested: Vec<Vec<u32>>,
    pub points: Vec<Point>,
    pub slice: &'a [i32],
    pub boxed: Box<[i32]>,
    pub maybe: Option<Vec<f64>>,
    pub array: [f32; 2],
}

pub struct Owners {
    pub owned: Box<Point>,
    pub counted: Rc<Point>,
    pub shared: Arc<String>,
    pub option: Option<Box<i32>>,
    pub colours: [Colour; 2],
    pub yes: bool,
    pub tenth: f64,
}

#[inline(never)]
pub fn rows(p: &Rows) {
    black_box(p);
}

#[inline(never)]
pub fn owners(p: &Owners) {
    black_box(p);
}

#[inline(never)]
pub fn slice(p: &[i32]) -> usize {
    black_box(p).len()
}

fn main() {
    let own = [4, 5, 6];
    rows(&Rows {
        none: vec![],
        few: vec![1, -2, 3],
        many: vec![7; 1000],
        words: vec!["one".into(), "two".into()],
        nested: vec![vec![1], vec![], vec![2, 3]],
        points: vec![Point { x: 1, y: 2 }],
        slice: &own[1..],
        boxed: Box::new([8, 9]),
        maybe: Some(vec![0.5]),
        array: [1.5, -2.0],
    });
    owners(&Owners {
        owned: Box::new(Point { x: 3, y: 4 }),
        counted: Rc::new(Point { x: 5, y: 6 }),
        shared: Arc::new("shared".into()),
        option: Some(Box::new(black_box(1))),
        colours: [Colour::Red, Colour::Green],
        yes: black_box(true),
        tenth: black_box(0.1),
    });
    slice(&own);
}
