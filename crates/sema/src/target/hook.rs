// SPDX-License-Identifier: MIT
//! Parameters of static hooks: names and types come from the file's table, and of structures that it names from debug
//! information.

use super::named::{address, byte_of};
use super::text::Text;
use super::{Place, Reader, Source, Value};
use crate::ir::{Addr, Expr};
use crate::points::{Context, Named};
use trapless_debuginfo::{Binary, Error, Hook, HookParameter, Operand};
use trapless_syntax::ast::Pretty;
use trapless_syntax::diag::{nearest, Tag};
use trapless_syntax::Span;

impl Reader<'_> {
    /// A parameter; else what the file has of that name.
    pub(super) fn of_hook(&mut self, name: &str, hook: &Hook, c: &Context) -> Option<Value> {
        if let Some(p) = hook.parameters.iter().find(|p| p.name == name) {
            return self.hook_parameter(p, c);
        }
        if let Some(value) = self.quietly(|r| r.of_file(name, c)) {
            return Some(value);
        }
        let names: Vec<&str> = hook.parameters.iter().map(|p| p.name.as_str()).collect();
        let message = format!("hook `{}` has no `${name}`", hook.full_name());
        let help = match (nearest(name, names.iter().copied()), &names[..]) {
            (Some(near), _) => format!("did you mean `${near}`?"),
            (None, []) => "it has no parameters".to_string(),
            (None, _) => format!("it has ${}", names.join(", $")),
        };
        self.diags
            .error(Tag::CtxVarUnknown, self.span, message)
            .help(help);
        None
    }

    fn hook_parameter(&mut self, p: &HookParameter, c: &Context) -> Option<Value> {
        let binary = self.binary(c.image)?;
        let place = match &p.place {
            Operand::Unreadable(why) => {
                let message = format!("`${}` cannot be read: {why}", p.name);
                self.diags
                    .error(Tag::CtxVarKind, self.span, message)
                    .help("keep the section .note.stapsdt in the file");
                return None;
            }
            Operand::Const(n) => Place::Computed(Addr::Const(*n)),
            Operand::Address(vaddr) => Place::Computed(Addr::Image {
                image: c.image,
                vaddr: *vaddr,
            }),
            Operand::Register { reg, shift: 0 } => Place::Register(*reg),
            Operand::Register { reg, shift } => Place::Computed(byte_of(*reg, *shift, p.signed)),
            Operand::Memory {
                base,
                index,
                disp,
                relocated,
            } => {
                let image = relocated.then_some(c.image);
                Place::Memory(address(*base, *index, *disp, image), None)
            }
        };
        Some(Value {
            place,
            ty: p.type_in(binary.types(), self.world.machine.abi.word),
            types: Source::File(binary),
        })
    }

    /// `$$parms`, and `$$vars`, which are no more; there are no `$$locals`.
    pub(super) fn hook_parameters(
        &mut self,
        name: &str,
        hook: &Hook,
        c: &Context,
        pretty: Pretty,
    ) -> Expr {
        let mut text = Text::default();
        for p in hook.parameters.iter().filter(|_| name != "$$locals") {
            let value = self.quietly(|r| r.hook_parameter(p, c));
            self.listed(&mut text, &p.name, value, pretty);
        }
        text.finish(self.span)
    }

    /// The same with what debug information has of a type, or of what a pointer leads to, where only a name is known.
    pub(super) fn filled_in(&mut self, value: Value, span: Span) -> Option<Value> {
        let types = value.types.types();
        let (Some((name, size)), Source::File(binary)) = (types.only_named(value.ty), &value.types)
        else {
            return Some(value);
        };
        let found = match binary.type_described(&name) {
            Ok(found) => types.size(found),
            Err(e) => return self.not_described(binary, &name, &e, span),
        };
        if let (Some(size), Some(found)) = (size, found.filter(|found| Some(*found) != size)) {
            let message = format!(
                "the `{name}` of the debug information has {found} bytes, that of the hook {size}"
            );
            self.diags
                .error(Tag::CtxVarKind, span, message)
                .help("two files have different types of this name: read it as bytes, by its address (&$x)");
            return None;
        }
        let ty = binary.with_described(value.ty);
        Some(Value { ty, ..value })
    }

    fn not_described<T>(
        &mut self,
        binary: &Binary,
        name: &str,
        e: &Error,
        span: Span,
    ) -> Option<T> {
        let tag = Tag::from_name(e.tag()).unwrap_or(Tag::TypeUnknown);
        let name = name.trim_start_matches('*');
        let message = format!("the hook's table only names `{name}`: {e}");
        let file = binary.path().file_name().unwrap_or_default();
        let help = format!(
            "build {} with -g, install its debug symbols, or name who has it: @cast(POINTER, \"{name}\", \"FILE\")->MEMBER",
            file.to_string_lossy()
        );
        self.diags.error(tag, span, message).help(help);
        None
    }
}

pub(super) fn described(of: &Named) -> String {
    let provider = of.provider.as_deref().unwrap_or("");
    format!("hook `{provider}:{}`", of.name)
}
