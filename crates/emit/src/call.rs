// SPDX-License-Identifier: MIT
//! Calls of functions: the one that is meant, and those that follow it by `next`.

use crate::body::{Body, Value};
use trapless_sema::ir::{Expr, FunctionId, Ty};

impl Body<'_, '_> {
    pub fn function_call(&mut self, functions: &[FunctionId], args: &[Expr], e: &Expr) -> Value {
        let args = self.values(args);
        let Some((last, before)) = functions.split_last() else {
            return "0".to_string();
        };
        let label = self.unit.program.functions[last.0 as usize].name.clone();
        let what = format!("identifier '{label}'");
        self.set_place(&what, e.span);
        let result = self.result_of(functions);
        for f in before {
            let next = self.one_call(*f, &args, &result);
            // Those before the last one all say `next`, else nothing followed them.
            self.open(&format!("if ({})", next.unwrap_or_default()));
            self.set_place(&what, e.span);
        }
        if let Some(next) = self.one_call(*last, &args, &result) {
            self.open(&format!("if ({next})"));
            self.set_place(&what, e.span);
            self.call("tl_run_error(run, \"all functions exhausted\");");
            self.close();
        }
        for _ in before {
            self.close();
        }
        self.check();
        result
    }

    /// A variable for what the functions give; "0": nothing.
    fn result_of(&mut self, functions: &[FunctionId]) -> Value {
        let all = &self.unit.program.functions;
        let mut types = functions.iter().map(|f| all[f.0 as usize].ret);
        match types.find_map(|t| t) {
            Some(Ty::Str) => self.string(),
            Some(Ty::Long) => self.long("0"),
            None => "0".to_string(),
        }
    }

    /// Call one of them; gives the name of its word for `next`, if it has one.
    fn one_call(&mut self, f: FunctionId, args: &[Value], result: &str) -> Option<String> {
        let function = &self.unit.program.functions[f.0 as usize];
        let (ret, says_next) = (function.ret, function.says_next);
        let mut words = vec!["run".to_string()];
        words.extend_from_slice(args);
        if ret == Some(Ty::Str) {
            words.push(result.to_string());
        }
        let next = says_next.then(|| format!("next{}", self.number()));
        if let Some(next) = &next {
            self.frame(8);
            self.line(format!("bool {next} = false;"));
            words.push(format!("&{next}"));
        }
        self.calls(f);
        let call = format!("{}({});", self.unit.function_name(f), words.join(", "));
        self.line(match ret {
            Some(Ty::Long) => format!("{result} = {call}"),
            _ => call,
        });
        next
    }
}
