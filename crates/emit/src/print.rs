// SPDX-License-Identifier: MIT
//! `print` and its kin.

use crate::body::{Body, Value};
use crate::text::c_string;
use trapless_sema::ir::{Expr, Print, Ty};
use trapless_syntax::span::Span;

impl Body<'_, '_> {
    pub fn print(&mut self, p: &Print, span: Span) -> Value {
        if let Some(h) = &p.hist {
            let s = self.statistic(h.global, &h.keys);
            let hist = self.hist(h.global);
            let word = if h.println { "println" } else { "print" };
            self.set_place(&format!("identifier '{word}'"), span);
            self.call_text(format!("tl_hist_print(run, {s}, {hist});"));
            self.check();
            return "0".to_string();
        }
        let values = self.values(&p.args);
        if p.to_string {
            let s = self.string();
            self.print_into(&s, p, &values);
            return s;
        }
        let format = self.unit.print_site(p, span);
        let n = values.len();
        if n > 0 && p.args.iter().all(|a| a.ty == Ty::Long) {
            let name = format!("v{}", self.number());
            self.frame(8 * n as u32);
            self.line(format!(
                "const int64_t {name}[] = {{ {} }};",
                values.join(", ")
            ));
            self.call(format!("tl_printf_longs(run, {format}, {name}, {n});"));
        } else {
            let args = self.print_args(&p.args, &values);
            self.call(format!("tl_printf(run, {format}, {args}, {n});"));
        }
        "0".to_string()
    }

    fn print_into(&mut self, s: &str, p: &Print, values: &[Value]) {
        let args = self.print_args(&p.args, values);
        let format = c_string(&p.format);
        let n = values.len();
        self.call_text(format!("tl_sprintf(run, {s}, {format}, {args}, {n});"));
    }

    /// A text, "ERROR" where a run-time error came up.
    pub fn shielded(&mut self, p: &Print) -> Value {
        let s = self.string();
        let number = self.number();
        let outer = std::mem::replace(&mut self.on_error, format!("catch{number}"));
        let saved = self.enter_scope();
        self.open("");
        let values = self.values(&p.args);
        self.print_into(&s, p, &values);
        self.close();
        self.leave_scope(saved);
        self.check();
        self.on_error = outer;
        self.line(format!("goto tried{number};"));
        self.label(&format!("catch{number}"));
        self.call("tl_run_catch(run, NULL);");
        self.check();
        self.call(format!("tl_str_set_c(run, {s}, \"ERROR\");"));
        self.label(&format!("tried{number}"));
        s
    }

    /// The name of a number, or the number.
    pub fn name_of(&mut self, value: &Expr, names: &[(i64, String)]) -> Value {
        let v = self.value(value);
        let s = self.string();
        self.open(&format!("switch ({v})"));
        for (n, name) in names {
            let text = c_string(name.as_bytes());
            self.line(format!("case {}:", crate::expr::number(*n)));
            self.call(format!("tl_str_set_c(run, {s}, {text});"));
            self.line("break;");
        }
        self.line("default:");
        self.open("");
        let args = self.value_array(&[format!("TL_LONG({v})")]);
        self.call_text(format!("tl_sprintf(run, {s}, \"%d\", {args}, 1);"));
        self.close();
        self.close();
        s
    }

    fn print_args(&mut self, args: &[Expr], values: &[Value]) -> String {
        if args.is_empty() {
            return "NULL".to_string();
        }
        let words: Vec<String> = args
            .iter()
            .zip(values)
            .map(|(a, v)| match a.ty {
                Ty::Long => format!("TL_LONG({v})"),
                Ty::Str => format!("TL_STR({v})"),
            })
            .collect();
        self.value_array(&words)
    }
}
