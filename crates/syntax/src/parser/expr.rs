// SPDX-License-Identifier: MIT
//! Expressions.
//!
//! From loose to tight: assignment and `<<<` (right), `?:`, `||`, `&&`, `|`,
//! `^`, `&`, `in`, comparison or regular expression, shift, `.`, additive,
//! multiplicative, unary, `++ --`, `-> []`.

use super::*;
use crate::diag::nearest;
use crate::format::parse_format;

const ASSIGN: &[(&str, AssignOp)] = &[
    ("=", AssignOp::Set),
    ("<<<", AssignOp::Sample),
    ("+=", AssignOp::Op(BinOp::Add)),
    ("-=", AssignOp::Op(BinOp::Sub)),
    ("*=", AssignOp::Op(BinOp::Mul)),
    ("/=", AssignOp::Op(BinOp::Div)),
    ("%=", AssignOp::Op(BinOp::Mod)),
    ("<<=", AssignOp::Op(BinOp::Shl)),
    (">>=", AssignOp::Op(BinOp::Shr)),
    ("&=", AssignOp::Op(BinOp::BitAnd)),
    ("^=", AssignOp::Op(BinOp::BitXor)),
    ("|=", AssignOp::Op(BinOp::BitOr)),
    (".=", AssignOp::Op(BinOp::Concat)),
];

/// Binding strength; `in` stands between `&` and the comparisons.
const IN: u8 = 6;
const COMPARE: u8 = 7;
const UNARY: u8 = 12;

fn binary(op: &str) -> Option<(BinOp, u8)> {
    Some(match op {
        "||" => (BinOp::Or, 1),
        "&&" => (BinOp::And, 2),
        "|" => (BinOp::BitOr, 3),
        "^" => (BinOp::BitXor, 4),
        "&" => (BinOp::BitAnd, 5),
        "==" => (BinOp::Eq, COMPARE),
        "!=" => (BinOp::Ne, COMPARE),
        "<" => (BinOp::Lt, COMPARE),
        "<=" => (BinOp::Le, COMPARE),
        ">" => (BinOp::Gt, COMPARE),
        ">=" => (BinOp::Ge, COMPARE),
        "<<" => (BinOp::Shl, 8),
        ">>" => (BinOp::Shr, 8),
        ">>>" => (BinOp::UShr, 8),
        "." => (BinOp::Concat, 9),
        "+" => (BinOp::Add, 10),
        "-" => (BinOp::Sub, 10),
        "*" => (BinOp::Mul, 11),
        "/" => (BinOp::Div, 11),
        "%" => (BinOp::Mod, 11),
        _ => return None,
    })
}

/// The operators that are words with an `@`.
pub const BUILTINS: &[&str] = &[
    "@avg",
    "@cast",
    "@const",
    "@count",
    "@defined",
    "@entry",
    "@enum",
    "@enumname",
    "@hist_linear",
    "@hist_log",
    "@kderef",
    "@kregister",
    "@max",
    "@min",
    "@perf",
    "@probewrite",
    "@sum",
    "@uderef",
    "@uregister",
    "@var",
    "@variance",
];

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Parse<Expr> {
        self.nested(NEST, |p| p.assignment())
    }

    /// Right to left: `a = b = c`. Whether the left side can be set is not
    /// looked at here.
    fn assignment(&mut self) -> Parse<Expr> {
        let target = self.ternary()?;
        let TokenKind::Op(text) = self.token().kind else {
            return Ok(target);
        };
        let Some(&(_, op)) = ASSIGN.iter().find(|(t, _)| *t == text) else {
            return Ok(target);
        };
        self.bump();
        let value = self.expr()?;
        let span = target.span.to(value.span);
        let kind = ExprKind::Assign {
            op,
            target: Box::new(target),
            value: Box::new(value),
        };
        Ok(self.expr_node(kind, span))
    }

    fn ternary(&mut self) -> Parse<Expr> {
        let cond = self.binary_expr(1)?;
        if !self.eat_op("?") {
            return Ok(cond);
        }
        let then = self.expr()?;
        self.expect_op(":")?;
        let otherwise = self.nested(NEST, |p| p.ternary())?;
        let span = cond.span.to(otherwise.span);
        let kind = ExprKind::Ternary {
            cond: Box::new(cond),
            then: Box::new(then),
            otherwise: Box::new(otherwise),
        };
        Ok(self.expr_node(kind, span))
    }

    /// Operators of at least strength `min`. Each link of a chain makes the
    /// tree one level higher, so it counts as depth until the chain ends.
    fn binary_expr(&mut self, min: u8) -> Parse<Expr> {
        let before = self.depth;
        self.deeper(OPERAND)?;
        let result = self.binary_chain(min);
        self.depth = before;
        result
    }

    fn binary_chain(&mut self, min: u8) -> Parse<Expr> {
        // What `in` left behind binds no tighter than `&`.
        let (mut left, mut tightest) = if min <= IN && self.at_op("[") {
            (self.bracket_keys()?, IN - 1)
        } else {
            (self.unary()?, UNARY)
        };
        loop {
            if min <= IN && tightest >= IN && self.at_word("in") {
                self.bump();
                let base = self.indexable()?;
                let span = left.span.to(base.span);
                let kind = ExprKind::In {
                    keys: vec![Key::Expr(left)],
                    base: Box::new(base),
                };
                left = self.expr_node(kind, span);
                tightest = IN - 1;
                continue;
            }
            let TokenKind::Op(text) = self.token().kind else {
                return Ok(left);
            };
            if matches!(text, "=~" | "!~") {
                // A match is not chained with comparisons.
                if min > COMPARE || tightest <= COMPARE {
                    return Ok(left);
                }
                left = self.regex(left, text == "!~")?;
                tightest = COMPARE - 1;
                continue;
            }
            let Some((op, strength)) = binary(text) else {
                return Ok(left);
            };
            if strength < min || strength > tightest {
                return Ok(left);
            }
            self.bump();
            self.deeper(1)?;
            let right = self.binary_expr(strength + 1)?;
            let span = left.span.to(right.span);
            let kind = ExprKind::Binary(op, Box::new(left), Box::new(right));
            left = self.expr_node(kind, span);
            tightest = strength;
        }
    }

    fn regex(&mut self, subject: Expr, negated: bool) -> Parse<Expr> {
        self.bump();
        let pattern = self.string("a literal pattern (a string)")?;
        let span = subject.span.to(pattern.span);
        let kind = ExprKind::Match {
            subject: Box::new(subject),
            negated,
            pattern,
        };
        Ok(self.expr_node(kind, span))
    }

    /// `[k1, *] in a`; a single `[x]` without `in` is `x`. The keys are
    /// comparisons or tighter.
    fn bracket_keys(&mut self) -> Parse<Expr> {
        let open = self.span();
        self.bump();
        let mut keys = self.key_list(open, |p| p.binary_expr(COMPARE))?;
        if self.eat_word("in") {
            let base = self.indexable()?;
            let span = open.to(base.span);
            return Ok(self.expr_node(
                ExprKind::In {
                    keys,
                    base: Box::new(base),
                },
                span,
            ));
        }
        match keys.pop() {
            Some(Key::Expr(only)) if keys.is_empty() => Ok(only),
            _ => Err(self.expected("`in` behind a list of keys")),
        }
    }

    /// Behind the `[` of an element or slice, up to and with `]`.
    pub(super) fn keys(&mut self, open: Span) -> Parse<Vec<Key>> {
        self.key_list(open, |p| p.expr())
    }

    fn key_list(&mut self, open: Span, key: impl Fn(&mut Self) -> Parse<Expr>) -> Parse<Vec<Key>> {
        let mut keys = Vec::new();
        loop {
            let star =
                self.at_op("*") && (self.token_at(1).is_op(",") || self.token_at(1).is_op("]"));
            if star {
                keys.push(Key::Any(self.span()));
                self.bump();
            } else {
                keys.push(Key::Expr(key(self)?));
            }
            if !self.eat_op(",") {
                break;
            }
        }
        self.expect_close("]", open)?;
        Ok(keys)
    }

    /// What `in` and `foreach` look into: an array's name or a histogram.
    pub(super) fn indexable(&mut self) -> Parse<Expr> {
        if self.at_hist() {
            return self.hist();
        }
        let name = self.ident("an array's name")?;
        Ok(self.expr_node(ExprKind::Ident(name.name), name.span))
    }

    // ---- unary and postfix ----

    fn unary(&mut self) -> Parse<Expr> {
        let start = self.span();
        let op = match self.token().kind {
            TokenKind::Op("+") => UnOp::Plus,
            TokenKind::Op("-") => UnOp::Minus,
            TokenKind::Op("!") => UnOp::Not,
            TokenKind::Op("~") => UnOp::BitNot,
            TokenKind::Op("++" | "--") => return self.prefix_crement(),
            _ => return self.postfix_crement(),
        };
        self.bump();
        let operand = self.nested(NEST, |p| p.unary())?;
        let span = start.to(operand.span);
        Ok(self.expr_node(ExprKind::Unary(op, Box::new(operand)), span))
    }

    fn prefix_crement(&mut self) -> Parse<Expr> {
        let start = self.span();
        let op = self.crement_op();
        let target = self.access()?;
        let span = start.to(target.span);
        let kind = ExprKind::Crement {
            op,
            prefix: true,
            target: Box::new(target),
        };
        Ok(self.expr_node(kind, span))
    }

    fn postfix_crement(&mut self) -> Parse<Expr> {
        let target = self.access()?;
        if !self.at_op("++") && !self.at_op("--") {
            return Ok(target);
        }
        let span = target.span.to(self.span());
        let op = self.crement_op();
        let kind = ExprKind::Crement {
            op,
            prefix: false,
            target: Box::new(target),
        };
        Ok(self.expr_node(kind, span))
    }

    fn crement_op(&mut self) -> CrementOp {
        let increment = self.at_op("++");
        self.bump();
        if increment {
            CrementOp::Increment
        } else {
            CrementOp::Decrement
        }
    }

    /// `&`, a value, and `->` and `[]` behind it.
    fn access(&mut self) -> Parse<Expr> {
        let start = self.span();
        let address_of = self.eat_op("&");
        // What stands in parentheses keeps its own `&` and path.
        let whole = self.at_op("(");
        let mut expr = self.value()?;
        let more = self.at_op("->") || self.at_op("[");
        let is_target = !whole && matches!(expr.kind, ExprKind::Target(_));
        if !address_of && !more && !is_target {
            return Ok(expr);
        }
        if !is_target {
            let span = expr.span;
            let target = Target {
                base: TargetBase::Auto(Box::new(expr)),
                address_of: false,
                path: Vec::new(),
                pretty: Pretty::No,
                span,
            };
            expr = self.expr_node(ExprKind::Target(Box::new(target)), span);
        }
        let ExprKind::Target(target) = &mut expr.kind else {
            return Ok(expr);
        };
        target.address_of = address_of;
        self.path(target)?;
        let span = start.to(self.previous());
        target.span = span;
        expr.span = span;
        Ok(expr)
    }

    fn path(&mut self, target: &mut Target) -> Parse<()> {
        loop {
            let more = self.at_op("->") || self.at_op("[");
            if more && target.pretty != Pretty::No {
                return Err(self.error_here(
                    Tag::ParseExpected,
                    "a pretty-printed variable has no members",
                    "move the `$` behind the last member: $x->y$",
                ));
            }
            if self.eat_op("->") {
                let TokenKind::Word(word) = &self.token().kind else {
                    return Err(self.expected("a member's name"));
                };
                let (name, pretty) = split_pretty(word);
                let member = Ident {
                    name: name.to_string(),
                    span: self.span(),
                };
                self.bump();
                target.pretty = pretty;
                target.path.push(Access::Member(member));
            } else if self.at_op("[") {
                let open = self.span();
                self.bump();
                let index = self.expr()?;
                self.expect_close("]", open)?;
                target.path.push(Access::Index(index));
            } else if let Some(pretty) = self.lone_pretty(target) {
                target.pretty = pretty;
                self.bump();
            } else {
                return Ok(());
            }
        }
    }

    /// `$` or `$$` that touches what it belongs to: `$x[1]$`, `@var("x")$$`.
    fn lone_pretty(&self, target: &Target) -> Option<Pretty> {
        let TokenKind::Word(word) = &self.token().kind else {
            return None;
        };
        let touches = self.previous().hi == self.span().lo;
        if !touches || target.pretty != Pretty::No {
            return None;
        }
        match word.as_str() {
            "$" => Some(Pretty::Shallow),
            "$$" => Some(Pretty::Deep),
            _ => None,
        }
    }

    // ---- values ----

    fn value(&mut self) -> Parse<Expr> {
        let span = self.span();
        match &self.token().kind {
            TokenKind::Op("(") => {
                self.bump();
                let mut inner = self.expr()?;
                let close = self.expect_close(")", span)?;
                inner.span = span.to(close);
                Ok(inner)
            }
            TokenKind::Number(n) => {
                let kind = ExprKind::Number(*n);
                self.bump();
                Ok(self.expr_node(kind, span))
            }
            TokenKind::Str(_) => {
                let lit = self.string("a string")?;
                Ok(self.expr_node(ExprKind::Str(lit.bytes), lit.span))
            }
            TokenKind::Embedded(code) => {
                let code = EmbeddedC {
                    code: code.clone(),
                    span,
                };
                self.bump();
                Ok(self.expr_node(ExprKind::EmbeddedC(code), span))
            }
            TokenKind::At(name) => {
                let name = name.clone();
                self.builtin(&name)
            }
            TokenKind::Word(word) if is_keyword(word) => Err(self.expected("a value")),
            TokenKind::Word(word) if word.starts_with('$') => Ok(self.target_var()),
            TokenKind::Word(_) => self.name(),
            _ => Err(self.expected("a value")),
        }
    }

    fn target_var(&mut self) -> Expr {
        let span = self.span();
        let word = match &self.token().kind {
            TokenKind::Word(word) => word.clone(),
            _ => String::new(),
        };
        self.bump();
        let (name, pretty) = split_pretty(&word);
        let base = TargetBase::Var(Ident {
            name: name.to_string(),
            span,
        });
        let target = Target {
            base,
            address_of: false,
            path: Vec::new(),
            pretty,
            span,
        };
        self.expr_node(ExprKind::Target(Box::new(target)), span)
    }

    /// A variable, an array element, a call or a print.
    fn name(&mut self) -> Parse<Expr> {
        let name = self.ident("a name")?;
        if let Some((kind, to_string)) = print_function(&name.name) {
            return self.print(name, kind, to_string);
        }
        if self.at_op("(") {
            let open = self.span();
            self.bump();
            let args = self.args(open)?;
            let span = name.span.to(self.previous());
            return Ok(self.expr_node(ExprKind::Call { name, args }, span));
        }
        let base = self.expr_node(ExprKind::Ident(name.name), name.span);
        if !self.at_op("[") {
            return Ok(base);
        }
        self.index(base)
    }

    /// `BASE[K1, K2]`, at the `[`.
    fn index(&mut self, base: Expr) -> Parse<Expr> {
        let open = self.expect_op("[")?;
        let keys = self.keys(open)?;
        let span = base.span.to(self.previous());
        Ok(self.expr_node(
            ExprKind::Index {
                base: Box::new(base),
                keys,
            },
            span,
        ))
    }

    /// Behind `(`, up to and with `)`.
    fn args(&mut self, open: Span) -> Parse<Vec<Expr>> {
        let mut args = Vec::new();
        if !self.at_op(")") {
            loop {
                args.push(self.expr()?);
                if !self.eat_op(",") {
                    break;
                }
            }
        }
        self.expect_close(")", open)?;
        Ok(args)
    }

    // ---- print ----

    fn print(&mut self, name: Ident, kind: PrintKind, to_string: bool) -> Parse<Expr> {
        let open = self.expect_op("(")?;
        let mut print = Print {
            kind,
            to_string,
            format: None,
            delimiter: None,
            args: Vec::new(),
        };
        match kind {
            PrintKind::Printf => print.format = Some(self.format()?),
            PrintKind::Printd | PrintKind::Printdln => {
                print.delimiter = Some(self.string("a literal delimiter string")?);
            }
            PrintKind::Print | PrintKind::Println => {
                if self.at_hist() {
                    let hist = self.hist()?;
                    if self.at_op("[") {
                        let bucket = self.index(hist)?;
                        // An element of a histogram is an ordinary value, and
                        // may start a longer expression.
                        return self.print_rest(name, open, print, Some(bucket));
                    }
                    print.args.push(hist);
                    self.expect_close(")", open)?;
                    let span = name.span.to(self.previous());
                    return Ok(self.expr_node(ExprKind::Print(print), span));
                }
            }
        }
        self.print_rest(name, open, print, None)
    }

    fn format(&mut self) -> Parse<StrLit> {
        let at = self.pos;
        let format = self.string("a literal format string")?;
        if let Err(error) = parse_format(&format.bytes) {
            let behind = std::mem::replace(&mut self.pos, at);
            let text = &format.bytes;
            self.report(Tag::PrintFormat, error.message, |d| {
                d.help(
                    match text.windows(2).any(|w| matches!(w, b"%f" | b"%g" | b"%e")) {
                        true => "numbers are whole: %d; fp_to_string(x, 2) shows a float, with %s",
                        false => "write %% for a percent sign",
                    },
                );
            });
            // The rest of the call is in order.
            self.pos = behind;
        }
        Ok(format)
    }

    fn print_rest(
        &mut self,
        name: Ident,
        open: Span,
        mut print: Print,
        first: Option<Expr>,
    ) -> Parse<Expr> {
        let has_literal = print.format.is_some() || print.delimiter.is_some();
        print.args.extend(first);
        if !print.args.is_empty() || has_literal {
            if self.eat_op(",") {
                print.args.extend(self.args_no_close()?);
            }
        } else if !self.at_op(")") {
            print.args = self.args_no_close()?;
        }
        if print.args.is_empty() && !matches!(print.kind, PrintKind::Printf | PrintKind::Println) {
            let message = format!("`{}` has nothing to print", print.name());
            return Err(self.error_here(Tag::PrintArgs, message, "add a value"));
        }
        self.expect_close(")", open)?;
        let span = name.span.to(self.previous());
        Ok(self.expr_node(ExprKind::Print(print), span))
    }

    fn args_no_close(&mut self) -> Parse<Vec<Expr>> {
        let mut args = Vec::new();
        loop {
            args.push(self.expr()?);
            if !self.eat_op(",") {
                return Ok(args);
            }
        }
    }

    // ---- words with @ ----

    fn at_hist(&self) -> bool {
        matches!(&self.token().kind, TokenKind::At(n) if n == "@hist_log" || n == "@hist_linear")
    }

    /// `@hist_log(s)`, `@hist_linear(s, LOW, HIGH, STEP)`
    fn hist(&mut self) -> Parse<Expr> {
        let start = self.span();
        let linear = matches!(&self.token().kind, TokenKind::At(n) if n == "@hist_linear");
        self.bump();
        let open = self.expect_op("(")?;
        let operand = Box::new(self.expr()?);
        let mut kind = HistKind::Log;
        if linear {
            let next = |p: &mut Self, what: &str| -> Parse<NumLit> {
                p.expect_op(",")?;
                p.number(what)
            };
            let low = next(self, "the lowest value (a number)")?;
            let high = next(self, "the highest value (a number)")?;
            let step = next(self, "the width of a bucket (a number)")?;
            kind = HistKind::Linear { low, high, step };
        }
        self.expect_close(")", open)?;
        let span = start.to(self.previous());
        Ok(self.expr_node(ExprKind::Hist { kind, operand }, span))
    }

    fn builtin(&mut self, name: &str) -> Parse<Expr> {
        if let Some(op) = StatOp::ALL.iter().copied().find(|op| op.name() == name) {
            return self.stat(op);
        }
        if self.at_hist() {
            let at = self.pos;
            let hist = self.hist()?;
            if !self.at_op("[") {
                self.pos = at;
                return Err(self.error_here(
                    Tag::StatArgs,
                    format!("`{name}` is not a value"),
                    "print it with a print() of its own, or take one bucket with [n]",
                ));
            }
            return self.index(hist);
        }
        if !BUILTINS.contains(&name) {
            let near = nearest(name, BUILTINS.to_vec());
            // bpftrace's maps
            let bare = name.trim_start_matches('@').to_string();
            let map = self
                .tokens
                .get(self.pos + 1)
                .is_some_and(|t| t.is_op("["))
                .then(|| format!("declare `global {bare}`, and write {bare}[...]"));
            let message = format!("there is no operator or macro `{name}`");
            self.report(Tag::MacroUnknown, message, |d| {
                d.help("define it with @define, or correct the name")
                    .help(near)
                    .help(foreign::instead(name))
                    .help(map);
            });
            return Err(Reported);
        }
        let start = self.span();
        self.bump();
        let open = self.expect_op("(")?;
        let kind = self.builtin_args(name, start)?;
        self.expect_close(")", open)?;
        let span = start.to(self.previous());
        let kind = match kind {
            ExprKind::Target(mut target) => {
                target.span = span;
                ExprKind::Target(target)
            }
            other => other,
        };
        Ok(self.expr_node(kind, span))
    }

    /// What stands in the brackets of `@name( ... )`. Split by shape, also to
    /// keep the frames small: these nest.
    fn builtin_args(&mut self, name: &str, start: Span) -> Parse<ExprKind> {
        match name {
            "@entry" | "@defined" | "@probewrite" => self.builtin_of_value(name),
            "@const" | "@perf" | "@enum" => self.builtin_of_string(name),
            "@enumname" => self.enum_name(),
            "@uderef" | "@kderef" | "@uregister" | "@kregister" => self.raw_load(name),
            "@var" => self.at_var(start),
            _ => self.cast(start),
        }
    }

    fn boxed_expr(&mut self) -> Parse<Box<Expr>> {
        self.expr().map(Box::new)
    }

    fn builtin_of_value(&mut self, name: &str) -> Parse<ExprKind> {
        let value = self.boxed_expr()?;
        Ok(match name {
            "@entry" => ExprKind::Entry(value),
            "@defined" => ExprKind::Defined(value),
            _ => ExprKind::ProbeWrite(value),
        })
    }

    fn builtin_of_string(&mut self, name: &str) -> Parse<ExprKind> {
        let text = self.string("a string")?;
        Ok(match name {
            "@const" => ExprKind::Const(text),
            "@perf" => ExprKind::Perf(text),
            _ => ExprKind::Enum {
                name: text,
                module: self.optional_string("a module (a string)")?,
            },
        })
    }

    fn enum_name(&mut self) -> Parse<ExprKind> {
        let value = self.boxed_expr()?;
        let ty = self.optional_string("a type (a string)")?;
        let module = self.optional_string("a module (a string)")?;
        Ok(ExprKind::EnumName { value, ty, module })
    }

    fn raw_load(&mut self, name: &str) -> Parse<ExprKind> {
        let kernel = name.starts_with("@k");
        let number = self.number("a literal number")?;
        let number = Box::new(self.expr_node(ExprKind::Number(number.value), number.span));
        if name.ends_with("register") {
            return Ok(ExprKind::Register { kernel, number });
        }
        self.expect_op(",")?;
        let addr = self.boxed_expr()?;
        Ok(ExprKind::Deref {
            kernel,
            size: number,
            addr,
        })
    }

    fn at_var(&mut self, start: Span) -> Parse<ExprKind> {
        let name = self.string("a variable's name (a string)")?;
        let module = self.optional_string("a module (a string)")?;
        Ok(self.target_kind(TargetBase::AtVar { name, module }, start))
    }

    fn cast(&mut self, start: Span) -> Parse<ExprKind> {
        let operand = self.boxed_expr()?;
        self.expect_op(",")?;
        let ty = self.string("a type (a string)")?;
        let module = self.optional_string("a module or <header> (a string)")?;
        Ok(self.target_kind(
            TargetBase::Cast {
                operand,
                ty,
                module,
            },
            start,
        ))
    }

    fn target_kind(&self, base: TargetBase, span: Span) -> ExprKind {
        let (path, pretty) = (Vec::new(), Pretty::No);
        ExprKind::Target(Box::new(Target {
            base,
            address_of: false,
            path,
            pretty,
            span,
        }))
    }

    fn optional_string(&mut self, what: &str) -> Parse<Option<StrLit>> {
        if !self.eat_op(",") {
            return Ok(None);
        }
        self.string(what).map(Some)
    }

    /// `@count(s)`; `@variance` may have a bit shift.
    fn stat(&mut self, op: StatOp) -> Parse<Expr> {
        let start = self.span();
        self.bump();
        let open = self.expect_op("(")?;
        let operand = Box::new(self.expr()?);
        let mut param = None;
        if self.at_op(",") {
            if op != StatOp::Variance {
                let message = format!("`{}` takes one statistic and nothing else", op.name());
                return Err(self.error_here(Tag::StatArgs, message, "remove the second argument"));
            }
            self.bump();
            param = Some(self.number("the number of bits to shift (a number)")?);
        }
        self.expect_close(")", open)?;
        let span = start.to(self.previous());
        Ok(self.expr_node(ExprKind::Stat { op, operand, param }, span))
    }
}

/// `$x$$` is `$x`, deep. A word of nothing but `$` is a name.
fn split_pretty(word: &str) -> (&str, Pretty) {
    let bare = word.trim_end_matches('$');
    match word.len() - bare.len() {
        _ if bare.is_empty() => (word, Pretty::No),
        0 => (word, Pretty::No),
        1 => (bare, Pretty::Shallow),
        n => (&word[..bare.len() + n - 2], Pretty::Deep),
    }
}

/// The functions that print, or give what they would print.
pub const PRINTS: &[&str] = &[
    "print",
    "println",
    "printf",
    "printd",
    "printdln",
    "sprint",
    "sprintln",
    "sprintf",
    "sprintd",
    "sprintdln",
];

fn print_function(name: &str) -> Option<(PrintKind, bool)> {
    let to_string = name.starts_with('s');
    let kind = match name.strip_prefix('s').unwrap_or(name) {
        "print" => PrintKind::Print,
        "println" => PrintKind::Println,
        "printf" => PrintKind::Printf,
        "printd" => PrintKind::Printd,
        "printdln" => PrintKind::Printdln,
        _ => return None,
    };
    Some((kind, to_string))
}
