// SPDX-License-Identifier: MIT
//! Variables in a kernel: a function's parameters, where the calling convention has them at its entry, and its result.

use super::text::Text;
use super::{Reader, Source, Value};
use crate::ir::Expr;
use crate::points::Context;
use std::sync::Arc;
use trapless_debuginfo as di;
use trapless_debuginfo::{Kernel, KernelFunction, KernelParameter};
use trapless_syntax::ast::Pretty;
use trapless_syntax::diag::Tag;

impl Reader<'_> {
    pub(super) fn kernel(&mut self) -> Option<Arc<Kernel>> {
        match self.world.kernel() {
            Ok(kernel) => Some(kernel),
            Err(e) => self.fail(&e),
        }
    }

    fn kernel_of(&mut self, f: &KernelFunction) -> Option<Arc<Kernel>> {
        match self.world.kernel_of(f) {
            Ok(kernel) => Some(kernel),
            Err(e) => self.fail(&e),
        }
    }

    pub(super) fn kernel_parameter(
        &mut self,
        name: &str,
        f: &KernelFunction,
        c: &Context,
    ) -> Option<Value> {
        let kernel = self.kernel_of(f)?;
        let parameters = kernel.parameters(f);
        let Some(found) = parameters.iter().find(|p| p.name == name) else {
            let names: Vec<&str> = parameters.iter().map(|p| p.name.as_str()).collect();
            return self.no_parameter(name, f, &names);
        };
        self.passed(&kernel, found, c)
    }

    fn no_parameter<T>(&mut self, name: &str, f: &KernelFunction, names: &[&str]) -> Option<T> {
        let message = format!(
            "`{}` of the kernel has no parameter `{name}`; its other variables are not known",
            f.name
        );
        let all = match names {
            [] => "it has no parameters".to_string(),
            _ => format!("it has ${}", names.join(", $")),
        };
        self.diags
            .error(Tag::CtxVarUnknown, self.span, message)
            .help(all);
        None
    }

    pub(super) fn no_kernel_variable<T>(&mut self, name: &str) -> Option<T> {
        let message = format!("`{name}`: variables of kernels are not read yet");
        self.diags
            .error(Tag::PointKernel, self.span, message)
            .help("/proc/kallsyms tells root its address: kernel_long(ADDRESS), kernel_int(ADDRESS) or @cast(ADDRESS, \"struct NAME\")->MEMBER reads it");
        None
    }

    fn passed(&mut self, kernel: &Arc<Kernel>, p: &KernelParameter, c: &Context) -> Option<Value> {
        let Some(location) = &p.location else {
            let what = kernel.types().declaration(p.ty, &p.name);
            let what = format!("how `{what}` is passed");
            return self.fail(&di::Error::Unsupported { what });
        };
        Some(Value {
            place: self.place(location, c.image)?,
            ty: p.ty,
            types: Source::Kernel(kernel.clone()),
        })
    }

    pub(super) fn kernel_result(&mut self, f: &KernelFunction, c: &Context) -> Option<Value> {
        let kernel = self.kernel_of(f)?;
        let found = match kernel.return_value(f) {
            Ok(found) => found,
            Err(e) => return self.fail(&e),
        };
        Some(Value {
            place: self.place(&found.location, c.image)?,
            ty: found.ty,
            types: Source::Kernel(kernel),
        })
    }

    /// `$$parms`, and `$$vars`, which are no more; there are no `$$locals`.
    pub(super) fn kernel_parameters(
        &mut self,
        name: &str,
        f: &KernelFunction,
        c: &Context,
        pretty: Pretty,
    ) -> Option<Expr> {
        let kernel = self.kernel_of(f)?;
        let mut text = Text::default();
        let wanted = matches!(name, "$$parms" | "$$vars");
        for p in kernel.parameters(f).iter().filter(|_| wanted) {
            let value = self.quietly(|r| r.passed(&kernel, p, c));
            self.listed(&mut text, &p.name, value, pretty);
        }
        Some(text.finish(self.span))
    }
}
