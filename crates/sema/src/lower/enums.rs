// SPDX-License-Identifier: MIT
//! `@enum` and `@enumname`: constants of the traced program's enumerations.

use super::program::is_return;
use super::Lowerer;
use crate::ir::{self, Ty};
use crate::points::Context;
use crate::target;
use crate::types::infer::VTy;
use trapless_syntax::ast::{Expr, ExprKind, StrLit};
use trapless_syntax::diag::Tag;

impl Lowerer<'_, '_> {
    /// `@enum("NAME", "module")`
    pub fn enum_value(
        &mut self,
        name: &StrLit,
        module: Option<&StrLit>,
    ) -> Option<(Ty, ir::ExprKind)> {
        let context = self.context.clone();
        let module = module.map(|m| m.text().into_owned());
        let binary = target::modules::module_of(
            module,
            context.as_ref(),
            name.span,
            &|s| s.enumerator(&name.text()).is_some(),
            self.shared.world,
            self.shared.diags,
        )?;
        match binary.enumerator(&name.text()) {
            Some(n) => Some((Ty::Long, ir::ExprKind::Long(n))),
            None => {
                let text = name.text().into_owned();
                self.error(
                    Tag::TypeUnknown,
                    name.span,
                    format!("no enumeration has a constant `{text}`"),
                )
                .help("name the program, library or header that has it: @enum(\"NAME\", \"<header.h>\")");
                None
            }
        }
    }

    /// `@enumname(value, "enum type", "module")`; of a variable the type is known.
    pub fn enum_name(
        &mut self,
        value: &Expr,
        ty: Option<&StrLit>,
        module: Option<&StrLit>,
    ) -> Option<(Ty, ir::ExprKind)> {
        let number = self.expr(value, VTy::Long)?;
        let number = self.typed(number, Ty::Long)?;
        let context = self.context.clone();
        let names = match ty {
            Some(ty) => {
                let module = module.map(|m| m.text().into_owned());
                let (world, diags) = (&mut *self.shared.world, &mut *self.shared.diags);
                let has = |s: &target::Source| target::constants(s, &ty.text()).is_some();
                let binary = target::modules::module_of(
                    module,
                    context.as_ref(),
                    ty.span,
                    &has,
                    world,
                    diags,
                )?;
                target::constants(&binary, &ty.text())
            }
            None => self.constants_of(value, context),
        };
        let Some(names) = names else {
            self.error(
                Tag::TypeUnknown,
                ty.map_or(value.span, |t| t.span),
                "this is not known to be an enumeration",
            )
            .help("name its type: @enumname(x, \"enum name\"), or the module too");
            return None;
        };
        let value = Box::new(number);
        Some((Ty::Str, ir::ExprKind::NameOf { value, names }))
    }

    fn constants_of(
        &mut self,
        value: &Expr,
        context: Option<Context>,
    ) -> Option<Vec<(i64, String)>> {
        let ExprKind::Target(t) = &value.kind else {
            return None;
        };
        let context = context.map(|c| Context {
            at_return: c.at_return && is_return(t),
            ..c
        });
        target::constants_of(t, context.as_ref(), self.shared.world)
    }
}
