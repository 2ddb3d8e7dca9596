// SPDX-License-Identifier: MIT
//! Values at a function's entry, asked for on its way (`DW_OP_entry_value`): a probe of the entry, which only is there where
//! such a variable is used, keeps the register for the frame. A debugger looks at the caller's code instead, which often
//! does not tell; here what is kept is exact. An element is overwritten by the next call whose frame lies there.

use crate::ir::{
    Addr, BinOp, Expr, ExprKind, Global, GlobalId, GlobalKind, Handler, HandlerId, HandlerKind,
    MapValue, Part, Place, Probe, ProbeKind, Program, Reg, Stmt, StmtKind, TargetPlace, Ty,
    KEPT_ENTRIES,
};
use crate::points::process::around;
use crate::walk;
use crate::world::{Entered, World};
use std::collections::BTreeSet;
use std::sync::Arc;
use trapless_machine::Abi;
use trapless_syntax::Span;

/// The value in the frame at that address; an error where the call has begun before it was probed.
pub fn kept(world: &mut World, what: Entered, frame: Addr, span: Span) -> Addr {
    let known = world.entered.iter().position(|e| *e == what);
    let n = known.unwrap_or_else(|| {
        world.entered.push(what);
        world.entered.len() - 1
    });
    let map = GlobalId(world.own_globals + n as u32);
    let missing = format!(
        "what {} held at the function's entry is not known: this call began before that was probed",
        world.machine.abi.registers.name(what.reg.0)
    );
    let keys = keys(frame, span);
    let there = ExprKind::In {
        map,
        keys: keys.clone(),
    };
    let value = long(ExprKind::Read(Place::Element { map, keys }), span);
    let missing = value_of(Addr::Fail(missing), span);
    let picked = ExprKind::Ternary(
        Box::new(long(there, span)),
        Box::new(value),
        Box::new(missing),
    );
    Addr::Expr(Box::new(long(picked, span)))
}

/// A child has its parent's frames, and goes its own way.
fn keys(frame: Addr, span: Span) -> Vec<Expr> {
    vec![value_of(Addr::Process, span), value_of(frame, span)]
}

fn long(kind: ExprKind, span: Span) -> Expr {
    let ty = Ty::Long;
    Expr { ty, kind, span }
}

fn value_of(addr: Addr, span: Span) -> Expr {
    long(ExprKind::Target(Box::new(TargetPlace::Value(addr))), span)
}

/// The arrays, and the probes that fill those that are read.
pub fn add(program: &mut Program, world: &World, most: Option<u32>) {
    let Some(span) = program.handlers.first().map(|h| h.span) else {
        return;
    };
    let read = read_maps(program);
    let capacity = most.unwrap_or(KEPT_ENTRIES);
    for (n, e) in world.entered.iter().enumerate() {
        let map = GlobalId(program.globals.len() as u32);
        let is_read = read.contains(&map.0);
        program.globals.push(Global {
            name: format!("_entered_{n}"),
            kind: GlobalKind::Map {
                keys: vec![Ty::Long, Ty::Long],
                value: MapValue::Long,
                capacity: Some(if is_read { capacity } else { 1 }),
                sized: false,
                wrap: true,
            },
            variance: None,
            sharded: false,
            shown: false,
            pointer: false,
            span,
        });
        if is_read {
            add_probes(program, world, *e, map);
        }
    }
}

fn read_maps(program: &Program) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let bodies = program.handlers.iter().map(|h| &h.body);
    for body in bodies {
        walk::each_expr(body, &mut |e| {
            if let ExprKind::In { map, .. } = &e.kind {
                found.insert(map.0);
            }
        });
    }
    found
}

/// One for each process that a probe of the file is of.
fn add_probes(program: &mut Program, world: &World, e: Entered, map: GlobalId) {
    let Some(entry) = place_of(world, e) else {
        return;
    };
    let mut of: Vec<Probe> = Vec::new();
    for p in &program.probes {
        let ProbeKind::Site { process, image, .. } = &p.kind else {
            continue;
        };
        if *image == e.image && !of.iter().any(|o| o.kind.process() == *process) {
            of.push(p.clone());
        }
    }
    for p in of {
        let handler = HandlerId(program.handlers.len() as u32);
        let span = program.handlers[p.handler.0 as usize].span;
        program
            .handlers
            .push(keeper(e, map, span, &world.machine.abi));
        let kind = ProbeKind::Site {
            process: p.kind.process(),
            image: e.image,
            addr: entry.addr,
            parts: entry.parts.clone(),
            semaphore: None,
            nth: 0,
        };
        program.probes.push(Probe {
            kind,
            handler,
            condition: None,
            func: entry.func.clone().unwrap_or(p.func),
            ..p
        });
    }
}

/// Where a probe of the entry stands.
struct Entry {
    addr: u64,
    parts: Arc<[Part]>,
    /// The name by which a kernel finds it.
    func: Option<Arc<str>>,
}

fn place_of(world: &World, e: Entered) -> Option<Entry> {
    if let Some(Ok(debug)) = world.known_debug(e.image) {
        let found = debug.at(e.entry).ok()?;
        return Some(Entry {
            addr: found.offset,
            parts: Arc::default(),
            func: Some(found.function),
        });
    }
    let binary = world.binary(e.image)?;
    Some(Entry {
        addr: e.entry,
        parts: around(&binary, e.entry),
        func: None,
    })
}

fn keeper(e: Entered, map: GlobalId, span: Span, abi: &Abi) -> Handler {
    let frame = Addr::Binary(
        BinOp::Add,
        Box::new(Addr::Register(Reg(abi.registers.stack_pointer))),
        // What the call has put between the frame's address and the stack pointer.
        Box::new(Addr::Const(abi.pushed_by_call().into())),
    );
    let keys = keys(frame, span);
    let value = value_of(Addr::Register(e.reg), span);
    let keep = ExprKind::Assign(Place::Element { map, keys }, Box::new(value));
    let body = vec![Stmt {
        kind: StmtKind::Expr(long(keep, span)),
        span,
    }];
    Handler {
        needs_all_regs: true,
        ..Handler::new(HandlerKind::Site, body, span)
    }
}
