// SPDX-License-Identifier: MIT
//! The typed program: what the semantic passes hand to code generation.
//!
//! Everything is resolved here: names are numbers, every expression has a
//! type, probe points are addresses in files, `$x->y` is arithmetic on
//! registers and memory. Code generation asks no questions and finds no
//! errors; it needs neither the syntax tree nor debug information.

use crate::regex::Regex;
use std::sync::Arc;
pub use trapless_debuginfo::{Frame, LineRow, LineTable, Row, Saved, TlsSlot, TlsWay, UnwindTable};
use trapless_syntax::span::Span;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct GlobalId(pub u32);
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FunctionId(pub u32);
/// A local of the handler or function it stands in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LocalId(pub u32);
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct HandlerId(pub u32);
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ImageId(pub u32);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ty {
    Long,
    Str,
}

#[derive(Clone, Debug, Default)]
pub struct Program {
    pub images: Vec<Image>,
    pub globals: Vec<Global>,
    pub functions: Vec<Function>,
    pub handlers: Vec<Handler>,
    /// In the order in which they are listed and (begin, end ...) run.
    pub probes: Vec<Probe>,
    pub options: Options,
    pub regexes: Vec<Regex>,
    /// C between declarations.
    pub c_blocks: Vec<Embedded>,
    /// Names of functions, for scripts that ask for them at run time.
    pub symbols: Vec<Symbol>,
    /// How to find callers, for scripts that ask for stacks.
    pub unwind: Vec<(ImageId, UnwindTable)>,
    /// Source lines of addresses, for scripts that ask for them.
    pub lines: Vec<(ImageId, LineTable)>,
    /// Warnings that the session repeats when it starts.
    pub run_warnings: Vec<String>,
}

/// Elements of an array that drops its oldest, where nobody has said how many: SystemTap's.
pub const KEPT_ENTRIES: u32 = 2048;

/// The limits (`-D NAME=VALUE`), with SystemTap's names and our defaults.
#[derive(Clone, Debug)]
pub struct Options {
    pub max_string: u32,
    pub max_action: u32,
    /// In begin, end and error probes; 0: ten times as many.
    pub max_action_interruptible: u32,
    /// None: as the script needs it.
    pub max_nesting: Option<u32>,
    pub max_errors: u32,
    pub max_skipped: u32,
    /// None: arrays grow as `map_memory` allows.
    pub max_map_entries: Option<u32>,
    /// MiB that the arrays whose size nobody has said have together; 0: `map_mib()` decides.
    pub map_memory: u32,
    /// Frames of a stack.
    pub max_backtrace: u32,
    /// Empty rows of a histogram that stay beside the others; from 255 on all.
    pub hist_elision: u32,
    /// Bytes that each thread may have printed and nobody has read yet; 0: no limit of its own.
    pub ring_size: u32,
    /// MiB that all threads together may have printed; 0: the runner's choice.
    pub ring_pool: u32,
    pub guru: bool,
    /// Variables of the program that cannot be read are 0.
    pub skip_badvars: bool,
    /// Globals that are written only are not shown at the end.
    pub no_display: bool,
    /// All of the script's globals can be shown while it runs.
    pub monitor: bool,
    /// ... and are told as rows to those that read events.
    pub rows: bool,
    /// What handlers take is measured.
    pub timing: bool,
    /// What the module is made for.
    pub machine: &'static Machine,
    /// Handlers run in a kernel, all of them. Before that is decided: `-r` asks for it.
    pub kernel: bool,
}

impl Options {
    /// MiB of the arrays whose size nobody has said. A kernel's are memory, touched or not.
    pub fn map_mib(&self) -> u32 {
        match (self.map_memory, self.kernel) {
            (0, true) => 16,
            (0, false) => 256,
            (said, _) => said,
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            max_string: 512,
            max_action: 1000,
            max_action_interruptible: 0,
            max_nesting: None,
            max_errors: 0,
            max_skipped: 100,
            max_map_entries: None,
            map_memory: 0,
            max_backtrace: 32,
            hist_elision: 2,
            ring_size: 0,
            ring_pool: 0,
            guru: false,
            skip_badvars: false,
            no_display: false,
            monitor: false,
            rows: false,
            timing: false,
            machine: Default::default(),
            kernel: false,
        }
    }
}

/// A file that probes or symbols refer to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Image {
    pub path: String,
    pub build_id: Vec<u8>,
    pub file_size: u64,
    /// A main program; else a library.
    pub program: bool,
    /// A kernel, or a module of one, which the path names.
    pub kernel: bool,
}

/// A function of an image, by file address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    pub image: ImageId,
    pub addr: u64,
    pub size: u64,
    pub name: String,
}

#[derive(Clone, Debug)]
pub struct Global {
    pub name: String,
    pub kind: GlobalKind,
    /// Of a statistic whose @variance is read: the samples' shift.
    pub variance: Option<u8>,
    /// Every hot access only adds and no handler uses the value while adding:
    /// one copy a thread, readers sum. Scalars only (Long, Stats).
    pub sharded: bool,
    /// At the end, where it is written only.
    pub shown: bool,
    /// Holds addresses, by the types of what is assigned: shown in hexadecimal.
    pub pointer: bool,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub enum GlobalKind {
    Long {
        init: i64,
    },
    Str {
        init: Vec<u8>,
    },
    Stats(StatsKind),
    Map {
        keys: Vec<Ty>,
        value: MapValue,
        /// None: as many as its share of `map_memory` holds.
        capacity: Option<u32>,
        /// The script says how many.
        sized: bool,
        wrap: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum MapValue {
    Long,
    Str,
    Stats(StatsKind),
}

/// What a statistic must keep besides count, sum, min and max.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StatsKind {
    #[default]
    Plain,
    Log,
    Linear {
        low: i64,
        high: i64,
        step: i64,
    },
}

#[derive(Clone, Debug)]
pub struct Local {
    pub name: String,
    pub ty: Ty,
}

#[derive(Clone, Debug)]
pub struct Function {
    /// Unique, usable in a C identifier.
    pub name: String,
    /// The first `nparams` locals are the parameters, passed by value.
    pub locals: Vec<Local>,
    pub nparams: usize,
    pub ret: Option<Ty>,
    pub body: FunctionBody,
    /// It may leave the call to the following one.
    pub says_next: bool,
    pub recursive: bool,
    /// Of our own tapset: errors within are told at the call.
    pub ours: bool,
}

#[derive(Clone, Debug)]
pub enum FunctionBody {
    Script(Vec<Stmt>),
    /// C of a script in guru mode, as SystemTap has it.
    Embedded(Embedded),
    /// C of our own tapset. It sees its parameters as
    /// `STAP_ARG_name`, gives its result with `STAP_RETURN(value)`, stops with
    /// `STAP_ERROR("...", ...)`, and has `run` (`struct tl_run *`).
    C(String),
}

/// Stands in C of our tapset that changes nothing.
pub const PURE: &str = "/* pure */";

/// `%{ ... %}`
#[derive(Clone, Debug)]
pub struct Embedded {
    pub code: String,
    pub span: Span,
    /// What it says to read and write: `/* pragma:read:NAME */`.
    pub globals: Vec<(GlobalId, Access)>,
}

/// One C function: a probe's body, made for one kind of place (the same body
/// at places where `$x` lies elsewhere is another handler).
#[derive(Clone, Debug)]
pub struct Handler {
    pub locals: Vec<Local>,
    pub body: Vec<Stmt>,
    pub kind: HandlerKind,
    pub budget: Budget,
    /// Globals the body (and all it calls) touches, sorted, each once; sharded
    /// ones that are only added to are left out.
    pub locks: Vec<(GlobalId, Access)>,
    /// So many statements come before the locks.
    pub early: usize,
    /// It reads call-preserved registers or the stack pointer's neighbours by
    /// a debug location: the detour must save all registers.
    pub needs_all_regs: bool,
    /// It may change a global that the condition of some probe names.
    pub moves_conditions: bool,
    /// With it there is no body.
    pub syscall: Option<Syscall>,
    pub span: Span,
}

impl Handler {
    /// With all that is not the body's to say left open.
    pub fn new(kind: HandlerKind, body: Vec<Stmt>, span: Span) -> Handler {
        Handler {
            locals: Vec::new(),
            body,
            kind,
            budget: Budget::Hit,
            locks: Vec::new(),
            early: 0,
            needs_all_regs: false,
            moves_conditions: false,
            syscall: None,
            span,
        }
    }

    /// Those that run where it is the one for system calls.
    pub fn called(&self) -> &[(Option<u32>, HandlerId)] {
        match &self.syscall {
            None | Some(Syscall::Note) => &[],
            Some(Syscall::Entry(calls) | Syscall::Return(_, calls) | Syscall::Told(calls)) => calls,
        }
    }
}

/// What is done at a system call, by its number (`None`: whichever it is).
#[derive(Clone, Debug)]
pub enum Syscall {
    Entry(Vec<(Option<u32>, HandlerId)>),
    /// It is noted, for its return.
    Note,
    /// At the return of those that were noted. The number is that of the script's probe.
    Return(u32, Vec<(Option<u32>, HandlerId)>),
    /// At a return in a kernel, which tells the number.
    Told(Vec<(Option<u32>, HandlerId)>),
}

/// Probes of a script for which a call can be noted.
pub const NOTED_FOR: u32 = 64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    Read,
    Write,
}

/// How many statements a run of a handler may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Budget {
    /// MAXACTION
    Hit,
    /// MAXACTION_INTERRUPTIBLE: nobody waits for it.
    Interruptible,
    Unbounded,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HandlerKind {
    /// begin, end, error, timers, events: no registers; runs in the runner.
    Session,
    /// At an instruction.
    Site,
    /// At a function's entry on behalf of a return probe (`@entry`).
    Entry,
    /// At a function's return.
    Return,
    /// The condition of a probe, asked by the runner: does it do without the probe?
    Condition,
}

#[derive(Clone, Debug)]
pub struct Probe {
    /// As `pp()` gives it, e.g. `process("/usr/bin/git").function("main@git.c:12")`.
    pub point: Arc<str>,
    /// Function name (`probefunc()`, `ppfunc()`), "" where there is none.
    pub func: Arc<str>,
    /// file:line:column in the script.
    pub script: Arc<str>,
    /// The point as the script has it, where that is by an alias (`pn()`); else "".
    pub name: Arc<str>,
    pub kind: ProbeKind,
    pub handler: HandlerId,
    /// Says when it may be taken out: `if (EXPR)`.
    pub condition: Option<HandlerId>,
    /// Arguments by number are those that the kernel gets.
    pub at_syscall: bool,
    pub refusal: Refusal,
    /// `never`
    pub never: bool,
    /// About whatever the target's children become, too.
    pub hierarchy: bool,
}

/// What it is when the engine refuses a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    Error,
    /// One of those that a wildcard matched.
    Warning,
    /// The same, but found by its bytes: where these are no instruction it is nothing.
    Bytes,
    /// `?` or `!`.
    Nothing,
}

#[derive(Clone, PartialEq, Debug)]
pub enum ProbeKind {
    Begin {
        order: i64,
    },
    End {
        order: i64,
    },
    Error {
        order: i64,
    },
    Timer {
        period_ns: u64,
        /// At most so much more or less, each time anew.
        jitter_ns: u64,
    },
    /// A file of the session is read, or written to; its name is the probe's `func`.
    /// Shows one global while the session runs.
    Show,
    /// All globals are as they were at first.
    Reset,
    File {
        write: bool,
        /// Longest text, in bytes.
        max: u32,
        umask: u32,
    },
    /// For each thread of the target that runs then; in a kernel, for each processor.
    Profile {
        /// `None`: as often as ticks come.
        period_ns: Option<u64>,
    },
    /// A process or a thread of it comes or goes.
    Event {
        event: Event,
        /// `None`: the target's.
        process: Option<ImageId>,
    },
    /// Memory of the process is written, or read too.
    Watch {
        process: Option<ImageId>,
        /// That `addr` counts from; `None`: it is the process's own.
        image: Option<ImageId>,
        addr: u64,
        size: u64,
        reads: bool,
    },
    /// A tracepoint of a kernel, or of a module of it; its name is the probe's `func`.
    Trace {
        image: ImageId,
    },
    Site {
        process: Option<ImageId>,
        image: ImageId,
        addr: u64,
        parts: Arc<[Part]>,
        /// File address of a mark's counter of those who listen.
        semaphore: Option<u64>,
        /// Of a kernel's module: which of its functions of that name, from 0 on, in the order of its symbols.
        nth: u32,
    },
    Return {
        process: Option<ImageId>,
        image: ImageId,
        addr: u64,
        parts: Arc<[Part]>,
        /// The same.
        nth: u32,
        /// An entry of a linkage table: its jump is no return, what it leads to returns.
        linkage: bool,
        /// Runs at entry and fills the call's data; its slots are read by `ExprKind::CallData`.
        on_entry: Option<HandlerId>,
        /// One slot a saved `@entry` value.
        call_data: Vec<Ty>,
    },
}

impl ProbeKind {
    /// The program that it is about, where its point names one or `process` does.
    pub fn process(&self) -> Option<ImageId> {
        match self {
            ProbeKind::Site { process, .. }
            | ProbeKind::Return { process, .. }
            | ProbeKind::Watch { process, .. }
            | ProbeKind::Event { process, .. } => *process,
            _ => None,
        }
    }

    pub fn is_profile(&self) -> bool {
        matches!(self, ProbeKind::Profile { .. })
    }

    /// Of the target, not of the session?
    pub fn is_of_target(&self) -> bool {
        matches!(
            self,
            ProbeKind::Trace { .. }
                | ProbeKind::Site { .. }
                | ProbeKind::Return { .. }
                | ProbeKind::Watch { .. }
                | ProbeKind::Event { .. }
                | ProbeKind::Profile { .. }
        )
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    ProcessBegin,
    ProcessEnd,
    ThreadBegin,
    ThreadEnd,
}

/// A contiguous part of a function, as file addresses; the first one holds the entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    pub addr: u64,
    pub size: u64,
}

// ---- statements ----

#[derive(Clone, Debug)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum StmtKind {
    Expr(Expr),
    If {
        cond: Expr,
        then: Vec<Stmt>,
        otherwise: Vec<Stmt>,
    },
    /// `for`, `while`: cond None is forever; `step` runs after the body and on continue.
    /// One turn too many is told at `turn`.
    Loop {
        cond: Option<Expr>,
        step: Option<Box<Expr>>,
        body: Vec<Stmt>,
        turn: Span,
    },
    Foreach(Foreach),
    Buckets(Buckets),
    /// `delete a[*, k]`
    DeleteSlice {
        map: GlobalId,
        slice: Slice,
    },
    Return(Option<Expr>),
    DeleteAll(GlobalId),
    /// Also a scalar, then without keys: back to 0, "" or an empty statistic.
    Delete {
        global: GlobalId,
        keys: Vec<Expr>,
    },
    Break,
    Continue,
    /// Leave the handler.
    Next,
    /// Leave the function; its caller tries the following one.
    NextFunction,
    Try {
        body: Vec<Stmt>,
        message: Option<LocalId>,
        handler: Vec<Stmt>,
    },
}

/// One for each key of an array; `None`: any.
pub type Slice = Vec<Option<Expr>>;

#[derive(Clone, Debug)]
pub struct Foreach {
    pub map: GlobalId,
    /// Only these elements; empty: all.
    pub slice: Slice,
    pub keys: Vec<LocalId>,
    /// `v = k in a`; a statistic cannot be bound.
    pub value: Option<LocalId>,
    pub sort: Option<Sort>,
    pub limit: Option<Expr>,
    pub body: Vec<Stmt>,
    pub turn: Span,
}

/// `foreach (count = bucket in @hist_log(s))`: all buckets, in their order.
#[derive(Clone, Debug)]
pub struct Buckets {
    pub global: GlobalId,
    pub keys: Vec<Expr>,
    pub bucket: LocalId,
    pub count: Option<LocalId>,
    pub limit: Option<Expr>,
    pub body: Vec<Stmt>,
    pub turn: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sort {
    pub by: SortBy,
    pub descending: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SortBy {
    Key(u32),
    /// Of a statistic: by its count.
    Value,
    Stat(StatOp),
}

pub use trapless_syntax::ast::StatOp;

// ---- expressions ----

#[derive(Clone, Debug)]
pub struct Expr {
    pub ty: Ty,
    pub kind: ExprKind,
    pub span: Span,
}

/// What can be assigned to.
#[derive(Clone, Debug)]
pub enum Place {
    Local(LocalId),
    Global(GlobalId),
    Element {
        map: GlobalId,
        keys: Vec<Expr>,
    },
    /// Guru mode: a variable of the traced program.
    Target(Box<TargetPlace>),
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    Long(i64),
    Str(Vec<u8>),
    /// `probefunc()`: each probe that shares the handler has its own.
    FuncName,
    Read(Place),
    Unary(UnOp, Box<Expr>),
    /// Long op Long, the shifts and comparisons included; no logic operators.
    Binary(BinOp, Box<Expr>, Box<Expr>),
    /// Str op Str: comparisons only.
    Compare(BinOp, Box<Expr>, Box<Expr>),
    Concat(Box<Expr>, Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Ternary(Box<Expr>, Box<Expr>, Box<Expr>),
    /// The value is that of the place afterwards.
    Assign(Place, Box<Expr>),
    /// `+=` ...; Concat for `.=`.
    AssignOp(Place, BinOp, Box<Expr>),
    /// `++x` (`prefix`) and `x++`; `by` is 1 or -1.
    Crement {
        place: Place,
        by: i64,
        prefix: bool,
    },
    /// `s <<< v`, `a[k] <<< v`. The value is `v`.
    Sample {
        global: GlobalId,
        keys: Vec<Expr>,
        value: Box<Expr>,
    },
    In {
        map: GlobalId,
        keys: Vec<Expr>,
    },
    /// `[*, k] in a`
    InSlice {
        map: GlobalId,
        slice: Slice,
    },
    Call {
        /// Tried in this order as long as each says `next`.
        functions: Vec<FunctionId>,
        args: Vec<Expr>,
    },
    /// `@count(s)`, `@avg(a[k])`
    Stat {
        op: StatOp,
        global: GlobalId,
        keys: Vec<Expr>,
    },
    /// `@hist_log(s)[n]`
    HistBucket {
        global: GlobalId,
        keys: Vec<Expr>,
        bucket: Box<Expr>,
    },
    /// The least and the greatest number (`most`) that are counted in a bucket.
    HistBound {
        global: GlobalId,
        bucket: Box<Expr>,
        most: bool,
    },
    Print(Print),
    /// `system("text")`
    Command(Vec<u8>),
    /// `s =~ "re"`, by the number of the regular expression; `!~`: negated.
    Match {
        subject: Box<Expr>,
        negated: bool,
        regex: usize,
    },
    /// A slot of the call's data, saved at entry by `SaveCallData`.
    CallData(u32),
    SaveCallData(u32, Box<Expr>),
    /// A variable of the traced program, as a number (sign-extended) ...
    Target(Box<TargetPlace>),
    /// ... or the NUL-terminated text it points to, in quotes.
    TargetString(Box<TargetPlace>),
    /// The name that the list has for the number, or the number as text.
    NameOf {
        value: Box<Expr>,
        names: Vec<(i64, String)>,
    },
    /// The string, or "ERROR" where a run-time error comes up in it.
    Shielded(Print),
    /// So many bytes at an address, in quotes; of the text at most so much.
    TargetBytes {
        addr: Box<Addr>,
        size: Box<Addr>,
        most: Option<u32>,
    },
    /// A float by its bits, as text: 8 bytes of them, or 4.
    FloatText(Box<Expr>, u8),
    /// The texts of a container's elements.
    Elements(Box<Elements>),
    /// `&$x`
    TargetAddress(Box<Addr>),
    /// Bytes of the traced program's memory (address, number), for %m and %M.
    MemoryBytes(Box<Expr>, Box<Expr>),
}

use trapless_machine::Machine;
pub use trapless_syntax::ast::{BinOp, UnOp};

/// `print` and its kin. `format` is a printf format in SystemTap's notation
/// that fits the arguments one by one (`print(x, y)` arrives as `%d%s`).
#[derive(Clone, Default, Debug)]
pub struct Print {
    pub format: Vec<u8>,
    pub args: Vec<Expr>,
    /// What the last of its arguments are called in events ("": nothing); the others after their expressions.
    pub names: &'static [&'static str],
    /// The result is a string instead of output.
    pub to_string: bool,
    /// Draw a histogram: `print(@hist_log(x))`.
    pub hist: Option<HistPrint>,
}

#[derive(Clone, Debug)]
pub struct HistPrint {
    pub global: GlobalId,
    pub keys: Vec<Expr>,
    pub println: bool,
}

/// Elements with commas between them; a count below 0 is a run-time error.
#[derive(Clone, Debug)]
pub struct Elements {
    /// What `Addr::Cursor` calls the present element.
    pub cursor: u32,
    pub first: Addr,
    /// From the present element to the one behind it.
    pub next: Addr,
    pub count: Addr,
    /// So many are shown, then dots.
    pub most: u32,
    pub element: Expr,
}

// ---- the traced program's variables ----

/// A number in a register or in memory.
#[derive(Clone, Debug)]
pub enum TargetPlace {
    /// A whole register, or its low `size` bytes.
    Register { reg: Reg, size: u8, signed: bool },
    Memory {
        addr: Addr,
        size: u8,
        signed: bool,
        bits: Option<Bits>,
        /// In the byte order that is not the target's.
        swapped: bool,
    },
    /// A value that debug information computes (`DW_OP_stack_value`, constants).
    Value(Addr),
}

/// A bit field inside the `size` bytes that were read (counted from the least
/// significant bit on either byte order).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bits {
    pub offset: u8,
    pub width: u8,
}

/// DWARF register number of the target machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Reg(pub u16);

/// Computation of an address (or value); every `Load` is checked and cannot
/// fault the target: it ends the handler with a run-time error instead.
#[derive(Clone, Debug)]
pub enum Addr {
    Const(i64),
    Register(Reg),
    /// Where file address `vaddr` of the image lies in this process.
    Image {
        image: ImageId,
        vaddr: u64,
    },
    /// A script expression (array index, `@cast` operand).
    Expr(Box<Expr>),
    /// Where the present element of the row with that number is.
    Cursor(u32),
    Load {
        addr: Box<Addr>,
        size: u8,
        signed: bool,
    },
    Binary(BinOp, Box<Addr>, Box<Addr>),
    /// The low `size` bytes in the other order.
    Swap {
        of: Box<Addr>,
        size: u8,
    },
    /// What the thread's variables are found by.
    ThreadPointer,
    /// The process's number.
    Process,
    /// A run-time error with that text.
    Fail(String),
    /// A thread-local variable of a library.
    ThreadLocal {
        image: ImageId,
        slot: TlsSlot,
        offset: u64,
        library: String,
    },
}
