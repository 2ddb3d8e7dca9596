// SPDX-License-Identifier: MIT
//! Walking the tree, to look or to change.
//!
//! A visitor overrides what it cares for and calls the `walk_*` function of
//! the same name to go on into the children.

use crate::ast::*;

macro_rules! visitor {
    ($trait:ident, $script:ident, $item:ident, $point:ident, $block:ident, $stmt:ident,
     $foreach:ident, $expr:ident, $target:ident, $keys:ident,
     ($($m:tt)*), $iter:ident) => {
        pub trait $trait {
            fn visit_item(&mut self, item: &$($m)* Item) {
                $item(self, item)
            }
            fn visit_point(&mut self, point: &$($m)* ProbePoint) {
                $point(self, point)
            }
            fn visit_block(&mut self, block: &$($m)* Block) {
                $block(self, block)
            }
            fn visit_stmt(&mut self, stmt: &$($m)* Stmt) {
                $stmt(self, stmt)
            }
            fn visit_expr(&mut self, expr: &$($m)* Expr) {
                $expr(self, expr)
            }
        }

        pub fn $script<V: $trait + ?Sized>(v: &mut V, script: &$($m)* Script) {
            for item in script.items.$iter() {
                v.visit_item(item);
            }
        }

        pub fn $item<V: $trait + ?Sized>(v: &mut V, item: &$($m)* Item) {
            match item {
                Item::Probe(probe) => {
                    for point in probe.points.$iter() {
                        v.visit_point(point);
                    }
                    v.visit_block(&$($m)* probe.body);
                }
                Item::Alias(alias) => {
                    for point in alias.points.$iter() {
                        v.visit_point(point);
                    }
                    for body in alias.prologue.$iter().chain(alias.epilogue.$iter()) {
                        v.visit_block(body);
                    }
                }
                Item::Function(function) => {
                    if let FunctionBody::Script(body) = &$($m)* function.body {
                        v.visit_block(body);
                    }
                }
                Item::Global(_) | Item::EmbeddedC(_) => {}
            }
        }

        pub fn $point<V: $trait + ?Sized>(v: &mut V, point: &$($m)* ProbePoint) {
            if let Some(condition) = &$($m)* point.condition {
                v.visit_expr(condition);
            }
        }

        pub fn $block<V: $trait + ?Sized>(v: &mut V, block: &$($m)* Block) {
            for stmt in block.stmts.$iter() {
                v.visit_stmt(stmt);
            }
        }

        pub fn $stmt<V: $trait + ?Sized>(v: &mut V, stmt: &$($m)* Stmt) {
            match &$($m)* stmt.kind {
                StmtKind::Empty
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Next
                | StmtKind::EmbeddedC(_) => {}
                StmtKind::Block(block) => v.visit_block(block),
                StmtKind::Expr(e) | StmtKind::Delete(e) => v.visit_expr(e),
                StmtKind::Return(value) => {
                    if let Some(e) = value {
                        v.visit_expr(e);
                    }
                }
                StmtKind::If { cond, then, otherwise } => {
                    v.visit_expr(cond);
                    v.visit_stmt(then);
                    if let Some(s) = otherwise {
                        v.visit_stmt(s);
                    }
                }
                StmtKind::While { cond, body } => {
                    v.visit_expr(cond);
                    v.visit_stmt(body);
                }
                StmtKind::For { init, cond, step, body } => {
                    for e in init.$iter().chain(cond.$iter()).chain(step.$iter()) {
                        v.visit_expr(e);
                    }
                    v.visit_stmt(body);
                }
                StmtKind::Foreach(foreach) => $foreach(v, foreach),
                StmtKind::Try { body, message: _, handler } => {
                    v.visit_block(body);
                    v.visit_block(handler);
                }
            }
        }

        pub fn $foreach<V: $trait + ?Sized>(v: &mut V, foreach: &$($m)* Foreach) {
            v.visit_expr(&$($m)* foreach.base);
            if let Some(keys) = &$($m)* foreach.slice {
                $keys(v, keys);
            }
            if let Some(limit) = &$($m)* foreach.limit {
                v.visit_expr(limit);
            }
            v.visit_stmt(&$($m)* foreach.body);
        }

        fn $keys<V: $trait + ?Sized>(v: &mut V, keys: &$($m)* [Key]) {
            for key in keys.$iter() {
                if let Key::Expr(e) = key {
                    v.visit_expr(e);
                }
            }
        }

        pub fn $expr<V: $trait + ?Sized>(v: &mut V, expr: &$($m)* Expr) {
            match &$($m)* expr.kind {
                ExprKind::Number(_)
                | ExprKind::Str(_)
                | ExprKind::Ident(_)
                | ExprKind::Const(_)
                | ExprKind::Perf(_)
                | ExprKind::Enum { .. }
                | ExprKind::EmbeddedC(_)
                | ExprKind::Error => {}
                ExprKind::Unary(_, e)
                | ExprKind::Entry(e)
                | ExprKind::Defined(e)
                | ExprKind::ProbeWrite(e)
                | ExprKind::Crement { target: e, .. }
                | ExprKind::Match { subject: e, .. }
                | ExprKind::Stat { operand: e, .. }
                | ExprKind::Hist { operand: e, .. }
                | ExprKind::EnumName { value: e, .. }
                | ExprKind::Register { number: e, .. } => v.visit_expr(e),
                ExprKind::Binary(_, a, b)
                | ExprKind::Assign { target: a, value: b, .. }
                | ExprKind::Deref { size: a, addr: b, .. } => {
                    v.visit_expr(a);
                    v.visit_expr(b);
                }
                ExprKind::Ternary { cond, then, otherwise } => {
                    v.visit_expr(cond);
                    v.visit_expr(then);
                    v.visit_expr(otherwise);
                }
                ExprKind::In { keys, base } => {
                    $keys(v, keys);
                    v.visit_expr(base);
                }
                ExprKind::Index { base, keys } => {
                    v.visit_expr(base);
                    $keys(v, keys);
                }
                ExprKind::Call { args, .. } => {
                    for e in args.$iter() {
                        v.visit_expr(e);
                    }
                }
                ExprKind::Print(print) => {
                    for e in print.args.$iter() {
                        v.visit_expr(e);
                    }
                }
                ExprKind::Target(target) => $target(v, target),
            }
        }

        pub fn $target<V: $trait + ?Sized>(v: &mut V, target: &$($m)* Target) {
            match &$($m)* target.base {
                TargetBase::Cast { operand, .. } => v.visit_expr(operand),
                TargetBase::Auto(e) => v.visit_expr(e),
                TargetBase::Var(_) | TargetBase::AtVar { .. } => {}
            }
            for access in target.path.$iter() {
                if let Access::Index(e) = access {
                    v.visit_expr(e);
                }
            }
        }
    };
}

visitor!(
    Visit,
    walk_script,
    walk_item,
    walk_point,
    walk_block,
    walk_stmt,
    walk_foreach,
    walk_expr,
    walk_target,
    walk_keys,
    (),
    iter
);
visitor!(
    VisitMut, walk_script_mut, walk_item_mut, walk_point_mut, walk_block_mut, walk_stmt_mut,
    walk_foreach_mut, walk_expr_mut, walk_target_mut, walk_keys_mut, (mut), iter_mut
);

/// Give every expression below a block a new id: for bodies that are copied,
/// as an alias's are.
pub fn refresh_ids(block: &mut Block, ids: &NodeIds) {
    struct Refresh<'a>(&'a NodeIds);
    impl VisitMut for Refresh<'_> {
        fn visit_expr(&mut self, expr: &mut Expr) {
            expr.id = self.0.fresh();
            walk_expr_mut(self, expr);
        }
    }
    Refresh(ids).visit_block(block);
}
