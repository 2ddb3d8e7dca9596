// SPDX-License-Identifier: MIT
//! From the typed program to a module file: C text ([`emit`]), the C compiler
//! ([`compile`]), the layout of its object file ([`link`]), the file
//! ([`module`]).
//!
//! The C is for people too (`-p3` shows it): one function a handler, named
//! after the probe, using nothing but `runtime/script.h`.

pub mod compile;
pub mod link;
pub mod module;

mod addr;
mod body;
mod expr;
mod layout;
mod print;
mod stmt;
mod text;

use body::Body;
use layout::Layout;
use std::fmt;
use text::Text;
use trapless_sema::ir::{FunctionBody, FunctionId, HandlerId, HandlerKind, ProbeKind, Program, Ty};
use trapless_sema::walk;
use trapless_syntax::span::{SourceMap, Span};

/// A program as C, and what the module file needs to know of it.
#[derive(Debug)]
pub struct Emitted {
    pub c: String,
    /// printf formats by number.
    pub formats: Vec<Vec<u8>>,
    layout: Layout,
    /// By handler number.
    handlers: Vec<HandlerFacts>,
}

#[derive(Clone, Copy, Debug, Default)]
struct HandlerFacts {
    /// Estimated bytes of stack, runtime functions included.
    stack: u32,
}

/// What cannot be made into a module although it is a valid program.
#[derive(Debug)]
pub enum EmitError {
    /// The arrays together are larger than the session memory may be.
    GlobalsTooLarge(u64),
    /// Strings as locals and temporaries: more than the private stack holds.
    StackTooLarge { bytes: u32, span: Span },
    /// `@entry` values of one probe together.
    CallDataTooLarge { bytes: u32, limit: u32, span: Span },
}

impl fmt::Display for EmitError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            EmitError::GlobalsTooLarge(n) => {
                write!(
                    f,
                    "the script's globals need {n} bytes; at most 1 GiB is possible"
                )
            }
            EmitError::StackTooLarge { bytes, .. } => write!(
                f,
                "this handler needs about {bytes} bytes of stack; at most {STACK_LIMIT} are there"
            ),
            EmitError::CallDataTooLarge { bytes, limit, .. } => write!(
                f,
                "the @entry values of this probe need {bytes} bytes; at most {limit} are possible"
            ),
        }
    }
}

impl std::error::Error for EmitError {}

/// What the private stack of a thread leaves for handlers.
const STACK_LIMIT: u32 = 48 << 10;
/// Handlers beyond this ask for the private stack (`TL_PROBE_BIG_STACK`).
const SMALL_STACK: u32 = 1 << 10;
/// `struct tl_run`.
const RUN_STACK: u32 = 360;
/// `TL_STACK_CALL` and `TL_STACK_TEXT` of runtime/script.h.
const CALL_STACK: u32 = 480;
const TEXT_STACK: u32 = 1024;
/// As include/trapless/probe.h has it for `data_size`.
const CALL_DATA_LIMIT: u32 = 2048;

/// Write the program as C.
pub fn emit(program: &Program, map: &SourceMap) -> Result<Emitted, EmitError> {
    let layout = Layout::new(program)?;
    let mut unit = Unit {
        program,
        map,
        layout,
        formats: Vec::new(),
        constants: Vec::new(),
    };
    let mut bodies = Text::default();
    let mut function_stack = vec![0; program.functions.len()];
    for id in unit.callees_first() {
        function_stack[id] = unit.function(&mut bodies, FunctionId(id as u32), &function_stack);
    }
    let mut handlers = Vec::new();
    for id in 0..program.handlers.len() {
        handlers.push(unit.handler(&mut bodies, HandlerId(id as u32), &function_stack)?);
    }
    let mut c = Text::default();
    c.line("/* Made by trapless from a script; do not edit. */");
    c.line("#include \"script.h\"");
    c.blank();
    unit.layout.declare(program, &mut c);
    for (n, bytes) in unit.constants.iter().enumerate() {
        c.line(format!("TL_STR_CONST(k{n}, {});", text::c_string(bytes)));
    }
    for id in 0..program.functions.len() {
        c.line(format!("{};", unit.prototype(FunctionId(id as u32))));
    }
    c.blank();
    c.append(bodies);
    Ok(Emitted {
        c: c.finish(),
        formats: unit.formats,
        layout: unit.layout,
        handlers,
    })
}

/// The C name of a handler.
fn handler_name(id: HandlerId) -> String {
    format!("h{}", id.0)
}

/// One module's C text under construction.
struct Unit<'a> {
    program: &'a Program,
    map: &'a SourceMap,
    layout: Layout,
    formats: Vec<Vec<u8>>,
    /// String literals by number: `k0` ...
    constants: Vec<Vec<u8>>,
}

impl Unit<'_> {
    fn format(&mut self, format: &[u8]) -> usize {
        index_of(&mut self.formats, format)
    }

    /// The C name of a constant string object.
    fn constant(&mut self, bytes: &[u8]) -> String {
        format!("k{}", index_of(&mut self.constants, bytes))
    }

    /// `"WHAT at file:line:column"` for run-time errors.
    fn place(&self, what: &str, span: Span) -> String {
        text::c_string(format!("{what} at {}", self.map.locate(span)).as_bytes())
    }

    fn function_name(&self, id: FunctionId) -> String {
        format!("f{}_{}", id.0, self.program.functions[id.0 as usize].name)
    }

    fn prototype(&self, id: FunctionId) -> String {
        let f = &self.program.functions[id.0 as usize];
        let c_body = matches!(f.body, FunctionBody::C(_));
        let mut args = vec!["struct tl_run *run".to_string()];
        for (n, p) in f.locals[..f.nparams].iter().enumerate() {
            let name = match c_body {
                true => format!("STAP_ARG_{}", p.name),
                false => format!("p{n}"),
            };
            args.push(match p.ty {
                Ty::Long => format!("int64_t {name}"),
                Ty::Str => format!("const struct tl_str *{name}"),
            });
        }
        if f.ret == Some(Ty::Str) {
            args.push("struct tl_str *STAP_RETVALUE".to_string());
        }
        let ret = if f.ret == Some(Ty::Long) {
            "int64_t"
        } else {
            "void"
        };
        let attributes = if c_body { "static inline" } else { "static" };
        format!(
            "{attributes} __attribute__((unused)) {ret} {}({})",
            self.function_name(id),
            args.join(", ")
        )
    }

    /// Functions in an order in which callees come before callers, as far as
    /// there is no recursion; for the stack estimate.
    fn callees_first(&self) -> Vec<usize> {
        let n = self.program.functions.len();
        let mut order = Vec::new();
        let mut seen = vec![false; n];
        for start in 0..n {
            self.visit_callees(start, &mut seen, &mut order);
        }
        order
    }

    fn visit_callees(&self, id: usize, seen: &mut [bool], order: &mut Vec<usize>) {
        if std::mem::replace(&mut seen[id], true) {
            return;
        }
        if let FunctionBody::Script(stmts) = &self.program.functions[id].body {
            for callee in walk::callees(stmts) {
                self.visit_callees(callee, seen, order);
            }
        }
        order.push(id);
    }

    /// Write one function; gives the stack it needs.
    fn function(&mut self, out: &mut Text, id: FunctionId, stacks: &[u32]) -> u32 {
        let f = &self.program.functions[id.0 as usize];
        let prototype = self.prototype(id);
        match &f.body {
            FunctionBody::C(code) => {
                let strings = f.ret == Some(Ty::Str);
                let give = match (strings, f.ret) {
                    (true, _) => "do { tl_str_set_c(run, STAP_RETVALUE, (v)); return; } while (0)",
                    (_, Some(_)) => "return (int64_t)(v)",
                    (_, None) => "return",
                };
                out.line(format!("#define STAP_RETURN(v) {give}"));
                let fail = if f.ret == Some(Ty::Long) {
                    "return 0"
                } else {
                    "return"
                };
                out.line(format!(
                    "#define STAP_ERROR(...) do {{ tl_run_error(run, __VA_ARGS__); {fail}; }} while (0)"
                ));
                out.line(prototype);
                out.line("{");
                out.verbatim(code);
                if f.ret == Some(Ty::Long) {
                    out.line("\treturn 0;");
                }
                out.line("}");
                out.line("#undef STAP_RETURN");
                out.line("#undef STAP_ERROR");
                out.blank();
                c_stack(code)
            }
            FunctionBody::Script(stmts) => {
                let (locals, ret) = (&f.locals, f.ret);
                let mut body = Body::new(self, locals, ret, stacks);
                body.parameters(f.nparams, stmts);
                body.start(stmts, true);
                body.stmts(stmts);
                let stack = body.stack();
                let text = body.finish();
                out.line(prototype);
                out.line("{");
                if ret == Some(Ty::Long) {
                    out.line("\tint64_t ret = 0;");
                }
                out.line("\tif (!tl_call_enter(run))");
                out.line(if ret == Some(Ty::Long) {
                    "\t\treturn 0;"
                } else {
                    "\t\treturn;"
                });
                out.append(text);
                out.line("\tgoto out;");
                out.line("out:");
                out.line("\ttl_call_leave(run);");
                if ret == Some(Ty::Long) {
                    out.line("\treturn ret;");
                }
                out.line("}");
                out.blank();
                match f.recursive {
                    true => stack.saturating_mul(self.program.options.max_nesting),
                    false => stack,
                }
            }
        }
    }

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

    fn handler(
        &mut self,
        out: &mut Text,
        id: HandlerId,
        stacks: &[u32],
    ) -> Result<HandlerFacts, EmitError> {
        let h = &self.program.handlers[id.0 as usize];
        let offsets = self.call_data(id)?;
        let mut body = Body::new(self, &h.locals, None, stacks);
        body.call_data = offsets;
        body.locals(0);
        body.start(&h.body, false);
        body.stmts(&h.body);
        let stack = body.stack() + RUN_STACK;
        if stack > STACK_LIMIT && h.kind != HandlerKind::Session {
            return Err(EmitError::StackTooLarge {
                bytes: stack,
                span: h.span,
            });
        }
        let locks = body.unit.layout.locks(&h.locks);
        let light = !body.escapes && locks.is_none();
        let text = body.finish();
        let (ret, first, enter) = match h.kind {
            HandlerKind::Return => ("void", "struct tl_ret_call *c", "tl_run_enter_call(run, c,"),
            HandlerKind::Entry => ("int", "struct tl_ret_call *c", "tl_run_enter_call(run, c,"),
            _ => ("int", "struct tl_probe *p", "tl_run_enter(run, p->data,"),
        };
        // A call whose values were not saved is none for the return handler.
        let entry = h.kind == HandlerKind::Entry;
        let (leave, end) = match (entry, ret) {
            (true, _) => ("return 1;", "return skip;"),
            (_, "int") => ("return 0;", "return 0;"),
            _ => ("return;", "return;"),
        };
        out.line(format!(
            "/* {}; at most {stack} bytes of stack */",
            self.map.locate(h.span).replace("*/", "* /")
        ));
        let name = handler_name(id);
        let rest = "struct tl_regs *regs, struct tl_thread *self";
        out.line(format!("{ret} {name}({first}, {rest});"));
        out.line(format!("{ret} {name}({first}, {rest})"));
        out.line("{");
        if light {
            light_entry(out, h.kind, leave);
        } else {
            out.line("\tstruct tl_run run_room, *const run = &run_room;");
            out.line(format!("\tif (!{enter} regs, self))"));
            out.line(format!("\t\t{leave}"));
        }
        if entry {
            out.line("\tint skip = 1;");
        }
        if let Some(locks) = locks {
            out.line(format!("\tstatic const uint16_t locks[] = {{ {locks} }};"));
            out.line("\tif (!tl_run_lock(run, locks, sizeof(locks) / sizeof(locks[0])))");
            out.line("\t\tgoto out;");
        }
        out.append(text);
        if entry {
            out.line("\tskip = 0;");
        }
        out.line("\tgoto out;");
        out.line("out:");
        if !light {
            out.line("\ttl_run_leave(run);");
        }
        out.line(format!("\t{end}"));
        out.line("}");
        out.blank();
        Ok(HandlerFacts { stack })
    }
}

/// What a function written in C needs below its caller: its own frame is
/// small where it makes no text of its own.
fn c_stack(code: &str) -> u32 {
    let deep = [
        "tl_sprintf",
        "tl_user_string_quoted",
        "tl_thread_indent",
        "[",
    ];
    match deep.iter().any(|name| code.contains(name)) {
        true => 1024 + TEXT_STACK,
        false => 128 + CALL_STACK,
    }
}

/// The head of a handler that only counts: nothing of it can fail or wait, so
/// all that it needs of a run are three pointers, which stay in registers.
fn light_entry(out: &mut Text, kind: HandlerKind, leave: &str) {
    let (env, call) = match kind {
        HandlerKind::Entry | HandlerKind::Return => ("c->rp->data", "c"),
        _ => ("p->data", "NULL"),
    };
    out.line(format!("\tconst struct tl_env *const env = {env};"));
    out.line("\tstruct { struct tl_view *view; struct tl_block *block; struct tl_regs *regs; struct tl_ret_call *call; }");
    out.line(format!(
        "\t\trun_room = {{ env->view, tl_count_enter(env, self), regs, {call} }}, *const run = &run_room;"
    ));
    out.line("\tif (!run->block)");
    out.line(format!("\t\t{leave}"));
}

fn index_of(list: &mut Vec<Vec<u8>>, item: &[u8]) -> usize {
    match list.iter().position(|i| i == item) {
        Some(at) => at,
        None => {
            list.push(item.to_vec());
            list.len() - 1
        }
    }
}
