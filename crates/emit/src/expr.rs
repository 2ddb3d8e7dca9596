// SPDX-License-Identifier: MIT
//! Expressions. Each is computed into a variable, in the order of the script;
//! the C compiler removes what is not needed.

use crate::body::{Body, Value};
use crate::layout::local_buckets;
use crate::stmt::stat_op;
use trapless_sema::ir::{
    BinOp, Expr, ExprKind, GlobalId, GlobalKind, MapValue, Place, StatOp, StatsKind, Ty, UnOp,
};
use trapless_sema::walk;
use trapless_syntax::span::Span;

impl Body<'_, '_> {
    /// For what it does; the value is not wanted.
    pub fn effect(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Crement { place, by, .. } if self.is_shard(place) => {
                self.shard_add(place, &by.to_string())
            }
            ExprKind::AssignOp(place, op @ (BinOp::Add | BinOp::Sub), value)
                if self.is_shard(place) =>
            {
                let v = self.value(value);
                let v = if *op == BinOp::Sub {
                    format!("tl_neg({v})")
                } else {
                    v
                };
                self.shard_add(place, &v);
            }
            ExprKind::Call { .. } => {
                let v = self.value(e);
                if v != "0" {
                    self.line(format!("(void){v};"));
                }
            }
            ExprKind::Command(_) => {
                self.value(e);
            }
            ExprKind::Print(p) if !p.to_string => {
                self.value(e);
            }
            _ => {
                let v = self.value(e);
                self.line(format!("(void){v};"));
            }
        }
    }

    fn is_shard(&self, place: &Place) -> bool {
        matches!(place, Place::Global(g) if self.unit.program.globals[g.0 as usize].sharded)
    }

    fn shard_add(&mut self, place: &Place, by: &str) {
        if let Place::Global(g) = place {
            let offset = self.unit.layout.slot(*g).offset;
            self.line(format!(
                "tl_count_add(run->env, run->block, {offset}, {by});"
            ));
        }
    }

    pub fn value(&mut self, e: &Expr) -> Value {
        match &e.kind {
            ExprKind::Long(n) => number(*n),
            ExprKind::Str(s) => format!("(&{})", self.unit.constant(s)),
            ExprKind::FuncName => {
                let s = self.string();
                self.call(format!("tl_probefunc(run, {s});"));
                s
            }
            ExprKind::Read(place) => self.read(place, e.span),
            ExprKind::Unary(op, a) => {
                let a = self.value(a);
                match op {
                    UnOp::Plus => a,
                    UnOp::Minus => self.long(format!("tl_neg({a})")),
                    UnOp::Not => self.long(format!("!{a}")),
                    UnOp::BitNot => self.long(format!("~{a}")),
                }
            }
            ExprKind::Binary(op, a, b) => {
                let at = self.operator_place(*op, a, b, e.span);
                let (a, b) = self.both(a, b);
                self.binary(*op, &a, &b, at)
            }
            ExprKind::Compare(op, a, b) => {
                let (a, b) = self.both(a, b);
                self.called(format!("tl_str_cmp({a}, {b}) {} 0", op.symbol()))
            }
            ExprKind::Concat(a, b) => {
                let (a, b) = self.both(a, b);
                let s = self.string();
                self.call(format!("tl_str_cat(run, {s}, {a}, {b});"));
                s
            }
            ExprKind::And(a, b) => self.logic("", a, b),
            ExprKind::Or(a, b) => self.logic("!", a, b),
            ExprKind::Ternary(c, a, b) => self.ternary(c, a, b),
            ExprKind::Assign(place, value) => {
                let keys = self.place_keys(place, e.span);
                let v = self.value(value);
                self.write(place, &keys, &v, e.span);
                v
            }
            ExprKind::AssignOp(place, op, value) => self.assign_op(place, *op, value, e),
            ExprKind::Crement { place, by, prefix } => self.crement(place, *by, *prefix, e.span),
            ExprKind::Sample {
                global,
                keys,
                value,
            } => self.sample(*global, keys, value, e.span),
            ExprKind::In { map, keys } => {
                let keys = self.keys(keys);
                self.called(format!("tl_map_has(run, &map{}, {keys})", map.0))
            }
            ExprKind::InSlice { map, slice } => self.in_slice(*map, slice, e.span),
            ExprKind::Call { functions, args } => self.function_call(functions, args, e),
            ExprKind::Stat { op, global, keys } => self.stat(*op, *global, keys, e.span),
            ExprKind::HistBucket {
                global,
                keys,
                bucket,
            } => {
                let s = self.statistic(*global, keys);
                let n = self.value(bucket);
                let hist = self.hist(*global);
                let linear = matches!(self.stats_kind(*global), StatsKind::Linear { .. });
                let name = if linear { "linear" } else { "log" };
                self.set_place(&format!("operator '@hist_{name}'"), e.span);
                let v = self.called(format!("tl_hist_bucket(run, {s}, {hist}, {n})"));
                self.check();
                v
            }
            ExprKind::HistBound {
                global,
                bucket,
                most,
            } => {
                let n = self.value(bucket);
                format!("tl_hist_bound({}, {n}, {most})", self.hist(*global))
            }
            ExprKind::Match {
                subject,
                negated,
                regex,
            } => {
                let s = self.value(subject);
                let not = if *negated { "!" } else { "" };
                self.called(format!("{not}tl_regex_match(run, &regex{regex}, {s})"))
            }
            ExprKind::Print(p) => self.print(p, e.span),
            ExprKind::Command(text) => {
                let number = self.unit.command(text);
                self.call(format!("tl_command(run, {number});"));
                "0".to_string()
            }
            ExprKind::CallData(n) => self.call_data_get(*n, e.ty),
            ExprKind::SaveCallData(n, value) => self.call_data_set(*n, value),
            ExprKind::Target(place) => self.target(place, e.span),
            ExprKind::TargetString(place) => {
                let addr = self.target(place, e.span);
                let s = self.string();
                self.call_text(format!(
                    "tl_user_string_quoted(run, {s}, (uint64_t){addr});"
                ));
                s
            }
            ExprKind::NameOf { value, names } => self.name_of(value, names),
            ExprKind::Shielded(p) => self.shielded(p),
            ExprKind::TargetBytes { addr, size, most } => {
                let (addr, size) = (self.address(addr, e.span), self.address(size, e.span));
                let s = self.string();
                self.call_text(format!(
                    "tl_user_buffer_quoted(run, {s}, (uint64_t){addr}, {size}, {});",
                    most.map_or("TL_MAXSTRING".to_string(), |n| n.to_string())
                ));
                s
            }
            ExprKind::FloatText(bits, size) => self.float_text(bits, *size),
            ExprKind::Elements(row) => self.elements(row, e.span),
            ExprKind::TargetAddress(addr) => self.address(addr, e.span),
            ExprKind::MemoryBytes(addr, size) => {
                let (addr, size) = self.both(addr, size);
                let s = self.string();
                self.set_place("identifier 'printf'", e.span);
                self.call(format!("tl_mem_bytes(run, {s}, (uint64_t){addr}, {size});"));
                self.check();
                s
            }
        }
    }

    /// `run->place`, for the message of an error.
    pub fn set_place(&mut self, what: &str, span: Span) {
        self.escapes = true;
        if !self.places {
            return;
        }
        let place = self.unit.place(what, span);
        self.line(format!("run->place = {place};"));
    }

    pub fn place_of_global(&mut self, g: GlobalId, span: Span) {
        let what = format!(
            "identifier '{}'",
            self.unit.program.globals[g.0 as usize].name
        );
        self.set_place(&what, span);
    }

    pub fn binary(&mut self, op: BinOp, a: &str, b: &str, span: Span) -> Value {
        let text = match op {
            BinOp::Add => format!("tl_add({a}, {b})"),
            BinOp::Sub => format!("tl_sub({a}, {b})"),
            BinOp::Mul => format!("tl_mul({a}, {b})"),
            BinOp::Shl => format!("tl_shl({a}, {b})"),
            BinOp::Shr => format!("tl_shr({a}, {b})"),
            BinOp::UShr => format!("tl_shru({a}, {b})"),
            BinOp::Div | BinOp::Mod => {
                let f = if op == BinOp::Div { "tl_div" } else { "tl_mod" };
                self.set_place(&format!("operator '{}'", op.symbol()), span);
                let v = self.called(format!("{f}(run, {a}, {b})"));
                self.check();
                return v;
            }
            // Both sides the same variable: compilers warn.
            BinOp::Eq | BinOp::Le | BinOp::Ge if a == b => "1".to_string(),
            BinOp::Ne | BinOp::Lt | BinOp::Gt if a == b => "0".to_string(),
            _ => format!("({a} {} {b})", op.symbol()),
        };
        self.long(text)
    }

    /// `a && b`; with `not` = "!" `a || b`: the right side only when needed.
    fn logic(&mut self, not: &str, a: &Expr, b: &Expr) -> Value {
        let a = self.value(a);
        let v = self.long(format!("!!{a}"));
        self.open(&format!("if ({not}{v})"));
        let b = self.value(b);
        self.line(format!("{v} = !!{b};"));
        self.close();
        v
    }

    fn ternary(&mut self, c: &Expr, a: &Expr, b: &Expr) -> Value {
        let c = self.value(c);
        let v = match a.ty {
            Ty::Long => self.long("0"),
            Ty::Str => self.string(),
        };
        for (head, side) in [(format!("if ({c})"), a), ("else".to_string(), b)] {
            self.open(&head);
            let x = self.value(side);
            match a.ty {
                Ty::Long => self.line(format!("{v} = {x};")),
                Ty::Str => self.call(format!("tl_str_set(run, {v}, {x});")),
            }
            self.close();
        }
        v
    }

    // ---- places ----

    /// What a place needs that is computed once: keys, or the address.
    fn place_keys(&mut self, place: &Place, span: Span) -> String {
        match place {
            Place::Element { keys, .. } => self.keys(keys),
            Place::Target(t) => self.target_key(t, span),
            _ => String::new(),
        }
    }

    /// The keys of an access, computed, as an array of `struct tl_value`.
    pub fn keys(&mut self, keys: &[Expr]) -> Value {
        let values: Vec<String> = keys
            .iter()
            .zip(self.values(keys))
            .map(|(k, v)| match k.ty {
                Ty::Long => format!("TL_LONG({v})"),
                Ty::Str => format!("TL_STR({v})"),
            })
            .collect();
        self.value_array(&values)
    }

    /// A value that later side effects do not change: a local is copied.
    pub fn kept(&mut self, e: &Expr) -> Value {
        let v = self.value(e);
        match (is_local(&v), e.ty) {
            (true, Ty::Long) => self.long(v),
            (true, Ty::Str) => {
                let s = self.string();
                self.call(format!("tl_str_set(run, {s}, {v});"));
                s
            }
            _ => v,
        }
    }

    /// Several values, from left to right.
    pub fn values(&mut self, list: &[Expr]) -> Vec<Value> {
        let mut out = Vec::new();
        for (n, e) in list.iter().enumerate() {
            out.push(match list[n + 1..].iter().any(sets_locals) {
                true => self.kept(e),
                false => self.value(e),
            });
        }
        out
    }

    fn both(&mut self, a: &Expr, b: &Expr) -> (Value, Value) {
        let a = match sets_locals(b) {
            true => self.kept(a),
            false => self.value(a),
        };
        (a, self.value(b))
    }

    /// Where the sign of a binary operator stands.
    fn operator_place(&self, op: BinOp, a: &Expr, b: &Expr, whole: Span) -> Span {
        let between = Span {
            lo: a.span.hi,
            hi: b.span.lo.max(a.span.hi),
            ..whole
        };
        match self.unit.map.text(between).find(op.symbol()) {
            Some(at) if a.span.file == whole.file => Span {
                lo: between.lo + at as u32,
                hi: between.lo + (at + op.symbol().len()) as u32,
                ..whole
            },
            _ => whole,
        }
    }

    fn map_of(&self, place: &Place) -> Option<u32> {
        match place {
            Place::Element { map, .. } => Some(map.0),
            _ => None,
        }
    }

    fn place_ty(&self, place: &Place) -> Ty {
        match place {
            Place::Local(l) => self.local_ty(*l),
            Place::Global(g) => match self.unit.program.globals[g.0 as usize].kind {
                GlobalKind::Str { .. } => Ty::Str,
                _ => Ty::Long,
            },
            Place::Element { map, .. } => match self.unit.program.globals[map.0 as usize].kind {
                GlobalKind::Map {
                    value: MapValue::Str,
                    ..
                } => Ty::Str,
                _ => Ty::Long,
            },
            Place::Target(_) => Ty::Long,
        }
    }

    fn read(&mut self, place: &Place, span: Span) -> Value {
        let keys = self.place_keys(place, span);
        self.read_keyed(place, &keys, span)
    }

    fn read_keyed(&mut self, place: &Place, keys: &str, span: Span) -> Value {
        match (place, self.place_ty(place)) {
            (Place::Local(l), _) => self.local(*l),
            (Place::Global(g), ty) => {
                let offset = self.unit.layout.slot(*g).offset;
                match ty {
                    Ty::Str => {
                        let s = self.string();
                        self.call(format!("tl_global_str_get(run, {offset}, {s});"));
                        s
                    }
                    Ty::Long if self.is_shard(place) => {
                        self.called(format!("tl_shard_get(run, {offset})"))
                    }
                    Ty::Long => self.long(format!("*tl_global_long(run, {offset})")),
                }
            }
            (Place::Element { map, .. }, Ty::Str) => {
                let s = self.string();
                self.call(format!("tl_map_get_str(run, &map{}, {keys}, {s});", map.0));
                s
            }
            (Place::Element { map, .. }, Ty::Long) => match self.one_long(*map) {
                true => {
                    let get = self.by_one("get");
                    let v = self.called(format!("{get}, &map{}, {keys}[0].l)", map.0));
                    if self.quick {
                        self.check(); // before anything is changed
                    }
                    v
                }
                false => self.called(format!("tl_map_get(run, &map{}, {keys})", map.0)),
            },
            (Place::Target(t), _) => self.target_at(t, keys, span),
        }
    }

    fn one_long(&self, map: GlobalId) -> bool {
        let g = &self.unit.program.globals[map.0 as usize];
        matches!(&g.kind, GlobalKind::Map { keys, .. } if keys[..] == [Ty::Long])
    }

    /// How a call begins that does it to an element with one number as its key.
    fn by_one(&self, what: &str) -> String {
        match (self.quick, self.rare) {
            (true, _) => format!("tl_quick_{what}1(run"),
            (_, true) => format!("tl_map_{what}1_slow(run"),
            _ => format!("tl_map_{what}1(run"),
        }
    }

    fn write(&mut self, place: &Place, keys: &str, v: &str, span: Span) {
        match (place, self.place_ty(place)) {
            (Place::Local(l), Ty::Long) => {
                let l = self.local(*l);
                if l != v {
                    self.line(format!("{l} = {v};"));
                }
            }
            (Place::Local(l), Ty::Str) => {
                let l = self.local(*l);
                self.call(format!("tl_str_set(run, {l}, {v});"));
            }
            (Place::Global(g), ty) => {
                let offset = self.unit.layout.slot(*g).offset;
                match ty {
                    Ty::Str => self.call(format!("tl_global_str_set(run, {offset}, {v});")),
                    Ty::Long if self.is_shard(place) => {
                        self.call(format!("tl_shard_set(run, {offset}, {v});"))
                    }
                    Ty::Long => self.line(format!("*tl_global_long(run, {offset}) = {v};")),
                }
            }
            (Place::Element { map, .. }, ty) => {
                self.place_of_global(*map, span);
                let n = map.0;
                match (ty, self.one_long(*map)) {
                    (Ty::Str, _) => {
                        self.call(format!("tl_map_set_str(run, &map{n}, {keys}, {v});"))
                    }
                    (_, true) => self.call(format!(
                        "{}, &map{n}, {keys}[0].l, {v});",
                        self.by_one("set")
                    )),
                    (_, false) => self.call(format!("tl_map_set(run, &map{n}, {keys}, {v});")),
                }
                self.check();
            }
            (Place::Target(t), _) => self.target_set(t, keys, v, span),
        }
    }

    fn assign_op(&mut self, place: &Place, op: BinOp, value: &Expr, e: &Expr) -> Value {
        let keys = self.place_keys(place, e.span);
        let add = matches!(op, BinOp::Add | BinOp::Sub);
        if let (Some(map), true) = (self.map_of(place), add) {
            let v = self.value(value);
            let d = if op == BinOp::Sub {
                format!("tl_neg({v})")
            } else {
                v
            };
            return self.map_add(map, &keys, &d, e.span);
        }
        // The right side first: it may change the place itself.
        let v = self.value(value);
        let old = self.read_keyed(place, &keys, e.span);
        let new = match op {
            BinOp::Concat => {
                let s = self.string();
                self.call(format!("tl_str_cat(run, {s}, {old}, {v});"));
                s
            }
            _ => self.binary(op, &old, &v, e.span),
        };
        self.write(place, &keys, &new, e.span);
        new
    }

    fn map_add(&mut self, map: u32, keys: &str, d: &str, span: Span) -> Value {
        self.place_of_global(GlobalId(map), span);
        let v = match self.one_long(GlobalId(map)) {
            true => self.called(format!(
                "{}, &map{map}, {keys}[0].l, {d})",
                self.by_one("add")
            )),
            false => self.called(format!("tl_map_add(run, &map{map}, {keys}, {d})")),
        };
        self.check();
        v
    }

    fn crement(&mut self, place: &Place, by: i64, prefix: bool, span: Span) -> Value {
        let keys = self.place_keys(place, span);
        if let Some(map) = self.map_of(place) {
            let new = self.map_add(map, &keys, &by.to_string(), span);
            return match prefix {
                true => new,
                false => self.long(format!("tl_sub({new}, {by})")),
            };
        }
        let old = self.read_keyed(place, &keys, span);
        let old = self.long(old);
        let new = self.long(format!("tl_add({old}, {by})"));
        self.write(place, &keys, &new, span);
        if prefix {
            new
        } else {
            old
        }
    }

    // ---- statistics ----

    fn sample(&mut self, global: GlobalId, keys: &[Expr], value: &Expr, span: Span) -> Value {
        let n = global.0;
        let offset = self.unit.layout.slot(global).offset;
        if self.holds_stats(global) {
            let keys = self.keys(keys);
            let v = self.value(value);
            self.place_of_global(global, span);
            match self.one_long(global) {
                true => self.call(format!(
                    "{}, &map{n}, {keys}[0].l, {v});",
                    self.by_one("stat_add")
                )),
                false => self.call(format!("tl_map_stat_add(run, &map{n}, {keys}, {v});")),
            }
            self.check();
            return v;
        }
        let v = self.value(value);
        match self.unit.program.globals[n as usize].sharded {
            true => self.call(format!(
                "tl_shard_stat_add(run->view, run->block, {offset}, &hist{n}, {v});"
            )),
            false => self.call(format!(
                "tl_stat_add(tl_global_stat(run, {offset}), &hist{n}, {v});"
            )),
        }
        v
    }

    fn stats_kind(&self, global: GlobalId) -> StatsKind {
        match self.unit.program.globals[global.0 as usize].kind {
            GlobalKind::Stats(kind)
            | GlobalKind::Map {
                value: MapValue::Stats(kind),
                ..
            } => kind,
            _ => StatsKind::Plain,
        }
    }

    pub fn hist(&self, global: GlobalId) -> String {
        match self.holds_stats(global) {
            true => format!("&map{}.hist", global.0),
            false => format!("&hist{}", global.0),
        }
    }

    /// A `const struct tl_stat *`; NULL where an array has no such element.
    pub fn statistic(&mut self, global: GlobalId, keys: &[Expr]) -> Value {
        let n = global.0;
        if self.holds_stats(global) {
            let keys = self.keys(keys);
            let name = format!("st{}", self.number());
            self.call(format!(
                "const struct tl_stat *{name} = tl_map_stat(run, &map{n}, {keys});"
            ));
            return name;
        }
        let offset = self.unit.layout.slot(global).offset;
        if !self.unit.program.globals[n as usize].sharded {
            return format!("tl_global_stat(run, {offset})");
        }
        let buckets = local_buckets(self.stats_kind(global));
        let name = format!("st{}", self.number());
        self.frame(64 + 8 * buckets as u32);
        self.line(format!("TL_STAT_LOCAL({name}, {buckets});"));
        self.call(format!(
            "tl_shard_stat_get(run, {offset}, &hist{n}, {name});"
        ));
        name
    }

    fn stat(&mut self, op: StatOp, global: GlobalId, keys: &[Expr], span: Span) -> Value {
        let s = self.statistic(global, keys);
        let fails = !matches!(op, StatOp::Count | StatOp::Sum);
        if fails {
            self.set_place(&format!("operator '{}'", op.name()), span);
        }
        let v = match op {
            StatOp::Variance => {
                let (hist, whole) = (self.hist(global), keys.is_empty());
                self.called(format!("tl_stat_variance(run, {s}, {hist}, {whole})"))
            }
            _ => self.called(format!("tl_stat_get(run, {s}, {})", stat_op(op))),
        };
        if fails {
            self.check();
        }
        v
    }

    // ---- calls ----

    fn call_data_at(&self, n: u32) -> u32 {
        self.call_data.get(n as usize).copied().unwrap_or(0)
    }

    fn call_data_get(&mut self, n: u32, ty: Ty) -> Value {
        let at = self.call_data_at(n);
        match ty {
            Ty::Long => self.long(format!("*(int64_t *)((char *)run->call->data + {at})")),
            Ty::Str => format!("((const struct tl_str *)((char *)run->call->data + {at}))"),
        }
    }

    fn call_data_set(&mut self, n: u32, value: &Expr) -> Value {
        let at = self.call_data_at(n);
        let v = self.value(value);
        match value.ty {
            Ty::Long => self.line(format!(
                "*(int64_t *)((char *)run->call->data + {at}) = {v};"
            )),
            Ty::Str => self.call(format!(
                "tl_str_set(run, (struct tl_str *)((char *)run->call->data + {at}), {v});"
            )),
        }
        v
    }
}

/// The C name of a local, which may change later; all other values stay.
fn is_local(v: &str) -> bool {
    v.starts_with('l')
}

/// Does computing it set a local?
fn sets_locals(e: &Expr) -> bool {
    let mut found = false;
    walk::inner_exprs(e, &mut |e| {
        found |= matches!(
            &e.kind,
            ExprKind::Assign(Place::Local(_), _)
                | ExprKind::AssignOp(Place::Local(_), ..)
                | ExprKind::Crement {
                    place: Place::Local(_),
                    ..
                }
        );
    });
    found
}

/// A 64-bit constant; the least one has no literal of its own in C.
pub(crate) fn number(n: i64) -> String {
    match n {
        i64::MIN => "INT64_MIN".to_string(),
        n if n < 0 => format!("({n}LL)"),
        n => format!("{n}LL"),
    }
}
