// SPDX-License-Identifier: MIT
//! What a probe point resolves to: places, and what is known at each of them.

use crate::ir::{ImageId, ProbeKind, Refusal};
use std::sync::Arc;
use trapless_debuginfo::{Frame, Function, Hook, KernelFunction, MarkArg};

/// One place that a probe point resolved to.
#[derive(Clone, Debug)]
pub struct Place {
    /// As `pp()` gives it.
    pub point: Arc<str>,
    /// `probefunc()`; "" where there is none.
    pub func: Arc<str>,
    /// Of a return probe still without what lowering finds to save at entry.
    pub kind: ProbeKind,
    /// Where `$variables` are looked up; `None`: there are none here.
    pub context: Option<Context>,
    pub refusal: Refusal,
    pub never: bool,
}

impl Place {
    /// Do only some of the calls count?
    pub fn is_callee(&self) -> bool {
        self.context
            .as_ref()
            .is_some_and(|c| !c.callers.any_of.is_empty())
    }

    /// Is `$$name` the function's name?
    pub fn is_linkage(&self) -> bool {
        let named = self.context.as_ref().and_then(|c| c.named.as_deref());
        named.is_some_and(Named::is_linkage)
    }

    /// What it is to a system call; all places of one kind tell the same.
    pub fn syscall(&self) -> Option<SyscallPart> {
        self.context.as_ref()?.named.as_deref()?.syscall
    }
}

/// A place in the traced program's source, for its variables.
#[derive(Clone, Debug)]
pub struct Context {
    pub image: ImageId,
    /// File address of the probed instruction (of a return probe: the entry).
    pub pc: u64,
    /// The function (or inlined instance) asked for; `None`: look at `pc`.
    pub function: Option<Arc<Function>>,
    /// In a kernel: whose entry it is, or whose return.
    pub kernel: Option<KernelFunction>,
    /// Of a return probe: `$return` is there, other variables are those at entry.
    pub at_return: bool,
    /// The entry of a call that a return probe asks about: a parameter's address is that which it will have.
    pub looks_back: bool,
    /// What the place tells of itself, without debug information.
    pub named: Option<Arc<Named>>,
    /// Of a callee: the calls that are meant.
    pub callers: Callers,
    /// Whoever touches a watched variable: no function is known, and so no variable of one.
    pub anywhere: bool,
}

/// Who must have called for the handler to run.
#[derive(Clone, Debug, Default)]
pub struct Callers {
    /// How the probed function's frame is found; none: it has just been called.
    pub frame: Option<Box<Frame>>,
    /// None: whoever it was.
    pub any_of: Arc<[Caller]>,
}

/// A call that is known by where it returns to.
#[derive(Clone, Debug)]
pub struct Caller {
    /// File address.
    pub to: u64,
    /// Who must have called the function around `to`, and how its frame is found, where that is known.
    pub above: Option<(Option<Frame>, Arc<[Caller]>)>,
}

impl Context {
    /// At an instruction, with nothing more known of it.
    pub fn at(image: ImageId, pc: u64) -> Context {
        Context {
            image,
            pc,
            function: None,
            kernel: None,
            at_return: false,
            looks_back: false,
            named: None,
            callers: Callers::default(),
            anywhere: false,
        }
    }

    /// Of a return probe: the call's entry.
    pub fn looking_back(self) -> Context {
        Context {
            at_return: false,
            looks_back: true,
            ..self
        }
    }
}

/// A mark, a hook, or an entry of the linkage table: `$$name`, `$$provider`.
#[derive(Debug)]
pub struct Named {
    pub name: String,
    pub provider: Option<String>,
    /// `$arg1` and so on; `None`: it has no such thing.
    pub args: Option<Vec<MarkArg>>,
    /// What else it has, by name: `$syscall`.
    pub values: Vec<(&'static str, MarkArg)>,
    pub syscall: Option<SyscallPart>,
    /// Of a hook: its parameters have names and types.
    pub hook: Option<Hook>,
}

impl Named {
    /// An entry of the linkage table: it has a name, which is the function's, and nothing else.
    pub fn is_linkage(&self) -> bool {
        self.provider.is_none() && self.args.is_none()
    }
}

/// A place at a `syscall` instruction, or behind it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SyscallPart {
    Entry,
    /// The entry, on behalf of a probe of the return, which has to know that the call was made.
    Noted,
    Return,
    /// The return in a kernel, which tells of which call.
    Told,
}

/// Without a second copy of what may be hundred thousands.
pub fn append<T>(all: &mut Vec<T>, found: Vec<T>) {
    match all.is_empty() {
        true => *all = found,
        false => all.extend(found),
    }
}
