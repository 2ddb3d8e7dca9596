// SPDX-License-Identifier: MIT
//! What bpftrace has by name: variables and functions.

mod actions;
mod clock;

use crate::ast::{Expr, Kind};
use crate::error::{refused, wrong, At, Result};
use crate::handler::Handler;
use crate::helpers::Helper;
use crate::points::{Home, Place};
use crate::types::Ty;
use crate::value::Value;

/// Variables that are the same everywhere.
const VARIABLES: [(&str, &str, Ty); 10] = [
    ("pid", "pid()", Ty::Number),
    ("tid", "tid()", Ty::Number),
    ("uid", "uid()", Ty::Number),
    ("gid", "gid()", Ty::Number),
    ("ppid", "ppid()", Ty::Number),
    ("cpu", "cpu()", Ty::Number),
    ("nsecs", "gettimeofday_ns()", Ty::Number),
    ("rand", "randint(1048576)", Ty::Number),
    ("comm", "execname()", Ty::Text),
    ("execname", "execname()", Ty::Text),
];

/// What is refused: name, why, what to do.
const REFUSED: [(&str, &str, &str); 22] = [
    (
        "cgroup",
        "control groups are not known to handlers",
        "filter by pid, uid or comm",
    ),
    (
        "cgroupid",
        "control groups are not known to handlers",
        "filter by pid, uid or comm",
    ),
    (
        "cgroup_path",
        "control groups are not known to handlers",
        "filter by pid, uid or comm",
    ),
    (
        "ctx",
        "there is no BPF context here",
        "args.NAME and arg0 are parameters",
    ),
    (
        "username",
        "names of users are not known to handlers",
        "print uid, and look it up by getent passwd UID",
    ),
    (
        "jiffies",
        "ticks of the kernel are not read",
        "nsecs is finer",
    ),
    (
        "numaid",
        "the memory node is not read",
        "cpu is the processor",
    ),
    (
        "args",
        "all arguments at once are not printed",
        "name one: args.filename",
    ),
    (
        "kaddr",
        "addresses of a kernel's symbols are not looked up",
        "write a script: its @var(\"NAME\") reads a variable",
    ),
    (
        "uaddr",
        "addresses of a program's symbols are not looked up",
        "write a script: @var(\"NAME\") reads a variable",
    ),
    (
        "cgroup_id",
        "control groups are not known to handlers",
        "filter by pid, uid or comm",
    ),
    (
        "cat",
        "handlers do not read files",
        "cat the file before or behind the session",
    ),
    (
        "buf",
        "bytes that are no text are not printed",
        "str(p, n) reads text, *(uint8 *)(p + n) one byte",
    ),
    (
        "macaddr",
        "this kind of address is not printed",
        "print its bytes by %02x",
    ),
    (
        "path",
        "paths of files are not put together",
        "str() of the name: str($dentry->d_name.name)",
    ),
    (
        "override",
        "results are not overridden",
        "write a script: with -g it sets $return",
    ),
    (
        "signal",
        "signals are not sent",
        "write a script: raise(N), with -g",
    ),
    (
        "skboutput",
        "packets are not written to files",
        "use tcpdump",
    ),
    (
        "debugf",
        "the kernel's own trace buffer is not written",
        "use printf",
    ),
    (
        "kptr",
        "kinds of addresses are not marked",
        "kstr() and ustr() read text of either kind",
    ),
    (
        "uptr",
        "kinds of addresses are not marked",
        "kstr() and ustr() read text of either kind",
    ),
    ("nsecs_of", "there is no such clock", "nsecs"),
];

impl Handler<'_> {
    pub fn named(&mut self, name: &str, at: At) -> Result<Value> {
        if let Some((_, text, ty)) = VARIABLES.iter().find(|v| v.0 == name) {
            return Ok(Value::atom(*text, *ty));
        }
        match name {
            "probe" => Ok(Value::atom(format!("({})", self.point.named), Ty::Text)),
            "func" => Ok(Value::atom("probefunc()", Ty::Text)),
            "retval" => self.result(at),
            "ustack" | "kstack" | "stack" => self.stack(name, &[], at),
            "curtask" => match self.home {
                Home::Kernel => Ok(Value::number("task_current()").pointer("task_struct")),
                Home::Process => refused(at, "a program's handler does not see the kernel's task", "pid, tid, comm and uid tell of it"),
            },
            "elapsed" => {
                self.notes.helpers.insert(Helper::Elapsed);
                Ok(Value::number("(gettimeofday_ns() - began)"))
            }
            "true" => Ok(Value::number("1")),
            "false" => Ok(Value::number("0")),
            _ => match (number_behind(name, "arg"), number_behind(name, "sarg")) {
                (Some(n), _) => self.numbered(n, at),
                (_, Some(n)) => self.numbered(n + 6, at),
                _ => unknown(name, at, "a name of bpftrace's", "pid, tid, comm, nsecs, arg0, retval, args.NAME; constants of headers are written as numbers"),
            },
        }
    }

    /// `arg0`
    fn numbered(&self, n: usize, at: At) -> Result<Value> {
        match &self.point.place {
            Place::Entry | Place::TypedEntry => Ok(Value::number(format!("long_arg({})", n + 1))),
            Place::Mark => Ok(Value::number(format!("$arg{}", n + 1))),
            Place::Return | Place::TypedReturn => wrong(
                at,
                "parameters may be gone when a function returns",
                "keep them at its entry: uprobe:... { @x[tid] = arg0; }",
            ),
            Place::Enter(_) | Place::Exit(_) | Place::Tracepoint(_) => wrong(
                at,
                "a tracepoint's arguments have names",
                "args.NAME; trapless -L 'kernel.trace(\"NAME\")' lists them",
            ),
            Place::Session | Place::Sample => wrong(
                at,
                "there are no arguments here",
                "use them in uprobe, kprobe or usdt",
            ),
        }
    }

    fn result(&self, at: At) -> Result<Value> {
        match &self.point.place {
            Place::Return => Ok(Value::number("returnval()")),
            Place::TypedReturn => Ok(Value::number("$return")),
            Place::Exit(_) => wrong(at, "a system call's result is args.ret", "write args.ret"),
            _ => wrong(
                at,
                "there is a result only where a function returns",
                "use it in uretprobe, kretprobe or fexit",
            ),
        }
    }

    fn stack(&mut self, name: &str, args: &[Expr], at: At) -> Result<Value> {
        if self.point.place == Place::Session {
            return wrong(
                at,
                "no thread of a program was stopped here",
                "stacks are there in uprobe, usdt, kprobe, tracepoint and profile",
            );
        }
        let user = name == "ustack";
        if !user && self.home == Home::Process {
            return refused(
                at,
                "a program's handler does not see the kernel's stack",
                "ustack is the program's; with -r $(uname -r), as root, the kernel is traced",
            );
        }
        let mut frames = None;
        for arg in args {
            match &arg.kind {
                Kind::Name(mode) if matches!(mode.as_str(), "bpftrace" | "perf") => {}
                Kind::Name(_) => {
                    return refused(arg.at, "stacks are written in one way", "leave it out")
                }
                _ => frames = Some(self.number(arg)?),
            }
        }
        let all = match user {
            true => "sprint_ubacktrace()",
            false => "sprint_backtrace()",
        };
        let text = match frames {
            None => all.to_string(),
            Some(count) => {
                self.notes.helpers.insert(Helper::Frames);
                format!("frames({all}, {count})")
            }
        };
        Ok(Value::atom(text, Ty::Stack))
    }

    /// A function that has a value.
    pub fn call(&mut self, name: &str, args: &[Expr], at: At) -> Result<Value> {
        let text = |t: String| Ok(Value::atom(t, Ty::Text));
        match name {
            "str" | "ustr" | "kstr" => self.string(name, args, at),
            "ustack" | "kstack" => self.stack(name, args, at),
            "ksym" | "usym" => {
                let [address] = self.values(name, args, at)?;
                text(format!("{}({})", if name == "ksym" { "symname" } else { "usymname" }, self.number(address)?))
            }
            "reg" => self.register(args, at),
            "strncmp" => {
                let [a, b, n] = self.values(name, args, at)?;
                let (a, b, n) = (self.text(a)?, self.text(b)?, self.number(n)?);
                Ok(Value::number(format!("(substr({a}, 0, {n}) != substr({b}, 0, {n}))")))
            }
            "strcontains" => {
                let [a, b] = self.values(name, args, at)?;
                Ok(Value::number(format!("isinstr({}, {})", self.text(a)?, self.text(b)?)))
            }
            "strlen" => {
                let [a] = self.values(name, args, at)?;
                Ok(Value::number(format!("strlen({})", self.text(a)?)))
            }
            "strftime" => {
                let [format, time] = self.values(name, args, at)?;
                let seconds = format!("({}) / 1000000000", self.number(time)?);
                let made = self.clock(format, &seconds)?;
                text(format!("sprintf({made})"))
            }
            "ntop" => {
                let address = args.last();
                let Some(address) = address else {
                    return wrong(at, "ntop() takes an address", "ntop($p->daddr)");
                };
                text(format!("ip_ntop({})", self.number(address)?))
            }
            "bswap" => refused(at, "bytes are not swapped", "write a script: ntohs(), ntohl()"),
            "count" | "sum" | "avg" | "min" | "max" | "stats" | "hist" | "lhist" => {
                wrong(at, format!("{name}() fills a map"), format!("@x = {name}(...)"))
            }
            "printf" | "print" | "clear" | "zero" | "delete" | "exit" | "time" | "join" | "system" => {
                wrong(at, format!("{name}() has no value"), "write it as a statement of its own")
            }
            _ => unknown(name, at, "a function", "str, ustack, kstack, usym, ksym, reg, strncmp, strcontains, strlen, strftime, ntop"),
        }
    }

    /// As many values as the function takes.
    pub fn values<'e, const N: usize>(
        &self,
        name: &str,
        args: &'e [Expr],
        at: At,
    ) -> Result<[&'e Expr; N]> {
        let all: Vec<&Expr> = args.iter().collect();
        match all.try_into() {
            Ok(values) => Ok(values),
            Err(_) => wrong(
                at,
                format!("{name}() takes {N} values, not {}", args.len()),
                "see docs/bpftrace.md",
            ),
        }
    }

    fn string(&mut self, name: &str, args: &[Expr], at: At) -> Result<Value> {
        let Some((first, more)) = args.split_first() else {
            return wrong(at, format!("{name}() takes an address"), "str(arg0)");
        };
        if let Kind::Word(n) = first.kind {
            self.notes.words = self.notes.words.max(n);
            let word = self.setting.words.get(n - 1).map_or("", String::as_str);
            return Ok(Value::atom(quoted(word), Ty::Text));
        }
        let address = self.expr(first)?;
        if address.is_text() {
            return Ok(address);
        }
        let kernel = name == "kstr" || (name == "str" && self.reads_kernel());
        let text = match (kernel, more.first()) {
            (true, None) => format!("kernel_string({}, \"\")", address.text),
            (true, Some(n)) => format!(
                "kernel_string_n({}, {}, \"\")",
                address.text,
                self.number(n)?
            ),
            (false, None) => format!("user_string_nofault({})", address.text),
            (false, Some(n)) => format!(
                "user_string_n_nofault({}, {})",
                address.text,
                self.number(n)?
            ),
        };
        Ok(Value::atom(text, Ty::Text))
    }

    fn register(&mut self, args: &[Expr], at: At) -> Result<Value> {
        let [name] = self.values("reg", args, at)?;
        let Kind::Text(register) = &name.kind else {
            return wrong(
                name.at,
                "a register's name is text in quotes",
                "reg(\"ip\")",
            );
        };
        let text = match register.as_str() {
            "ip" if self.home == Home::Process => "uaddr()".to_string(),
            "ip" => "addr()".to_string(),
            "ax" | "bx" | "cx" | "dx" | "si" | "di" | "bp" | "sp" => {
                format!("register(\"r{register}\")")
            }
            _ => format!("register(\"{register}\")"),
        };
        Ok(Value::number(text))
    }
}

fn quoted(word: &str) -> String {
    format!(
        "\"{}\"",
        word.replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
    )
}

/// `arg12`
fn number_behind(name: &str, word: &str) -> Option<usize> {
    let digits = name.strip_prefix(word)?;
    digits.parse().ok().filter(|n| *n < 100)
}

fn unknown<T>(name: &str, at: At, what: &str, next: &str) -> Result<T> {
    match REFUSED.iter().find(|r| r.0 == name) {
        Some((_, why, then)) => refused(at, format!("{name}: {why}"), *then),
        None => wrong(
            at,
            format!("`{name}` is not {what} that is known here"),
            format!("there are {next}"),
        ),
    }
}
