// SPDX-License-Identifier: MIT
//! What is called for what it does.

use crate::ast::{Expr, Kind};
use crate::error::{refused, wrong, At, Result};
use crate::handler::Handler;
use crate::helpers::Helper;
use crate::maps;
use crate::types::{Held, Ty};

impl Handler<'_> {
    /// What is called for what it does. `None`: it is a function with a value.
    pub fn action(&mut self, name: &str, args: &[Expr], at: At) -> Result<Option<String>> {
        let text = match name {
            "printf" => format!("printf({})", self.formatted(name, args, at)?),
            "system" => self.command(args, at)?,
            "print" => self.print(args, at)?,
            "clear" | "zero" => self.emptied(name, args, at)?,
            "delete" => self.deleted(args, at)?,
            "exit" => "exit(); next".to_string(),
            "time" => {
                let text = "%H:%M:%S\\n".to_string();
                let usual = Expr {
                    kind: Kind::Text(text),
                    at,
                };
                let format = args.first().unwrap_or(&usual);
                format!("printf({})", self.clock(format, "gettimeofday_s()")?)
            }
            "join" => self.join(args, at)?,
            _ => return Ok(None),
        };
        Ok(Some(text))
    }

    fn command(&mut self, args: &[Expr], at: At) -> Result<String> {
        match args {
            [Expr {
                kind: Kind::Text(command),
                ..
            }] if !command.contains('%') => Ok(format!("system(\"{command}\")")),
            _ => Ok(format!(
                "system(sprintf({}))",
                self.formatted("system", args, at)?
            )),
        }
    }

    fn join(&mut self, args: &[Expr], at: At) -> Result<String> {
        if self.reads_kernel() {
            return refused(
                at,
                "join() reads arguments of programs",
                "use it at tracepoint:syscalls:sys_enter_execve",
            );
        }
        let (list, between) = match args {
            [list] => (self.number(list)?, "\" \"".to_string()),
            [list, between] => (self.number(list)?, self.text(between)?),
            _ => return wrong(at, "join() takes a list of addresses", "join(args.argv)"),
        };
        self.notes.helpers.insert(Helper::Join);
        Ok(format!("println(joined({list}, {between}))"))
    }

    /// The map alone, by its name.
    fn whole_map(&self, e: &Expr) -> Option<String> {
        let Kind::Map(name, keys) = &e.kind else {
            return None;
        };
        let keyed = self
            .types
            .maps
            .get(name)
            .is_some_and(|m| !m.keys.is_empty());
        let gathers = self
            .types
            .maps
            .get(name)
            .is_some_and(|m| matches!(m.held, Held::Many(_)));
        (keys.is_empty() && (keyed || gathers || !self.last)).then(|| name.clone())
    }

    fn print(&mut self, args: &[Expr], at: At) -> Result<String> {
        let Some((first, more)) = args.split_first() else {
            return wrong(at, "print() takes a map or a value", "print(@x)");
        };
        if let Some(name) = self.whole_map(first) {
            self.notes.printed.insert(name.clone());
            let mut numbers = ["0".to_string(), "1".to_string()];
            for (number, arg) in numbers.iter_mut().zip(more) {
                *number = self.number(arg)?;
            }
            self.check_known(&name, first.at)?;
            return Ok(maps::print_call(&name, &numbers[0], &numbers[1]));
        }
        if let Some(extra) = more.first() {
            return wrong(
                extra.at,
                "a single value has no first elements",
                "print(@x, 5) is for maps with keys",
            );
        }
        let value = self.expr(first)?;
        let label = match &first.kind {
            Kind::Map(name, keys) if keys.is_empty() => format!("@{name}: "),
            _ => String::new(),
        };
        let format = if value.is_text() { "%s" } else { "%d" };
        Ok(format!("printf(\"{label}{format}\\n\", {})", value.text))
    }

    fn check_known(&self, name: &str, at: At) -> Result<()> {
        match self.last && !self.types.maps.contains_key(name) {
            true => wrong(
                at,
                format!("@{name} is never set"),
                "set it in a probe, e.g. by = count() or ++",
            ),
            false => Ok(()),
        }
    }

    fn emptied(&mut self, name: &str, args: &[Expr], at: At) -> Result<String> {
        let [map] = self.values(name, args, at)?;
        let Kind::Map(of, keys) = &map.kind else {
            return wrong(
                map.at,
                format!("{name}() takes a map"),
                format!("{name}(@x)"),
            );
        };
        if !keys.is_empty() {
            return wrong(
                map.at,
                format!("{name}() takes a whole map"),
                "delete(@x[key]) takes one element out",
            );
        }
        self.check_known(of, map.at)?;
        let global = maps::global(of);
        let known = self.types.maps.get(of);
        let keys = known.map_or(0, |m| m.keys.len());
        let numbers = known.is_some_and(|m| m.held == Held::One(Ty::Number));
        if name == "clear" || !numbers || keys == 0 {
            return Ok(format!("delete {global}"));
        }
        let keys: Vec<String> = (0..keys).map(|n| format!("key{n}")).collect();
        let list = keys.join(", ");
        let walked = if keys.len() == 1 {
            list.clone()
        } else {
            format!("[{list}]")
        };
        Ok(format!(
            "foreach ({walked} in {global}) {global}[{list}] = 0"
        ))
    }

    fn deleted(&mut self, args: &[Expr], at: At) -> Result<String> {
        let (map, key) = match args {
            [map] => (map, None),
            [map, key] => (map, Some(key)),
            _ => return wrong(at, "delete() takes an element of a map", "delete(@x[tid])"),
        };
        let Kind::Map(name, keys) = &map.kind else {
            return wrong(
                map.at,
                "delete() takes an element of a map",
                "delete(@x[tid])",
            );
        };
        let keys: Vec<Expr> = keys.iter().chain(key).cloned().collect();
        Ok(format!("delete {}", self.element(name, &keys, map.at)?))
    }
}
