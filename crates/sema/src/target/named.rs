// SPDX-License-Identifier: MIT
//! What a mark, a hook, or an entry of the linkage table tells of itself: `$arg1`, `$$name`, `$$vars`.

use super::address::plus;
use super::hook;
use super::text::Text;
use super::Reader;
use crate::ir::{Addr, BinOp, Expr, ExprKind, ImageId, Reg, TargetPlace, Ty};
use crate::points::{Context, Named};
use trapless_debuginfo::{MarkArg, Operand};
use trapless_syntax::ast::{Pretty, Target};
use trapless_syntax::diag::Tag;

impl Reader<'_> {
    /// `None`: it is no such name, and may be a variable of the program.
    pub(super) fn of_named(&mut self, t: &Target, name: &str, c: &Context) -> Option<Option<Expr>> {
        let of = c.named.as_deref()?;
        let text = |s: &str| Some(ExprKind::Str(s.as_bytes().to_vec()));
        let literal = match name {
            "$$name" if of.is_linkage() => Some(ExprKind::FuncName),
            "$$name" => text(&of.name),
            "$$provider" => text(of.provider.as_deref()?),
            _ => None,
        };
        if let Some(kind) = literal {
            return Some(Some(self.expr(Ty::Str, kind)));
        }
        if let Some((_, value)) = of.values.iter().find(|v| v.0 == name) {
            return Some(self.whole_arg(t, name, value, c.image));
        }
        if let (Some(hook), "$$vars" | "$$parms" | "$$locals") = (&of.hook, name) {
            return Some(Some(self.hook_parameters(name, hook, c, t.pretty)));
        }
        let args = of.args.as_ref()?;
        if matches!(name, "$$vars" | "$$parms") {
            return Some(Some(self.all_args(args, c.image)));
        }
        let Some(n) = argument_number(name) else {
            // What the function around a system call has in variables is no part of it.
            return (of.syscall.is_some() && !name.starts_with("$$")).then(|| {
                self.no_such_value(name, of);
                None
            });
        };
        match n.checked_sub(1).and_then(|i| args.get(i)) {
            Some(arg) => Some(self.whole_arg(t, name, arg, c.image)),
            None => {
                self.no_arg(n, of, args.len());
                Some(None)
            }
        }
    }

    fn no_such_value(&mut self, name: &str, of: &Named) {
        let values: Vec<&str> = of.values.iter().map(|v| v.0).collect();
        self.diags
            .error(
                Tag::CtxVarUnknown,
                self.span,
                format!("{} has no `{name}`", described(of)),
            )
            .help(format!(
                "it has {}, and $arg1 to $arg6; what the aliases syscall.* set has no `$`: argstr",
                values.join(", ")
            ));
    }

    fn no_arg(&mut self, n: usize, of: &Named, count: usize) {
        let help = match count {
            0 => "it has none at all".to_string(),
            1 => "it has $arg1 only".to_string(),
            _ => format!("it has $arg1 to $arg{count}"),
        };
        self.diags
            .error(
                Tag::CtxVarUnknown,
                self.span,
                format!("{} has no $arg{n}", described(of)),
            )
            .help(help);
    }

    /// It has a size, but no type.
    fn whole_arg(&mut self, t: &Target, name: &str, arg: &MarkArg, image: ImageId) -> Option<Expr> {
        if !t.path.is_empty() || t.address_of {
            let message = format!("`{name}` is a number without a type");
            self.diags
                .error(Tag::CtxVarKind, self.span, message)
                .help(format!(
                    "say its type: @cast({name}, \"struct name\")->member"
                ));
            return None;
        }
        let value = match self.arg(arg, image) {
            Ok(value) => value,
            Err(why) => {
                let message = format!("`{name}` ({}) cannot be read: {why}", arg.text);
                self.diags
                    .error(Tag::CtxVarKind, self.span, message)
                    .help("read it where the program has it in a variable, or leave it out");
                return None;
            }
        };
        if t.pretty == Pretty::No {
            return Some(value);
        }
        let mut text = Text::default();
        text.number(value, if arg.signed { b"%d" } else { b"%u" });
        Some(text.finish(self.span))
    }

    fn all_args(&self, args: &[MarkArg], image: ImageId) -> Expr {
        let mut text = Text::default();
        for (i, arg) in args.iter().enumerate() {
            text.name(&format!("$arg{}", i + 1));
            match self.arg(arg, image) {
                Ok(value) => text.number(value, b"%#x"),
                Err(_) => text.literal("?"),
            }
        }
        text.finish(self.span)
    }

    fn arg(&self, arg: &MarkArg, image: ImageId) -> Result<Expr, &'static str> {
        let (size, signed) = (arg.size, arg.signed);
        let place = match &arg.operand {
            Operand::Unreadable(why) => return Err(why),
            Operand::Const(n) => {
                return Ok(self.expr(Ty::Long, ExprKind::Long(narrow(*n, size, signed))));
            }
            Operand::Address(vaddr) => {
                let vaddr = *vaddr;
                let at = Addr::Image { image, vaddr };
                return Ok(self.expr(Ty::Long, ExprKind::TargetAddress(Box::new(at))));
            }
            Operand::Register { reg, shift: 0 } => TargetPlace::Register {
                reg: Reg(*reg),
                size,
                signed,
            },
            Operand::Register { reg, shift } => TargetPlace::Value(byte_of(*reg, *shift, signed)),
            Operand::Memory {
                base,
                index,
                disp,
                relocated,
            } => TargetPlace::Memory {
                addr: address(*base, *index, *disp, relocated.then_some(image)),
                size,
                signed,
                bits: None,
                swapped: false,
            },
        };
        Ok(self.expr(Ty::Long, ExprKind::Target(Box::new(place))))
    }
}

/// Of `$arg2` 2.
fn argument_number(name: &str) -> Option<usize> {
    let digits = name.trim_start_matches('$').strip_prefix("arg")?;
    digits.parse().ok().filter(|_| !digits.starts_with('+'))
}

fn described(of: &Named) -> String {
    match of.syscall {
        None if of.hook.is_some() => hook::described(of),
        None => format!("mark `{}`", of.name),
        Some(_) => format!("a {}", of.name),
    }
}

pub(super) fn address(
    base: Option<u16>,
    index: Option<(u16, u8)>,
    disp: i64,
    relocated: Option<ImageId>,
) -> Addr {
    let register = |r| Addr::Register(Reg(r));
    let scaled = index.map(|(r, scale)| match scale {
        1 => register(r),
        _ => operation(BinOp::Mul, register(r), Addr::Const(scale.into())),
    });
    let parts = [base.map(register), scaled].into_iter().flatten();
    let sum = parts.reduce(|a, b| operation(BinOp::Add, a, b));
    match (relocated, sum) {
        (None, None) => Addr::Const(disp),
        (None, Some(sum)) => plus(sum, disp),
        (Some(image), sum) => {
            let vaddr = disp as u64;
            let fixed = Addr::Image { image, vaddr };
            sum.map_or(fixed.clone(), |sum| operation(BinOp::Add, sum, fixed))
        }
    }
}

/// `%ah`: the byte from that bit on.
pub(super) fn byte_of(reg: u16, shift: u8, signed: bool) -> Addr {
    let up = 56 - i64::from(shift);
    let back = if signed { BinOp::Shr } else { BinOp::UShr };
    let top = operation(BinOp::Shl, Addr::Register(Reg(reg)), Addr::Const(up));
    operation(back, top, Addr::Const(56))
}

fn operation(op: BinOp, a: Addr, b: Addr) -> Addr {
    Addr::Binary(op, Box::new(a), Box::new(b))
}

/// As a variable of that size would hold it.
fn narrow(n: i64, size: u8, signed: bool) -> i64 {
    let up = 64 - 8 * u32::from(size);
    match signed {
        true => n << up >> up,
        false => ((n as u64) << up >> up) as i64,
    }
}
