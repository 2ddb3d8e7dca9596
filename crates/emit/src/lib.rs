// SPDX-License-Identifier: MIT
//! From the typed program to a module file: C text ([`emit`]), the C compiler
//! ([`compile`]), the layout of its object file ([`link`]), the file
//! ([`module`]).
//!
//! The C is for people too (`-p3` shows it): one function a handler, named
//! after the probe, using nothing but `runtime/script.h`.

pub mod compile;
mod elements;
pub mod embedded;
pub mod link;
pub mod module;

mod addr;
mod body;
mod call;
mod events;
mod expr;
mod function;
mod handler;
mod layout;
mod print;
mod quick;
mod regex;
mod result;
mod slice;
mod stmt;
mod text;
mod unwind;

use events::{Site, Sites, SITES_MAX};
use layout::Layout;
use std::fmt;
use text::Text;
use trapless_sema::ir::{FunctionId, HandlerId, Print, Program};
use trapless_syntax::span::{SourceMap, Span};

/// A program as C, and what the module file needs to know of it.
#[derive(Debug)]
pub struct Emitted {
    pub c: String,
    /// Prints by number.
    sites: Vec<Site>,
    /// What system() starts, by number.
    pub commands: Vec<Vec<u8>>,
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
    /// Places of the script that print.
    TooManyPrints(usize),
    /// Strings as locals and temporaries: more than the private stack holds.
    StackTooLarge { bytes: u32, limit: u32, span: Span },
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
            EmitError::TooManyPrints(n) => {
                write!(f, "{n} different prints; at most {SITES_MAX} are possible")
            }
            EmitError::StackTooLarge { bytes, limit, .. } => write!(
                f,
                "this handler needs about {bytes} bytes of stack; at most {limit} are there"
            ),
            EmitError::CallDataTooLarge { bytes, limit, .. } => write!(
                f,
                "the @entry values of this probe need {bytes} bytes; at most {limit} are possible"
            ),
        }
    }
}

impl std::error::Error for EmitError {}

/// Handlers beyond this ask for the private stack (`TL_PROBE_BIG_STACK`).
const SMALL_STACK: u32 = 1 << 10;
/// `TL_STACK_CALL`, `TL_STACK_TEXT` and `TL_STACK_WALK` of runtime/script.h.
const CALL_STACK: u32 = 480;
const TEXT_STACK: u32 = 1088;
const WALK_STACK: u32 = 1408;

/// Write the program as C.
pub fn emit(program: &Program, map: &SourceMap) -> Result<Emitted, EmitError> {
    let layout = Layout::new(program)?;
    let mut unit = Unit {
        program,
        map,
        layout,
        sites: Sites::default(),
        commands: Vec::new(),
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
    if unit.sites.list.len() > SITES_MAX {
        return Err(EmitError::TooManyPrints(unit.sites.list.len()));
    }
    let mut c = Text::default();
    c.line("/* Made by trapless from a script; do not edit. */");
    c.line("#include \"script.h\"");
    if embedded::is_used(program) {
        c.line("#include \"embedded.h\"");
    }
    c.blank();
    unit.layout.declare(program, &mut c);
    regex::declare(program, &mut c);
    for (n, bytes) in unit.constants.iter().enumerate() {
        c.line(format!("TL_STR_CONST(k{n}, {});", text::c_string(bytes)));
    }
    unit.embedded_blocks(&mut c);
    for id in 0..program.functions.len() {
        c.line(format!("{};", unit.prototype(FunctionId(id as u32))));
    }
    c.blank();
    c.append(bodies);
    Ok(Emitted {
        c: c.finish(),
        sites: unit.sites.list,
        commands: unit.commands,
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
    sites: Sites,
    commands: Vec<Vec<u8>>,
    /// String literals by number: `k0` ...
    constants: Vec<Vec<u8>>,
}

impl Unit<'_> {
    fn print_site(&mut self, p: &Print, span: Span) -> usize {
        let script = self.map.locate(span).to_string();
        self.sites.number(Site::of(p, script, self.map))
    }

    fn command(&mut self, command: &[u8]) -> usize {
        index_of(&mut self.commands, command)
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
