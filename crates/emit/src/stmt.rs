// SPDX-License-Identifier: MIT
//! Statements.

use crate::body::{Body, LoopLabels};
use std::collections::HashSet;
use trapless_sema::ir::{
    Buckets, Expr, ExprKind, Foreach, GlobalKind, LocalId, MapValue, Place, SortBy, StatOp, Stmt,
    StmtKind, Ty,
};
use trapless_sema::walk;
use trapless_syntax::lexer::is_keyword;
use trapless_syntax::span::Span;

impl Body<'_, '_> {
    pub fn stmts(&mut self, stmts: &[Stmt]) {
        for s in stmts {
            self.stmt(s);
        }
    }

    /// Statements of the body against MAXACTION; straight-line handlers that
    /// stay below it anyway need no count.
    pub fn start(&mut self, stmts: &[Stmt], always: bool) {
        if always || self.spends(stmts) {
            let n = count(stmts);
            self.escapes = true;
            let to = self.on_error.clone();
            self.line(format!("if (!tl_run_spend(run, {n})) goto {to};"));
        }
    }

    pub fn spends(&self, stmts: &[Stmt]) -> bool {
        let o = &self.unit.program.options;
        let max = match o.max_action_interruptible {
            0 => o.max_action,
            other => o.max_action.min(other),
        };
        count(stmts) >= max as usize || has_loops(stmts)
    }

    /// A block of its own: temporaries end with it.
    fn block(&mut self, head: &str, stmts: &[Stmt]) {
        self.open(head);
        self.stmts(stmts);
        self.close();
    }

    fn stmt(&mut self, s: &Stmt) {
        match &s.kind {
            StmtKind::Expr(e) => {
                self.open("");
                self.effect(e);
                self.close();
            }
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => {
                self.open("");
                let c = self.value(cond);
                self.block(&format!("if ({c})"), then);
                if !otherwise.is_empty() {
                    self.block("else", otherwise);
                }
                self.close();
            }
            StmtKind::Loop {
                cond,
                step,
                body,
                turn,
            } => self.repeat(cond.as_ref(), step.as_deref(), body, *turn),
            StmtKind::Foreach(f) => self.foreach(f, s),
            StmtKind::Buckets(b) => self.buckets(b),
            StmtKind::Return(value) => self.give(value.as_ref()),
            StmtKind::DeleteAll(g) => {
                let n = g.0;
                self.call(format!("tl_map_clear(run, &map{n});"));
            }
            StmtKind::DeleteSlice { map, slice } => self.delete_slice(*map, slice, s.span),
            StmtKind::Delete { global, keys } => self.delete(*global, keys),
            StmtKind::Break => {
                let label = self.loops.last_mut().map(|l| {
                    l.broken = true;
                    l.number
                });
                self.line(format!("goto end{};", label.unwrap_or(0)));
            }
            StmtKind::Continue => {
                let label = self.loops.last_mut().map(|l| {
                    l.continued = true;
                    l.number
                });
                self.line(format!("goto next{};", label.unwrap_or(0)));
            }
            StmtKind::Next => self.line("goto out;"),
            StmtKind::NextFunction => {
                self.line("*next = true;");
                self.line("goto out;");
            }
            StmtKind::Try {
                body,
                message,
                handler,
            } => self.attempt(body, *message, handler),
        }
    }

    fn repeat(&mut self, cond: Option<&Expr>, step: Option<&Expr>, body: &[Stmt], turn: Span) {
        let number = self.enter_loop();
        self.open("for (;;)");
        self.spend(1 + count(body), turn);
        if let Some(cond) = cond {
            let c = self.value(cond);
            self.line(format!("if (!{c}) break;"));
        }
        self.block("", body);
        self.leave_body(number);
        if let Some(step) = step {
            self.open("");
            self.effect(step);
            self.close();
        }
        self.close();
        self.leave_loop(number);
    }

    fn enter_loop(&mut self) -> u32 {
        let number = self.number();
        self.loops.push(LoopLabels {
            number,
            continued: false,
            broken: false,
        });
        number
    }

    fn leave_body(&mut self, number: u32) {
        if self.loops.last().is_some_and(|l| l.continued) {
            self.label(&format!("next{number}"));
        }
    }

    fn leave_loop(&mut self, number: u32) {
        if self.loops.pop().is_some_and(|l| l.broken) {
            self.label(&format!("end{number}"));
        }
    }

    /// One more turn of a loop, against MAXACTION.
    pub fn spend(&mut self, n: usize, span: Span) {
        self.frame_of_call();
        self.open(&format!("if (!tl_run_spend(run, {n}))"));
        let what = first_word(self.unit.map.text(span));
        self.set_place(&what, span);
        let to = self.on_error.clone();
        self.line(format!("goto {to};"));
        self.close();
    }

    fn foreach(&mut self, f: &Foreach, s: &Stmt) {
        let map = f.map.0;
        self.open("");
        let limit = match &f.limit {
            Some(e) => self.value(e),
            None => "TL_NO_LIMIT".to_string(),
        };
        let slice = self.slice_keys(&f.slice);
        let (sort, direction, op) = match &f.sort {
            None => ("TL_SORT_NONE".to_string(), 1, StatOp::Count),
            Some(s) => {
                let direction = if s.descending { -1 } else { 1 };
                match s.by {
                    SortBy::Key(n) => (format!("TL_SORT_KEY({n})"), direction, StatOp::Count),
                    SortBy::Value => ("TL_SORT_VALUE".to_string(), direction, StatOp::Count),
                    SortBy::Stat(op) => ("TL_SORT_VALUE".to_string(), direction, op),
                }
            }
        };
        let it = format!("it{}", self.number());
        self.frame(64);
        self.line(format!("struct tl_iter {it};"));
        self.place_of_global(f.map, s.span);
        let op = stat_op(op);
        self.call(format!(
            "tl_iter_begin(run, &{it}, &map{map}, {sort}, {direction}, {op}, {limit});"
        ));
        let number = self.enter_loop();
        self.open(&format!("while (tl_iter_next(&{it}))"));
        self.spend(1 + count(&f.body), f.turn);
        // SystemTap's limit counts those outside of the slice, too
        self.skip_others(&it, &slice);
        for (n, key) in f.keys.iter().enumerate() {
            let local = self.local(*key);
            match self.local_ty(*key) {
                Ty::Long => self.line(format!("{local} = tl_iter_long(&{it}, {n});")),
                Ty::Str => self.call(format!("tl_iter_str(&{it}, {n}, {local});")),
            }
        }
        if let Some(value) = f.value {
            let local = self.local(value);
            match self.local_ty(value) {
                Ty::Long => self.line(format!("{local} = tl_iter_value(&{it});")),
                Ty::Str => self.call(format!("tl_iter_value_str(&{it}, {local});")),
            }
        }
        self.block("", &f.body);
        self.leave_body(number);
        self.close();
        self.leave_loop(number);
        self.check();
        self.close();
    }

    fn buckets(&mut self, b: &Buckets) {
        self.open("");
        let limit = match &b.limit {
            Some(e) => self.value(e),
            None => "TL_NO_LIMIT".to_string(),
        };
        let s = self.statistic(b.global, &b.keys);
        self.line(format!("(void){s};")); // a body that reads no count
        let hist = self.hist(b.global);
        let (n, left) = (self.long("0"), self.long(limit));
        let number = self.enter_loop();
        self.open(&format!(
            "for (; {n} < ({hist})->buckets && {n} < {left}; {n}++)"
        ));
        self.spend(1 + count(&b.body), b.turn);
        let local = self.local(b.bucket);
        self.line(format!("{local} = {n};"));
        if let Some(value) = b.count {
            let local = self.local(value);
            self.line(format!("{local} = ({s}) ? ({s})->bucket[{n}] : 0;"));
        }
        self.block("", &b.body);
        self.leave_body(number);
        self.close();
        self.leave_loop(number);
        self.close();
    }

    fn give(&mut self, value: Option<&Expr>) {
        self.open("");
        if let Some(e) = value {
            let v = self.value(e);
            match self.ret {
                Some(Ty::Long) => self.line(format!("ret = {v};")),
                Some(Ty::Str) => self.call(format!("tl_str_set(run, STAP_RETVALUE, {v});")),
                None => self.line(format!("(void){v};")),
            }
        }
        self.line("goto out;");
        self.close();
    }

    fn delete(&mut self, global: trapless_sema::ir::GlobalId, keys: &[Expr]) {
        let n = global.0;
        let g = &self.unit.program.globals[n as usize];
        let slot = self.unit.layout.slot(global).clone();
        let offset = slot.offset;
        match (&g.kind, g.sharded) {
            (GlobalKind::Map { .. }, _) => {
                self.open("");
                let keys = self.keys(keys);
                self.call(format!("tl_map_delete(run, &map{n}, {keys});"));
                self.close();
            }
            (GlobalKind::Long { .. }, true) => {
                self.call(format!("tl_shard_set(run, {offset}, 0);"))
            }
            (GlobalKind::Long { .. }, false) => {
                self.line(format!("*tl_global_long(run, {offset}) = 0;"))
            }
            (GlobalKind::Str { .. }, _) => {
                let empty = self.unit.constant(b"");
                self.call(format!("tl_global_str_set(run, {offset}, &{empty});"));
            }
            (GlobalKind::Stats(_), true) => {
                self.call(format!("tl_shard_stat_clear(run, {offset});"))
            }
            (GlobalKind::Stats(_), false) => self.call(format!(
                "tl_stat_clear(tl_global_stat(run, {offset}), &hist{n});"
            )),
        }
    }

    fn attempt(&mut self, body: &[Stmt], message: Option<LocalId>, handler: &[Stmt]) {
        let number = self.number();
        let outer = std::mem::replace(&mut self.on_error, format!("catch{number}"));
        self.block("", body);
        self.check();
        self.on_error = outer;
        self.line(format!("goto tried{number};"));
        self.label(&format!("catch{number}"));
        let message = message.map_or("NULL".to_string(), |m| self.local(m));
        self.call(format!("tl_run_catch(run, {message});"));
        // abort() is not caught.
        self.check();
        self.block("", handler);
        self.label(&format!("tried{number}"));
    }

    /// Does an array hold statistics?
    pub fn holds_stats(&self, global: trapless_sema::ir::GlobalId) -> bool {
        let g = &self.unit.program.globals[global.0 as usize];
        matches!(
            g.kind,
            GlobalKind::Map {
                value: MapValue::Stats(_),
                ..
            }
        )
    }
}

/// Statements that one pass over them runs at most; loops inside count for themselves.
pub(crate) fn count(stmts: &[Stmt]) -> usize {
    let one = |s: &Stmt| match &s.kind {
        StmtKind::If {
            then, otherwise, ..
        } => 1 + count(then).max(count(otherwise)),
        StmtKind::Try { body, handler, .. } => 1 + count(body) + count(handler),
        _ => 1,
    };
    stmts.iter().map(one).sum()
}

/// How SystemTap calls the word that a text begins with.
fn first_word(text: &str) -> String {
    let of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '@');
    let end = text.find(|c| !of_name(c)).unwrap_or(text.len());
    let word = &text[..end];
    match word.chars().next() {
        Some(_) if is_keyword(word) => "keyword".to_string(),
        Some('0'..='9') => format!("number '{word}'"),
        Some('@') => format!("operator '{word}'"),
        Some(_) => format!("identifier '{word}'"),
        None if text.starts_with('"') => "string".to_string(),
        None => {
            let twice = ["++", "--"].iter().find(|o| text.starts_with(**o));
            let one = text.chars().next().map_or(0, char::len_utf8);
            format!("operator '{}'", twice.copied().unwrap_or(&text[..one]))
        }
    }
}

fn has_loops(stmts: &[Stmt]) -> bool {
    let mut found = false;
    walk::each_stmt(stmts, &mut |s| {
        found |= matches!(
            s.kind,
            StmtKind::Loop { .. }
                | StmtKind::Foreach(_)
                | StmtKind::Buckets(_)
                | StmtKind::DeleteSlice { .. }
        );
    });
    found
}

/// `enum tl_stat_op`
pub(crate) fn stat_op(op: StatOp) -> &'static str {
    match op {
        StatOp::Count => "TL_COUNT",
        StatOp::Sum => "TL_SUM",
        StatOp::Min => "TL_MIN",
        StatOp::Max => "TL_MAX",
        StatOp::Avg => "TL_AVG",
        StatOp::Variance => "TL_VARIANCE",
    }
}

/// Locals that the statements set.
pub(crate) fn assigned_locals(stmts: &[Stmt]) -> HashSet<LocalId> {
    let mut found = HashSet::new();
    walk::each_expr(stmts, &mut |e| match &e.kind {
        ExprKind::Assign(Place::Local(l), _)
        | ExprKind::AssignOp(Place::Local(l), ..)
        | ExprKind::Crement {
            place: Place::Local(l),
            ..
        } => {
            found.insert(*l);
        }
        _ => {}
    });
    walk::each_stmt(stmts, &mut |s| match &s.kind {
        StmtKind::Foreach(f) => found.extend(f.keys.iter().copied().chain(f.value)),
        StmtKind::Buckets(b) => found.extend([b.bucket].into_iter().chain(b.count)),
        StmtKind::Try { message, .. } => found.extend(*message),
        _ => {}
    });
    found
}
