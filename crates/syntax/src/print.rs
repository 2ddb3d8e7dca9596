// SPDX-License-Identifier: MIT
//! The tree as text again: for `-p1`, for messages, and for the proof that
//! nothing was lost (what is printed parses to the same tree).
//!
//! Parentheses stand around every operator inside another one.

use crate::ast::*;
use std::fmt::{self, Display, Formatter, Write};

/// What a printer writes to; `{}` of any node starts at indent 0.
struct Out<'a, 'b> {
    f: &'a mut Formatter<'b>,
    indent: usize,
}

impl Out<'_, '_> {
    fn text(&mut self, text: &str) -> fmt::Result {
        self.f.write_str(text)
    }

    fn line(&mut self) -> fmt::Result {
        self.f.write_char('\n')?;
        for _ in 0..self.indent {
            self.f.write_char('\t')?;
        }
        Ok(())
    }

    fn list<T>(
        &mut self,
        items: &[T],
        mut each: impl FnMut(&mut Self, &T) -> fmt::Result,
    ) -> fmt::Result {
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.text(", ")?;
            }
            each(self, item)?;
        }
        Ok(())
    }

    // ---- declarations ----

    fn item(&mut self, item: &Item) -> fmt::Result {
        match item {
            Item::Probe(probe) => {
                self.text("probe ")?;
                self.list(&probe.points, Self::point)?;
                self.text(" ")?;
                self.block(&probe.body)
            }
            Item::Alias(alias) => self.alias(alias),
            Item::Function(function) => self.function(function),
            Item::Global(global) => self.global(global),
            Item::EmbeddedC(code) => self.embedded(code),
        }
    }

    fn alias(&mut self, alias: &Alias) -> fmt::Result {
        self.text("probe ")?;
        let assign = if alias.prologue.is_some() {
            " = "
        } else {
            " += "
        };
        for name in &alias.names {
            self.point(name)?;
            self.text(assign)?;
        }
        self.list(&alias.points, Self::point)?;
        self.text(" ")?;
        match (&alias.prologue, &alias.epilogue) {
            (Some(before), Some(after)) => {
                self.block(before)?;
                self.text(", ")?;
                self.block(after)
            }
            (Some(body), None) | (None, Some(body)) => self.block(body),
            (None, None) => self.text("{\n}"),
        }
    }

    fn point(&mut self, point: &ProbePoint) -> fmt::Result {
        for (i, component) in point.components.iter().enumerate() {
            if i > 0 {
                self.text(".")?;
            }
            self.component(component)?;
        }
        if point.sufficient {
            self.text("!")?;
        } else if point.optional {
            self.text("?")?;
        }
        if let Some(condition) = &point.condition {
            self.text(" if (")?;
            self.expr(condition)?;
            self.text(")")?;
        }
        Ok(())
    }

    fn component(&mut self, component: &Component) -> fmt::Result {
        self.text(&component.name.name)?;
        if let Some(arg) = &component.arg {
            self.text("(")?;
            self.literal(arg)?;
            self.text(")")?;
        }
        Ok(())
    }

    fn literal(&mut self, literal: &Literal) -> fmt::Result {
        match literal {
            Literal::Number(n) => write!(self.f, "{}", n.value),
            Literal::String(s) => self.string(&s.bytes),
        }
    }

    fn function(&mut self, function: &Function) -> fmt::Result {
        self.text(if function.private {
            "private function "
        } else {
            "function "
        })?;
        self.text(&function.name.name)?;
        self.type_suffix(function.ret)?;
        self.text("(")?;
        self.list(&function.params, |out, param| {
            out.text(&param.name.name)?;
            out.type_suffix(param.ty)
        })?;
        self.text(")")?;
        if let Some(priority) = &function.priority {
            write!(self.f, ":{}", priority.value)?;
        }
        self.text(" ")?;
        match &function.body {
            FunctionBody::Script(block) => self.block(block),
            FunctionBody::EmbeddedC(code) => self.embedded(code),
        }
    }

    fn type_suffix(&mut self, ty: Option<TypeName>) -> fmt::Result {
        match ty {
            Some(ty) => write!(self.f, ":{}", ty.name()),
            None => Ok(()),
        }
    }

    fn global(&mut self, global: &Global) -> fmt::Result {
        self.text(if global.private {
            "private global "
        } else {
            "global "
        })?;
        self.text(&global.name.name)?;
        if global.wrap {
            self.text("%")?;
        }
        if let Some(size) = &global.size {
            write!(self.f, "[{}]", size.value)?;
        }
        if let Some(init) = &global.init {
            self.text(" = ")?;
            self.literal(init)?;
        }
        Ok(())
    }

    fn embedded(&mut self, code: &EmbeddedC) -> fmt::Result {
        self.text("%{")?;
        self.text(&code.code)?;
        self.text("%}")
    }

    // ---- statements ----

    fn block(&mut self, block: &Block) -> fmt::Result {
        self.text("{")?;
        self.indent += 1;
        for stmt in &block.stmts {
            self.line()?;
            self.stmt(stmt)?;
        }
        self.indent -= 1;
        self.line()?;
        self.text("}")
    }

    fn stmt(&mut self, stmt: &Stmt) -> fmt::Result {
        match &stmt.kind {
            StmtKind::Empty => self.text(";"),
            StmtKind::Block(block) => self.block(block),
            StmtKind::Expr(e) => {
                self.statement_expr(e)?;
                self.text(";")
            }
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => self.if_stmt(cond, then, otherwise),
            StmtKind::While { cond, body } => {
                self.text("while (")?;
                self.expr(cond)?;
                self.text(") ")?;
                self.stmt(body)
            }
            StmtKind::For {
                init,
                cond,
                step,
                body,
            } => {
                self.text("for (")?;
                self.optional(init)?;
                self.text("; ")?;
                self.optional(cond)?;
                self.text("; ")?;
                self.optional(step)?;
                self.text(") ")?;
                self.stmt(body)
            }
            StmtKind::Foreach(foreach) => self.foreach(foreach),
            StmtKind::Return(value) => {
                self.text("return")?;
                if value.is_some() {
                    self.text(" ")?;
                }
                self.optional(value)?;
                self.text(";")
            }
            StmtKind::Delete(e) => {
                self.text("delete ")?;
                self.expr(e)?;
                self.text(";")
            }
            StmtKind::Break => self.text("break;"),
            StmtKind::Continue => self.text("continue;"),
            StmtKind::Next => self.text("next;"),
            StmtKind::Try {
                body,
                message,
                handler,
            } => {
                self.text("try ")?;
                self.block(body)?;
                self.text(" catch ")?;
                if let Some(name) = message {
                    write!(self.f, "({}) ", name.name)?;
                }
                self.block(handler)
            }
            StmtKind::EmbeddedC(code) => {
                self.embedded(code)?;
                self.text(";")
            }
        }
    }

    /// Embedded C that starts an expression would be taken for a statement.
    fn statement_expr(&mut self, e: &Expr) -> fmt::Result {
        if matches!(e.kind, ExprKind::EmbeddedC(_)) {
            return self.operand(e);
        }
        self.expr(e)
    }

    fn optional(&mut self, e: &Option<Expr>) -> fmt::Result {
        e.as_ref().map_or(Ok(()), |e| self.expr(e))
    }

    fn if_stmt(&mut self, cond: &Expr, then: &Stmt, otherwise: &Option<Box<Stmt>>) -> fmt::Result {
        self.text("if (")?;
        self.expr(cond)?;
        self.text(") ")?;
        self.stmt(then)?;
        if let Some(otherwise) = otherwise {
            self.text(" else ")?;
            self.stmt(otherwise)?;
        }
        Ok(())
    }

    fn foreach(&mut self, foreach: &Foreach) -> fmt::Result {
        self.text("foreach (")?;
        if let Some(value) = &foreach.value {
            write!(self.f, "{} = ", value.name)?;
        }
        let mark = |sort: &Option<Sort>, by: SortBy| match sort {
            Some(s) if s.by == by && s.descending => "-",
            Some(s) if s.by == by => "+",
            _ => "",
        };
        self.text("[")?;
        for (i, key) in foreach.keys.iter().enumerate() {
            if i > 0 {
                self.text(", ")?;
            }
            self.text(&key.name)?;
            self.text(mark(&foreach.sort, SortBy::Key(i)))?;
        }
        self.text("] in ")?;
        self.expr(&foreach.base)?;
        if let Some(slice) = &foreach.slice {
            self.keys(slice)?;
        }
        self.text(mark(&foreach.sort, SortBy::Value))?;
        if let Some(Sort {
            by: SortBy::Aggregate(op),
            ..
        }) = foreach.sort
        {
            write!(self.f, " {} ", op.name())?;
            self.text(mark(&foreach.sort, SortBy::Aggregate(op)))?;
        }
        if let Some(limit) = &foreach.limit {
            self.text(" limit ")?;
            self.expr(limit)?;
        }
        self.text(") ")?;
        self.stmt(&foreach.body)
    }

    // ---- expressions ----

    /// An expression inside another: in parentheses unless it is one word.
    fn operand(&mut self, e: &Expr) -> fmt::Result {
        let plain = match &e.kind {
            ExprKind::Number(_)
            | ExprKind::Ident(_)
            | ExprKind::Str(_)
            | ExprKind::Index { .. }
            | ExprKind::Call { .. }
            | ExprKind::Print(_)
            | ExprKind::Stat { .. } => true,
            ExprKind::Target(t) => !t.address_of && !matches!(t.base, TargetBase::Auto(_)),
            _ => false,
        };
        if plain {
            return self.expr(e);
        }
        self.text("(")?;
        self.expr(e)?;
        self.text(")")
    }

    fn expr(&mut self, e: &Expr) -> fmt::Result {
        match &e.kind {
            // The token is an unsigned number; a minus would be an operator.
            ExprKind::Number(n) if *n < 0 => write!(self.f, "{:#x}", n),
            ExprKind::Number(n) => write!(self.f, "{n}"),
            ExprKind::Str(bytes) => self.string(bytes),
            ExprKind::Ident(name) => self.text(name),
            ExprKind::Unary(op, operand) => {
                self.text(op.symbol())?;
                self.operand(operand)
            }
            ExprKind::Crement {
                op,
                prefix: true,
                target,
            } => {
                self.text(op.symbol())?;
                self.operand(target)
            }
            ExprKind::Crement {
                op,
                prefix: false,
                target,
            } => {
                self.operand(target)?;
                self.text(op.symbol())
            }
            ExprKind::Binary(op, left, right) => self.binary(*op, left, right),
            ExprKind::Match {
                subject,
                negated,
                pattern,
            } => {
                self.operand(subject)?;
                self.text(if *negated { " !~ " } else { " =~ " })?;
                self.string(&pattern.bytes)
            }
            ExprKind::Ternary {
                cond,
                then,
                otherwise,
            } => {
                self.operand(cond)?;
                self.text(" ? ")?;
                self.operand(then)?;
                self.text(" : ")?;
                self.operand(otherwise)
            }
            ExprKind::Assign { op, target, value } => self.infix(target, op.symbol(), value),
            ExprKind::In { keys, base } => {
                self.text("[")?;
                self.list(keys, |out, key| match key {
                    Key::Expr(e) => out.operand(e),
                    Key::Any(_) => out.text("*"),
                })?;
                self.text("] in ")?;
                self.expr(base)
            }
            ExprKind::Index { base, keys } => {
                self.expr(base)?;
                self.keys(keys)
            }
            ExprKind::Call { name, args } => {
                self.text(&name.name)?;
                self.text("(")?;
                self.list(args, Self::expr)?;
                self.text(")")
            }
            ExprKind::Print(print) => self.print(print),
            ExprKind::Target(target) => self.target(target),
            ExprKind::EmbeddedC(code) => self.embedded(code),
            ExprKind::Error => self.text("<error>"),
            _ => self.builtin(&e.kind),
        }
    }

    /// Chains of one operator group to the left by themselves.
    fn binary(&mut self, op: BinOp, left: &Expr, right: &Expr) -> fmt::Result {
        match left.kind {
            ExprKind::Binary(inner, ..) if inner == op => self.expr(left)?,
            _ => self.operand(left)?,
        }
        write!(self.f, " {} ", op.symbol())?;
        self.operand(right)
    }

    fn infix(&mut self, left: &Expr, op: &str, right: &Expr) -> fmt::Result {
        self.operand(left)?;
        write!(self.f, " {op} ")?;
        self.operand(right)
    }

    fn keys(&mut self, keys: &[Key]) -> fmt::Result {
        self.text("[")?;
        self.list(keys, |out, key| match key {
            Key::Expr(e) => out.expr(e),
            Key::Any(_) => out.text("*"),
        })?;
        self.text("]")
    }

    fn print(&mut self, print: &Print) -> fmt::Result {
        self.text(print.name())?;
        self.text("(")?;
        let literal = print.format.as_ref().or(print.delimiter.as_ref());
        if let Some(literal) = literal {
            self.string(&literal.bytes)?;
            if !print.args.is_empty() {
                self.text(", ")?;
            }
        }
        self.list(&print.args, Self::expr)?;
        self.text(")")
    }

    fn target(&mut self, target: &Target) -> fmt::Result {
        if target.address_of {
            self.text("&")?;
        }
        match &target.base {
            TargetBase::Var(name) => self.text(&name.name)?,
            TargetBase::AtVar { name, module } => {
                self.text("@var(")?;
                self.string(&name.bytes)?;
                self.optional_string(module)?;
                self.text(")")?;
            }
            TargetBase::Cast {
                operand,
                ty,
                module,
            } => {
                self.text("@cast(")?;
                self.expr(operand)?;
                self.text(", ")?;
                self.string(&ty.bytes)?;
                self.optional_string(module)?;
                self.text(")")?;
            }
            TargetBase::Auto(e) if needs_parentheses(e, target) => {
                self.text("(")?;
                self.expr(e)?;
                self.text(")")?;
            }
            TargetBase::Auto(e) => self.operand(e)?,
        }
        for access in &target.path {
            match access {
                Access::Member(name) => write!(self.f, "->{}", name.name)?,
                Access::Index(e) => {
                    self.text("[")?;
                    self.expr(e)?;
                    self.text("]")?;
                }
            }
        }
        self.text(match target.pretty {
            Pretty::No => "",
            Pretty::Shallow => "$",
            Pretty::Deep => "$$",
        })
    }

    fn optional_string(&mut self, lit: &Option<StrLit>) -> fmt::Result {
        let Some(lit) = lit else { return Ok(()) };
        self.text(", ")?;
        self.string(&lit.bytes)
    }

    /// The words with `@`.
    fn builtin(&mut self, kind: &ExprKind) -> fmt::Result {
        match kind {
            ExprKind::Stat { op, operand, param } => {
                write!(self.f, "{}(", op.name())?;
                self.expr(operand)?;
                if let Some(param) = param {
                    write!(self.f, ", {}", param.value)?;
                }
            }
            ExprKind::Hist { kind, operand } => {
                self.text(if *kind == HistKind::Log {
                    "@hist_log("
                } else {
                    "@hist_linear("
                })?;
                self.expr(operand)?;
                if let HistKind::Linear { low, high, step } = kind {
                    write!(self.f, ", {}, {}, {}", low.value, high.value, step.value)?;
                }
            }
            ExprKind::Entry(e) => self.word("@entry", e)?,
            ExprKind::Defined(e) => self.word("@defined", e)?,
            ExprKind::ProbeWrite(e) => self.word("@probewrite", e)?,
            ExprKind::Const(lit) => self.word_string("@const", lit)?,
            ExprKind::Perf(lit) => self.word_string("@perf", lit)?,
            ExprKind::Enum { name, module } => {
                self.word_string("@enum", name)?;
                self.optional_string(module)?;
            }
            ExprKind::EnumName { value, ty, module } => {
                self.word("@enumname", value)?;
                self.optional_string(ty)?;
                self.optional_string(module)?;
            }
            ExprKind::Deref { kernel, size, addr } => {
                self.text(if *kernel { "@kderef(" } else { "@uderef(" })?;
                self.number_arg(size)?;
                self.text(", ")?;
                self.expr(addr)?;
            }
            ExprKind::Register { kernel, number } => {
                self.text(if *kernel {
                    "@kregister("
                } else {
                    "@uregister("
                })?;
                self.number_arg(number)?;
            }
            _ => return Err(fmt::Error),
        }
        self.text(")")
    }

    fn word(&mut self, name: &str, e: &Expr) -> fmt::Result {
        self.text(name)?;
        self.text("(")?;
        self.expr(e)
    }

    fn word_string(&mut self, name: &str, lit: &StrLit) -> fmt::Result {
        self.text(name)?;
        self.text("(")?;
        self.string(&lit.bytes)
    }

    /// Where the grammar wants a number, it may have a sign.
    fn number_arg(&mut self, e: &Expr) -> fmt::Result {
        match e.kind {
            ExprKind::Number(n) => write!(self.f, "{n}"),
            _ => self.expr(e),
        }
    }

    fn string(&mut self, bytes: &[u8]) -> fmt::Result {
        self.text("\"")?;
        for chunk in bytes.utf8_chunks() {
            for c in chunk.valid().chars() {
                self.character(c)?;
            }
            for byte in chunk.invalid() {
                write!(self.f, "\\{byte:03o}")?;
            }
        }
        self.text("\"")
    }

    fn character(&mut self, c: char) -> fmt::Result {
        match c {
            '"' => self.text("\\\""),
            '\\' => self.text("\\\\"),
            '\n' => self.text("\\n"),
            '\t' => self.text("\\t"),
            '\r' => self.text("\\r"),
            c if c.is_control() => {
                let mut buffer = [0; 4];
                c.encode_utf8(&mut buffer)
                    .bytes()
                    .try_for_each(|b| write!(self.f, "\\{b:03o}"))
            }
            c => self.f.write_char(c),
        }
    }
}

/// Whether `BASE->m` or `BASE[i]` would be read as something else than an
/// access to what BASE stands for.
fn needs_parentheses(base: &Expr, target: &Target) -> bool {
    match base.kind {
        ExprKind::Target(_) => true,
        ExprKind::Ident(_) => matches!(target.path.first(), Some(Access::Index(_))),
        _ => false,
    }
}

impl Display for Script {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        for item in &self.items {
            writeln!(f, "{item}")?;
        }
        Ok(())
    }
}

macro_rules! display {
    ($($ty:ident $print:ident;)*) => {
        $(impl Display for $ty {
            fn fmt(&self, f: &mut Formatter) -> fmt::Result {
                Out { f, indent: 0 }.$print(self)
            }
        })*
    };
}

display! {
    Item item;
    ProbePoint point;
    Component component;
    Literal literal;
    Function function;
    Block block;
    Stmt stmt;
    Expr expr;
    Target target;
}
