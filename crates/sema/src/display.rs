// SPDX-License-Identifier: MIT
//! Globals that a script fills and never reads are shown when it ends, each
//! by a handler that is made here.

use crate::ir::*;
use crate::share::written_only;
use trapless_syntax::Span;

/// Add one `end` probe for each such global.
pub fn add_display(program: &mut Program) {
    for g in written_only(program) {
        let span = program.globals[g.0 as usize].span;
        let (locals, body) = show(program, g, span);
        let handler = HandlerId(program.handlers.len() as u32);
        program.handlers.push(Handler {
            locals,
            budget: Budget::Unbounded,
            ..Handler::new(HandlerKind::Session, body, span)
        });
        program.probes.push(Probe {
            point: "end".to_string(),
            func: String::new(),
            script: String::new(),
            name: String::new(),
            // Behind the script's own.
            kind: ProbeKind::End { order: i64::MAX },
            handler,
            condition: None,
            refusal: Refusal::Error,
            never: false,
        });
    }
}

struct Writer {
    span: Span,
}

impl Writer {
    fn expr(&self, ty: Ty, kind: ExprKind) -> Expr {
        Expr {
            ty,
            kind,
            span: self.span,
        }
    }

    fn stmt(&self, kind: StmtKind) -> Stmt {
        Stmt {
            kind,
            span: self.span,
        }
    }

    fn print(&self, format: String, args: Vec<Expr>) -> Stmt {
        let print = Print {
            format: format.into_bytes(),
            args,
            to_string: false,
            hist: None,
        };
        self.stmt(StmtKind::Expr(self.expr(Ty::Long, ExprKind::Print(print))))
    }

    fn histogram(&self, global: GlobalId, keys: Vec<Expr>) -> Stmt {
        let print = Print {
            format: Vec::new(),
            args: Vec::new(),
            to_string: false,
            hist: Some(HistPrint {
                global,
                keys,
                println: false,
            }),
        };
        self.stmt(StmtKind::Expr(self.expr(Ty::Long, ExprKind::Print(print))))
    }

    fn stat(&self, op: StatOp, global: GlobalId, keys: &[Expr]) -> Expr {
        let kind = ExprKind::Stat {
            op,
            global,
            keys: keys.to_vec(),
        };
        self.expr(Ty::Long, kind)
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
        let full = vec![self.print(format!("{name} {}\n", words.join(" ")), args)];
        let empty = vec![self.print(format!("{name} @count=0x0\n"), name_args)];
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

fn show(program: &Program, g: GlobalId, span: Span) -> (Vec<Local>, Vec<Stmt>) {
    let w = Writer { span };
    let global = &program.globals[g.0 as usize];
    let name = &global.name;
    let scalar = |ty| w.expr(ty, ExprKind::Read(Place::Global(g)));
    match &global.kind {
        GlobalKind::Long { .. } => (
            Vec::new(),
            vec![w.print(
                format!("{name}=%{}\n", if global.pointer { "#x" } else { "d" }),
                vec![scalar(Ty::Long)],
            )],
        ),
        GlobalKind::Str { .. } => (
            Vec::new(),
            vec![w.print(format!("{name}=\"%s\"\n"), vec![scalar(Ty::Str)])],
        ),
        GlobalKind::Stats(kind) => (
            Vec::new(),
            w.statistic(name.clone(), Vec::new(), g, &[], *kind),
        ),
        GlobalKind::Map { keys, value, .. } => show_map(&w, g, name, keys, *value),
    }
}

fn show_map(
    w: &Writer,
    g: GlobalId,
    name: &str,
    keys: &[Ty],
    value: MapValue,
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
        vec![w.print(format!("{label}={format}\n"), args)]
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
        limit: None,
        body,
    };
    (locals, vec![w.stmt(StmtKind::Foreach(walk))])
}
