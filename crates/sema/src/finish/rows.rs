// SPDX-License-Identifier: MIT
//! The script's globals as rows, for readers of events: for each of them a handler that prints a line for each
//! element, and one that prints a line for each bucket of its histograms.

use crate::finish::made::{push, Writer};
use crate::ir::*;
use crate::walk;
use std::collections::HashMap;
use trapless_syntax::Span;

/// What the values in a row are called. All else in it are keys.
const VALUE: [&str; 1] = ["value"];
const STATISTIC: [&str; 5] = ["count", "min", "max", "sum", "avg"];
const BUCKET: [&str; 3] = ["low", "high", "count"];
const OPS: [StatOp; 5] = [
    StatOp::Count,
    StatOp::Min,
    StatOp::Max,
    StatOp::Sum,
    StatOp::Avg,
];

pub fn add(program: &mut Program) {
    let keys = KeyNames::of(program);
    let all = (0..program.globals.len()).map(|n| GlobalId(n as u32));
    let own = all.filter(|g| program.globals[g.0 as usize].shown);
    for g in own.collect::<Vec<_>>() {
        let rows = Rows::of(program, g, &keys);
        add_handler(program, &rows, &rows.name, rows.elements());
        if rows.has_histogram() {
            let name = format!("{}.buckets", rows.name);
            add_handler(program, &rows, &name, rows.buckets());
        }
    }
}

fn add_handler(program: &mut Program, rows: &Rows, name: &str, body: Vec<Stmt>) {
    let handler = Handler {
        locals: rows.locals(),
        budget: Budget::Unbounded,
        ..Handler::new(HandlerKind::Session, body, rows.made.span)
    };
    let func = rows.name.clone();
    push(program, handler, name, func, ProbeKind::Show);
}

/// Where the script names an element of an array first: its keys are called after what stands there.
struct KeyNames(HashMap<GlobalId, Vec<Span>>);

impl KeyNames {
    fn of(program: &Program) -> KeyNames {
        let mut found = HashMap::new();
        let mut note = |e: &Expr| {
            let (global, keys) = match &e.kind {
                ExprKind::Sample { global, keys, .. } | ExprKind::Stat { global, keys, .. } => {
                    (global, keys)
                }
                ExprKind::Read(p)
                | ExprKind::Assign(p, _)
                | ExprKind::AssignOp(p, ..)
                | ExprKind::Crement { place: p, .. } => match p {
                    Place::Element { map, keys } => (map, keys),
                    _ => return,
                },
                _ => return,
            };
            let spans = || keys.iter().map(|k| k.span).collect();
            found.entry(*global).or_insert_with(spans);
        };
        for h in &program.handlers {
            walk::each_expr(&h.body, &mut note);
        }
        for f in &program.functions {
            if let FunctionBody::Script(body) = &f.body {
                walk::each_expr(body, &mut note);
            }
        }
        KeyNames(found)
    }

    fn span(&self, g: GlobalId, key: usize) -> Option<Span> {
        self.0.get(&g)?.get(key).copied()
    }
}

struct Rows {
    made: Writer,
    global: GlobalId,
    name: String,
    kind: GlobalKind,
    pointer: bool,
    /// Each with the place of the script that it is called after.
    keys: Vec<(Ty, Span)>,
}

impl Rows {
    fn of(program: &Program, global: GlobalId, names: &KeyNames) -> Rows {
        let g = &program.globals[global.0 as usize];
        let types: &[Ty] = match &g.kind {
            GlobalKind::Map { keys, .. } => keys,
            _ => &[],
        };
        let span = |n| names.span(global, n).unwrap_or(g.span);
        Rows {
            made: Writer { span: g.span },
            global,
            name: g.name.clone(),
            kind: g.kind.clone(),
            pointer: g.pointer,
            keys: types
                .iter()
                .enumerate()
                .map(|(n, t)| (*t, span(n)))
                .collect(),
        }
    }

    fn statistic(&self) -> Option<StatsKind> {
        match self.kind {
            GlobalKind::Stats(kind) => Some(kind),
            GlobalKind::Map {
                value: MapValue::Stats(kind),
                ..
            } => Some(kind),
            _ => None,
        }
    }

    fn has_histogram(&self) -> bool {
        self.statistic().is_some_and(|k| k != StatsKind::Plain)
    }

    /// The keys, then a bucket's number and count.
    fn locals(&self) -> Vec<Local> {
        let keys = self.keys.iter().enumerate();
        let keys = keys.map(|(n, (ty, _))| (format!("k{n}"), *ty));
        let bucket = [("bucket".into(), Ty::Long), ("count".into(), Ty::Long)];
        let all = keys.chain(bucket);
        all.map(|(name, ty)| Local { name, ty }).collect()
    }

    fn bucket(&self) -> LocalId {
        LocalId(self.keys.len() as u32)
    }

    fn count(&self) -> LocalId {
        LocalId(self.keys.len() as u32 + 1)
    }

    fn key_values(&self) -> Vec<Expr> {
        let keys = self.keys.iter().enumerate();
        let read = |(n, (ty, span)): (usize, &(Ty, Span))| Expr {
            ty: *ty,
            kind: ExprKind::Read(Place::Local(LocalId(n as u32))),
            span: *span,
        };
        keys.map(read).collect()
    }

    fn long_of(&self, local: LocalId) -> Expr {
        let read = ExprKind::Read(Place::Local(local));
        self.made.expr(Ty::Long, read)
    }

    fn elements(&self) -> Vec<Stmt> {
        let line = match self.statistic() {
            Some(_) => self.statistic_line(),
            None => self.value_line(),
        };
        self.for_each_key(line)
    }

    fn buckets(&self) -> Vec<Stmt> {
        let bound = |most| {
            let bound = ExprKind::HistBound {
                global: self.global,
                bucket: Box::new(self.long_of(self.bucket())),
                most,
            };
            self.made.expr(Ty::Long, bound)
        };
        let count = self.long_of(self.count());
        let line = self.line(
            vec![bound(false), bound(true), count.clone()],
            "%d..%d: %d",
            &BUCKET,
        );
        let walk = Buckets {
            global: self.global,
            keys: self.key_values(),
            bucket: self.bucket(),
            count: Some(self.count()),
            limit: None,
            body: vec![self.only_if(count, line)],
            turn: self.made.span,
        };
        self.for_each_key(self.made.stmt(StmtKind::Buckets(walk)))
    }

    fn statistic_line(&self) -> Stmt {
        let keys = self.key_values();
        let value = |op| self.made.stat(op, self.global, &keys);
        let format = "@count=%d @min=%d @max=%d @sum=%d @avg=%d";
        let line = self.line(OPS.map(value).to_vec(), format, &STATISTIC);
        self.only_if(value(StatOp::Count), line)
    }

    fn value_line(&self) -> Stmt {
        let (place, value) = match &self.kind {
            GlobalKind::Map { value, .. } => (
                Place::Element {
                    map: self.global,
                    keys: self.key_values(),
                },
                *value,
            ),
            GlobalKind::Str { .. } => (Place::Global(self.global), MapValue::Str),
            _ => (Place::Global(self.global), MapValue::Long),
        };
        let (ty, format) = match value {
            MapValue::Str => (Ty::Str, "\"%s\""),
            _ if self.pointer => (Ty::Long, "%#x"),
            _ => (Ty::Long, "%d"),
        };
        let value = self.made.expr(ty, ExprKind::Read(place));
        self.line(vec![value], format, &VALUE)
    }

    /// `name[keys]=values`
    fn line(&self, values: Vec<Expr>, format: &str, names: &'static [&'static str]) -> Stmt {
        let word = |(ty, _): &(Ty, Span)| if *ty == Ty::Str { "\"%s\"" } else { "%d" };
        let words: Vec<&str> = self.keys.iter().map(word).collect();
        let keys = match words.is_empty() {
            true => String::new(),
            false => format!("[{}]", words.join(",")),
        };
        let mut args = self.key_values();
        args.extend(values);
        let format = format!("{}{keys}={format}\n", self.name);
        self.made.print_named(format, args, names)
    }

    fn only_if(&self, cond: Expr, then: Stmt) -> Stmt {
        self.made.stmt(StmtKind::If {
            cond,
            then: vec![then],
            otherwise: Vec::new(),
        })
    }

    fn for_each_key(&self, body: Stmt) -> Vec<Stmt> {
        if self.keys.is_empty() {
            return vec![body];
        }
        let walk = Foreach {
            map: self.global,
            slice: Vec::new(),
            keys: (0..self.keys.len()).map(|n| LocalId(n as u32)).collect(),
            value: None,
            sort: None,
            limit: None,
            body: vec![body],
            turn: self.made.span,
        };
        vec![self.made.stmt(StmtKind::Foreach(walk))]
    }
}
