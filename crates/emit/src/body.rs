// SPDX-License-Identifier: MIT
//! The body of one C function: temporaries, blocks, error exits.

use crate::text::Text;
use crate::{Unit, CALL_STACK, TEXT_STACK};
use trapless_sema::ir::{FunctionId, Local, LocalId, Stmt, Ty};

/// Saved registers, the return address, alignment.
const OWN_STACK: u32 = 88;

/// The C expression of a value that has been computed: an `int64_t`, or a
/// `const struct tl_str *`.
pub(crate) type Value = String;

pub(crate) struct Body<'u, 'p> {
    pub unit: &'u mut Unit<'p>,
    pub locals: &'u [Local],
    pub ret: Option<Ty>,
    text: Text,
    indent: usize,
    next: u32,
    /// Where an error goes: `out`, or the handler of the innermost `try`.
    pub on_error: String,
    /// Labels for `break` and `continue`, and whether each was used.
    pub loops: Vec<LoopLabels>,
    stacks: &'u [u32],
    own_stack: u32,
    /// The most that it was, in blocks that are closed.
    most_stack: u32,
    callee_stack: u32,
    /// Data offsets of the `@entry` values.
    pub call_data: Vec<u32>,
    /// `run` is given to some function, or an error can be raised.
    pub escapes: bool,
    /// Errors are told with places in here, not with that of the call.
    pub places: bool,
    /// Of a quick half (quick.rs).
    pub quick: bool,
    /// Seldom run, so all of it is called and nothing inline: the compiler has less to do.
    pub rare: bool,
}

pub(crate) struct LoopLabels {
    pub number: u32,
    pub continued: bool,
    pub broken: bool,
}

impl<'u, 'p> Body<'u, 'p> {
    pub fn new(
        unit: &'u mut Unit<'p>,
        locals: &'u [Local],
        ret: Option<Ty>,
        stacks: &'u [u32],
    ) -> Body<'u, 'p> {
        Body {
            unit,
            locals,
            ret,
            text: Text::default(),
            indent: 1,
            next: 0,
            on_error: "out".to_string(),
            loops: Vec::new(),
            stacks,
            own_stack: OWN_STACK,
            most_stack: 0,
            // The slow ways in and out of a handler are calls, too.
            callee_stack: CALL_STACK,
            call_data: Vec::new(),
            escapes: false,
            places: true,
            quick: false,
            rare: false,
        }
    }

    pub fn line(&mut self, text: impl AsRef<str>) {
        let tabs = "\t".repeat(self.indent);
        self.text.line(format!("{tabs}{}", text.as_ref()));
    }

    pub fn label(&mut self, name: &str) {
        self.text.line(format!("{name}: ;"));
    }

    /// `{ ... }`
    pub fn open(&mut self, head: &str) {
        let head = if head.is_empty() {
            "{".to_string()
        } else {
            format!("{head} {{")
        };
        self.line(head);
        self.indent += 1;
    }

    pub fn close(&mut self) {
        self.indent -= 1;
        self.line("}");
    }

    pub fn number(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// A fresh variable that holds `value`.
    pub fn long(&mut self, value: impl AsRef<str>) -> Value {
        let name = format!("t{}", self.number());
        // It may have to be kept in memory.
        self.own_stack += 8;
        self.line(format!("int64_t {name} = {};", value.as_ref()));
        name
    }

    /// A fresh, empty string variable.
    pub fn string(&mut self) -> Value {
        let name = format!("s{}", self.number());
        self.line(format!("TL_STRING({name});"));
        self.own_stack += self.unit.program.options.max_string + 8;
        name
    }

    /// What is in the stack frame besides strings.
    pub fn frame(&mut self, bytes: u32) {
        self.own_stack += bytes;
    }

    /// Variables of a block give their place in the frame back when it is left.
    pub fn enter_scope(&self) -> u32 {
        self.own_stack
    }

    pub fn leave_scope(&mut self, entered: u32) {
        self.most_stack = self.most_stack.max(self.own_stack);
        self.own_stack = entered;
    }

    /// A statement that calls the runtime.
    pub fn call(&mut self, text: impl AsRef<str>) {
        self.frame_of_call();
        self.line(text);
    }

    /// The same, for those that put text together in their own frame.
    pub fn call_text(&mut self, text: impl AsRef<str>) {
        self.callee_stack = self.callee_stack.max(TEXT_STACK);
        self.line(text);
    }

    pub fn frame_of_call(&mut self) {
        self.escapes = true;
        self.callee_stack = self.callee_stack.max(CALL_STACK);
    }

    pub fn calls(&mut self, callee: FunctionId) {
        self.escapes = true;
        // A recursive function asks for its own: counted once, multiplied later.
        self.callee_stack = self.callee_stack.max(self.stacks[callee.0 as usize]);
    }

    /// A fresh variable that holds the result of a runtime function.
    pub fn called(&mut self, value: impl AsRef<str>) -> Value {
        self.frame_of_call();
        self.long(value)
    }

    /// Leave when an error is set.
    pub fn check(&mut self) {
        self.escapes = true;
        let to = self.on_error.clone();
        self.line(format!("if (tl_unlikely(run->error)) goto {to};"));
    }

    pub fn stack(&self) -> u32 {
        let own = self.own_stack.max(self.most_stack);
        own.saturating_add(self.callee_stack)
    }

    pub fn local(&self, id: LocalId) -> String {
        format!("l{}", id.0)
    }

    pub fn local_ty(&self, id: LocalId) -> Ty {
        self.locals.get(id.0 as usize).map_or(Ty::Long, |l| l.ty)
    }

    /// Declare the locals from number `from` on.
    pub fn locals(&mut self, from: usize) {
        for n in from..self.locals.len() {
            match self.locals[n].ty {
                Ty::Long => {
                    self.own_stack += 8;
                    self.line(format!("int64_t l{n} __attribute__((unused)) = 0;"));
                }
                Ty::Str => {
                    self.own_stack += self.unit.program.options.max_string + 8;
                    self.line(format!("TL_STRING(l{n});"));
                    self.line(format!("(void)l{n};"));
                }
            }
        }
    }

    /// Parameters become locals; a string is copied only when it is assigned to.
    pub fn parameters(&mut self, nparams: usize, stmts: &[Stmt]) {
        let assigned = crate::stmt::assigned_locals(stmts);
        for n in 0..nparams {
            match self.locals[n].ty {
                Ty::Long => {
                    self.own_stack += 8;
                    self.line(format!("int64_t l{n} __attribute__((unused)) = p{n};"));
                }
                Ty::Str if assigned.contains(&LocalId(n as u32)) => {
                    self.own_stack += self.unit.program.options.max_string + 8;
                    self.line(format!("TL_STRING(l{n});"));
                    self.call(format!("tl_str_set(run, l{n}, p{n});"));
                }
                Ty::Str => self.line(format!(
                    "const struct tl_str *const l{n} __attribute__((unused)) = p{n};"
                )),
            }
        }
        self.locals(nparams);
    }

    pub fn finish(self) -> Text {
        self.text
    }
}
