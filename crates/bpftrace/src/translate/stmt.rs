// SPDX-License-Identifier: MIT
//! Statements.

use crate::ast::{Expr, Kind, Stmt};
use crate::error::{refused, wrong, At, Result};
use crate::handler::Handler;
use crate::maps;
use crate::types::{Gather, Held, Ty, Var};

impl Handler<'_> {
    pub fn block(&mut self, statements: &[Stmt], depth: usize) -> Result<String> {
        let mut out = String::new();
        for statement in statements {
            let text = self.statement(statement, depth)?;
            out += &format!("{}{text}\n", "\t".repeat(depth));
        }
        Ok(out)
    }

    fn braced(&mut self, head: &str, statements: &[Stmt], depth: usize) -> Result<String> {
        let body = self.block(statements, depth + 1)?;
        Ok(format!("{head} {{\n{body}{}}}", "\t".repeat(depth)))
    }

    fn looped(&mut self, head: &str, statements: &[Stmt], depth: usize) -> Result<String> {
        self.loops += 1;
        let text = self.braced(head, statements, depth);
        self.loops -= 1;
        text
    }

    fn statement(&mut self, statement: &Stmt, depth: usize) -> Result<String> {
        match statement {
            Stmt::Expr(e) => self.alone(e),
            Stmt::Assign(target, op, value) => self.assign(target, op, value),
            Stmt::If(condition, then, otherwise) => {
                self.conditional(condition, then, otherwise, depth)
            }
            Stmt::While(condition, body) => {
                let head = format!("while ({})", self.condition(condition)?);
                self.looped(&head, body, depth)
            }
            Stmt::Unroll(count, body) => {
                let count = self.number(count)?;
                let counter = format!("round{depth}");
                let head = format!("for ({counter} = 0; {counter} < {count}; {counter}++)");
                self.looped(&head, body, depth)
            }
            Stmt::Range(name, from, to, body) => self.range(name, from, to, body, depth),
            Stmt::Each(name, map, body) => self.each(name, map, body, depth),
            Stmt::Return => Ok("next".to_string()),
            Stmt::Break(at) => self.in_loop("break", *at),
            Stmt::Continue(at) => self.in_loop("continue", *at),
        }
    }

    fn in_loop(&self, word: &str, at: At) -> Result<String> {
        match self.loops {
            0 => wrong(
                at,
                format!("{word} stands in no loop"),
                "take it out; return leaves a probe",
            ),
            _ => Ok(word.to_string()),
        }
    }

    fn conditional(
        &mut self,
        condition: &Expr,
        then: &[Stmt],
        otherwise: &[Stmt],
        depth: usize,
    ) -> Result<String> {
        let head = format!("if ({})", self.condition(condition)?);
        let text = self.braced(&head, then, depth)?;
        match otherwise {
            [] => Ok(text),
            [one @ Stmt::If(..)] => Ok(format!("{text} else {}", self.statement(one, depth)?)),
            _ => self.braced(&format!("{text} else"), otherwise, depth),
        }
    }

    fn range(
        &mut self,
        name: &Expr,
        from: &Expr,
        to: &Expr,
        body: &[Stmt],
        depth: usize,
    ) -> Result<String> {
        let Kind::Var(var) = &name.kind else {
            return wrong(name.at, "a variable is wanted here", "for ($i : 0..10) { }");
        };
        let (from, to) = (self.number(from)?, self.number(to)?);
        let value = Var {
            ty: Ty::Number,
            points: None,
        };
        self.types.var(self.probe, var, value, name.at)?;
        let head = format!("for (var_{var} = {from}; var_{var} < {to}; var_{var}++)");
        self.looped(&head, body, depth)
    }

    fn each(&mut self, name: &Expr, map: &Expr, body: &[Stmt], depth: usize) -> Result<String> {
        let (Kind::Var(var), Kind::Map(of, keys)) = (&name.kind, &map.kind) else {
            return wrong(
                map.at,
                "a range or a map is wanted here",
                "for ($i : 0..10) { }, or for ($kv : @map) { }",
            );
        };
        if !keys.is_empty() {
            return wrong(
                map.at,
                "one element is not walked",
                "name the map alone: for ($kv : @map) { }",
            );
        }
        let count = self.types.maps.get(of).map_or(1, |m| m.keys.len());
        let keys: Vec<String> = (0..count).map(|n| format!("key_{var}_{n}")).collect();
        let walked = match count {
            0 => {
                return wrong(
                    map.at,
                    format!("@{of} has no keys"),
                    "print it, or use its value",
                )
            }
            1 => keys[0].clone(),
            _ => format!("[{}]", keys.join(", ")),
        };
        self.walks.insert(var.clone(), of.clone());
        let head = format!("foreach ({walked} in {})", maps::global(of));
        let text = self.looped(&head, body, depth);
        self.walks.remove(var);
        text
    }

    fn assign(&mut self, target: &Expr, op: &'static str, value: &Expr) -> Result<String> {
        if let (Kind::Map(name, keys), Kind::Call(function, args)) = (&target.kind, &value.kind) {
            if let Some(gather) = self.gather(function, args, value.at)? {
                return self.sample(target, name, keys, op, gather, args);
            }
        }
        let left = match &target.kind {
            Kind::Map(name, keys) => self.element(name, keys, target.at)?,
            Kind::Var(name) => format!("var_{name}"),
            _ => {
                return wrong(
                    target.at,
                    "this cannot be set",
                    "maps (@x) and variables ($x) can",
                )
            }
        };
        let right = self.expr(value)?;
        if op != "=" && matches!(right.ty, Ty::Text | Ty::Stack) {
            return wrong(
                value.at,
                format!("{op} takes a number"),
                "text is set by = alone",
            );
        }
        let points = right.points.clone();
        match &target.kind {
            Kind::Map(name, _) => {
                self.types
                    .held(name, Held::One(right.ty), points.as_ref(), target.at)?
            }
            Kind::Var(name) => {
                let value = Var {
                    ty: right.ty,
                    points,
                };
                self.types.var(self.probe, name, value, target.at)?;
            }
            _ => {}
        }
        Ok(format!("{left} {op} {}", right.text))
    }

    /// `@x = count()` and its kin.
    fn sample(
        &mut self,
        target: &Expr,
        name: &str,
        keys: &[Expr],
        op: &str,
        gather: Gather,
        args: &[Expr],
    ) -> Result<String> {
        if op != "=" {
            return wrong(
                target.at,
                format!("{op} does not go with {}()", gather.name()),
                "write =",
            );
        }
        let element = self.element(name, keys, target.at)?;
        self.types.held(name, Held::Many(gather), None, target.at)?;
        let value = match args.first() {
            Some(value) => self.number(value)?,
            None => "1".to_string(),
        };
        Ok(format!("{element} <<< {value}"))
    }

    /// What a function gathers, if it does.
    fn gather(&mut self, function: &str, args: &[Expr], at: At) -> Result<Option<Gather>> {
        let (gather, wanted) = match function {
            "count" => (Gather::Count, 0),
            "sum" => (Gather::Sum, 1),
            "avg" => (Gather::Avg, 1),
            "min" => (Gather::Min, 1),
            "max" => (Gather::Max, 1),
            "stats" => (Gather::Stats, 1),
            "hist" => (Gather::Hist, 1),
            "lhist" => (Gather::Lhist(0, 0, 0), 4),
            "tseries" => {
                return refused(
                    at,
                    "tseries() is not translated",
                    "print the map in an interval: interval:s:1 { print(@x); clear(@x); }",
                )
            }
            _ => return Ok(None),
        };
        if function == "hist" && args.len() == 2 {
            return refused(
                args[1].at,
                "histograms have one row for each power of two",
                "leave the second value out, or use lhist(value, min, max, step)",
            );
        }
        if args.len() != wanted {
            return wrong(
                at,
                format!("{function}() takes {wanted} values, not {}", args.len()),
                "lhist(value, min, max, step), hist(value), count()",
            );
        }
        match gather {
            Gather::Lhist(..) => self.linear(args).map(Some),
            _ => Ok(Some(gather)),
        }
    }

    fn linear(&mut self, args: &[Expr]) -> Result<Gather> {
        let mut bounds = [0; 3];
        for (bound, arg) in bounds.iter_mut().zip(&args[1..]) {
            *bound = self.literal(arg)?;
        }
        let [low, high, step] = bounds;
        match step > 0 && high > low {
            true => Ok(Gather::Lhist(low, high, step)),
            false => wrong(
                args[1].at,
                "a histogram goes from a smaller to a larger number by steps above 0",
                "lhist(value, 0, 100, 10)",
            ),
        }
    }

    /// A number that is known now.
    fn literal(&mut self, e: &Expr) -> Result<i64> {
        let text = self.number(e)?;
        match text.parse() {
            Ok(n) => Ok(n),
            Err(_) => wrong(
                e.at,
                "a number that is written out is wanted here",
                "e.g. lhist(value, 0, 100, 10)",
            ),
        }
    }

    /// An expression, or a call that is made for what it does.
    fn alone(&mut self, e: &Expr) -> Result<String> {
        match &e.kind {
            Kind::Call(name, args) => match self.action(name, args, e.at)? {
                Some(text) => Ok(text),
                None => Ok(self.expr(e)?.text),
            },
            _ => Ok(self.expr(e)?.text),
        }
    }
}
