// SPDX-License-Identifier: MIT
//! Elements of containers, one by one; floats as text.

use crate::body::{Body, Value};
use trapless_sema::ir::{Elements, Expr};
use trapless_syntax::span::Span;

impl Body<'_, '_> {
    pub fn elements(&mut self, row: &Elements, span: Span) -> Value {
        let count = self.address(&row.count, span);
        let first = self.address(&row.first, span);
        let s = self.string();
        self.open(&format!("if ({count} < 0)"));
        self.set_place("variable", span);
        self.call("tl_run_error(run, \"a container of less than no elements\");");
        self.check();
        self.close();
        let saved = self.enter_scope();
        self.open("");
        let at = cursor(row.cursor);
        self.line(format!("int64_t {at} = {first}, n{at};"));
        self.frame(16);
        let most = row.most;
        self.open(&format!(
            "for (n{at} = 0; n{at} < {count} && n{at} < {most}; n{at}++)"
        ));
        self.spend(1, span);
        self.open(&format!("if (n{at})"));
        let next = self.address(&row.next, span);
        self.line(format!("{at} = {next};"));
        self.append(&s, b", ");
        self.close();
        let element = self.value(&row.element);
        self.call(format!("tl_str_cat(run, {s}, {s}, {element});"));
        self.close();
        self.close();
        self.leave_scope(saved);
        self.open(&format!("if ({count} > {most})"));
        self.append(&s, b", ...");
        self.close();
        s
    }

    fn append(&mut self, s: &str, text: &[u8]) {
        let text = self.unit.constant(text);
        self.call(format!("tl_str_cat(run, {s}, {s}, &{text});"));
    }

    pub fn float_text(&mut self, bits: &Expr, size: u8) -> Value {
        let bits = self.value(bits);
        let s = self.string();
        let call = match size {
            4 => format!("tl_fp_shown(run, {s}, tl_fp_of_fp32({bits}), TL_FP32_DIGITS);"),
            _ => format!("tl_fp_shown(run, {s}, {bits}, TL_FP64_DIGITS);"),
        };
        self.call_text(call);
        s
    }
}

/// Its C name.
pub(crate) fn cursor(n: u32) -> Value {
    format!("at{n}")
}
