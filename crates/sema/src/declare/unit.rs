// SPDX-License-Identifier: MIT
//! A body of the script, with the points at which it runs: what probes are once their aliases are expanded.

use crate::declare::alias_variables::Offered;
use std::collections::HashSet;
use std::sync::Arc;
use trapless_syntax::ast::{Block, Expr, ProbePoint};
use trapless_syntax::{FileId, Span};

/// A body and the points at which it runs.
#[derive(Debug)]
pub struct Unit {
    pub body: Block,
    pub points: Vec<ProbePoint>,
    /// Of each point.
    pub turns: Vec<Turn>,
    /// Names are looked up as seen from here.
    pub file: FileId,
    pub span: Span,
    /// What the handler that is inside aliases writes to; `None`: there are none.
    pub written: Option<HashSet<String>>,
    /// `if (EXPR)`, which the body tests, too.
    pub condition: Option<Expr>,
    /// The outermost alias with what follows it, wildcards resolved.
    pub name: Option<String>,
    /// By the aliases around the handler.
    pub offered: Option<Arc<Offered>>,
}

/// Where a point, or the alias that it comes from, stands in a list that has `!`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Choice {
    pub list: u32,
    pub place: usize,
    pub sufficient: bool,
}

/// When a point is looked for, and what of it depends on others.
#[derive(Clone, Debug)]
pub struct Turn {
    pub at: u32,
    pub choices: Vec<Choice>,
}
