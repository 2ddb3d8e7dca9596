// SPDX-License-Identifier: MIT
//! The script's functions, and those of the tapset that are written in C.

use crate::body::Body;
use crate::text::Text;
use crate::{embedded, quick, Unit, CALL_STACK, TEXT_STACK, WALK_STACK};
use trapless_sema::ir::{Function, FunctionBody, FunctionId, Stmt, Ty};
use trapless_sema::walk;

impl Unit<'_> {
    pub(crate) fn prototype(&self, id: FunctionId) -> String {
        let f = &self.program.functions[id.0 as usize];
        let c_body = matches!(f.body, FunctionBody::C(_));
        let result = match f.body {
            FunctionBody::Embedded(_) => "stap_text",
            _ => "STAP_RETVALUE",
        };
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
            args.push(format!("struct tl_str *{result}"));
        }
        if f.says_next {
            args.push("bool *next".to_string());
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
    pub(crate) fn callees_first(&self) -> Vec<usize> {
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
    pub(crate) fn function(&mut self, out: &mut Text, id: FunctionId, stacks: &[u32]) -> u32 {
        let f = &self.program.functions[id.0 as usize];
        let prototype = self.prototype(id);
        match &f.body {
            FunctionBody::C(code) => {
                c_function(out, f, &prototype, code);
                c_stack(code)
            }
            FunctionBody::Embedded(c) => {
                self.embedded_function(out, f, &prototype, c);
                embedded::STACK + 2 * (self.layout.max_string + 8)
            }
            FunctionBody::Script(stmts) => self.script_function(out, f, &prototype, stmts, stacks),
        }
    }

    fn script_function(
        &mut self,
        out: &mut Text,
        f: &Function,
        prototype: &str,
        stmts: &[Stmt],
        stacks: &[u32],
    ) -> u32 {
        let mut body = Body::new(self, &f.locals, f.ret, stacks);
        body.places = !f.ours;
        body.parameters(f.nparams, stmts);
        body.start(stmts, true);
        body.stmts(stmts);
        let stack = body.stack();
        let text = body.finish();
        let long = f.ret == Some(Ty::Long);
        out.line(prototype);
        out.line("{");
        if long {
            out.line("\tint64_t ret = 0;");
        }
        out.line("\tif (!tl_call_enter(run))");
        out.line(if long { "\t\treturn 0;" } else { "\t\treturn;" });
        out.append(text);
        out.line("\tgoto out;");
        out.line("out:");
        out.line("\ttl_call_leave(run);");
        if long {
            out.line("\treturn ret;");
        }
        out.line("}");
        out.blank();
        match f.recursive {
            true => stack.saturating_mul(self.program.options.max_nesting.unwrap_or(1)),
            false => stack,
        }
    }
}

/// A body in C, with the words by which it gives its value.
fn c_function(out: &mut Text, f: &Function, prototype: &str, code: &str) {
    let (give, fail) = match f.ret {
        Some(Ty::Str) => (
            "do { tl_str_set_c(run, STAP_RETVALUE, (v)); return; } while (0)",
            "return",
        ),
        Some(Ty::Long) => ("return (int64_t)(v)", "return 0"),
        None => ("return", "return"),
    };
    out.line(format!("#define STAP_RETURN(v) {give}"));
    out.line(format!(
        "#define STAP_ERROR(...) do {{ tl_run_error(run, __VA_ARGS__); {fail}; }} while (0)"
    ));
    out.line(format!(
        "#define STAP_NEXT do {{ *next = true; {fail}; }} while (0)"
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
    out.line("#undef STAP_NEXT");
    out.blank();
}

fn walks(code: &str) -> bool {
    let far = ["tl_ustack_", "tl_kstack_", "tl_usyms_"];
    far.iter().any(|name| code.contains(name))
}

/// What a function written in C needs below its caller: its own frame is
/// small where it makes no text of its own.
fn c_stack(code: &str) -> u32 {
    if quick::is_inline(code) {
        return 32 + CALL_STACK;
    }
    let deep = [
        "tl_sprintf",
        "tl_user_string_quoted",
        "tl_thread_indent",
        "tl_fp_to_string",
        "tl_fp_shown",
        "tl_string_to_fp",
        "[",
    ];
    match deep.iter().any(|name| code.contains(name)) {
        true => 1024 + TEXT_STACK,
        false if walks(code) => 128 + WALK_STACK,
        false => 128 + CALL_STACK,
    }
}
