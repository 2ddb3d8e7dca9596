// SPDX-License-Identifier: MIT
//! A bpftrace program as it is written.

use crate::error::At;

#[derive(Debug, Default)]
pub struct Program {
    /// `#include <...>`, as they stand between the brackets
    pub includes: Vec<String>,
    pub probes: Vec<Probe>,
}

#[derive(Debug)]
pub struct Probe {
    pub points: Vec<Point>,
    pub predicate: Option<Expr>,
    /// `None`: points alone, which are to be listed
    pub body: Option<Vec<Stmt>>,
}

/// `uprobe:/bin/sh:main`, as it stands.
#[derive(Clone, Debug)]
pub struct Point {
    pub text: String,
    pub at: At,
}

#[derive(Debug)]
pub enum Stmt {
    Expr(Expr),
    /// `op`: `=`, `+=` ...
    Assign(Expr, &'static str, Expr),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    While(Expr, Vec<Stmt>),
    Unroll(Expr, Vec<Stmt>),
    /// `for ($i : FROM..TO)`
    Range(Expr, Expr, Expr, Vec<Stmt>),
    /// `for ($kv : @map)`
    Each(Expr, Expr, Vec<Stmt>),
    Break(At),
    Continue(At),
    Return,
}

#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: Kind,
    pub at: At,
}

#[derive(Clone, Debug)]
pub enum Kind {
    Number(i64),
    Text(String),
    /// a builtin variable, or a constant's name
    Name(String),
    Var(String),
    Map(String, Vec<Expr>),
    /// `$1`
    Word(usize),
    /// `$#`
    Words,
    Call(String, Vec<Expr>),
    Unary(&'static str, Box<Expr>),
    /// `++` and `--`; whether it stands before its operand
    Step(&'static str, bool, Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Choice(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `.name` and `->name`
    Member(Box<Expr>, String),
    /// `$kv.0`
    Part(Box<Expr>, i64),
    Index(Box<Expr>, Box<Expr>),
    Cast(Type, Box<Expr>),
    Sizeof(Type),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    /// without `struct`
    pub name: String,
    pub is_struct: bool,
    pub pointers: usize,
}
