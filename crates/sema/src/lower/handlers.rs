// SPDX-License-Identifier: MIT
//! The handlers of all places of a probe: as few as there are differences between the places.

use super::{can_be_armed, lower_condition, lower_unit, Lowered, Shared};
use crate::declare::calls;
use crate::declare::unit::Unit;
use crate::hand_over;
use crate::ir::{self, Handler, HandlerId, Probe, ProbeKind, Program, Syscall};
use crate::points::{Place, SyscallPart};
use std::collections::HashMap;
use std::sync::Arc;
use trapless_syntax::diag::{Diagnostics, Tag};
use trapless_syntax::Span;

/// Handlers, each once however many places share it.
#[derive(Default)]
pub struct Handlers {
    pub list: Vec<Handler>,
    known: HashMap<String, HandlerId>,
    /// Units at returns of system calls.
    returns: Vec<usize>,
}

impl Handlers {
    fn add(&mut self, h: Handler, extra: &str) -> HandlerId {
        let text = format!("{h:?}{extra}");
        let next = HandlerId(self.list.len() as u32);
        let list = &mut self.list;
        *self.known.entry(text).or_insert_with(|| {
            list.push(h);
            next
        })
    }
}

/// Lower a unit's body for each of its places. Bodies that use no variable of the program are lowered
/// once for all. `group`: the unit and those that it stands for ([`calls::leaders`]).
pub fn lower_places(
    shared: &mut Shared,
    units: &[Unit],
    group: &[usize],
    places: Vec<Place>,
    handlers: &mut Handlers,
    program: &mut Program,
) {
    let leader = group[0];
    let uses = group.iter().map(|n| uses_of(&units[*n])).max();
    let uses = uses.unwrap_or(Uses::Nothing);
    let condition = lower_condition(shared, units, leader).map(|h| handlers.add(h, ""));
    // Of hundred thousands of places, it may be.
    let script: Arc<str> = shared.map.locate(units[leader].span).into();
    let name: Arc<str> = name_of(units, group).into();
    let none = places.is_empty();
    let mut done: HashMap<_, Ids> = HashMap::new();
    for place in hand_over::hand_over(places) {
        let at_syscall = place.syscall().is_some();
        let kind = (std::mem::discriminant(&place.kind), place.syscall());
        let shares = !place.is_callee()
            && match uses {
                Uses::Nothing => true,
                Uses::Name => at_syscall || place.is_linkage(),
                Uses::Names => at_syscall,
                Uses::Files => false,
            };
        let known = done.get(&kind).filter(|_| shares).cloned();
        let (handler, on_entry, call_data) = match known {
            Some(k) => k,
            None => {
                // One place shows the mistake; a thousand more would hide it.
                let Some(ids) = lower_group(shared, units, group, &place, handlers) else {
                    return;
                };
                if shares {
                    done.insert(kind, ids.clone());
                }
                ids
            }
        };
        let hierarchy = of_hierarchy(&place);
        program.probes.push(Probe {
            point: place.point,
            func: place.func,
            script: script.clone(),
            name: name.clone(),
            condition: condition.filter(|_| can_be_armed(&place.kind)),
            kind: probe_kind(place.kind, on_entry, call_data),
            handler,
            at_syscall,
            refusal: place.refusal,
            never: place.never,
            hierarchy,
        });
    }
    if none {
        // Nothing to attach to: the body's own mistakes are worth telling.
        let nowhere = Place {
            point: "".into(),
            func: "".into(),
            kind: ProbeKind::Begin { order: 0 },
            context: None,
            refusal: ir::Refusal::Nothing,
            never: true,
        };
        if uses == Uses::Nothing {
            lower_unit(shared, units, leader, &nowhere);
        }
    }
}

/// As SystemTap has it: such a point without a name has no place in one program alone.
fn of_hierarchy(place: &Place) -> bool {
    match place.kind {
        ProbeKind::Event { process, .. } => process.is_none(),
        ProbeKind::Site { process, .. } => process.is_none() && place.syscall().is_some(),
        _ => false,
    }
}

/// `pn()`; of several calls what they have in common.
fn name_of(units: &[Unit], group: &[usize]) -> String {
    let name = units[group[0]].name.clone().unwrap_or_default();
    let same = |n: &usize| units[*n].name.as_ref() == Some(&name);
    match group {
        [_] => name,
        _ if group.iter().all(same) => name,
        _ => format!("{}.*", name.split('.').next().unwrap_or_default()),
    }
}

/// A handler, that of its entry, and what the latter saves.
type Ids = (HandlerId, Option<HandlerId>, Vec<ir::Ty>);

/// The handler of a place; of several calls one that picks.
fn lower_group(
    shared: &mut Shared,
    units: &[Unit],
    group: &[usize],
    place: &Place,
    handlers: &mut Handlers,
) -> Option<Ids> {
    let number = |n: usize| units[n].points.first().and_then(calls::number);
    let part = place.syscall();
    if number(group[0]).is_none()
        && matches!(part, None | Some(SyscallPart::Entry | SyscallPart::Told))
    {
        let l = lower_unit(shared, units, group[0], place)?;
        return Some(add_handlers(l, handlers));
    }
    let mut called = Vec::new();
    for n in group.iter().filter(|_| part != Some(SyscallPart::Noted)) {
        let l = lower_unit(shared, units, *n, place)?;
        called.push((number(*n), add_handlers(l, handlers).0));
    }
    // Those of one number in their order.
    called.sort_by_key(|p| p.0);
    let span = units[group[0]].span;
    let syscall = match part? {
        SyscallPart::Noted => Syscall::Note,
        SyscallPart::Entry => Syscall::Entry(called),
        SyscallPart::Told => Syscall::Told(called),
        SyscallPart::Return => Syscall::Return(
            return_number(handlers, group[0], shared.diags, span)?,
            called,
        ),
    };
    let handler = Handler {
        syscall: Some(syscall),
        ..Handler::new(ir::HandlerKind::Site, Vec::new(), span)
    };
    Some((handlers.add(handler, ""), None, Vec::new()))
}

/// Of the script's probes of returns of system calls.
fn return_number(
    handlers: &mut Handlers,
    leader: usize,
    diags: &mut Diagnostics,
    span: Span,
) -> Option<u32> {
    let known = handlers.returns.iter().position(|l| *l == leader);
    let number = known.unwrap_or_else(|| {
        handlers.returns.push(leader);
        handlers.returns.len() - 1
    }) as u32;
    if number < ir::NOTED_FOR {
        return Some(number);
    }
    let message = format!(
        "more than {} probes of returns of system calls",
        ir::NOTED_FOR
    );
    diags
        .error(Tag::NotBuilt, span, message)
        .help("name several calls in one probe: syscall.{read,write}.return");
    None
}

fn add_handlers(l: Lowered, handlers: &mut Handlers) -> Ids {
    // The offsets of saved values are part of a handler.
    let extra = format!("{:?}", l.call_data);
    let on_entry = l.on_entry.map(|h| handlers.add(h, &extra));
    (handlers.add(l.handler, &extra), on_entry, l.call_data)
}

fn probe_kind(mut kind: ProbeKind, entry: Option<HandlerId>, saved: Vec<ir::Ty>) -> ProbeKind {
    if let ProbeKind::Return {
        on_entry,
        call_data,
        ..
    } = &mut kind
    {
        (*on_entry, *call_data) = (entry, saved);
    }
    kind
}

/// What of the traced program a body names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Uses {
    Nothing,
    /// `$$name`, and no other.
    Name,
    /// What the place tells of itself may be enough.
    Names,
    /// Types and variables, which each file has its own.
    Files,
}

fn uses_of(unit: &Unit) -> Uses {
    use trapless_syntax::ast::{Expr, ExprKind, TargetBase};
    use trapless_syntax::visit::{self, Visit};
    struct Look(Uses);
    impl Visit for Look {
        fn visit_expr(&mut self, e: &Expr) {
            let here = match &e.kind {
                ExprKind::Target(t) => match &t.base {
                    TargetBase::Var(v) if v.name == "$$name" => Uses::Name,
                    TargetBase::Var(_) => Uses::Names,
                    _ => Uses::Files,
                },
                ExprKind::Entry(_) | ExprKind::Defined(_) | ExprKind::Register { .. } => {
                    Uses::Names
                }
                _ => Uses::Nothing,
            };
            self.0 = self.0.max(here);
            visit::walk_expr(self, e);
        }
    }
    let mut look = Look(Uses::Nothing);
    visit::walk_block(&mut look, &unit.body);
    look.0
}
