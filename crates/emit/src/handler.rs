// SPDX-License-Identifier: MIT
//! Handlers: the C function of one, around its body.

use crate::body::Body;
use crate::text::Text;
use crate::{handler_name, layout, quick, regex, EmitError, HandlerFacts, Unit};
use trapless_machine::Machine;
use trapless_sema::ir::{Budget, Handler, HandlerId, HandlerKind, Options, ProbeKind, Syscall};

/// What the private stack of a thread leaves for handlers.
const STACK_LIMIT: u32 = 48 << 10;
/// `struct tl_run`.
const RUN_STACK: u32 = 360;
/// Parameters, behind the first one.
const WORDS: &str = "struct tl_regs *regs, struct tl_thread *self";
/// As include/trapless/probe.h has it for `data_size`.
const CALL_DATA_LIMIT: u32 = 2048;

/// The words of a handler that depend on where it stands.
struct Frame {
    ret: &'static str,
    /// First parameter.
    first: &'static str,
    /// How it is entered where that is inline.
    enter: &'static str,
    /// When it did nothing.
    nothing: &'static str,
    end: &'static str,
}

const SITE: Frame = Frame {
    ret: "int",
    first: "struct tl_probe *p",
    enter: "tl_run_enter(run, p->data",
    nothing: "return 0;",
    end: "return 0;",
};

fn frame(kind: HandlerKind) -> Frame {
    match kind {
        HandlerKind::Site | HandlerKind::Session => SITE,
        // A call whose values were not saved is none for the return handler.
        HandlerKind::Entry => Frame {
            first: "struct tl_ret_call *c",
            enter: "tl_run_enter_call(run, c",
            nothing: "return 1;",
            end: "return skip;",
            ..SITE
        },
        HandlerKind::Return => Frame {
            ret: "void",
            first: "struct tl_ret_call *c",
            enter: "tl_run_enter_call(run, c",
            nothing: "return;",
            end: "return;",
        },
        HandlerKind::Condition => Frame {
            end: "return off;",
            ..SITE
        },
    }
}

impl Unit<'_> {
    /// Offsets of the `@entry` values that a handler saves or reads.
    fn call_data(&self, id: HandlerId) -> Result<Vec<u32>, EmitError> {
        for p in &self.program.probes {
            let ProbeKind::Return {
                on_entry,
                call_data,
                ..
            } = &p.kind
            else {
                continue;
            };
            if p.handler == id || *on_entry == Some(id) {
                let (offsets, bytes) = layout::call_data(call_data, self.layout.max_string);
                return match bytes > CALL_DATA_LIMIT {
                    true => Err(EmitError::CallDataTooLarge {
                        bytes,
                        limit: CALL_DATA_LIMIT,
                        span: self.program.handlers[id.0 as usize].span,
                    }),
                    false => Ok(offsets),
                };
            }
        }
        Ok(Vec::new())
    }

    pub(crate) fn handler(
        &mut self,
        out: &mut Text,
        id: HandlerId,
        stacks: &[u32],
    ) -> Result<HandlerFacts, EmitError> {
        let h = &self.program.handlers[id.0 as usize];
        if let Some(syscall) = &h.syscall {
            at_syscall(out, id, syscall, self.program.options.machine);
            return Ok(HandlerFacts { stack: 0 });
        }
        let offsets = self.call_data(id)?;
        let locks = self.layout.locks(&h.locks);
        let is_asked = h.kind == HandlerKind::Condition;
        let timed = self.program.options.timing && h.kind != HandlerKind::Entry && !is_asked;
        let quick = !timed && locks.len() < 2 && quick::fits(self.program, h);
        let mut body = Body::new(self, &h.locals, None, stacks);
        let quick = quick && !body.spends(&h.body);
        body.rare = quick || in_runner(h.kind);
        body.call_data = offsets;
        body.locals(0);
        body.start(&h.body, false);
        let (early, rest) = h.body.split_at(h.early);
        body.stmts(early);
        take_locks(&mut body, &locks);
        body.stmts(rest);
        let kept = regex::kept(body.unit.program, h);
        let text_size = body.unit.layout.max_string + 8;
        let stack = body.stack() + RUN_STACK + kept.map_or(0, |words| 4 * words + text_size + 48);
        if stack > STACK_LIMIT && !in_runner(h.kind) {
            return Err(EmitError::StackTooLarge {
                bytes: stack,
                limit: STACK_LIMIT,
                span: h.span,
            });
        }
        let light = !body.escapes && locks.is_empty() && !timed && !is_asked;
        let (halves, rare) = (quick && !light, body.rare);
        let text = body.finish();
        let place = self.map.locate(h.span).replace("*/", "* /");
        out.line(format!("/* {place}; at most {stack} bytes of stack */"));
        self.head(out, id, h.kind, (light, halves), kept);
        if timed {
            out.line("\tconst int64_t began = tl_cycles_now(run);");
        }
        if let (false, Some(n)) = (light, budget(&self.program.options, h.budget)) {
            out.line(format!("\trun->budget = {n};"));
        }
        out.append(text);
        let times = timed.then(|| layout::times_at(self.program));
        let leave = (!light).then(|| leave(h.kind, rare, &locks));
        tail(out, h, leave, times);
        if halves {
            self.quick_half(out, id, stacks, locks.first().copied());
        }
        Ok(HandlerFacts { stack })
    }

    /// Everything before the body.
    fn head(
        &self,
        out: &mut Text,
        id: HandlerId,
        kind: HandlerKind,
        (light, halves): (bool, bool),
        kept: Option<u32>,
    ) {
        let f = frame(kind);
        let (name, nothing) = (handler_name(id), f.nothing);
        if halves {
            out.line(format!(
                "static __attribute__((noinline)) int {name}_whole({})",
                site_words()
            ));
        } else {
            let words = format!("{}, {WORDS}", f.first);
            out.line(format!("{} {name}({words});", f.ret));
            out.line(format!("{} {name}({words})", f.ret));
        }
        out.line("{");
        if light {
            light_head(out, id, kind);
        } else {
            out.line("\tstruct tl_run run_room, *const run = &run_room;");
            let enter = match halves || in_runner(kind) {
                true => "tl_run_enter_slow(run, p->data",
                false => f.enter,
            };
            out.line(format!("\tif (!{enter}, regs, self))"));
            out.line(format!("\t\t{nothing}"));
        }
        if let Some(words) = kept {
            out.line(format!("\tTL_KEEP_MATCH(run, {words});"));
        }
        out.line(match kind {
            HandlerKind::Entry => "\tint skip = 1;".to_owned(),
            HandlerKind::Condition => "\tint off = 0;".to_owned(),
            _ => "\ttl_count_hit(run->block, run->env);".to_owned(),
        });
    }
}

/// Parameters of a probe's handler.
pub(crate) fn site_words() -> String {
    format!("{}, {WORDS}", SITE.first)
}

/// At a system call, or its return.
fn at_syscall(out: &mut Text, id: HandlerId, syscall: &Syscall, machine: &Machine) {
    let member = |register| machine.member(register).unwrap_or_default();
    let asked = member(machine.abi.syscall.number);
    let noted = member(machine.syscalls.noted_number);
    let name = handler_name(id);
    let head = format!("int {name}({})", site_words());
    out.line(format!("{head};"));
    out.line(head);
    out.line("{");
    match syscall {
        Syscall::Note => out.line(format!(
            "\ttl_syscall_note(p->data, self, regs, regs->{asked});"
        )),
        Syscall::Entry(calls) => picks(out, &format!("(uint32_t)regs->{asked}"), calls),
        Syscall::Told(calls) => picks(out, &format!("(uint32_t)regs->{noted}"), calls),
        Syscall::Return(nth, calls) => {
            out.line(format!("\tconst uint64_t kept = regs->{noted};"));
            out.line("\tuint32_t number;");
            out.blank();
            let known = format!("tl_syscall_noted(p->data, self, regs, {nth}, &number)");
            out.line(format!("\tif (!{known})"));
            out.line("\t\treturn 0;");
            out.line(format!("\tregs->{noted} = number;"));
            picks(out, "number", calls);
            out.line(format!("\tregs->{noted} = kept;"));
        }
    }
    out.line("\treturn 0;");
    out.line("}");
    out.blank();
}

/// It costs the other system calls this test only.
fn picks(out: &mut Text, number: &str, calls: &[(Option<u32>, HandlerId)]) {
    out.line(format!("\tswitch ({number}) {{"));
    for same in calls.chunk_by(|a, b| a.0 == b.0) {
        out.line(match same[0].0 {
            Some(number) => format!("\tcase {number}:"),
            None => "\tdefault:".to_string(),
        });
        for (_, to) in same {
            out.line(format!("\t\t{}(p, regs, self);", handler_name(*to)));
        }
        out.line("\t\tbreak;");
    }
    out.line("\t}");
}

/// Their stack is the runner's.
fn in_runner(kind: HandlerKind) -> bool {
    matches!(kind, HandlerKind::Session | HandlerKind::Condition)
}

fn take_locks(body: &mut Body, locks: &[u16]) {
    if locks.is_empty() {
        return;
    }
    let numbers: Vec<String> = locks.iter().map(u16::to_string).collect();
    let numbers = numbers.join(", ");
    body.line(format!("static const uint16_t locks[] = {{ {numbers} }};"));
    let count = "sizeof(locks) / sizeof(locks[0])";
    let slow = if body.rare { "_slow" } else { "" };
    body.line(format!("if (!tl_run_lock{slow}(run, locks, {count}))"));
    body.line("\tgoto out;");
}

/// Statements that a run may take, where it is not what the runtime sets.
fn budget(o: &Options, kind: Budget) -> Option<u32> {
    let most = match (kind, o.max_action_interruptible) {
        (Budget::Hit, _) => return None,
        (Budget::Interruptible, 0) => o.max_action.saturating_mul(10),
        (Budget::Interruptible, n) => n,
        (Budget::Unbounded, _) => u32::MAX,
    };
    Some(most.min(i32::MAX as u32))
}

fn leave(kind: HandlerKind, rare: bool, locks: &[u16]) -> String {
    match (rare, locks) {
        // What goes wrong there is told by the probe itself, which stays.
        _ if kind == HandlerKind::Condition => {
            "run->error = NULL; tl_run_leave_slow(run);".to_owned()
        }
        (true, _) => "tl_run_leave_slow(run);".to_owned(),
        (_, [lock]) => format!("tl_run_leave_one(run, {lock});"),
        _ => "tl_run_leave(run);".to_owned(),
    }
}

/// Everything behind the body.
fn tail(out: &mut Text, h: &Handler, leave: Option<String>, times: Option<u64>) {
    let f = frame(h.kind);
    match h.kind {
        HandlerKind::Entry => out.line("\tskip = 0;"),
        HandlerKind::Condition => out.line("\toff = 1;"),
        _ => {}
    }
    out.line("\tgoto out;");
    out.line("out:");
    if h.moves_conditions {
        out.line("\ttl_conditions_moved(run->view);");
    }
    if let Some(leave) = leave {
        out.line(format!("\t{leave}"));
    }
    if let Some(times) = times {
        out.line(format!("\ttl_time_add(run, {times}, began);"));
    }
    out.line(format!("\t{}", f.end));
    out.line("}");
    out.blank();
}

/// The head of a handler that only counts: nothing of it can fail or wait, so
/// all that it needs of a run are a few pointers, which stay in registers.
fn light_head(out: &mut Text, id: HandlerId, kind: HandlerKind) {
    let nothing = frame(kind).nothing;
    let (env, call, enter, without) = match kind {
        HandlerKind::Entry | HandlerKind::Return => {
            ("c->rp->data", "c", "tl_count_enter", nothing.to_owned())
        }
        _ => (
            "p->data",
            "NULL",
            "tl_count_at_once",
            format!(
                "return tl_count_again(p, regs, self, {});",
                handler_name(id)
            ),
        ),
    };
    out.line(format!("\tconst struct tl_env *const env = {env};"));
    out.line("\tstruct { const struct tl_env *env; struct tl_view *view; struct tl_block *block; struct tl_regs *regs; struct tl_ret_call *call; }");
    out.line(format!(
        "\t\trun_room = {{ env, env->view, {enter}(env, self), regs, {call} }}, *const run = &run_room;"
    ));
    out.line("\tif (tl_unlikely(!run->block))");
    out.line(format!("\t\t{without}"));
}
