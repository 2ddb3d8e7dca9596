// SPDX-License-Identifier: MIT
//! A callee's handler runs for some calls only: by where they return to, which
//! the word at the stack's top tells as long as the function has done nothing. Who called
//! its caller, and so on, tells the unwind rule at each return address.

use super::Lowerer;
use crate::ir::{Addr, BinOp, Expr, ExprKind, ImageId, Reg, Stmt, StmtKind, TargetPlace, Ty};
use crate::points::Caller;
use trapless_debuginfo::{Frame, Saved};
use trapless_machine::Abi;
use trapless_syntax::diag::Tag;
use trapless_syntax::Span;

impl Lowerer<'_, '_> {
    /// The body, for the calls that are meant.
    pub(super) fn only_callers(&mut self, body: Vec<Stmt>, span: Span) -> Vec<Stmt> {
        let Some(context) = self.context.as_ref() else {
            return body;
        };
        let (image, callers) = (context.image, &context.callers);
        if callers.any_of.is_empty() {
            return body;
        }
        let abi = &self.shared.world.machine.abi;
        let registers = &abi.registers;
        let sp = Addr::Register(Reg(registers.stack_pointer));
        let base = Addr::Register(Reg(registers.frame_pointer));
        let here = match &callers.frame {
            Some(frame) => frame_of(&sp, Some(&base), frame, abi),
            None => Some(InFrame {
                slot: sp,
                base: Some(base),
            }),
        };
        let known = here.and_then(|here| called_by(&callers.any_of, &here, image, span, abi));
        let mut cond = known.unwrap_or_else(|| {
            let message = "calls from there cannot be told from others, and do not count";
            self.shared
                .diags
                .warn(Tag::PointNoMatch, span, message)
                .help(format!(
                    "frames on the way are not found by an offset of {} or {}",
                    registers.name(registers.stack_pointer),
                    registers.name(registers.frame_pointer)
                ));
            number(ExprKind::Long(0), span)
        });
        if self.entry.is_some() {
            cond = self.save("callers".into(), cond);
        }
        let kind = StmtKind::If {
            cond,
            then: body,
            otherwise: Vec::new(),
        };
        vec![Stmt { kind, span }]
    }
}

/// What is known of the registers in a function.
#[derive(Clone)]
struct InFrame {
    /// Where its return address is.
    slot: Addr,
    base: Option<Addr>,
}

/// Was it one of these that called? None: that cannot be told of any of them.
fn called_by(
    callers: &[Caller],
    at: &InFrame,
    image: ImageId,
    span: Span,
    abi: &Abi,
) -> Option<Expr> {
    let each = callers.iter().filter_map(|c| {
        let here = returns_to(image, &at.slot, c.to, span, abi);
        let Some((frame, above)) = &c.above else {
            return Some(here);
        };
        let sp = plus(&at.slot, abi.word.into());
        let caller = frame_of(&sp, at.base.as_ref(), frame.as_ref()?, abi)?;
        let above = called_by(above, &caller, image, span, abi)?;
        Some(number(ExprKind::And(here.into(), above.into()), span))
    });
    each.reduce(|a, b| number(ExprKind::Or(a.into(), b.into()), span))
}

/// By the unwind rule, where that says no more than registers and offsets.
fn frame_of(sp: &Addr, base: Option<&Addr>, rule: &Frame, abi: &Abi) -> Option<InFrame> {
    let registers = &abi.registers;
    let by = match u16::from(rule.register) {
        n if n == registers.stack_pointer => sp,
        n if n == registers.frame_pointer => base?,
        _ => return None,
    };
    if rule.deref || rule.signal {
        return None;
    }
    let cfa = plus(by, rule.offset.into());
    let base = match rule.saved[usize::from(registers.frame_pointer)] {
        Saved::Same => base.cloned(),
        Saved::AtCfa(by) => Some(Addr::Load {
            addr: Box::new(plus(&cfa, by.into())),
            size: abi.word,
            signed: false,
        }),
        Saved::AtBase(_) | Saved::Lost => None,
    };
    let slot = plus(&cfa, -i64::from(abi.pushed_by_call()));
    Some(InFrame { slot, base })
}

fn plus(a: &Addr, n: i64) -> Addr {
    let (a, n) = (Box::new(a.clone()), Box::new(Addr::Const(n)));
    Addr::Binary(BinOp::Add, a, n)
}

fn returns_to(image: ImageId, slot: &Addr, vaddr: u64, span: Span, abi: &Abi) -> Expr {
    let word = TargetPlace::Memory {
        addr: slot.clone(),
        size: abi.word,
        signed: false,
        bits: None,
        swapped: false,
    };
    let there = ExprKind::TargetAddress(Box::new(Addr::Image { image, vaddr }));
    let (word, there) = (
        number(ExprKind::Target(Box::new(word)), span),
        number(there, span),
    );
    number(
        ExprKind::Binary(BinOp::Eq, Box::new(word), Box::new(there)),
        span,
    )
}

fn number(kind: ExprKind, span: Span) -> Expr {
    let ty = Ty::Long;
    Expr { ty, kind, span }
}
