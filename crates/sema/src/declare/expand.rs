// SPDX-License-Identifier: MIT
//! Probes with their aliases expanded: what remains are points of built-in
//! families, each with the whole body that runs there.

use crate::declare::alias_variables::Offered;
use crate::declare::alternatives::Numbers;
use crate::declare::calls;
use crate::declare::declarations::{Declarations, Declared, Origin};
use crate::declare::file_value;
use crate::declare::names::Names;
use crate::declare::unit::{Choice, Turn, Unit};
use crate::declare::unused::{self, Collections};
use crate::points::components::{self, text};
use crate::points::wildcards;
use std::sync::Arc;
use trapless_debuginfo::glob;
use trapless_syntax::ast::{
    Alias, BinOp, Block, Component, Expr, ExprKind, NodeIds, Probe, ProbePoint, Stmt, StmtKind,
};
use trapless_syntax::diag::{nearest, Diagnostics, Tag};
use trapless_syntax::visit::{refresh_ids, Visit};

/// What the library's aliases compute and the handler does not take.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unused {
    In,
    Out,
}

/// First components of the points that are not aliases.
pub const FAMILIES: &[&str] = &[
    "begin",
    "end",
    "error",
    "never",
    "timer",
    "process",
    "kernel",
    "module",
    "kprobe",
    "procfs",
    "perf",
    "netfilter",
    "java",
    "python2",
    "python3",
    "debuginfod",
    "lsm",
];

const MAX_DEPTH: usize = 50;

/// Expand every probe.
pub fn expand(
    all: &Declarations,
    unused: Unused,
    ids: &NodeIds,
    diags: &mut Diagnostics,
) -> Vec<Unit> {
    let mut units = Vec::new();
    let taken = Taken::of(all, unused);
    let mut numbers = Numbers::default();
    for p in all.library_probes.iter().chain(&all.probes) {
        // Points without aliases and conditions around them share one body.
        let mut plain: Vec<(ProbePoint, Turn)> = Vec::new();
        for (point, choice) in numbers.list(&p.points) {
            let mut found = Found {
                points: Vec::new(),
                numbers: &mut numbers,
            };
            let mut wrap = Wrap::default();
            wrap.choices.extend(choice);
            expand_point(all, point, &mut wrap, 0, &mut found, ids, diags);
            for (point, wrap) in found.points {
                let turn = numbers.turn(wrap.choices.clone());
                let own = point.condition.is_some() || calls::number(&point).is_some();
                match wrap.is_empty() && !own {
                    true => plain.push((point, turn)),
                    false => units.push(unit(&taken, p, vec![(point, turn)], &wrap, ids)),
                }
            }
        }
        if !plain.is_empty() {
            units.push(unit(&taken, p, plain, &Wrap::default(), ids));
        }
    }
    units
}

/// Bodies of the aliases around a point, outermost first.
#[derive(Clone, Default)]
struct Wrap<'a> {
    before: Vec<&'a Block>,
    after: Vec<&'a Block>,
    name: Option<String>,
    /// Aliases of our own tapset only.
    ours: bool,
    choices: Vec<Choice>,
}

struct Found<'a, 'n> {
    points: Vec<(ProbePoint, Wrap<'a>)>,
    numbers: &'n mut Numbers,
}

impl Wrap<'_> {
    fn is_empty(&self) -> bool {
        self.before.is_empty() && self.after.is_empty()
    }
}

fn expand_point<'a>(
    all: &'a Declarations,
    point: &ProbePoint,
    wrap: &mut Wrap<'a>,
    depth: usize,
    found: &mut Found<'a, '_>,
    ids: &NodeIds,
    diags: &mut Diagnostics,
) {
    let matching = aliases_for(all, point);
    if !wildcards::points(point).is_empty() {
        found.points.push((point.clone(), wrap.clone()));
    } else if matching.is_empty() {
        if known_family(point, all, diags) {
            found.points.push((point.clone(), wrap.clone()));
        }
        return;
    }
    if depth > MAX_DEPTH {
        diags
            .error(
                Tag::AliasRecursion,
                point.span,
                "this alias stands for itself",
            )
            .help("follow the aliases it is made of");
        return;
    }
    for (declared, name, rest) in matching {
        let alias = &declared.item;
        // One of many that match need not have what follows; nor, where `**` stands for all
        // that there is, be about a program of this machine.
        let names = &point.components[..point.components.len() - rest.len()];
        let wild = |c: &Component| wildcards::is_wild(&c.name.name);
        let all_there_is = names.first().is_some_and(|c| c.name.name == "**");
        let maybe = all_there_is || !rest.is_empty() && names.iter().any(wild);
        let mut inner = wrap.clone();
        inner
            .name
            .get_or_insert_with(|| text(name.components.iter().chain(rest)));
        inner.ours = declared.origin == Origin::Own && (wrap.is_empty() || wrap.ours);
        // A prologue runs inside the prologues around it: the innermost
        // alias is closest to the event, so its prologue comes first.
        if let Some(p) = &alias.prologue {
            inner.before.insert(0, p);
        }
        if let Some(e) = &alias.epilogue {
            inner.after.push(e);
        }
        for (to, choice) in found.numbers.list(&alias.points) {
            inner.choices.truncate(wrap.choices.len());
            inner.choices.extend(choice);
            // What our own tapset stands for is nobody's to look at: the user's words are.
            let shown = |c: &Component| Component {
                span: if inner.ours { point.span } else { c.span },
                ..c.clone()
            };
            let next = ProbePoint {
                components: to
                    .components
                    .iter()
                    .map(shown)
                    .chain(rest.iter().cloned())
                    .collect(),
                optional: point.optional || to.optional || maybe,
                sufficient: point.sufficient || to.sufficient,
                condition: both(&point.condition, &to.condition, ids),
                span: point.span,
            };
            expand_point(all, &next, &mut inner, depth + 1, found, ids, diags);
        }
    }
}

/// The conditions of a point and of the alias around it.
fn both(a: &Option<Expr>, b: &Option<Expr>, ids: &NodeIds) -> Option<Expr> {
    let (Some(a), Some(b)) = (a, b) else {
        return a.clone().or_else(|| b.clone());
    };
    Some(Expr {
        id: ids.fresh(),
        span: a.span,
        kind: ExprKind::Binary(BinOp::And, Box::new(a.clone()), Box::new(b.clone())),
    })
}

/// An alias, the name of it that is meant, and the components behind that.
type Match<'a, 'p> = (&'a Declared<Alias>, &'a ProbePoint, &'p [Component]);

/// Aliases whose whole name begins the point. What follows a name is of its points only
/// where no longer name takes it: `a.b` is not the `.b` of an alias `a`.
fn aliases_for<'a, 'p>(all: &'a Declarations, point: &'p ProbePoint) -> Vec<Match<'a, 'p>> {
    let mut found: Vec<Match> = Vec::new();
    for a in &all.aliases {
        // Under several names that match a wildcard it still is one.
        let behind = |name: &'a ProbePoint| Some((a, name, behind(point, name)?));
        found.extend(a.item.names.iter().find_map(behind));
    }
    let names: Vec<&ProbePoint> = found.iter().map(|m| m.1).collect();
    found.retain(|(_, name, rest)| {
        rest.is_empty() || !names.iter().any(|other| goes_on(name, other))
    });
    found
}

/// What of the point is behind an alias' name.
fn behind<'p>(point: &'p ProbePoint, name: &ProbePoint) -> Option<&'p [Component]> {
    let names = &name.components;
    if let Some((last, before)) = point.components.split_last() {
        // `a.**`: however many components there are.
        let many = last.name.name.contains("**") && last.arg.is_none();
        if many && names.len() > before.len() {
            let same = before.iter().zip(names).all(|(p, a)| same_component(p, a));
            let tail = text(names[before.len()..].iter());
            return (same && glob::matches(&last.name.name, &tail)).then_some(&[]);
        }
    }
    let mut pairs = point.components.get(..names.len())?.iter().zip(names);
    let same = pairs.all(|(p, a)| same_component(p, a));
    same.then(|| &point.components[names.len()..])
}

/// The other name is this one and more.
fn goes_on(name: &ProbePoint, other: &ProbePoint) -> bool {
    let mut pairs = name.components.iter().zip(&other.components);
    other.components.len() > name.components.len()
        && pairs.all(|(a, b)| a.name.name == b.name.name && same_arg(a, b))
}

fn same_component(p: &Component, a: &Component) -> bool {
    glob::matches(&p.name.name, &a.name.name) && (p.arg.is_none() || same_arg(p, a))
}

fn same_arg(a: &Component, b: &Component) -> bool {
    use trapless_syntax::ast::Literal::{Number, String};
    match (&a.arg, &b.arg) {
        (Some(Number(a)), Some(Number(b))) => a.value == b.value,
        (Some(String(a)), Some(String(b))) => a.bytes == b.bytes,
        (None, None) => true,
        _ => false,
    }
}

fn known_family(point: &ProbePoint, all: &Declarations, diags: &mut Diagnostics) -> bool {
    let Some(first) = point.components.first() else {
        return false;
    };
    let name = first.name.name.as_str();
    if FAMILIES.contains(&name) || crate::not_built::point(&components::words(point)).is_some() {
        return true;
    }
    if point.optional || point.sufficient {
        return false;
    }
    if unknown_member(point, all, diags) {
        return false;
    }
    let names = all
        .aliases
        .iter()
        .flat_map(|a| a.item.names.iter().filter_map(|n| n.components.first()))
        .map(|c| c.name.name.as_str());
    let near = nearest(name, FAMILIES.iter().copied().chain(names));
    diags
        .error(
            Tag::PointUnknown,
            first.span,
            format!("there is no probe point `{name}`"),
        )
        .help("probe points start with process, begin, end, timer ..., or the name of an alias")
        .help(near);
    false
}

/// Of aliases that begin with the same words none goes on like this.
fn unknown_member(point: &ProbePoint, all: &Declarations, diags: &mut Diagnostics) -> bool {
    let same = |name: &ProbePoint| {
        let pairs = name.components.iter().zip(&point.components);
        pairs
            .take_while(|(a, b)| a.name.name == b.name.name)
            .count()
    };
    let names = || all.aliases.iter().flat_map(|a| &a.item.names);
    let depth = names().map(same).max().unwrap_or(0);
    let next = |name: &ProbePoint| Some(name.components.get(depth)?.name.name.clone());
    let members: Vec<String> = names()
        .filter(|n| same(n) == depth)
        .filter_map(next)
        .collect();
    if depth == 0 || members.is_empty() {
        return false;
    }
    let words: Vec<&str> = point.components[..depth]
        .iter()
        .map(|c| c.name.name.as_str())
        .collect();
    let family = words.join(".");
    let Some(unknown) = point.components.get(depth) else {
        let message = format!("`{family}` is only the beginning of a probe point");
        let list = members.iter().take(5).map(|m| format!(".{m}"));
        let list = list.collect::<Vec<_>>().join(", ");
        diags
            .error(Tag::PointUnknown, point.span, message)
            .help(format!("go on, e.g. with {list}"));
        return true;
    };
    let name = &unknown.name.name;
    let near = nearest(name, members.iter().map(String::as_str));
    diags
        .error(
            Tag::PointUnknown,
            unknown.span,
            format!("`{family}` has no `{name}`"),
        )
        .help(format!(
            "trapless --dump-probe-aliases lists what there is of `{}`",
            words[0]
        ))
        .help(near.map(|near| format!("did you mean `{family}.{near}`?")));
    true
}

fn unit(
    taken: &Taken,
    p: &Probe,
    points: Vec<(ProbePoint, Turn)>,
    wrap: &Wrap,
    ids: &NodeIds,
) -> Unit {
    let (mut points, turns): (Vec<_>, Vec<_>) = points.into_iter().unzip();
    let as_stmt = |b: &Block| Stmt {
        kind: StmtKind::Block(b.clone()),
        span: b.span,
    };
    let mut stmts: Vec<Stmt> = wrap.before.iter().map(|b| as_stmt(b)).collect();
    if wrap.ours && taken.unused == Unused::Out {
        offer_what_is_taken(taken, p, &points, wrap, &mut stmts);
    }
    stmts.push(as_stmt(&p.body));
    stmts.extend(wrap.after.iter().map(|b| as_stmt(b)));
    let mut body = Block {
        stmts,
        span: p.body.span,
    };
    // Only a point that stands alone has a condition.
    let condition = points.first_mut().and_then(|p| p.condition.take());
    if let Some(cond) = &condition {
        body = guarded(cond.clone(), body);
    }
    if points.iter().any(file_value::is_file) {
        file_value::rewrite(&mut body, points.iter().all(file_value::is_written));
    }
    refresh_ids(&mut body, ids);
    let bodies = || wrap.before.iter().chain(&wrap.after).copied();
    let offered = wrap.name.as_ref().zip(points.first());
    let offered = offered.map(|(name, point)| Arc::new(Offered::by(name, bodies(), point)));
    Unit {
        body,
        offered,
        points,
        turns,
        file: p.span.file,
        span: p.span,
        written: (!wrap.is_empty()).then(|| crate::declare::assigned::names(&p.body)),
        condition,
        name: wrap.name.clone(),
    }
}

/// What a script does with names, wherever that is.
struct Taken {
    unused: Unused,
    globals: Vec<String>,
    collections: Collections,
}

impl Taken {
    fn of(all: &Declarations, unused: Unused) -> Taken {
        let mut collections = Collections::default();
        for probe in &all.probes {
            collections.visit_block(&probe.body);
        }
        let globals = all.globals.iter().map(|g| g.item.name.name.clone());
        Taken {
            unused,
            globals: globals.collect(),
            collections,
        }
    }
}

/// Without what the prologues compute for nobody.
fn offer_what_is_taken(
    taken: &Taken,
    p: &Probe,
    points: &[ProbePoint],
    wrap: &Wrap,
    stmts: &mut Vec<Stmt>,
) {
    let mut wanted = Names::default();
    unused::take(&p.body, &mut wanted);
    wrap.after.iter().for_each(|b| wanted.visit_block(b));
    let conditions = points.iter().filter_map(|p| p.condition.as_ref());
    conditions.for_each(|c| wanted.visit_expr(c));
    wanted.variables.extend(taken.globals.iter().cloned());
    let mut before = Block {
        stmts: std::mem::take(stmts),
        span: p.body.span,
    };
    taken.collections.rename(&mut before);
    unused::trim(&mut before, &mut wanted);
    *stmts = before.stmts;
}

/// `{ if (cond) BODY }`
fn guarded(cond: Expr, body: Block) -> Block {
    let span = body.span;
    let then = Stmt {
        kind: StmtKind::Block(body),
        span,
    };
    let kind = StmtKind::If {
        cond,
        then: Box::new(then),
        otherwise: None,
    };
    Block {
        stmts: vec![Stmt { kind, span }],
        span,
    }
}

#[cfg(test)]
mod tests {
    use trapless_debuginfo::glob::matches as glob;

    #[test]
    fn globs() {
        assert!(glob("sys*", "syscall"));
        assert!(glob("a?c*", "abcd"));
        assert!(!glob("a?c", "ac"));
        assert!(glob("*", ""));
    }
}
