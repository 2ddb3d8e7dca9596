// SPDX-License-Identifier: MIT
//! Expressions.

use crate::ast::{Expr, Kind, Type};
use crate::error::{refused, wrong, At, Result};
use crate::handler::Handler;
use crate::maps;
use crate::points::{Home, Place};
use crate::tracepoints;
use crate::types::{Gather, Held, Ty};
use crate::value::Value;

impl Handler<'_> {
    pub fn number(&mut self, e: &Expr) -> Result<String> {
        let value = self.expr(e)?;
        match value.is_text() {
            true => wrong(
                e.at,
                "a number is wanted here, not text",
                "text can be printed, compared, and be a key",
            ),
            false => Ok(value.text),
        }
    }

    pub fn condition(&mut self, e: &Expr) -> Result<String> {
        self.number(e)
    }

    pub fn text(&mut self, e: &Expr) -> Result<String> {
        let value = self.expr(e)?;
        match value.ty {
            Ty::Number => wrong(
                e.at,
                "text is wanted here, not a number",
                "str() reads the text at an address",
            ),
            _ => Ok(value.text),
        }
    }

    pub fn expr(&mut self, e: &Expr) -> Result<Value> {
        match &e.kind {
            Kind::Number(n) => Ok(Value::number(n.to_string())),
            Kind::Text(text) => Ok(Value::atom(format!("\"{text}\""), Ty::Text)),
            Kind::Name(name) => self.named(name, e.at),
            Kind::Var(name) => self.variable(name, e.at),
            Kind::Map(name, keys) => self.map(name, keys, e.at),
            Kind::Word(n) => self.word(*n, e.at),
            Kind::Words => Ok(Value::number(self.setting.words.len().to_string())),
            Kind::Call(name, args) => self.call(name, args, e.at),
            Kind::Unary(sign, operand) => self.unary(sign, operand, e.at),
            Kind::Step(sign, before, operand) => self.stepped(sign, *before, operand),
            Kind::Binary(sign, left, right) => self.binary(sign, left, right),
            Kind::Choice(condition, then, otherwise) => self.choice(condition, then, otherwise),
            Kind::Member(of, name) => self.member(of, name, e.at),
            Kind::Part(of, n) => self.part_of(of, *n, e.at),
            Kind::Index(of, index) => self.indexed(of, index, e.at),
            Kind::Cast(to, of) => self.cast(to, of),
            Kind::Sizeof(of) => Ok(Value::number(self.sizeof(of))),
        }
    }

    /// `$1`
    fn word(&mut self, n: usize, at: At) -> Result<Value> {
        self.notes.words = self.notes.words.max(n);
        let Some(word) = self.setting.words.get(n - 1) else {
            return wrong(
                at,
                format!("there is no word {n} on the command line"),
                "write it behind the program",
            );
        };
        match word.parse::<i64>() {
            Ok(number) => Ok(Value::number(number.to_string())),
            Err(_) => wrong(
                at,
                format!("word {n} of the command line, `{word}`, is no number"),
                format!("write str(${n})"),
            ),
        }
    }

    fn variable(&mut self, name: &str, at: At) -> Result<Value> {
        if let Some(map) = self.walks.get(name) {
            return wrong(
                at,
                format!("${name} is an element of @{map}"),
                format!("${name}.0 is its key, ${name}.1 its value"),
            );
        }
        let known = self.types.vars.get(&(self.probe, name.to_string()));
        match known {
            None if self.last => wrong(
                at,
                format!("${name} is never set in this probe"),
                "variables belong to one probe: use a map, @x[tid], from one to another",
            ),
            None => Ok(Value::atom(format!("var_{name}"), Ty::Unknown)),
            Some(var) => Ok(Value {
                points: var.points.clone(),
                ..Value::atom(format!("var_{name}"), var.ty)
            }),
        }
    }

    /// A map's element, to be set.
    pub fn element(&mut self, name: &str, keys: &[Expr], at: At) -> Result<String> {
        let (mut texts, mut types) = (Vec::new(), Vec::new());
        for key in keys {
            let value = self.expr(key)?;
            texts.push(value.text);
            types.push(value.ty);
        }
        self.types.keys(name, &types, at)?;
        let global = maps::global(name);
        Ok(match texts.is_empty() {
            true => global,
            false => format!("{global}[{}]", texts.join(", ")),
        })
    }

    fn map(&mut self, name: &str, keys: &[Expr], at: At) -> Result<Value> {
        let element = self.element(name, keys, at)?;
        let map = &self.types.maps[name];
        self.held(element, map.held, map.points.clone(), at)
    }

    fn held(&self, element: String, held: Held, points: Option<Type>, at: At) -> Result<Value> {
        match held {
            Held::One(ty) => Ok(Value {
                points,
                ..Value::atom(element, ty)
            }),
            Held::Many(Gather::Hist | Gather::Lhist(..) | Gather::Stats) => wrong(
                at,
                "what this map gathers is no single number",
                "print the map: print(@x)",
            ),
            Held::Many(gather) => Ok(Value::number(format!("{}({element})", gather.order()))),
        }
    }

    /// `$kv.0`, `$kv.1`, `$kv.0.1`
    fn part_of(&mut self, of: &Expr, n: i64, at: At) -> Result<Value> {
        let (base, path) = match &of.kind {
            Kind::Part(inner, first) => (&inner.kind, vec![*first, n]),
            _ => (&of.kind, vec![n]),
        };
        let Kind::Var(var) = base else {
            return refused(
                at,
                "tuples are not translated",
                "use variables or several keys",
            );
        };
        let Some(name) = self.walks.get(var).cloned() else {
            return refused(
                at,
                format!("${var} is no element of a map"),
                "for ($kv : @map) { } makes one: $kv.0 is its key, $kv.1 its value",
            );
        };
        let map = self.types.maps.get(&name).cloned();
        let keys = map.as_ref().map_or(1, |m| m.keys.len());
        let key = |n: usize| format!("key_{var}_{n}");
        let of_key = |n: usize| map.as_ref().map_or(Ty::Unknown, |m| m.keys[n]);
        match path[..] {
            [0] if keys == 1 => Ok(Value::atom(key(0), of_key(0))),
            [0, n] if (n as usize) < keys => Ok(Value::atom(key(n as usize), of_key(n as usize))),
            [1] => {
                let all: Vec<String> = (0..keys).map(key).collect();
                let element = format!("{}[{}]", maps::global(&name), all.join(", "));
                let held = map.map_or(Held::One(Ty::Unknown), |m| m.held);
                self.held(element, held, None, at)
            }
            _ => wrong(
                at,
                format!("@{name} has no such part"),
                format!(
                    "${var}.0 is the key (of several ${var}.0.0, ${var}.0.1), ${var}.1 the value"
                ),
            ),
        }
    }

    fn unary(&mut self, sign: &str, operand: &Expr, at: At) -> Result<Value> {
        match sign {
            "*" => self.read_at(operand, None, at),
            "&" => {
                let of = self.expr(operand)?;
                match of.chain {
                    true => Ok(Value::compound(format!("&{}", of.text), Ty::Number)),
                    false => wrong(
                        at,
                        "only members of structures have an address",
                        "&$p->member",
                    ),
                }
            }
            _ => {
                let value = self.expr(operand)?;
                self.check_number(&value, operand.at, sign)?;
                Ok(Value::compound(
                    format!("{sign}{}", value.part()),
                    Ty::Number,
                ))
            }
        }
    }

    fn check_number(&self, value: &Value, at: At, sign: &str) -> Result<()> {
        match value.is_text() {
            true => wrong(
                at,
                format!("{sign} takes numbers, not text"),
                "text can be compared by == and !=",
            ),
            false => Ok(()),
        }
    }

    fn stepped(&mut self, sign: &str, before: bool, operand: &Expr) -> Result<Value> {
        let target = match &operand.kind {
            Kind::Map(name, keys) => {
                let element = self.element(name, keys, operand.at)?;
                self.types
                    .held(name, Held::One(Ty::Number), None, operand.at)?;
                element
            }
            Kind::Var(_) => self.number(operand)?,
            _ => {
                return wrong(
                    operand.at,
                    format!("{sign} changes a map or a variable"),
                    "@x++, $x++",
                )
            }
        };
        let text = match before {
            true => format!("{sign}{target}"),
            false => format!("{target}{sign}"),
        };
        Ok(Value::compound(text, Ty::Number))
    }

    fn binary(&mut self, sign: &str, left: &Expr, right: &Expr) -> Result<Value> {
        let (a, b) = (self.expr(left)?, self.expr(right)?);
        let unknown = a.ty == Ty::Unknown || b.ty == Ty::Unknown;
        if (a.is_text() != b.is_text()) && !unknown {
            return wrong(
                left.at.to(right.at),
                "a number and text do not go together",
                "str() reads the text at an address",
            );
        }
        if a.is_text() && !matches!(sign, "==" | "!=") {
            return wrong(
                left.at.to(right.at),
                format!("{sign} does not go with text"),
                "text can be compared by == and !=",
            );
        }
        Ok(Value::compound(
            format!("{} {sign} {}", a.part(), b.part()),
            Ty::Number,
        ))
    }

    fn choice(&mut self, condition: &Expr, then: &Expr, otherwise: &Expr) -> Result<Value> {
        let condition = Value::compound(self.condition(condition)?, Ty::Number).part();
        let (a, b) = (self.expr(then)?, self.expr(otherwise)?);
        let unknown = a.ty == Ty::Unknown || b.ty == Ty::Unknown;
        if (a.is_text() != b.is_text()) && !unknown {
            return wrong(
                then.at.to(otherwise.at),
                "a choice is between two numbers or two texts",
                "use if and else",
            );
        }
        let ty = if a.ty == Ty::Unknown { b.ty } else { a.ty };
        Ok(Value::compound(
            format!("{condition} ? {} : {}", a.part(), b.part()),
            ty,
        ))
    }

    fn member(&mut self, of: &Expr, name: &str, at: At) -> Result<Value> {
        if matches!(&of.kind, Kind::Name(n) if n == "args") {
            return self.argument(name, at);
        }
        let base = self.expr(of)?;
        if base.chain {
            return Ok(Value::chain(format!("{}->{name}", base.text)));
        }
        match &base.points {
            Some(to) if to.is_struct || to.pointers > 0 => Ok(Value::chain(format!(
                "{}->{name}",
                self.looked_at(&base, to)
            ))),
            _ => wrong(
                of.at,
                "nothing says what type this points to",
                "say it: ((struct task_struct *)$p)->pid",
            ),
        }
    }

    /// An address as a structure.
    fn looked_at(&self, base: &Value, to: &Type) -> String {
        match self.module() {
            Some(module) => format!("@cast({}, \"{}\", \"{module}\")", base.text, to.name),
            None => format!("@cast({}, \"{}\")", base.text, to.name),
        }
    }

    /// Where types are looked for: with nothing said in the probed program.
    fn module(&self) -> Option<String> {
        match self.home {
            Home::Kernel => Some("kernel".to_string()),
            Home::Process if self.includes.is_empty() => None,
            Home::Process => Some(
                self.includes
                    .iter()
                    .map(|h| format!("<{h}>"))
                    .collect::<Vec<_>>()
                    .join(":"),
            ),
        }
    }

    fn sizeof(&self, of: &Type) -> String {
        match (self.width(of), of.pointers, self.module()) {
            (_, 1.., _) => "8".to_string(),
            (Some((bits, _)), ..) => (bits / 8).to_string(),
            (None, _, Some(module)) => {
                format!("@cast_module_sizeof(\"{module}\", \"{}\")", of.name)
            }
            (None, _, None) => format!("@cast_sizeof(\"{}\")", of.name),
        }
    }

    /// Bits of a type of numbers, and whether it has a sign.
    fn width(&self, of: &Type) -> Option<(u32, bool)> {
        let numbers = &crate::parse::NUMBERS;
        let found = numbers
            .iter()
            .find(|(name, ..)| !of.is_struct && *name == of.name);
        found.map(|(_, bits, signed)| (*bits, *signed))
    }

    fn cast(&mut self, to: &Type, of: &Expr) -> Result<Value> {
        let value = self.expr(of)?;
        self.check_number(&value, of.at, "a cast")?;
        if to.pointers > 0 || to.is_struct {
            return Ok(Value {
                points: Some(to.clone()),
                chain: false,
                ..value
            });
        }
        let text = value.part();
        Ok(match self.width(to) {
            Some((64, _)) | None => Value {
                points: None,
                chain: false,
                ..value
            },
            Some((bits, true)) => {
                Value::compound(format!("({text} << {0}) >> {0}", 64 - bits), Ty::Number)
            }
            Some((bits, false)) => {
                Value::compound(format!("{text} & {:#x}", (1u64 << bits) - 1), Ty::Number)
            }
        })
    }

    /// A number in memory: `*(uint32 *)p`
    fn read_at(&mut self, pointer: &Expr, index: Option<&str>, at: At) -> Result<Value> {
        let value = self.expr(pointer)?;
        let to = value.points.clone().filter(|p| p.pointers == 1);
        let width = to.as_ref().and_then(|to| self.width(to));
        let Some((bits, signed)) = width else {
            let next = "say it by a cast: *(uint32 *)$p; of structures read members: $p->x";
            return wrong(at, "nothing says what number stands at this address", next);
        };
        let place = match index {
            Some(index) => format!("{} + {index} * {}", value.part(), bits / 8),
            None => value.text.clone(),
        };
        Ok(Value::number(format!(
            "{}({place})",
            self.reader(bits, signed)
        )))
    }

    fn reader(&self, bits: u32, signed: bool) -> String {
        let user = !self.reads_kernel();
        let kernel = match bits {
            8 => "char",
            16 => "short",
            32 => "int",
            _ => "long",
        };
        let u = if signed { "" } else { "u" };
        match user {
            true => format!("user_{u}int{bits}"),
            false => format!("kernel_{u}{kernel}"),
        }
    }

    /// Whether addresses here are a kernel's: parameters of system calls are a program's.
    pub fn reads_kernel(&self) -> bool {
        self.home == Home::Kernel && !matches!(self.point.place, Place::Enter(_) | Place::Exit(_))
    }

    fn indexed(&mut self, of: &Expr, index: &Expr, at: At) -> Result<Value> {
        let is_args = |e: &Expr| matches!(&e.kind, Kind::Member(args, name) if name == "args" && matches!(&args.kind, Kind::Name(n) if n == "args"));
        if is_args(of) && matches!(self.point.place, Place::Enter(_)) {
            return match self.literal_index(index) {
                Some(n @ 0..=5) => Ok(Value::number(format!("$arg{}", n + 1))),
                _ => wrong(
                    index.at,
                    "system calls have six arguments",
                    "args.args[0] to args.args[5]",
                ),
            };
        }
        let base = self.expr(of)?;
        let index = self.expr(index)?;
        match base.chain {
            true => Ok(Value::chain(format!("{}[{}]", base.text, index.text))),
            false => self.read_at(of, Some(&index.part()), at),
        }
    }

    fn literal_index(&self, e: &Expr) -> Option<i64> {
        match e.kind {
            Kind::Number(n) => Some(n),
            _ => None,
        }
    }

    /// `args.NAME`
    fn argument(&mut self, name: &str, at: At) -> Result<Value> {
        let is_in = |known: &[&str]| known.contains(&name);
        match &self.point.place {
            Place::Entry | Place::TypedEntry => Ok(Value::chain(format!("${name}"))),
            Place::TypedReturn => Ok(Value::chain(format!("@entry(${name})"))),
            Place::Enter(_) | Place::Exit(_) if is_in(&["__syscall_nr", "id"]) => Ok(Value::number("$syscall")),
            Place::Exit(_) if name == "ret" => Ok(Value::number("$return")),
            Place::Exit(_) => wrong(at, format!("args.{name} is not known when a system call returns"), "args.ret is its result; keep others: sys_enter_X { @x[tid] = args.NAME; }"),
            Place::Enter(Some(call)) => match call.parameters.iter().position(|p| *p == name) {
                Some(n) => Ok(Value::number(format!("$arg{}", n + 1))),
                None => wrong(at, format!("{} has no parameter {name}", call.name), has(&call.parameters)),
            },
            Place::Enter(None) => wrong(at, format!("not all system calls have a parameter {name}"), "args.id is the call's number, args.args[0] its first parameter; or name calls: sys_enter_open*"),
            Place::Tracepoint(point) => match tracepoints::field(point, name) {
                Ok((text, true)) => Ok(Value::atom(text, Ty::Text)),
                Ok((text, false)) => Ok(Value::chain(text)),
                Err(None) => Ok(Value::chain(format!("${name}"))),
                Err(Some(fields)) => refused(at, format!("the field {name} of {point} is not read"), format!("there are {fields}")),
            },
            Place::Return => wrong(at, "parameters may be gone when a function returns", "keep them: uprobe:... { @x[tid] = arg0; }"),
            Place::Mark => wrong(at, "parameters of static marks have no names", "arg0, arg1 ..."),
            Place::Session | Place::Sample => wrong(at, "there are no arguments here", "use them in uprobe, kprobe, usdt or tracepoint"),
        }
    }
}

fn has(parameters: &[&str]) -> String {
    match parameters {
        [] => "it has none".to_string(),
        _ => format!("there are {}", parameters.join(", ")),
    }
}
