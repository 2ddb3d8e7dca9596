// SPDX-License-Identifier: MIT
//! The syntax tree of a script.
//!
//! It carries the whole language, so that later passes can say precisely what
//! they do not support. Two spellings are resolved while parsing: braces in a
//! probe point are multiplied out, and adjacent string literals are joined.
//! Parentheses are not kept; the printer (`Display`) puts in what is needed.

use crate::span::{FileId, Span};
use std::borrow::Cow;
use std::cell::Cell;

/// Names one expression node; the key of later passes' side tables.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct NodeId(pub u32);

/// Hands out fresh [`NodeId`]s. One per run, shared by all files, so that ids
/// stay unique after tapsets and scripts are put together.
#[derive(Debug, Default)]
pub struct NodeIds(Cell<u32>);

impl NodeIds {
    pub fn new() -> NodeIds {
        NodeIds::default()
    }

    pub fn fresh(&self) -> NodeId {
        self.0.set(self.0.get().wrapping_add(1));
        NodeId(self.0.get())
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Ident {
    pub name: String,
    pub span: Span,
}

/// A string literal with its escapes resolved; any bytes are possible.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StrLit {
    pub bytes: Vec<u8>,
    pub span: Span,
}

impl StrLit {
    /// As text; bytes that are not UTF-8 become U+FFFD.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct NumLit {
    pub value: i64,
    pub span: Span,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Literal {
    Number(NumLit),
    String(StrLit),
}

impl Literal {
    pub fn span(&self) -> Span {
        match self {
            Literal::Number(n) => n.span,
            Literal::String(s) => s.span,
        }
    }
}

/// One source file.
#[derive(Clone, PartialEq, Debug)]
pub struct Script {
    pub file: FileId,
    pub items: Vec<Item>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Item {
    Probe(Probe),
    Alias(Alias),
    Function(Function),
    Global(Global),
    /// `%{ ... %}` between declarations.
    EmbeddedC(EmbeddedC),
}

// ---- probes ----

/// `probe A, B { }`
#[derive(Clone, PartialEq, Debug)]
pub struct Probe {
    pub points: Vec<ProbePoint>,
    pub body: Block,
    pub span: Span,
}

/// `probe NAME = A, B { }`, `probe NAME += A, B { }`
#[derive(Clone, PartialEq, Debug)]
pub struct Alias {
    /// A name may have several components, also with arguments.
    pub names: Vec<ProbePoint>,
    pub points: Vec<ProbePoint>,
    /// Runs before the user's handler (`=`).
    pub prologue: Option<Block>,
    /// Runs after the user's handler (`+=`).
    pub epilogue: Option<Block>,
    pub span: Span,
}

/// `process("a").function("b").return? if (c)`
#[derive(Clone, PartialEq, Debug)]
pub struct ProbePoint {
    pub components: Vec<Component>,
    /// `?`: no error when it cannot be resolved.
    pub optional: bool,
    /// `!`: optional, and when it resolves the following points are left out.
    pub sufficient: bool,
    /// `if (EXPR)` behind the point.
    pub condition: Option<Expr>,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Component {
    /// May hold the wildcards `*`, `?` and `**`.
    pub name: Ident,
    /// `function("f")`, `s(5)`. `s()` is not the same as `s`, but has no use.
    pub arg: Option<Literal>,
    pub span: Span,
}

// ---- functions and globals ----

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TypeName {
    Long,
    String,
}

/// `private function NAME:TYPE (A:TYPE, B):PRIORITY { }`
#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    pub private: bool,
    pub name: Ident,
    pub ret: Option<TypeName>,
    pub params: Vec<Param>,
    /// Overloads are tried from the lowest priority upwards; 1 when absent.
    pub priority: Option<NumLit>,
    pub body: FunctionBody,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub enum FunctionBody {
    Script(Block),
    EmbeddedC(EmbeddedC),
}

#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    pub name: Ident,
    pub ty: Option<TypeName>,
}

/// One name of a `global` declaration.
#[derive(Clone, PartialEq, Debug)]
pub struct Global {
    pub private: bool,
    pub name: Ident,
    /// `%`: when full, the oldest element makes room.
    pub wrap: bool,
    /// `[N]`
    pub size: Option<NumLit>,
    pub init: Option<Literal>,
    pub span: Span,
}

/// The text between `%{` and `%}`.
#[derive(Clone, PartialEq, Debug)]
pub struct EmbeddedC {
    pub code: String,
    pub span: Span,
}

// ---- statements ----

#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    pub stmts: Vec<Stmt>,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

// `for` is large and rare; boxing its parts would burden every pass.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, PartialEq, Debug)]
pub enum StmtKind {
    /// `;` on its own.
    Empty,
    Block(Block),
    Expr(Expr),
    If {
        cond: Expr,
        then: Box<Stmt>,
        otherwise: Option<Box<Stmt>>,
    },
    While {
        cond: Expr,
        body: Box<Stmt>,
    },
    For {
        init: Option<Expr>,
        cond: Option<Expr>,
        step: Option<Expr>,
        body: Box<Stmt>,
    },
    Foreach(Box<Foreach>),
    Return(Option<Expr>),
    /// `delete a`, `delete a[k]`, `delete a[*, k]`, `delete scalar`
    Delete(Expr),
    Break,
    Continue,
    Next,
    Try {
        body: Block,
        /// `catch (msg)`
        message: Option<Ident>,
        handler: Block,
    },
    EmbeddedC(EmbeddedC),
}

/// `foreach (VALUE = [K1+, K2] in BASE[SLICE] @sum - limit N) BODY`
#[derive(Clone, PartialEq, Debug)]
pub struct Foreach {
    pub value: Option<Ident>,
    pub keys: Vec<Ident>,
    /// `Expr` kinds `Ident` (an array) or `Hist` (buckets of a histogram).
    pub base: Expr,
    /// `a[*, k]`: only elements whose keys match; `None` is no slice.
    pub slice: Option<Vec<Key>>,
    pub sort: Option<Sort>,
    pub limit: Option<Expr>,
    pub body: Stmt,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sort {
    pub by: SortBy,
    pub descending: bool,
    pub span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SortBy {
    /// By key, counted from 0.
    Key(usize),
    /// By the element's value; a statistic is then ordered by its count.
    Value,
    /// By an aggregate of a statistic: `a @sum -`.
    Aggregate(StatOp),
}

// ---- expressions ----

#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    pub id: NodeId,
    pub kind: ExprKind,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    Number(i64),
    Str(Vec<u8>),
    /// A variable, local or global, or (sema decides) a call without `()`.
    Ident(String),
    Unary(UnOp, Box<Expr>),
    /// `++x`, `x--`. The operand may be anything; sema checks that it can be set.
    Crement {
        op: CrementOp,
        prefix: bool,
        target: Box<Expr>,
    },
    Binary(BinOp, Box<Expr>, Box<Expr>),
    /// `s =~ "re"`, `s !~ "re"`
    Match {
        subject: Box<Expr>,
        negated: bool,
        pattern: StrLit,
    },
    Ternary {
        cond: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    /// `x = 1`, `x .= "s"`, `x <<< 1`. The target may be anything; sema checks
    /// that it can be set.
    Assign {
        op: AssignOp,
        target: Box<Expr>,
        value: Box<Expr>,
    },
    /// `[k1, *] in a`; `base` is an `Ident` or a `Hist`.
    In {
        keys: Vec<Key>,
        base: Box<Expr>,
    },
    /// `a[k1, k2]`, `@hist_log(s)[n]`; `base` is an `Ident` or a `Hist`.
    Index {
        base: Box<Expr>,
        keys: Vec<Key>,
    },
    Call {
        name: Ident,
        args: Vec<Expr>,
    },
    Print(Print),
    /// `@count(s)`, `@variance(s, 3)`
    Stat {
        op: StatOp,
        operand: Box<Expr>,
        /// Only `@variance` takes one: the bit shift.
        param: Option<NumLit>,
    },
    /// `@hist_log(s)`, `@hist_linear(s, 0, 100, 10)`
    Hist {
        kind: HistKind,
        operand: Box<Expr>,
    },
    /// `$x->y[3]`, `@var("v")`, `@cast(p, "t")->m`, `EXPR->m`, `&$x`
    Target(Box<Target>),
    /// `@entry(EXPR)`
    Entry(Box<Expr>),
    /// `@defined(EXPR)`
    Defined(Box<Expr>),
    /// `@probewrite(VAR)`
    ProbeWrite(Box<Expr>),
    /// `@const("C expression")`
    Const(StrLit),
    /// `@perf("counter")`
    Perf(StrLit),
    /// `@enum("NAME"[, "module"])`
    Enum {
        name: StrLit,
        module: Option<StrLit>,
    },
    /// `@enumname(VALUE[, "type"[, "module"]])`
    EnumName {
        value: Box<Expr>,
        ty: Option<StrLit>,
        module: Option<StrLit>,
    },
    /// `@uderef(SIZE, ADDR)`, `@kderef(SIZE, ADDR)`
    Deref {
        kernel: bool,
        size: Box<Expr>,
        addr: Box<Expr>,
    },
    /// `@uregister(N)`, `@kregister(N)`
    Register {
        kernel: bool,
        number: Box<Expr>,
    },
    /// `%{ ... %}` as a value.
    EmbeddedC(EmbeddedC),
    /// Stands for what a pass could not understand and has reported. The
    /// parser makes none: it leaves such statements out.
    Error,
}

/// A key of an array access; only slices and `in` may hold wildcards.
#[derive(Clone, PartialEq, Debug)]
pub enum Key {
    Expr(Expr),
    /// `*`
    Any(Span),
}

impl Key {
    pub fn span(&self) -> Span {
        match self {
            Key::Expr(e) => e.span,
            Key::Any(span) => *span,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnOp {
    Plus,
    Minus,
    Not,
    BitNot,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CrementOp {
    Increment,
    Decrement,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinOp {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Shl,
    /// `>>`, arithmetic.
    Shr,
    /// `>>>`, logical.
    UShr,
    BitAnd,
    BitOr,
    BitXor,
    And,
    Or,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Concat,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AssignOp {
    /// `=`
    Set,
    /// `+=`, `.=` ...: the arithmetic, shift, bit or concatenation operator.
    Op(BinOp),
    /// `<<<`: add a sample to a statistic.
    Sample,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StatOp {
    Count,
    Sum,
    Min,
    Max,
    Avg,
    Variance,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum HistKind {
    Log,
    Linear {
        low: NumLit,
        high: NumLit,
        step: NumLit,
    },
}

/// `print`, `println`, `printf`, `printd`, `printdln` and their `sprint` forms.
#[derive(Clone, PartialEq, Debug)]
pub struct Print {
    pub kind: PrintKind,
    /// Gives the text as a string instead of printing it.
    pub to_string: bool,
    /// `printf` only: the format, kept as written.
    pub format: Option<StrLit>,
    /// `printd`, `printdln` only: what stands between the values.
    pub delimiter: Option<StrLit>,
    /// A `Hist` as the only argument of `print` and `println` draws it.
    pub args: Vec<Expr>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PrintKind {
    Print,
    Println,
    Printf,
    Printd,
    Printdln,
}

/// An access to something of the traced program.
#[derive(Clone, PartialEq, Debug)]
pub struct Target {
    pub base: TargetBase,
    /// `&$x`: its address.
    pub address_of: bool,
    /// `->m`, `[i]`, in order.
    pub path: Vec<Access>,
    pub pretty: Pretty,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub enum TargetBase {
    /// `$name`, `$return`, `$$vars`: `name` has its leading `$` or `$$`, but
    /// not the `$` or `$$` behind it that [`Target::pretty`] stands for.
    Var(Ident),
    /// `@var("name@unit", "module")`
    AtVar {
        name: StrLit,
        module: Option<StrLit>,
    },
    /// `@cast(EXPR, "type", "module")`
    Cast {
        operand: Box<Expr>,
        ty: StrLit,
        module: Option<StrLit>,
    },
    /// `EXPR->member`: the type is known from the expression.
    Auto(Box<Expr>),
}

#[derive(Clone, PartialEq, Debug)]
pub enum Access {
    Member(Ident),
    Index(Expr),
}

/// `$x$` shows a structure, `$x$$` also what is inside.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Pretty {
    #[default]
    No,
    Shallow,
    Deep,
}

impl UnOp {
    pub fn symbol(self) -> &'static str {
        match self {
            UnOp::Plus => "+",
            UnOp::Minus => "-",
            UnOp::Not => "!",
            UnOp::BitNot => "~",
        }
    }
}

impl CrementOp {
    pub fn symbol(self) -> &'static str {
        match self {
            CrementOp::Increment => "++",
            CrementOp::Decrement => "--",
        }
    }
}

impl BinOp {
    pub fn symbol(self) -> &'static str {
        match self {
            BinOp::Add => "+",
            BinOp::Sub => "-",
            BinOp::Mul => "*",
            BinOp::Div => "/",
            BinOp::Mod => "%",
            BinOp::Shl => "<<",
            BinOp::Shr => ">>",
            BinOp::UShr => ">>>",
            BinOp::BitAnd => "&",
            BinOp::BitOr => "|",
            BinOp::BitXor => "^",
            BinOp::And => "&&",
            BinOp::Or => "||",
            BinOp::Eq => "==",
            BinOp::Ne => "!=",
            BinOp::Lt => "<",
            BinOp::Le => "<=",
            BinOp::Gt => ">",
            BinOp::Ge => ">=",
            BinOp::Concat => ".",
        }
    }

    /// `== != < <= > >=`: both sides of one type, the result a number.
    pub fn is_comparison(self) -> bool {
        use BinOp::*;
        matches!(self, Eq | Ne | Lt | Le | Gt | Ge)
    }

    /// `&&` and `||`: the right side is evaluated only when needed.
    pub fn is_logical(self) -> bool {
        matches!(self, BinOp::And | BinOp::Or)
    }
}

impl AssignOp {
    pub fn symbol(self) -> &'static str {
        match self {
            AssignOp::Set => "=",
            AssignOp::Sample => "<<<",
            AssignOp::Op(BinOp::Add) => "+=",
            AssignOp::Op(BinOp::Sub) => "-=",
            AssignOp::Op(BinOp::Mul) => "*=",
            AssignOp::Op(BinOp::Div) => "/=",
            AssignOp::Op(BinOp::Mod) => "%=",
            AssignOp::Op(BinOp::Shl) => "<<=",
            AssignOp::Op(BinOp::Shr) => ">>=",
            AssignOp::Op(BinOp::UShr) => ">>>=",
            AssignOp::Op(BinOp::BitAnd) => "&=",
            AssignOp::Op(BinOp::BitOr) => "|=",
            AssignOp::Op(BinOp::BitXor) => "^=",
            AssignOp::Op(BinOp::Concat) => ".=",
            // No such spelling; the parser never makes one.
            AssignOp::Op(_) => "=",
        }
    }
}

impl StatOp {
    pub const ALL: [StatOp; 6] = [
        StatOp::Count,
        StatOp::Sum,
        StatOp::Min,
        StatOp::Max,
        StatOp::Avg,
        StatOp::Variance,
    ];

    /// As written: `@count` ...
    pub fn name(self) -> &'static str {
        match self {
            StatOp::Count => "@count",
            StatOp::Sum => "@sum",
            StatOp::Min => "@min",
            StatOp::Max => "@max",
            StatOp::Avg => "@avg",
            StatOp::Variance => "@variance",
        }
    }
}

impl Print {
    /// The function's name as written.
    pub fn name(&self) -> &'static str {
        match (self.kind, self.to_string) {
            (PrintKind::Print, false) => "print",
            (PrintKind::Print, true) => "sprint",
            (PrintKind::Println, false) => "println",
            (PrintKind::Println, true) => "sprintln",
            (PrintKind::Printf, false) => "printf",
            (PrintKind::Printf, true) => "sprintf",
            (PrintKind::Printd, false) => "printd",
            (PrintKind::Printd, true) => "sprintd",
            (PrintKind::Printdln, false) => "printdln",
            (PrintKind::Printdln, true) => "sprintdln",
        }
    }
}

impl Function {
    /// As SystemTap writes it: `name:type (a:type, b:type)`.
    pub fn signature(&self) -> String {
        let colon = |ty: Option<TypeName>| ty.map_or(String::new(), |t| format!(":{}", t.name()));
        let params = self.params.iter();
        let params: Vec<String> = params
            .map(|p| format!("{}{}", p.name.name, colon(p.ty)))
            .collect();
        format!(
            "{}{} ({})",
            self.name.name,
            colon(self.ret),
            params.join(", ")
        )
    }
}

impl TypeName {
    pub fn name(self) -> &'static str {
        match self {
            TypeName::Long => "long",
            TypeName::String => "string",
        }
    }
}

impl Expr {
    /// An integer literal, or the negation of one.
    pub fn as_number(&self) -> Option<i64> {
        match &self.kind {
            ExprKind::Number(n) => Some(*n),
            ExprKind::Unary(UnOp::Minus, e) => match e.kind {
                ExprKind::Number(n) => Some(n.wrapping_neg()),
                _ => None,
            },
            _ => None,
        }
    }
}
