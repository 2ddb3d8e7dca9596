// SPDX-License-Identifier: MIT
//! How handlers share globals: which of them are kept per thread, and which
//! locks every handler takes.

use crate::ir::{
    Access, BinOp, Expr, ExprKind, FunctionBody, GlobalId, GlobalKind, HandlerId, HandlerKind,
    Place, ProbeKind, Program, Stmt, StmtKind,
};
use crate::walk;
use std::collections::{BTreeMap, HashSet};

/// Decide and note both.
pub fn share(program: &mut Program) {
    let functions: Vec<Uses> = program
        .functions
        .iter()
        .map(|f| match &f.body {
            FunctionBody::Script(body) => Uses::of(body),
            FunctionBody::C(_) => Uses::default(),
            FunctionBody::Embedded(c) => Uses {
                touches: c.globals.iter().copied().collect(),
                ..Uses::default()
            },
        })
        .collect();
    let handlers: Vec<Uses> = program
        .handlers
        .iter()
        .map(|h| Uses::of(&h.body).with_callees(&functions))
        .collect();
    shard(program, &handlers);
    let settled = settled(program, &handlers);
    for (h, uses) in program.handlers.iter_mut().zip(&handlers) {
        let hot = is_hot(&h.kind);
        let free =
            |g: &GlobalId| program.globals[g.0 as usize].sharded || (hot && settled.contains(g));
        let locked = uses.all().filter(|(g, _)| !free(g));
        h.locks = locked.collect();
    }
    note_conditions(program, &handlers);
}

/// Those of the program's hits; the runner's own are few, and lock whatever they touch.
fn is_hot(kind: &HandlerKind) -> bool {
    !matches!(kind, HandlerKind::Session | HandlerKind::Condition)
}

/// Scalars that only `begin` writes: no hit comes before it is over, and none has to lock them.
fn settled(program: &Program, handlers: &[Uses]) -> HashSet<GlobalId> {
    let begins = handlers_of_begin(program);
    let mut changed = HashSet::new();
    for (n, uses) in handlers.iter().enumerate() {
        if !begins.contains(&HandlerId(n as u32)) {
            let writes = uses.all().filter(|(_, access)| *access == Access::Write);
            changed.extend(writes.map(|(g, _)| g));
        }
    }
    let globals = program.globals.iter().enumerate();
    let scalars =
        globals.filter(|(_, g)| matches!(g.kind, GlobalKind::Long { .. } | GlobalKind::Str { .. }));
    let scalars = scalars.map(|(n, _)| GlobalId(n as u32));
    scalars.filter(|g| !changed.contains(g)).collect()
}

/// Those that nothing else runs.
fn handlers_of_begin(program: &Program) -> HashSet<HandlerId> {
    let of = |begin: bool| {
        let probes = program.probes.iter();
        let some = probes.filter(move |p| matches!(p.kind, ProbeKind::Begin { .. }) == begin);
        some.map(|p| p.handler)
    };
    let mut all: HashSet<HandlerId> = of(true).collect();
    let called = program.handlers.iter().flat_map(|h| h.called());
    let conditions = program.probes.iter().filter_map(|p| p.condition);
    let others = of(false).chain(conditions).chain(called.map(|(_, h)| *h));
    others.for_each(|h| {
        all.remove(&h);
    });
    all
}

/// Who may change what the condition of a probe names: the runner looks at it then.
fn note_conditions(program: &mut Program, handlers: &[Uses]) {
    let asked: HashSet<HandlerId> = program.probes.iter().filter_map(|p| p.condition).collect();
    let asked = asked.iter().flat_map(|h| handlers[h.0 as usize].all());
    let named: HashSet<GlobalId> = asked.map(|(g, _)| g).collect();
    for (h, uses) in program.handlers.iter_mut().zip(handlers) {
        h.moves_conditions = uses
            .all()
            .any(|(g, access)| access == Access::Write && named.contains(&g));
    }
}

/// A scalar to which every hot access only adds has one copy a thread.
fn shard(program: &mut Program, handlers: &[Uses]) {
    let mut added = HashSet::new();
    let mut other = HashSet::new();
    for (h, uses) in program.handlers.iter().zip(handlers) {
        if is_hot(&h.kind) {
            added.extend(uses.adds.iter().copied());
            other.extend(uses.touches.keys().copied());
        }
    }
    for (n, g) in program.globals.iter_mut().enumerate() {
        let id = GlobalId(n as u32);
        let scalar = matches!(g.kind, GlobalKind::Long { .. } | GlobalKind::Stats(_));
        g.sharded = scalar && added.contains(&id) && !other.contains(&id);
    }
}

/// What one body does with globals.
#[derive(Clone, Default)]
struct Uses {
    /// Added to, the value not wanted.
    adds: HashSet<GlobalId>,
    /// Anything else.
    touches: BTreeMap<GlobalId, Access>,
    calls: Vec<usize>,
}

impl Uses {
    fn of(body: &[Stmt]) -> Uses {
        let mut uses = Uses {
            calls: walk::callees(body),
            ..Uses::default()
        };
        walk::each_stmt(body, &mut |s| uses.stmt(s));
        uses
    }

    fn with_callees(mut self, functions: &[Uses]) -> Uses {
        let mut seen = vec![false; functions.len()];
        let mut todo = self.calls.clone();
        while let Some(f) = todo.pop() {
            if std::mem::replace(&mut seen[f], true) {
                continue;
            }
            todo.extend(&functions[f].calls);
            self.adds.extend(&functions[f].adds);
            for (g, access) in &functions[f].touches {
                self.touch(*g, *access);
            }
        }
        self
    }

    fn all(&self) -> impl Iterator<Item = (GlobalId, Access)> + '_ {
        let mut all = self.touches.clone();
        for g in &self.adds {
            all.insert(*g, Access::Write);
        }
        all.into_iter()
    }

    fn touch(&mut self, g: GlobalId, access: Access) {
        let known = self.touches.entry(g).or_insert(access);
        if access == Access::Write {
            *known = Access::Write;
        }
    }

    fn stmt(&mut self, s: &Stmt) {
        match &s.kind {
            StmtKind::DeleteAll(g)
            | StmtKind::Delete { global: g, .. }
            | StmtKind::DeleteSlice { map: g, .. } => self.touch(*g, Access::Write),
            StmtKind::Foreach(f) => self.touch(f.map, Access::Read),
            StmtKind::Buckets(b) => self.touch(b.global, Access::Read),
            StmtKind::Loop {
                cond,
                step: Some(step),
                ..
            } => {
                cond.iter().for_each(|e| self.expr(e));
                self.effect(step);
                return;
            }
            StmtKind::Expr(e) => {
                self.effect(e);
                return;
            }
            _ => {}
        }
        for e in walk::own_exprs(s) {
            self.expr(e);
        }
    }

    /// An expression whose value nobody wants.
    fn effect(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Crement {
                place: Place::Global(g),
                ..
            } => {
                self.adds.insert(*g);
            }
            ExprKind::AssignOp(Place::Global(g), BinOp::Add | BinOp::Sub, v) => {
                self.adds.insert(*g);
                self.expr(v);
            }
            ExprKind::Sample {
                global,
                keys,
                value,
            } if keys.is_empty() => {
                self.adds.insert(*global);
                self.expr(value);
            }
            _ => self.expr(e),
        }
    }

    fn expr(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Read(p) => self.place(p, Access::Read),
            ExprKind::Assign(p, _)
            | ExprKind::AssignOp(p, ..)
            | ExprKind::Crement { place: p, .. } => self.place(p, Access::Write),
            // Adding to an array, or adding where the value is used.
            ExprKind::Sample { global, .. } => self.touch(*global, Access::Write),
            ExprKind::In { map: g, .. }
            | ExprKind::InSlice { map: g, .. }
            | ExprKind::Stat { global: g, .. }
            | ExprKind::HistBucket { global: g, .. } => self.touch(*g, Access::Read),
            ExprKind::Print(p) => {
                if let Some(h) = &p.hist {
                    self.touch(h.global, Access::Read);
                }
            }
            _ => {}
        }
        walk::each_child(e, &mut |c| self.expr(c));
    }

    fn place(&mut self, p: &Place, access: Access) {
        match p {
            Place::Global(g) => self.touch(*g, access),
            Place::Element { map, .. } => self.touch(*map, access),
            Place::Local(_) | Place::Target(_) => {}
        }
    }
}

/// Globals that are written and never read: they are shown at the end.
pub fn written_only(program: &Program) -> Vec<GlobalId> {
    let mut written = HashSet::new();
    let mut read = HashSet::new();
    let mut look = |uses: Uses| {
        written.extend(uses.adds.iter().copied());
        for (g, access) in &uses.touches {
            match access {
                Access::Write => written.insert(*g),
                Access::Read => read.insert(*g),
            };
        }
    };
    let mut reads = HashSet::new();
    let mut bodies: Vec<&[Stmt]> = program.handlers.iter().map(|h| &h.body[..]).collect();
    for f in &program.functions {
        if let FunctionBody::Script(body) = &f.body {
            bodies.push(body);
        }
    }
    for body in bodies {
        look(Uses::of(body));
        value_reads(body, &mut reads);
    }
    let ours = |g: &GlobalId| program.globals[g.0 as usize].shown;
    let shown =
        |g: &GlobalId| ours(g) && written.contains(g) && !read.contains(g) && !reads.contains(g);
    let all = (0..program.globals.len()).map(|n| GlobalId(n as u32));
    all.filter(shown).collect()
}

/// Globals whose value is used, also where it is changed (`x = a++`).
fn value_reads(body: &[Stmt], found: &mut HashSet<GlobalId>) {
    fn expr(e: &Expr, wanted: bool, found: &mut HashSet<GlobalId>) {
        let place = |p: &Place, found: &mut HashSet<GlobalId>| match p {
            Place::Global(g) => {
                found.insert(*g);
            }
            Place::Element { map, .. } => {
                found.insert(*map);
            }
            _ => {}
        };
        match &e.kind {
            ExprKind::Read(p) => place(p, found),
            ExprKind::Crement { place: p, .. }
            | ExprKind::AssignOp(p, ..)
            | ExprKind::Assign(p, _)
                if wanted =>
            {
                place(p, found)
            }
            ExprKind::In { map: g, .. }
            | ExprKind::InSlice { map: g, .. }
            | ExprKind::Stat { global: g, .. }
            | ExprKind::HistBucket { global: g, .. } => {
                found.insert(*g);
            }
            ExprKind::Print(p) => {
                if let Some(h) = &p.hist {
                    found.insert(h.global);
                }
            }
            _ => {}
        }
        walk::each_child(e, &mut |c| expr(c, true, found));
    }
    walk::each_stmt(body, &mut |s| {
        if let StmtKind::Foreach(f) = &s.kind {
            found.insert(f.map);
        }
        let plain = matches!(s.kind, StmtKind::Expr(_) | StmtKind::Loop { .. });
        for e in walk::own_exprs(s) {
            expr(e, !plain, found);
        }
    });
}
