// SPDX-License-Identifier: MIT
//! Where a name begins: variables, results, casts.

use super::{
    in_memory_of_entry, is_reference, pointee, From, LowerExpr, Place, Reader, Source, Value,
};
use crate::ir::{Addr, Expr};
use crate::points::Context;
use std::sync::Arc;
use trapless_debuginfo as di;
use trapless_debuginfo::{Binary, Type};
use trapless_syntax::ast::{self, Access, TargetBase};
use trapless_syntax::diag::{Diagnostics, Tag};
use trapless_syntax::Span;

impl Reader<'_> {
    pub(super) fn resolve(
        &mut self,
        t: &ast::Target,
        from: From,
        lower: &mut LowerExpr,
    ) -> Option<Value> {
        let context = from.context;
        let mut value = match &t.base {
            TargetBase::Var(name) if name.name == "$return" => self.returned(context?)?,
            TargetBase::Var(name) => self.variable(name.name.trim_start_matches('$'), context?)?,
            TargetBase::AtVar { name, module } => {
                let module = module.as_ref().map(|m| m.text().into_owned());
                self.at_var(&name.text(), module, context?)?
            }
            TargetBase::Cast {
                operand,
                ty,
                module,
            } => {
                let pointer = lower(operand, self.diags)?;
                self.cast(
                    pointer,
                    &ty.text(),
                    module.as_ref().map(|m| m.text().into_owned()),
                    context,
                    ty.span,
                )?
            }
            TargetBase::Auto(operand) => {
                let pointer = lower(operand, self.diags)?;
                let auto = from.auto?;
                Value {
                    place: Place::Computed(Addr::Expr(Box::new(pointer))),
                    ty: auto.ty,
                    types: auto.types,
                }
            }
        };
        self.referred = is_reference(&value);
        value = self.through(value);
        for access in &t.path {
            value = match access {
                Access::Member(name) => self.member(value, &name.name, name.span)?,
                Access::Index(e) => {
                    let index = lower(e, self.diags)?;
                    self.element(value, index)?
                }
            };
            self.referred = is_reference(&value);
            value = self.through(value);
        }
        Some(value)
    }

    /// Of what is not in memory at a call's entry: where it will be.
    pub(super) fn resolve_address(
        &mut self,
        t: &ast::Target,
        from: From,
        lower: &mut LowerExpr,
    ) -> Option<Value> {
        let looks_back = from.context.is_some_and(|c| c.looks_back);
        let mut lowered = Vec::new();
        let mut keep = |e: &ast::Expr, diags: &mut Diagnostics| {
            let value = lower(e, diags)?;
            lowered.push(value.clone());
            Some(value)
        };
        let value = self.resolve(t, from.clone(), &mut keep)?;
        if !looks_back || matches!(value.place, Place::Memory(..)) {
            return Some(value);
        }
        let mut again = lowered.into_iter();
        let mut lower = |_: &ast::Expr, _: &mut Diagnostics| again.next();
        self.homes = true;
        let home = self.quietly(|r| r.resolve(t, from, &mut lower));
        self.homes = false;
        home.or(Some(value))
    }

    /// What a C++ reference refers to.
    pub(super) fn through(&mut self, mut value: Value) -> Value {
        loop {
            let types = value.types.types();
            let Type::Reference { to, .. } = &*types.get(types.strip(value.ty)) else {
                return value;
            };
            let next = match &value.place {
                Place::Pointer(_) => self.pointed(&value, 0, *to),
                _ => self.number(&value).map(|a| Value {
                    place: Place::Memory(a, None),
                    ty: *to,
                    types: value.types.clone(),
                }),
            };
            match next {
                Some(next) => value = next,
                None => return value,
            }
        }
    }

    pub(super) fn context_in(binary: &Binary, c: &Context) -> di::Result<di::Context> {
        match &c.function {
            Some(f) => binary.context_of(f, c.pc),
            None => binary.context_at(c.pc),
        }
    }

    pub(super) fn variable(&mut self, name: &str, c: &Context) -> Option<Value> {
        if let Some(f) = &c.kernel {
            return self.kernel_parameter(name, f, c);
        }
        if let Some(hook) = c.named.as_deref().and_then(|n| n.hook.as_ref()) {
            return self.of_hook(name, hook, c);
        }
        self.of_file(name, c)
    }

    pub(super) fn of_file(&mut self, name: &str, c: &Context) -> Option<Value> {
        let binary = self.binary(c.image)?;
        let cx = match Self::context_in(&binary, c) {
            Ok(cx) => cx,
            // no function is known here, but a wildcard may have led here
            Err(e) => match binary.global(name, None) {
                Ok(v) => return self.located_anywhere(binary, &v),
                Err(_) => return self.fail(&e),
            },
        };
        let var = match binary.variable(&cx, name) {
            Ok(v) => v,
            Err(e) => return self.fail(&e),
        };
        self.located(&binary, c, &var, &cx)
    }

    pub(super) fn located(
        &mut self,
        binary: &Arc<Binary>,
        c: &Context,
        var: &di::Variable,
        cx: &di::Context,
    ) -> Option<Value> {
        let found = match self.homes {
            true => binary.locate_home(var, cx),
            false => binary.locate(var, cx),
        };
        self.frame = (!self.lists).then(|| Self::frame_of(binary, cx)).flatten();
        let location = match found {
            Ok(l) => l,
            Err(e) => return self.fail(&binary.with_readable_line(e, var, cx)),
        };
        let place = self.place_in(binary, cx, &location, c.image)?;
        Some(Value {
            place,
            ty: var.ty,
            types: Source::File(binary.clone()),
        })
    }

    pub(super) fn at_var(
        &mut self,
        text: &str,
        module: Option<String>,
        c: &Context,
    ) -> Option<Value> {
        let (name, file) = text
            .split_once('@')
            .map_or((text, None), |(n, f)| (n, Some(f)));
        if c.kernel.is_some() && module.is_none() {
            return self.no_kernel_variable(name);
        }
        let own = self.binary(c.image)?;
        // A watched variable is no place in the program's code, and not all code has debug information (linkage tables, _init).
        let cx = Self::context_in(&own, c);
        if let (None, true, Ok(cx)) = (&module, own.is_code(c.pc), cx) {
            // Without a file it is another way to write $name.
            let found = match file {
                None => own.variable(&cx, name).or_else(|_| own.global(name, None)),
                Some(_) => own.global(name, file),
            };
            return match found {
                Ok(v) => self.located(&own, c, &v, &cx),
                Err(e) => self.fail(&e),
            };
        }
        let has = |s: &Source| matches!(s, Source::File(b) if b.global(name, file).is_ok());
        let source = self.module_or_own(module, Some(c), self.span, &has)?;
        let Source::File(binary) = source else {
            return self.no_kernel_variable(name);
        };
        match binary.global(name, file) {
            Ok(v) => self.located_anywhere(binary, &v),
            Err(e) => self.fail(&e),
        }
    }

    /// A global, whatever the place.
    pub(super) fn located_anywhere(
        &mut self,
        binary: Arc<Binary>,
        var: &di::Variable,
    ) -> Option<Value> {
        let location = match binary.locate_global(var) {
            Ok(l) => l,
            Err(e) => return self.fail(&e),
        };
        let image = self.world.image_of(&binary);
        Some(Value {
            place: self.place(&location, image)?,
            ty: var.ty,
            types: Source::File(binary),
        })
    }

    pub(super) fn returned(&mut self, c: &Context) -> Option<Value> {
        if let Some(f) = &c.kernel {
            return self.kernel_result(f, c);
        }
        let binary = self.binary(c.image)?;
        let Some(f) = &c.function else {
            self.diags.error(
                Tag::ReturnMisplaced,
                self.span,
                "there is no return value here",
            );
            return None;
        };
        let found = match binary.return_value(f) {
            Ok(r) => r,
            Err(e) => return self.fail(&e),
        };
        let place = match (in_memory_of_entry(&found.location), self.kept.clone()) {
            (Some(_), Some(kept)) => Place::Memory(Addr::Expr(Box::new(kept)), None),
            _ => self.place(&found.location, c.image)?,
        };
        Some(Value {
            place,
            ty: found.ty,
            types: Source::File(binary),
        })
    }

    pub(super) fn cast(
        &mut self,
        pointer: Expr,
        name: &str,
        module: Option<String>,
        context: Option<&Context>,
        span: Span,
    ) -> Option<Value> {
        let has = |b: &Source| b.find_type(name).is_ok();
        let source = self.module_or_own(module, context, span, &has)?;
        let ty = match source.find_type(name) {
            Ok(t) => t,
            Err(e) => return self.fail(&e),
        };
        let types = source.types();
        // The operand is an address: `@cast(p, "struct s")` is a `struct s *`.
        let ty = match pointee(types, ty) {
            Some(_) => ty,
            None => types.pointer_to(ty, self.world.machine.abi.word),
        };
        Some(Value {
            place: Place::Computed(Addr::Expr(Box::new(pointer))),
            ty,
            types: source,
        })
    }
}
