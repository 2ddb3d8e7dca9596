// SPDX-License-Identifier: MIT
//! What expressions ask of the traced program: `$x`, `@cast`, `@entry`,
//! `@defined`, `@uderef`, and what they change there.

use super::Lowerer;
use crate::declare::call_entries;
use crate::ir::{self, Ty};
use crate::points::{Context, SyscallPart};
use crate::target;
use crate::types::infer::VTy;
use trapless_syntax::ast::{self, Expr, Pretty, Target, TargetBase};
use trapless_syntax::diag::{Severity, Tag};
use trapless_syntax::Span;

impl Lowerer<'_, '_> {
    /// With --skip-badvars what cannot be read is nothing, where it is read for its value.
    pub fn target(&mut self, t: &Target) -> Option<ir::Expr> {
        let before = self.shared.diags.len();
        let found = self.found_target(t);
        if found.is_none() {
            self.without_dollar(t, before);
        }
        if found.is_some() || !self.shared.skip_badvars || !is_var(t) {
            return found;
        }
        let why = self
            .shared
            .diags
            .iter()
            .nth(before)
            .map(|d| d.message.clone());
        self.shared.diags.truncate(before);
        let message = "nothing stands for a variable that cannot be read (--skip-badvars)";
        let warning = self.shared.diags.warn(Tag::CtxVarUnknown, t.span, message);
        warning.help("leave --skip-badvars out where each variable matters");
        if let Some(why) = why {
            warning.note(why);
        }
        let (ty, kind) = match t.pretty {
            Pretty::No => (Ty::Long, ir::ExprKind::Long(0)),
            _ => (Ty::Str, ir::ExprKind::Str(Vec::new())),
        };
        Some(ir::Expr {
            ty,
            kind,
            span: t.span,
        })
    }

    /// What an alias sets has no `$`.
    fn without_dollar(&mut self, t: &Target, before: usize) {
        let (TargetBase::Var(name), Some(offered)) = (&t.base, self.offered.as_deref()) else {
            return;
        };
        let plain = name.name.trim_start_matches('$');
        let elsewhere = |c: &Context| c.named.as_deref().is_none_or(|n| n.syscall.is_none());
        let help = match offered.has(plain) {
            true => Some(format!(
                "write `{plain}`: `{}` sets it, without `$`",
                offered.alias
            )),
            false if self.context.as_ref().is_some_and(elsewhere) => None,
            false => offered.listed(", without `$`"),
        };
        let told = self.told(Severity::Error, t.span, before);
        let diags = &mut self.shared.diags;
        if let Some(told) = told {
            diags.truncate(before);
            diags.push(told);
        } else if diags.len() > before {
            diags.last_mut().map(|d| d.help(help));
        }
    }

    fn found_target(&mut self, t: &Target) -> Option<ir::Expr> {
        let is_var = is_var(t);
        if is_var && self.context.is_none() {
            self.error(
                Tag::ContextNone,
                t.span,
                "there are no variables of a program at this probe point",
            )
            .help("use them in process(\"...\").function(\"...\") and .statement() probes");
            return None;
        }
        if let (TargetBase::Var(name), Some(true)) =
            (&t.base, self.context.as_ref().map(|c| c.anywhere))
        {
            let plain = name.name.trim_start_matches('$');
            self.error(
                Tag::ContextNone,
                t.span,
                "any code may touch a watched variable: there is no function here whose variables could be read",
            )
            .help(format!("a global variable of the program is @var(\"{plain}\")"));
            return None;
        }
        let at_return = self.context.as_ref().is_some_and(|c| c.at_return);
        if at_return && is_var && !is_return(t) && !is_static(t) {
            return self.saved_target(t);
        }
        if is_return(t) && !at_return && !self.returns_from_kernel() {
            self.error(
                Tag::ReturnMisplaced,
                t.span,
                "there is no return value here",
            )
            .help("use it in a .return probe");
            return None;
        }
        let context = self.context.clone();
        self.read_target(t, context.as_ref())
    }

    fn read_target(&mut self, t: &Target, context: Option<&Context>) -> Option<ir::Expr> {
        // The reader needs the world, the lowering of inner expressions the
        // rest: lower those first, in order, and hand them out.
        let mut inner: Vec<Option<ir::Expr>> = Vec::new();
        if let TargetBase::Cast { operand, .. } | TargetBase::Auto(operand) = &t.base {
            inner.push(self.number(operand));
        }
        for access in &t.path {
            if let ast::Access::Index(e) = access {
                inner.push(self.number(e));
            }
        }
        if inner.iter().any(Option::is_none) {
            return None;
        }
        let auto = match &t.base {
            TargetBase::Auto(operand) => Some(self.known_type(operand)?),
            _ => None,
        };
        let mut inner = inner.into_iter().flatten();
        let mut lower = move |_: &ast::Expr, _: &mut trapless_syntax::Diagnostics| inner.next();
        let kept = self.kept_for_result(t, context);
        let from = target::From {
            context,
            auto,
            kept,
        };
        let e = target::read(t, from, self.shared.world, &mut lower, self.shared.diags)?;
        self.needs_all_regs |=
            crate::walk::uses_preserved(&e, &self.shared.world.machine.abi.registers);
        Some(e)
    }

    /// Where the result is put, if only the entry tells.
    fn kept_for_result(&mut self, t: &Target, context: Option<&Context>) -> Option<ir::Expr> {
        let context = context.filter(|c| c.at_return && is_return(t))?;
        let register = target::kept_for_result(context, self.shared.world)?;
        let at = Box::new(ir::TargetPlace::Value(ir::Addr::Register(register)));
        let value = ir::Expr {
            ty: ir::Ty::Long,
            kind: ir::ExprKind::Target(at),
            span: t.span,
        };
        Some(self.save(format!("the result's {register:?}"), value))
    }

    fn known_type(&mut self, operand: &Expr) -> Option<target::AutoType> {
        let found = self.auto_type(operand);
        if found.is_none() {
            self.error(
                Tag::TypeUnknown,
                operand.span,
                "what this value points to is not known here",
            )
            .help("say the type: @cast(x, \"struct name\")->member")
            .note("known are $variables, @cast, and locals that are only set from these");
        }
        found
    }

    /// A variable in a return probe: its value at entry.
    fn saved_target(&mut self, t: &Target) -> Option<ir::Expr> {
        let entry = self.context.clone().map(Context::looking_back);
        let text = format!("{t:?}");
        let value = self.read_target(t, entry.as_ref())?;
        if matches!(
            value.kind,
            ir::ExprKind::Str(_) | ir::ExprKind::Long(_) | ir::ExprKind::FuncName
        ) {
            return Some(value);
        }
        Some(self.save(text, value))
    }

    pub(super) fn save(&mut self, text: String, value: ir::Expr) -> ir::Expr {
        let (ty, span) = (value.ty, value.span);
        let slots = self.entry.get_or_insert_with(Vec::new);
        // Spans and ids are part of the text: one use, one slot.
        let n = slots
            .iter()
            .position(|(t, _)| *t == text)
            .unwrap_or_else(|| {
                slots.push((text, value));
                slots.len() - 1
            });
        ir::Expr {
            ty,
            kind: ir::ExprKind::CallData(n as u32),
            span,
        }
    }

    /// At the return of a system call?
    fn returns_from_kernel(&self) -> bool {
        let named = self.context.as_ref().and_then(|c| c.named.as_deref());
        named.is_some_and(|n| matches!(n.syscall, Some(SyscallPart::Return | SyscallPart::Told)))
    }

    /// `@entry(e)`: computed at entry, in a handler without locals.
    pub fn entry(&mut self, e: &Expr, span: Span) -> Option<ir::Expr> {
        if self.entry.is_none() {
            self.error(
                Tag::ReturnMisplaced,
                span,
                "@entry belongs to .return probes",
            )
            .help("probe the function's return: .function(\"f\").return");
            return None;
        }
        let slots = self.entry.take();
        let context = self.context.clone();
        self.context = context.clone().map(Context::looking_back);
        let locals = self.locals.len();
        let value = self.expr(e, VTy::Unknown);
        self.context = context;
        self.entry = slots;
        let names_local = value.as_ref().is_some_and(names_local);
        if self.locals.len() != locals || names_local {
            call_entries::no_local(self.shared.diags, span);
            return None;
        }
        let value = value?;
        Some(self.save(format!("{e:?}"), value))
    }

    /// Whether an expression's variables can be read here; nothing is reported.
    pub fn defined(&mut self, e: &Expr) -> bool {
        let keep = self.shared.diags.len();
        let entry = self.entry.clone();
        let errors = self.shared.diags.error_count();
        let skips = std::mem::take(&mut self.shared.skip_badvars);
        let value = self.expr(e, VTy::Unknown);
        self.shared.skip_badvars = skips;
        let good = value.is_some() && self.shared.diags.error_count() == errors;
        self.shared.diags.truncate(keep);
        self.entry = entry;
        good
    }

    pub fn deref(&mut self, size: &Expr, addr: &Expr) -> Option<(Ty, ir::ExprKind)> {
        let size = match size.as_number() {
            Some(n @ (1 | 2 | 4 | 8)) => n as u8,
            _ => {
                self.error(Tag::CallArgs, size.span, "the size is 1, 2, 4 or 8")
                    .help("e.g. @uderef(4, addr)");
                return None;
            }
        };
        let addr = ir::Addr::Expr(Box::new(self.number(addr)?));
        let place = ir::TargetPlace::Memory {
            addr,
            size,
            signed: false,
            bits: None,
            swapped: false,
        };
        Some((Ty::Long, ir::ExprKind::Target(Box::new(place))))
    }

    pub fn register(&mut self, number: &Expr) -> Option<(Ty, ir::ExprKind)> {
        let abi = &self.shared.world.machine.abi;
        let asked = number.as_number().and_then(|n| u16::try_from(n).ok());
        let known = asked.filter(|n| abi.registers.is_general(*n));
        let (Some(n), Some(_)) = (known, &self.context) else {
            let first = abi.passing.arguments[0];
            let example = abi.registers.name(first);
            self.error(
                Tag::CallArgs,
                number.span,
                "the register is a literal DWARF number, at a place in a program",
            )
            .help(format!(
                "e.g. @uregister({first}) is {example} on {}",
                abi.title
            ));
            return None;
        };
        self.needs_all_regs = true;
        let place = ir::TargetPlace::Register {
            reg: ir::Reg(n),
            size: abi.word,
            signed: true,
        };
        Some((Ty::Long, ir::ExprKind::Target(Box::new(place))))
    }
    /// `$x` as what is assigned to.
    pub fn target_place(&mut self, t: &Target) -> Option<ir::Place> {
        if !self.shared.guru {
            self.error(Tag::GuruNeeded, t.span, "this changes the traced program")
                .help(
                    "allow it with -g (guru mode), or keep the value in a variable of the script",
                );
            return None;
        }
        if t.address_of || t.pretty != Pretty::No {
            return self.no_place(t, "an address or a text is no variable");
        }
        let is_var = matches!(t.base, TargetBase::Var(_) | TargetBase::AtVar { .. });
        let at_return = self.context.as_ref().is_some_and(|c| c.at_return);
        if at_return && is_var && !is_return(t) && !is_static(t) {
            return self.no_place(
                t,
                "at the return a variable has the value that was saved at entry",
            );
        }
        if self.returns_from_kernel() && is_var && !is_return(t) && !is_static(t) {
            return self.no_place(
                t,
                "the system call has been made: its arguments are used up",
            );
        }
        match self.target(t)?.kind {
            ir::ExprKind::Target(place) if !matches!(*place, ir::TargetPlace::Value(_)) => {
                Some(ir::Place::Target(place))
            }
            _ => self.no_place(t, "this value is computed: it lies nowhere"),
        }
    }

    fn no_place<T>(&mut self, t: &Target, why: &str) -> Option<T> {
        self.error(Tag::AssignTarget, t.span, why).help(
            "change it where it is in memory or in a register: at the entry, or on another line",
        );
        None
    }
}

fn is_var(t: &Target) -> bool {
    matches!(t.base, TargetBase::Var(_) | TargetBase::AtVar { .. })
}

/// `@var("name@file")`: no variable of a call, so that it is read where the probe is.
fn is_static(t: &Target) -> bool {
    matches!(&t.base, TargetBase::AtVar { name, .. } if name.text().contains('@'))
}

pub(super) fn is_return(t: &Target) -> bool {
    matches!(&t.base, TargetBase::Var(name) if name.name == "$return" || name.name == "$$return")
}

fn names_local(e: &ir::Expr) -> bool {
    let mut found = false;
    crate::walk::inner_exprs(e, &mut |e| {
        found |= match &e.kind {
            ir::ExprKind::Read(p)
            | ir::ExprKind::Assign(p, _)
            | ir::ExprKind::AssignOp(p, ..)
            | ir::ExprKind::Crement { place: p, .. } => matches!(p, ir::Place::Local(_)),
            _ => false,
        };
    });
    found
}
