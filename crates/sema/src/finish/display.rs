// SPDX-License-Identifier: MIT
//! Globals that a script fills and never reads are shown when it ends, and with `--monitor` all of
//! them while it runs, each by a handler that is made here.

use crate::finish::made::{push, Writer};
use crate::finish::share::written_only;
use crate::ir::*;
use trapless_syntax::Span;

/// Add one `end` probe for each such global.
pub fn add_display(program: &mut Program) {
    for g in written_only(program) {
        // Behind the script's own.
        let kind = ProbeKind::End { order: i64::MAX };
        add(program, g, "end", kind, None);
    }
}

/// So many elements of an array are shown while the session runs, the largest first.
const A_FEW: i64 = 10;

/// Add what shows a global, for each of the script's own, and what puts all of them back.
pub fn add_monitor(program: &mut Program) {
    let all = (0..program.globals.len()).map(|n| GlobalId(n as u32));
    let own: Vec<GlobalId> = all
        .filter(|g| program.globals[g.0 as usize].shown)
        .collect();
    let Some(first) = own.first() else { return };
    for g in &own {
        add(program, *g, "monitor", ProbeKind::Show, Some(A_FEW));
    }
    let span = program.globals[first.0 as usize].span;
    let body = own.iter().map(|g| reset(program, *g, span)).collect();
    let handler = Handler::new(HandlerKind::Session, body, span);
    push(program, handler, "monitor", String::new(), ProbeKind::Reset);
}

fn reset(program: &Program, g: GlobalId, span: Span) -> Stmt {
    let w = Writer { span };
    let assign = |ty, kind| {
        let value = Box::new(w.expr(ty, kind));
        let assign = ExprKind::Assign(Place::Global(g), value);
        StmtKind::Expr(w.expr(ty, assign))
    };
    w.stmt(match &program.globals[g.0 as usize].kind {
        GlobalKind::Long { init } => assign(Ty::Long, ExprKind::Long(*init)),
        GlobalKind::Str { init } => assign(Ty::Str, ExprKind::Str(init.clone())),
        GlobalKind::Map { .. } => StmtKind::DeleteAll(g),
        GlobalKind::Stats(_) => StmtKind::Delete {
            global: g,
            keys: Vec::new(),
        },
    })
}

fn add(program: &mut Program, g: GlobalId, point: &str, kind: ProbeKind, most: Option<i64>) {
    let global = &program.globals[g.0 as usize];
    let (span, name) = (global.span, global.name.clone());
    let (locals, body) = show(program, g, span, most);
    let handler = Handler {
        locals,
        budget: Budget::Unbounded,
        ..Handler::new(HandlerKind::Session, body, span)
    };
    let func = match kind {
        ProbeKind::Show => name,
        _ => String::new(),
    };
    push(program, handler, point, func, kind);
}

/// Of all arguments: who reads events gets rows instead.
const NO_NAMES: [&str; 64] = [""; 64];

impl Writer {
    fn text(&self, format: String, args: Vec<Expr>) -> Stmt {
        let names = &NO_NAMES[..args.len()];
        self.print_named(format, args, names)
    }

    fn histogram(&self, global: GlobalId, keys: Vec<Expr>) -> Stmt {
        let print = Print {
            hist: Some(HistPrint {
                global,
                keys,
                println: false,
            }),
            ..Print::default()
        };
        self.stmt(StmtKind::Expr(self.expr(Ty::Long, ExprKind::Print(print))))
    }

    /// ` @count=... @min=... ` and the histogram, if one is kept.
    fn statistic(
        &self,
        name: String,
        name_args: Vec<Expr>,
        g: GlobalId,
        keys: &[Expr],
        kind: StatsKind,
    ) -> Vec<Stmt> {
        let ops = [
            StatOp::Count,
            StatOp::Min,
            StatOp::Max,
            StatOp::Sum,
            StatOp::Avg,
        ];
        let mut args = name_args.clone();
        let words: Vec<String> = ops.iter().map(|op| format!("{}=%d", op.name())).collect();
        args.extend(ops.iter().map(|op| self.stat(*op, g, keys)));
        let full = vec![self.text(format!("{name} {}\n", words.join(" ")), args)];
        let empty = vec![self.text(format!("{name} @count=0x0\n"), name_args)];
        let mut out = vec![self.stmt(StmtKind::If {
            cond: self.stat(StatOp::Count, g, keys),
            then: full,
            otherwise: empty,
        })];
        if kind != StatsKind::Plain {
            out.push(self.histogram(g, keys.to_vec()));
        }
        out
    }
}

/// `most`: of an array.
fn show(program: &Program, g: GlobalId, span: Span, most: Option<i64>) -> (Vec<Local>, Vec<Stmt>) {
    let w = Writer { span };
    let global = &program.globals[g.0 as usize];
    let name = &global.name;
    let scalar = |ty| w.expr(ty, ExprKind::Read(Place::Global(g)));
    match &global.kind {
        GlobalKind::Long { .. } => (
            Vec::new(),
            vec![w.text(
                format!("{name}=%{}\n", if global.pointer { "#x" } else { "d" }),
                vec![scalar(Ty::Long)],
            )],
        ),
        GlobalKind::Str { .. } => (
            Vec::new(),
            vec![w.text(format!("{name}=\"%s\"\n"), vec![scalar(Ty::Str)])],
        ),
        GlobalKind::Stats(kind) => (
            Vec::new(),
            w.statistic(name.clone(), Vec::new(), g, &[], *kind),
        ),
        GlobalKind::Map { keys, value, .. } => show_map(&w, g, name, keys, *value, most),
    }
}

fn show_map(
    w: &Writer,
    g: GlobalId,
    name: &str,
    keys: &[Ty],
    value: MapValue,
    most: Option<i64>,
) -> (Vec<Local>, Vec<Stmt>) {
    let local = |(n, ty): (usize, &Ty)| Local {
        name: format!("k{n}"),
        ty: *ty,
    };
    let locals = keys.iter().enumerate().map(local).collect();
    let read = |(n, ty): (usize, &Ty)| w.expr(*ty, ExprKind::Read(Place::Local(LocalId(n as u32))));
    let key_values: Vec<Expr> = keys.iter().enumerate().map(read).collect();
    let words: Vec<&str> = keys
        .iter()
        .map(|k| if *k == Ty::Str { "\"%s\"" } else { "%d" })
        .collect();
    let label = format!("{name}[{}]", words.join(","));
    let element = |ty| {
        let place = Place::Element {
            map: g,
            keys: key_values.clone(),
        };
        w.expr(ty, ExprKind::Read(place))
    };
    let line = |format: &str, ty| {
        let mut args = key_values.clone();
        args.push(element(ty));
        vec![w.text(format!("{label}={format}\n"), args)]
    };
    let body = match value {
        MapValue::Long => line("%d", Ty::Long),
        MapValue::Str => line("\"%s\"", Ty::Str),
        MapValue::Stats(kind) => {
            w.statistic(label.clone(), key_values.clone(), g, &key_values, kind)
        }
    };
    let walk = Foreach {
        map: g,
        slice: Vec::new(),
        keys: (0..keys.len()).map(|n| LocalId(n as u32)).collect(),
        value: None,
        sort: Some(Sort {
            by: SortBy::Value,
            descending: true,
        }),
        limit: most.map(|n| w.expr(Ty::Long, ExprKind::Long(n))),
        body,
        turn: w.span,
    };
    (locals, vec![w.stmt(StmtKind::Foreach(walk))])
}
