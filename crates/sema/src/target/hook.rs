// SPDX-License-Identifier: MIT
//! Parameters of static hooks: names and types come from the file's table, and of structures that it names from debug
//! information.

use super::named::{address, byte_of};
use super::text::Text;
use super::{Place, Reader, Source, Value};
use crate::ir::{Addr, Expr};
use crate::points::{Context, Named};
use trapless_debuginfo::{Error, Hook, HookParameter, Operand, Type, TypeId, Types};
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

    /// The same with what debug information knows of a type, or of what a pointer leads to, where only a name is known.
    pub(super) fn filled_in(&mut self, value: Value, span: Span) -> Option<Value> {
        let types = value.types.types();
        let whole = types.strip_refs(value.ty);
        let (named, is_pointer) = match &*types.get(whole) {
            Type::Pointer { to, .. } => (*to, true),
            _ => (value.ty, false),
        };
        let Some((name, size)) = only_named(types, named) else {
            return Some(value);
        };
        let found = self.type_of_name(&value.types, &name, size, span)?;
        let ty = match is_pointer {
            true => types.pointer_to(found, self.world.machine.abi.word),
            false => found,
        };
        Some(Value { ty, ..value })
    }

    fn type_of_name(
        &mut self,
        source: &Source,
        name: &str,
        size: Option<u64>,
        span: Span,
    ) -> Option<TypeId> {
        let pointer = name.strip_prefix('*');
        let found = source.find_type(pointer.unwrap_or(name));
        let found = match found {
            Ok(found) if pointer.is_some() => source.types().target(found).unwrap_or(found),
            Ok(found) => found,
            Err(e) => return self.not_described(source, name, &e, span),
        };
        let has = source.types().size(found);
        if has.is_none() && is_composite(source.types(), found) {
            let e = Error::IncompleteType { ty: name.into() };
            return self.not_described(source, name, &e, span);
        }
        if size.is_some_and(|size| has.is_some_and(|has| has != size)) {
            let message = format!(
                "the `{name}` of the debug information has {} bytes, that of the hook {}",
                has.unwrap_or(0),
                size.unwrap_or(0)
            );
            self.diags
                .error(Tag::CtxVarKind, span, message)
                .help("two files have different types of this name: read it as bytes, by its address (&$x)");
            return None;
        }
        Some(found)
    }

    fn not_described<T>(
        &mut self,
        source: &Source,
        name: &str,
        e: &Error,
        span: Span,
    ) -> Option<T> {
        let tag = Tag::from_name(e.tag()).unwrap_or(Tag::TypeUnknown);
        let file = match source {
            Source::File(binary) => binary.path().file_name().unwrap_or_default(),
            Source::Kernel(_) => Default::default(),
        };
        let message = format!("the hook's table only names `{name}`: {e}");
        let help = format!(
            "build {} with -g, install its debug symbols, or name who has it: @cast(POINTER, \"{name}\", \"FILE\")->MEMBER",
            file.to_string_lossy()
        );
        self.diags.error(tag, span, message).help(help);
        None
    }
}

/// The name, and the size where it is known, of a type of which no more is.
fn only_named(types: &Types, ty: TypeId) -> Option<(String, Option<u64>)> {
    match &*types.get(types.strip(ty)) {
        Type::Named { name, size } => Some((name.clone(), *size)),
        _ => None,
    }
}

fn is_composite(types: &Types, ty: TypeId) -> bool {
    matches!(&*types.get(types.strip(ty)), Type::Composite(_))
}

pub(super) fn described(of: &Named) -> String {
    let provider = of.provider.as_deref().unwrap_or("");
    format!("hook `{provider}:{}`", of.name)
}
