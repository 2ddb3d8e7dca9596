// SPDX-License-Identifier: MIT
//! Types of variables, arrays and functions, from their uses.
//!
//! Runs over all that is reached until nothing new is learned. Never complains: a
//! contradiction keeps what was learned first, and lowering, which sees every
//! expression with the final types, reports it.

use crate::declare::declarations::{Declarations, Scope};
use crate::declare::unit::Unit;
use crate::types::reached;
use std::collections::HashMap;
use trapless_syntax::ast::{
    AssignOp, BinOp, Block, Expr, ExprKind, Foreach, Function, FunctionBody, HistKind, Key,
    Literal, NumLit, Print, SortBy, StatOp, Stmt, StmtKind, Target, TargetBase, TypeName,
};
use trapless_syntax::format::{parse_format, Kind, Piece, Size};
use trapless_syntax::{FileId, Span};

/// Says that a value is a text.
pub const STRING: &str = "/* string */";

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum VTy {
    #[default]
    Unknown,
    Long,
    Str,
    Stats,
}

#[derive(Clone, Debug, Default)]
pub struct GlobalTy {
    /// `None`: nothing is known; empty: a scalar.
    pub keys: Option<Vec<VTy>>,
    pub value: VTy,
    /// Kinds of histogram that are drawn of it, each where it is first.
    pub hists: Vec<(HistKind, Span)>,
    /// Its @variance is read, or sorted by ...
    pub variance: bool,
    /// ... and read with these shifts; where none is written the others' holds.
    pub shifts: Vec<NumLit>,
}

#[derive(Debug, Default)]
pub struct Types {
    pub globals: Vec<GlobalTy>,
    pub locals: HashMap<Scope, HashMap<String, VTy>>,
    pub returns: Vec<VTy>,
}

impl Types {
    pub fn local(&self, scope: Scope, name: &str) -> VTy {
        let vars = self.locals.get(&scope);
        vars.and_then(|v| v.get(name)).copied().unwrap_or_default()
    }
}

pub fn infer(all: &Declarations, units: &[Unit]) -> Types {
    let mut types = Types {
        globals: all
            .globals
            .iter()
            .map(|g| declared_global(&g.item))
            .collect(),
        returns: all
            .functions
            .iter()
            .map(|f| declared_type(f.item.ret))
            .collect(),
        ..Types::default()
    };
    for (n, f) in all.functions.iter().enumerate() {
        let vars = types.locals.entry(Scope::Function(n)).or_default();
        for p in &f.item.params {
            vars.insert(p.name.name.clone(), declared_type(p.ty));
        }
    }
    let reached = reached::functions(all, units);
    loop {
        let mut pass = Pass {
            all,
            types: &mut types,
            scope: Scope::Unit(0),
            file: FileId(0),
            changed: false,
        };
        for n in reached.iter().copied() {
            let f = &all.functions[n];
            pass.function(n, &f.item, f.file);
        }
        for (n, u) in units.iter().enumerate() {
            pass.scope = Scope::Unit(n);
            pass.file = u.file;
            pass.block(&u.body);
        }
        if !pass.changed {
            return types;
        }
    }
}

fn declared_type(ty: Option<TypeName>) -> VTy {
    match ty {
        None => VTy::Unknown,
        Some(TypeName::Long) => VTy::Long,
        Some(TypeName::String) => VTy::Str,
    }
}

fn declared_global(g: &trapless_syntax::ast::Global) -> GlobalTy {
    let value = match &g.init {
        None => VTy::Unknown,
        Some(Literal::Number(_)) => VTy::Long,
        Some(Literal::String(_)) => VTy::Str,
    };
    GlobalTy {
        keys: g.init.as_ref().map(|_| Vec::new()),
        value,
        hists: Vec::new(),
        variance: false,
        shifts: Vec::new(),
    }
}

/// What an argument of a conversion must be; a `*` takes a number first.
pub fn format_args(format: &[u8]) -> Option<Vec<VTy>> {
    let mut wants = Vec::new();
    for piece in parse_format(format).ok()? {
        let Piece::Conversion(c) = piece else {
            continue;
        };
        for size in [&c.width, &c.precision] {
            if matches!(size, Size::Arg) {
                wants.push(VTy::Long);
            }
        }
        wants.push(if c.kind == Kind::String {
            VTy::Str
        } else {
            VTy::Long
        });
    }
    Some(wants)
}

struct Pass<'a> {
    all: &'a Declarations,
    types: &'a mut Types,
    scope: Scope,
    file: FileId,
    changed: bool,
}

/// Fill in what is not known yet.
fn learn(known: &mut VTy, ty: VTy, changed: &mut bool) -> VTy {
    if *known == VTy::Unknown && ty != VTy::Unknown {
        *known = ty;
        *changed = true;
    }
    *known
}

impl Pass<'_> {
    fn function(&mut self, n: usize, f: &Function, file: FileId) {
        self.scope = Scope::Function(n);
        self.file = file;
        if let FunctionBody::Script(body) = &f.body {
            self.block(body);
        }
    }

    fn block(&mut self, b: &Block) {
        for s in &b.stmts {
            self.stmt(s);
        }
    }

    fn stmt(&mut self, s: &Stmt) {
        match &s.kind {
            StmtKind::Block(b) => self.block(b),
            StmtKind::Expr(e) | StmtKind::Delete(e) => {
                self.expr(e, VTy::Unknown);
            }
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => {
                self.expr(cond, VTy::Long);
                self.stmt(then);
                if let Some(s) = otherwise {
                    self.stmt(s);
                }
            }
            StmtKind::While { cond, body } => {
                self.expr(cond, VTy::Long);
                self.stmt(body);
            }
            StmtKind::For {
                init,
                cond,
                step,
                body,
            } => {
                for (e, want) in [
                    (init, VTy::Unknown),
                    (cond, VTy::Long),
                    (step, VTy::Unknown),
                ] {
                    if let Some(e) = e {
                        self.expr(e, want);
                    }
                }
                self.stmt(body);
            }
            StmtKind::Foreach(f) => self.foreach(f),
            StmtKind::Return(Some(e)) => {
                if let Scope::Function(n) = self.scope {
                    let want = self.types.returns[n];
                    let ty = self.expr(e, want);
                    learn(&mut self.types.returns[n], ty, &mut self.changed);
                }
            }
            StmtKind::Try {
                body,
                message,
                handler,
            } => {
                self.block(body);
                if let Some(m) = message {
                    self.variable(&m.name, VTy::Str);
                }
                self.block(handler);
            }
            StmtKind::Empty
            | StmtKind::Return(None)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Next
            | StmtKind::EmbeddedC(_) => {}
        }
    }

    fn foreach(&mut self, f: &Foreach) {
        if let ExprKind::Ident(name) = &f.base.kind {
            if let Some(g) = self.global(name) {
                let mut keys = self.keys_of(g, f.keys.len());
                for (n, key) in f.keys.iter().enumerate() {
                    let known = keys.get(n).copied().unwrap_or_default();
                    let ty = self.variable(&key.name, known);
                    if let Some(k) = keys.get_mut(n) {
                        learn(k, ty, &mut self.changed);
                    }
                }
                self.keep_keys(g, keys);
                self.types.globals[g].variance |= matches!(
                    f.sort.map(|s| s.by),
                    Some(SortBy::Aggregate(StatOp::Variance))
                );
                if let Some(v) = &f.value {
                    let known = self.types.globals[g].value;
                    let ty = self.variable(
                        &v.name,
                        if known == VTy::Stats {
                            VTy::Unknown
                        } else {
                            known
                        },
                    );
                    learn(&mut self.types.globals[g].value, ty, &mut self.changed);
                }
            }
        } else {
            self.expr(&f.base, VTy::Unknown);
            for name in f.keys.iter().chain(&f.value) {
                self.variable(&name.name, VTy::Long);
            }
        }
        for key in f.slice.iter().flatten() {
            if let Key::Expr(e) = key {
                self.expr(e, VTy::Unknown);
            }
        }
        if let Some(limit) = &f.limit {
            self.expr(limit, VTy::Long);
        }
        self.stmt(&f.body);
    }

    /// Key types of a global; `arity` when nothing was known.
    fn keys_of(&mut self, g: usize, arity: usize) -> Vec<VTy> {
        match &self.types.globals[g].keys {
            Some(keys) => keys.clone(),
            None => {
                self.changed = true;
                vec![VTy::Unknown; arity]
            }
        }
    }

    /// Beside what an index within the keys has learned meanwhile: `[a["x"]] in a`.
    fn keep_keys(&mut self, g: usize, keys: Vec<VTy>) {
        let known = self.types.globals[g]
            .keys
            .get_or_insert_with(|| keys.clone());
        for (known, ty) in known.iter_mut().zip(keys) {
            learn(known, ty, &mut self.changed);
        }
    }

    fn global(&self, name: &str) -> Option<usize> {
        self.all.global_seen(name, self.file, self.scope)
    }

    /// A scalar global or a local.
    fn variable(&mut self, name: &str, want: VTy) -> VTy {
        if let Some(g) = self.global(name) {
            let global = &mut self.types.globals[g];
            if global.keys.is_none() && want != VTy::Unknown {
                global.keys = Some(Vec::new());
                self.changed = true;
            }
            return learn(&mut global.value, want, &mut self.changed);
        }
        let vars = self.types.locals.entry(self.scope).or_default();
        let known = vars.entry(name.to_string()).or_default();
        match want {
            VTy::Stats => *known,
            _ => learn(known, want, &mut self.changed),
        }
    }

    fn element(&mut self, name: &str, keys: &[Key], want: VTy) -> VTy {
        let Some(g) = self.global(name) else {
            for k in keys {
                if let Key::Expr(e) = k {
                    self.expr(e, VTy::Unknown);
                }
            }
            return VTy::Unknown;
        };
        let mut known = self.keys_of(g, keys.len());
        for (n, k) in keys.iter().enumerate() {
            if let Key::Expr(e) = k {
                let ty = self.expr(e, known.get(n).copied().unwrap_or_default());
                if let Some(k) = known.get_mut(n) {
                    learn(k, ty, &mut self.changed);
                }
            }
        }
        self.keep_keys(g, known);
        learn(&mut self.types.globals[g].value, want, &mut self.changed)
    }

    /// Look at both; what one tells helps the other.
    fn same(&mut self, a: &Expr, b: &Expr, want: VTy) -> VTy {
        let ta = self.expr(a, want);
        let tb = self.expr(b, if ta == VTy::Unknown { want } else { ta });
        if ta == VTy::Unknown && tb != VTy::Unknown {
            return self.expr(a, tb);
        }
        ta
    }

    fn expr(&mut self, e: &Expr, want: VTy) -> VTy {
        match &e.kind {
            ExprKind::Number(_)
            | ExprKind::Const(_)
            | ExprKind::Perf(_)
            | ExprKind::Enum { .. } => VTy::Long,
            ExprKind::Str(_) => VTy::Str,
            ExprKind::Ident(name) => self.variable(name, want),
            ExprKind::Unary(_, a) => {
                self.expr(a, VTy::Long);
                VTy::Long
            }
            ExprKind::Crement { target, .. } => {
                self.expr(target, VTy::Long);
                VTy::Long
            }
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b),
            ExprKind::Match { subject, .. } => {
                self.expr(subject, VTy::Str);
                VTy::Long
            }
            ExprKind::Ternary {
                cond,
                then,
                otherwise,
            } => {
                self.expr(cond, VTy::Long);
                self.same(then, otherwise, want)
            }
            ExprKind::Assign { op, target, value } => self.assign(*op, target, value, want),
            ExprKind::In { keys, base } => {
                if let ExprKind::Ident(name) = &base.kind {
                    self.element(name, keys, VTy::Unknown);
                } else {
                    self.expr(base, VTy::Unknown);
                }
                VTy::Long
            }
            ExprKind::Index { base, keys } => match &base.kind {
                ExprKind::Ident(name) => self.element(name, keys, want),
                _ => {
                    self.expr(base, VTy::Unknown);
                    VTy::Long
                }
            },
            ExprKind::Call { name, args } => self.call(&name.name, args, want),
            ExprKind::Print(p) => self.print(p),
            ExprKind::Stat { op, operand, param } => {
                self.expr(operand, VTy::Stats);
                if *op == StatOp::Variance {
                    self.variance(operand, param.as_ref());
                }
                VTy::Long
            }
            ExprKind::Hist { kind, operand } => {
                self.expr(operand, VTy::Stats);
                self.hist(kind, operand, e.span);
                VTy::Stats
            }
            ExprKind::Target(t) => self.target(t),
            ExprKind::Entry(e) => self.expr(e, want),
            ExprKind::Defined(_) | ExprKind::ProbeWrite(_) => VTy::Long,
            ExprKind::EnumName { value, .. } => {
                self.expr(value, VTy::Long);
                VTy::Str
            }
            ExprKind::Deref { size, addr, .. } => {
                self.expr(size, VTy::Long);
                self.expr(addr, VTy::Long);
                VTy::Long
            }
            ExprKind::Register { number, .. } => {
                self.expr(number, VTy::Long);
                VTy::Long
            }
            ExprKind::EmbeddedC(c) if c.code.contains(STRING) => VTy::Str,
            ExprKind::EmbeddedC(_) => VTy::Long,
            ExprKind::Error => VTy::Unknown,
        }
    }

    fn binary(&mut self, op: BinOp, a: &Expr, b: &Expr) -> VTy {
        if op == BinOp::Concat {
            self.expr(a, VTy::Str);
            self.expr(b, VTy::Str);
            return VTy::Str;
        }
        if op.is_comparison() {
            self.same(a, b, VTy::Unknown);
        } else {
            self.expr(a, VTy::Long);
            self.expr(b, VTy::Long);
        }
        VTy::Long
    }

    fn assign(&mut self, op: AssignOp, target: &Expr, value: &Expr, want: VTy) -> VTy {
        match op {
            AssignOp::Set => self.same(target, value, want),
            AssignOp::Op(BinOp::Concat) => {
                self.expr(target, VTy::Str);
                self.expr(value, VTy::Str);
                VTy::Str
            }
            AssignOp::Op(_) => {
                self.expr(target, VTy::Long);
                self.expr(value, VTy::Long);
                VTy::Long
            }
            AssignOp::Sample => {
                self.expr(target, VTy::Stats);
                self.expr(value, VTy::Long);
                VTy::Long
            }
        }
    }

    fn call(&mut self, name: &str, args: &[Expr], want: VTy) -> VTy {
        let mut found = self.all.overloads(name, args.len(), self.file);
        if found.is_empty() {
            // What is wrong with the call is told later.
            found.extend(self.all.functions_named(name, self.file).first());
        }
        if found.is_empty() {
            for a in args {
                self.expr(a, VTy::Unknown);
            }
        }
        let mut ty = want;
        for f in found {
            ty = self.overload(f, args, ty);
        }
        ty
    }

    /// One function that a call may run; gives the type of its result.
    fn overload(&mut self, f: usize, args: &[Expr], want: VTy) -> VTy {
        let all = self.all;
        for (n, a) in args.iter().enumerate() {
            let Some(param) = all.functions[f].item.params.get(n) else {
                self.expr(a, VTy::Unknown);
                continue;
            };
            let known = self.types.local(Scope::Function(f), &param.name.name);
            let ty = self.expr(a, known);
            let vars = self.types.locals.entry(Scope::Function(f)).or_default();
            learn(
                vars.entry(param.name.name.clone()).or_default(),
                ty,
                &mut self.changed,
            );
        }
        let ret = &mut self.types.returns[f];
        learn(ret, want, &mut self.changed)
    }

    fn print(&mut self, p: &Print) -> VTy {
        let wants = p
            .format
            .as_ref()
            .and_then(|f| format_args(&f.bytes))
            .unwrap_or_default();
        for (n, a) in p.args.iter().enumerate() {
            self.expr(a, wants.get(n).copied().unwrap_or_default());
        }
        if p.to_string {
            VTy::Str
        } else {
            VTy::Long
        }
    }

    /// The global whose statistic this is.
    fn statistic(&self, operand: &Expr) -> Option<usize> {
        match &operand.kind {
            ExprKind::Ident(name) => self.global(name),
            ExprKind::Index { base, .. } => self.statistic(base),
            _ => None,
        }
    }

    fn variance(&mut self, operand: &Expr, shift: Option<&NumLit>) {
        if let Some(g) = self.statistic(operand) {
            self.types.globals[g].variance = true;
            let shifts = &mut self.types.globals[g].shifts;
            shifts.extend(shift.filter(|s| !shifts.contains(s)).cloned());
        }
    }

    fn hist(&mut self, kind: &HistKind, operand: &Expr, span: Span) {
        if let Some(g) = self.statistic(operand) {
            let hists = &mut self.types.globals[g].hists;
            if !hists.iter().any(|(k, _)| same_hist(k, kind)) {
                hists.push((kind.clone(), span));
            }
        }
    }

    fn target(&mut self, t: &Target) -> VTy {
        use trapless_syntax::ast::{Access, Pretty};
        for a in &t.path {
            if let Access::Index(e) = a {
                self.expr(e, VTy::Long);
            }
        }
        match &t.base {
            TargetBase::Cast { operand, .. } => {
                self.expr(operand, VTy::Long);
            }
            TargetBase::Auto(e) => {
                self.expr(e, VTy::Long);
            }
            TargetBase::Var(name) if name.name.starts_with("$$") => return VTy::Str,
            _ => {}
        }
        match t.pretty {
            Pretty::No => VTy::Long,
            _ => VTy::Str,
        }
    }
}

/// The same histogram, wherever it is written.
pub fn same_hist(a: &HistKind, b: &HistKind) -> bool {
    match (a, b) {
        (HistKind::Log, HistKind::Log) => true,
        (
            HistKind::Linear { low, high, step },
            HistKind::Linear {
                low: l,
                high: h,
                step: s,
            },
        ) => (low.value, high.value, step.value) == (l.value, h.value, s.value),
        _ => false,
    }
}
