// SPDX-License-Identifier: MIT
//! Quick halves of handlers (`tl_quick_enter()` in runtime/script.h says what they are): which handlers
//! can have one. All that can send it to the whole handler comes before all that changes anything.

use crate::body::Body;
use crate::handler::site_words;
use crate::text::Text;
use crate::{handler_name, Unit};
use trapless_sema::ir::{
    BinOp, Expr, ExprKind, Function, FunctionBody, GlobalId, GlobalKind, Handler, HandlerId,
    HandlerKind, MapValue, Place, Program, Stmt, StmtKind, TargetPlace, Ty, PURE,
};

/// What is inline in runtime/script.h, and has a quick form or needs none.
const INLINE: [&str; 4] = ["tl_arg", "tl_pid", "tl_target", "tl_tid"];

/// A function in C that calls nothing on its common way.
pub(crate) fn is_inline(code: &str) -> bool {
    let mut called = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let only = called.all(|w| !w.starts_with("tl_") || INLINE.contains(&w));
    only && code.contains(PURE) && !code.contains("STAP_ERROR")
}

impl Unit<'_> {
    /// Write the quick half of a handler that can have one, with the one lock that it needs.
    pub(crate) fn quick_half(
        &mut self,
        out: &mut Text,
        id: HandlerId,
        stacks: &[u32],
        lock: Option<u16>,
    ) {
        let h = &self.program.handlers[id.0 as usize];
        let mut body = Body::new(self, &h.locals, None, stacks);
        body.quick = true;
        body.places = false;
        body.on_error = "again".to_string();
        body.locals(0);
        body.stmts(&h.body);
        let text = body.finish();
        let (name, words) = (handler_name(id), site_words());
        let whole = format!("return {name}_whole(p, regs, self);");
        let give = |how: &str| lock.map(|l| format!("\ttl_quick_{how}(run, {l});"));
        let (unlock, give_back) = (give("unlock"), give("give_back"));
        out.line(format!("int {name}({words});"));
        out.line(format!("int {name}({words})"));
        out.line("{");
        out.line("\tstruct tl_run run_room, *const run = &run_room;");
        let take = lock.map_or(String::new(), |l| format!(" || !tl_quick_lock(run, {l})"));
        let enter = "tl_quick_enter(run, p->data, regs, self)";
        out.line(format!("\tif (!{enter}{take})"));
        out.line(format!("\t\t{whole}"));
        out.append(text);
        out.line("\tgoto out;");
        out.line("out:");
        out.line("\ttl_count_hit(run->block, run->env);");
        unlock.iter().for_each(|l| out.line(l));
        out.line("\treturn 0;");
        out.line("again: __attribute__((unused));");
        give_back.iter().for_each(|l| out.line(l));
        out.line(format!("\t{whole}"));
        out.line("}");
        out.blank();
    }
}

/// Can it have one, if it needs one lock at most?
pub(crate) fn fits(program: &Program, h: &Handler) -> bool {
    let mut look = Look {
        program,
        changed: false,
    };
    h.kind == HandlerKind::Site && !h.moves_conditions && h.syscall.is_none() && look.stmts(&h.body)
}

struct Look<'a> {
    program: &'a Program,
    /// Something other than locals has been changed.
    changed: bool,
}

impl Look<'_> {
    fn stmts(&mut self, stmts: &[Stmt]) -> bool {
        stmts.iter().all(|s| self.stmt(s))
    }

    fn stmt(&mut self, s: &Stmt) -> bool {
        match &s.kind {
            StmtKind::Expr(e) => self.effect(e),
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => {
                if !self.expr(cond) {
                    return false;
                }
                let before = self.changed;
                let fits = self.stmts(then);
                let after = std::mem::replace(&mut self.changed, before);
                let fits = fits && self.stmts(otherwise);
                self.changed |= after;
                fits
            }
            StmtKind::Next => true,
            _ => false,
        }
    }

    /// What is sharded is only added to where the value is not wanted.
    fn effect(&mut self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Crement { place, .. } if self.is_shard(place) => self.change(),
            ExprKind::AssignOp(place, BinOp::Add | BinOp::Sub, v) if self.is_shard(place) => {
                self.expr(v) && self.change()
            }
            _ => self.expr(e),
        }
    }

    fn expr(&mut self, e: &Expr) -> bool {
        if e.ty != Ty::Long {
            return false;
        }
        match &e.kind {
            ExprKind::Long(_) => true,
            ExprKind::Read(place) => self.keys(place) && self.read(place),
            ExprKind::Unary(_, a) => self.expr(a),
            ExprKind::Binary(op, a, b) => can_not_fail(*op) && self.expr(a) && self.expr(b),
            ExprKind::And(a, b) | ExprKind::Or(a, b) => self.expr(a) && self.expr(b),
            ExprKind::Ternary(c, a, b) => self.expr(c) && self.expr(a) && self.expr(b),
            ExprKind::Assign(place, v) => self.keys(place) && self.expr(v) && self.write(place),
            ExprKind::AssignOp(place, op, v) => {
                let fits = can_not_fail(*op) && self.keys(place) && self.expr(v);
                fits && self.read(place) && self.write(place)
            }
            ExprKind::Crement { place, .. } => {
                self.keys(place) && self.read(place) && self.write(place)
            }
            ExprKind::Sample {
                global,
                keys,
                value,
            } => {
                let fits = keys.iter().all(|k| self.expr(k)) && self.expr(value);
                let found = keys.is_empty() || self.finds(*global, true);
                fits && found && self.change()
            }
            ExprKind::Call { functions, args } => {
                let f = |n: usize| &self.program.functions[functions[n].0 as usize];
                let inline = functions.len() == 1 && calls_nothing(f(0));
                inline && args.iter().all(|a| self.expr(a)) && !self.changed
            }
            ExprKind::Target(place) => matches!(**place, TargetPlace::Register { .. }),
            _ => false,
        }
    }

    fn change(&mut self) -> bool {
        self.changed = true;
        true
    }

    fn keys(&mut self, place: &Place) -> bool {
        match place {
            Place::Element { keys, .. } => keys.iter().all(|k| self.expr(k)),
            _ => true,
        }
    }

    fn read(&self, place: &Place) -> bool {
        match place {
            Place::Local(_) => true,
            Place::Global(g) => self.is_plain(*g),
            Place::Element { map, .. } => self.finds(*map, false),
            Place::Target(_) => false,
        }
    }

    fn write(&mut self, place: &Place) -> bool {
        match place {
            Place::Local(_) => true,
            _ => self.read(place) && self.change(),
        }
    }

    /// An element of an array with one number as its key, which may not be there.
    fn finds(&self, map: GlobalId, statistic: bool) -> bool {
        let GlobalKind::Map { keys, value, .. } = &self.program.globals[map.0 as usize].kind else {
            return false;
        };
        let is_kind = match value {
            MapValue::Long => !statistic,
            MapValue::Stats(_) => statistic,
            MapValue::Str => false,
        };
        is_kind && keys[..] == [Ty::Long] && !self.changed
    }

    fn is_plain(&self, g: GlobalId) -> bool {
        let g = &self.program.globals[g.0 as usize];
        matches!(g.kind, GlobalKind::Long { .. }) && !g.sharded
    }

    fn is_shard(&self, place: &Place) -> bool {
        matches!(place, Place::Global(g) if self.program.globals[g.0 as usize].sharded)
    }
}

fn can_not_fail(op: BinOp) -> bool {
    !matches!(op, BinOp::Div | BinOp::Mod | BinOp::Concat)
}

fn calls_nothing(f: &Function) -> bool {
    matches!(&f.body, FunctionBody::C(code) if is_inline(code)) && !f.says_next
}
