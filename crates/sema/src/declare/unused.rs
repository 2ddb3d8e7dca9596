// SPDX-License-Identifier: MIT
//! Variables that an alias of our own tapset offers and nobody takes, or only what is set anew: what sets them
//! is left out of the handler. Its values have no effect beside that.

use crate::declare::names::Names;
use std::collections::HashSet;
use trapless_syntax::ast::{AssignOp, Block, Expr, ExprKind, Stmt, StmtKind};
use trapless_syntax::visit::{self, Visit, VisitMut};

/// Arrays and statistics of a script, by their uses: a number or text of an alias is never meant by these names.
#[derive(Default)]
pub struct Collections(HashSet<String>);

impl Collections {
    fn note(&mut self, e: &Expr) {
        if let ExprKind::Ident(name) = &e.kind {
            self.0.insert(name.clone());
        }
    }

    /// What the alias calls so gets a name that no script can write.
    pub fn rename(&self, block: &mut Block) {
        struct Rename<'a>(&'a HashSet<String>);
        impl VisitMut for Rename<'_> {
            fn visit_expr(&mut self, e: &mut Expr) {
                match &mut e.kind {
                    ExprKind::Ident(name) if self.0.contains(name) => name.push('\''),
                    _ => {}
                }
                visit::walk_expr_mut(self, e);
            }
        }
        Rename(&self.0).visit_block(block);
    }
}

impl Visit for Collections {
    fn visit_expr(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Index { base, .. } | ExprKind::In { base, .. } => self.note(base),
            ExprKind::Stat { operand, .. } | ExprKind::Hist { operand, .. } => self.note(operand),
            ExprKind::Assign {
                op: AssignOp::Sample,
                target,
                ..
            } => self.note(target),
            _ => {}
        }
        visit::walk_expr(self, e);
    }

    fn visit_stmt(&mut self, s: &Stmt) {
        if let StmtKind::Foreach(f) = &s.kind {
            self.note(&f.base);
        }
        visit::walk_stmt(self, s);
    }
}

/// Take out what sets only names that are not wanted; what stays may want more of what is before it.
pub fn trim(block: &mut Block, wanted: &mut Names) {
    let mut kept: Vec<Stmt> = Vec::new();
    for mut s in std::mem::take(&mut block.stmts).into_iter().rev() {
        if !is_idle(&s, wanted) {
            inside(&mut s, wanted);
            kept.push(s);
        }
    }
    kept.reverse();
    block.stmts = kept;
}

/// What a body takes of what is before it: not what it has set itself by then, whatever way it came.
pub fn take(block: &Block, wanted: &mut Names) {
    block.stmts.iter().rev().for_each(|s| take_one(s, wanted));
}

fn take_one(s: &Stmt, wanted: &mut Names) {
    match &s.kind {
        StmtKind::Block(b) => take(b, wanted),
        StmtKind::If {
            cond,
            then,
            otherwise,
        } => {
            let mut instead = wanted.clone();
            take_one(then, wanted);
            otherwise.iter().for_each(|s| take_one(s, &mut instead));
            wanted.add(instead);
            wanted.visit_expr(cond);
        }
        StmtKind::Expr(e) => match set(e) {
            Some((name, value)) => {
                wanted.variables.remove(name);
                wanted.visit_expr(value);
            }
            None => wanted.visit_expr(e),
        },
        _ => visit::walk_stmt(wanted, s),
    }
}

fn inside(s: &mut Stmt, wanted: &mut Names) {
    match &mut s.kind {
        StmtKind::Block(b) => trim(b, wanted),
        StmtKind::If {
            cond,
            then,
            otherwise,
        } => {
            for branch in std::iter::once(then).chain(otherwise) {
                inside(branch, wanted);
            }
            wanted.visit_expr(cond);
        }
        _ => visit::walk_stmt(wanted, s),
    }
}

fn is_idle(s: &Stmt, wanted: &Names) -> bool {
    match &s.kind {
        StmtKind::Empty => true,
        StmtKind::Block(b) => b.stmts.iter().all(|s| is_idle(s, wanted)),
        StmtKind::If {
            then, otherwise, ..
        } => is_idle(then, wanted) && otherwise.iter().all(|s| is_idle(s, wanted)),
        StmtKind::Expr(e) => set(e).is_some_and(|(name, _)| !wanted.variables.contains(name)),
        _ => false,
    }
}

/// `name = value`
fn set(e: &Expr) -> Option<(&String, &Expr)> {
    match &e.kind {
        ExprKind::Assign {
            op: AssignOp::Set,
            target,
            value,
        } => match &target.kind {
            ExprKind::Ident(name) => Some((name, value)),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declare::loader::Loader;
    use trapless_syntax::ast::{Item, NodeIds};
    use trapless_syntax::{Diagnostics, Environment, MacroLibrary, SourceMap};

    fn body(text: &str) -> Block {
        let (mut map, ids) = (SourceMap::default(), NodeIds::default());
        let (env, macros) = (Environment::default(), MacroLibrary::default());
        let mut loader = Loader {
            map: &mut map,
            env: &env,
            macros: &macros,
            ids: &ids,
        };
        let text = format!("probe begin {{ {text} }}");
        let script = loader.parse("test", text, &mut Diagnostics::new());
        match script.items.into_iter().next() {
            Some(Item::Probe(p)) => p.body,
            _ => panic!("no probe"),
        }
    }

    #[test]
    fn only_what_is_wanted_stays() {
        let mut wanted = Names::default();
        wanted.variables.insert("c".to_string());
        let mut block = body("a = 1; b = a; x = 5; if (a) { c = b; y = 1 } if (x) z = 1");
        trim(&mut block, &mut wanted);
        assert_eq!(block.stmts.len(), 3);
        assert!(!wanted.variables.contains("x"));
    }

    #[test]
    fn what_a_body_sets_first_it_does_not_take() {
        let taken = |text: &str| {
            let mut wanted = Names::default();
            take(&body(text), &mut wanted);
            let mut names: Vec<String> = wanted.variables.into_iter().collect();
            names.sort();
            names.join(" ")
        };
        assert_eq!(taken("if (e) { a = t[1]; println(a) }"), "e t");
        assert_eq!(taken("if (e) a = 1; println(a)"), "a e");
        assert_eq!(taken("if (e) a = 1; else a = b; println(a)"), "b e");
        assert_eq!(taken("a = a + 1"), "a");
        assert_eq!(taken("while (e) a = 1; println(a)"), "a e");
        assert_eq!(taken("try { a = 1 } catch { } println(a)"), "a");
    }
}
