// SPDX-License-Identifier: MIT
//! Variables of the traced program: from `$x->y[i]` to registers and memory.

mod implicit;
pub mod modules;
mod named;
mod parts;
mod pretty;
mod rust;
mod text;

use crate::finish::entered::{self, Entered};
use crate::ir::{self, Addr, BinOp, Expr, ExprKind, Reg, TargetPlace, Ty};
use crate::points::Context;
use crate::world::{report, World};
use std::sync::Arc;
use trapless_debuginfo as di;
use trapless_debuginfo::{Binary, LocOp, Location, Type, TypeId, Types};
use trapless_syntax::ast::{self, Access, Pretty, TargetBase};
use trapless_syntax::diag::{nearest, Diagnostics, Tag};
use trapless_syntax::Span;

/// Lowers a script expression inside a target one (array index, `@cast`
/// operand, the pointer of `EXPR->member`).
pub type LowerExpr<'a> = dyn FnMut(&ast::Expr, &mut Diagnostics) -> Option<Expr> + 'a;

/// What a pointer in the script leads to, by the debug information of a file.
#[derive(Clone)]
pub struct AutoType {
    ty: TypeId,
    types: Arc<Binary>,
}

impl AutoType {
    pub fn same(&self, other: &AutoType) -> bool {
        let name = |t: &AutoType| t.types.types().name(t.types.types().strip(t.ty));
        Arc::ptr_eq(&self.types, &other.types) && (self.ty == other.ty || name(self) == name(other))
    }
}

/// Where an access starts from.
#[derive(Clone, Default)]
pub struct From<'a> {
    pub context: Option<&'a Context>,
    /// Of `EXPR->member`: the type of EXPR.
    pub auto: Option<AutoType>,
    /// In a return: what the register of `kept_for_result` held at the entry.
    pub kept: Option<Expr>,
}

/// The type of what `target` reads; nothing is reported.
pub fn type_of(
    target: &ast::Target,
    context: Option<&Context>,
    auto: Option<AutoType>,
    world: &mut World,
) -> Option<AutoType> {
    if target.pretty != Pretty::No {
        return None;
    }
    let from = From {
        context,
        auto,
        kept: None,
    };
    let word = world.machine.abi.word;
    let value = resolved(target, from, world)?;
    let types = value.types.types();
    let ty = match (target.address_of, element_type(types, value.ty)) {
        (true, _) => types.pointer_to(value.ty, word),
        (false, Some(of)) if pointee(types, value.ty).is_none() => types.pointer_to(of, word),
        _ => value.ty,
    };
    pointee(types, ty)?;
    Some(AutoType {
        ty,
        types: value.types,
    })
}

/// The constants of an enumeration, each value once.
pub fn constants(binary: &Binary, name: &str) -> Option<Vec<(i64, String)>> {
    constants_in(binary.types(), binary.find_type(name).ok()?)
}

/// Those of the type of a variable.
pub fn constants_of(
    target: &ast::Target,
    context: Option<&Context>,
    world: &mut World,
) -> Option<Vec<(i64, String)>> {
    let value = resolved(
        target,
        From {
            context,
            auto: None,
            kept: None,
        },
        world,
    )?;
    constants_in(value.types.types(), value.ty)
}

fn constants_in(types: &Types, ty: TypeId) -> Option<Vec<(i64, String)>> {
    let Type::Enum { values, .. } = &*types.get(types.strip_refs(ty)) else {
        return None;
    };
    let mut seen = std::collections::HashSet::new();
    let first = values.iter().filter(|v| seen.insert(v.value));
    Some(first.map(|v| (v.value, v.name.clone())).collect())
}

/// What `target` is, quietly.
fn resolved(target: &ast::Target, from: From, world: &mut World) -> Option<Value> {
    let mut unheard = Diagnostics::new();
    let mut r = Reader {
        world,
        diags: &mut unheard,
        span: target.span,
        homes: false,
        lists: false,
        referred: false,
        frame: None,
        kept: None,
    };
    // Only the type is wanted: any number serves as an index.
    let mut lower = |e: &ast::Expr, _: &mut Diagnostics| {
        Some(Expr {
            ty: Ty::Long,
            kind: ExprKind::Long(0),
            span: e.span,
        })
    };
    r.resolve(target, from, &mut lower)
}

/// Read a target variable: a number, or text for the pretty-printing forms.
/// `from.context` is that of the place; of a return probe only `$return` arrives
/// here with `at_return` (the others are read at entry, with a context that
/// has it false). `None`: a report has been made.
pub fn read(
    target: &ast::Target,
    from: From,
    world: &mut World,
    lower: &mut LowerExpr,
    diags: &mut Diagnostics,
) -> Option<Expr> {
    let mut r = Reader {
        world,
        diags,
        span: target.span,
        homes: false,
        lists: false,
        referred: false,
        frame: None,
        kept: from.kept.clone(),
    };
    if let TargetBase::Var(name) = &target.base {
        let context = from.context;
        if let Some(e) = context.and_then(|c| r.of_named(target, &name.name, c)) {
            return e;
        }
        if name.name.starts_with("$$") {
            return r.all_of(&name.name, from.context?, target.pretty);
        }
    }
    let value = match target.address_of {
        true => r.resolve_address(target, from, lower)?,
        false => r.resolve(target, from, lower)?,
    };
    if target.address_of {
        let is_cast = matches!(target.base, TargetBase::Cast { .. }) && target.path.is_empty();
        return match value.place {
            // `&@cast(p, "type")` is p.
            Place::Computed(a) if is_cast => {
                Some(r.expr(Ty::Long, ExprKind::TargetAddress(Box::new(a))))
            }
            _ => r.address_of(value),
        };
    }
    match target.pretty {
        Pretty::No => r.scalar(value),
        depth => r.pretty(value, depth == Pretty::Deep),
    }
}

/// The register whose value at the entry tells where the result is put.
pub fn kept_for_result(context: &Context, world: &mut World) -> Option<Reg> {
    let binary = world.binary(context.image)?;
    let found = binary.return_value(context.function.as_ref()?).ok()?;
    in_memory_of_entry(&found.location)
}

fn in_memory_of_entry(location: &Location) -> Option<Reg> {
    match location {
        Location::Memory(ops) => match ops[..] {
            [LocOp::EntryReg(r)] => Some(Reg(r)),
            _ => None,
        },
        _ => None,
    }
}

/// A value of the traced program with its type.
#[derive(Clone)]
struct Value {
    place: Place,
    ty: TypeId,
    types: Arc<Binary>,
}

#[derive(Clone)]
enum Place {
    Memory(Addr, Option<di::BitField>),
    /// Also a vector register, by its low half.
    Register(u16),
    /// Split over several places.
    Parts(Vec<parts::Part>),
    /// A computed value, e.g. a pointer that a script gave.
    Computed(Addr),
    /// A pointer without a value.
    Pointer(Box<implicit::Pointed>),
}

struct Reader<'a> {
    world: &'a mut World,
    diags: &'a mut Diagnostics,
    span: Span,
    /// Parameters are where the function will keep them.
    homes: bool,
    /// For a list of variables no function's entry is probed.
    lists: bool,
    /// What was resolved last is what a reference leads to.
    referred: bool,
    /// Entry of the function around the place, and where its frame is.
    frame: Option<(u64, Vec<LocOp>)>,
    /// As in `From`.
    kept: Option<Expr>,
}

impl Reader<'_> {
    fn fail<T>(&mut self, e: &di::Error) -> Option<T> {
        let in_header = match e {
            di::Error::NoType { name, path } => {
                self.world.headers.get(path).map(|h| di::Error::NoType {
                    name: name.clone(),
                    path: h.into(),
                })
            }
            _ => None,
        };
        report(in_header.as_ref().unwrap_or(e), self.span, self.diags);
        None
    }

    fn binary(&mut self, image: ir::ImageId) -> Option<Arc<Binary>> {
        let found = self.world.binary(image);
        if found.is_none() {
            self.diags.error(
                Tag::ContextNone,
                self.span,
                "the file of this place is not open",
            );
        }
        found
    }

    // ---- where a name begins ----

    fn resolve(&mut self, t: &ast::Target, from: From, lower: &mut LowerExpr) -> Option<Value> {
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
    fn resolve_address(
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
    fn through(&mut self, mut value: Value) -> Value {
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

    fn context_in(binary: &Binary, c: &Context) -> di::Result<di::Context> {
        match &c.function {
            Some(f) => binary.context_of(f, c.pc),
            None => binary.context_at(c.pc),
        }
    }

    fn variable(&mut self, name: &str, c: &Context) -> Option<Value> {
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

    fn located(
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
            types: binary.clone(),
        })
    }

    fn at_var(&mut self, text: &str, module: Option<String>, c: &Context) -> Option<Value> {
        let (name, file) = text
            .split_once('@')
            .map_or((text, None), |(n, f)| (n, Some(f)));
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
        let has = |b: &Binary| b.global(name, file).is_ok();
        let binary = self.module_or_own(module, Some(c), self.span, &has)?;
        match binary.global(name, file) {
            Ok(v) => self.located_anywhere(binary, &v),
            Err(e) => self.fail(&e),
        }
    }

    /// A global, whatever the place.
    fn located_anywhere(&mut self, binary: Arc<Binary>, var: &di::Variable) -> Option<Value> {
        let location = match binary.locate_global(var) {
            Ok(l) => l,
            Err(e) => return self.fail(&e),
        };
        let image = self.world.image_of(&binary);
        Some(Value {
            place: self.place(&location, image)?,
            ty: var.ty,
            types: binary,
        })
    }

    fn returned(&mut self, c: &Context) -> Option<Value> {
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
            types: binary,
        })
    }

    fn cast(
        &mut self,
        pointer: Expr,
        name: &str,
        module: Option<String>,
        context: Option<&Context>,
        span: Span,
    ) -> Option<Value> {
        let has = |b: &Binary| b.find_type(name).is_ok();
        let binary = self.module_or_own(module, context, span, &has)?;
        let ty = match binary.find_type(name) {
            Ok(t) => t,
            Err(e) => return self.fail(&e),
        };
        // The operand is an address: `@cast(p, "struct s")` is a `struct s *`.
        let ty = match pointee(binary.types(), ty) {
            Some(_) => ty,
            None => binary.types().pointer_to(ty, binary.machine().abi.word),
        };
        Some(Value {
            place: Place::Computed(Addr::Expr(Box::new(pointer))),
            ty,
            types: binary,
        })
    }

    // ---- along the path ----

    fn member(&mut self, value: Value, name: &str, span: Span) -> Option<Value> {
        let types = value.types.types();
        let to = pointee(types, value.ty);
        let inner = to.unwrap_or(value.ty);
        let member = match types.member(inner, name) {
            Ok(m) => m,
            Err(e) => {
                let names = types.member_names(inner);
                let near = nearest(name, names.iter().map(String::as_str)).map(str::to_string);
                report(&e, span, self.diags).help(near.as_deref());
                return None;
            }
        };
        let whole = match to {
            Some(to) if matches!(value.place, Place::Pointer(_)) => self.pointed(&value, 0, to)?,
            Some(to) => Value {
                place: Place::Memory(self.number(&value)?, None),
                ty: to,
                types: value.types.clone(),
            },
            None => value,
        };
        let whole = self.hopped(whole, &member.hops)?;
        self.part(&whole, member.offset, member.ty, member.bits)
    }

    fn element(&mut self, value: Value, index: Expr) -> Option<Value> {
        let types = value.types.types();
        let stripped = types.strip_refs(value.ty);
        if let (Place::Pointer(_), Some(of)) = (&value.place, pointee(types, stripped)) {
            let size = types.size(of).unwrap_or(1);
            return self.pointed_element(&value, &index, size, of);
        }
        let base = match &*types.get(stripped) {
            Type::Array { .. } => self.memory_of(&value)?,
            Type::Pointer { .. } => self.number(&value)?,
            _ => {
                let name = types.name(value.ty);
                return self.fail(&di::Error::NotAggregate { ty: name });
            }
        };
        let of = match types.is_swapped(value.ty) {
            true => types.swapped(element_type(types, stripped)?),
            false => element_type(types, stripped)?,
        };
        let Some(size) = types.size(of) else {
            let ty = types.name(of);
            return self.fail(&di::Error::IncompleteType { ty });
        };
        let offset = Addr::Binary(
            BinOp::Mul,
            Box::new(Addr::Expr(Box::new(index))),
            Box::new(Addr::Const(size.max(1) as i64)),
        );
        Some(Value {
            place: Place::Memory(
                Addr::Binary(BinOp::Add, Box::new(base), Box::new(offset)),
                None,
            ),
            ty: of,
            ..value.clone()
        })
    }

    /// The address of a structure or array.
    fn memory_of(&mut self, value: &Value) -> Option<Addr> {
        match &value.place {
            _ if is_reference(value) => self.number(value),
            Place::Memory(a, None) => Some(a.clone()),
            _ => {
                self.diags
                    .error(
                        Tag::CtxVarKind,
                        self.span,
                        "this is not in memory here: it has no address",
                    )
                    .help("read its members, or another line of the function");
                None
            }
        }
    }

    /// The value as a number, for use as a pointer.
    fn number(&mut self, value: &Value) -> Option<Addr> {
        let types = value.types.types();
        let size = types.size(types.strip(value.ty)).unwrap_or(8);
        match &value.place {
            Place::Memory(a, _) => Some(load(a.clone(), size.min(8) as u8, false)),
            Place::Pointer(_) => self.no_pointer(),
            place => parts::whole(place),
        }
    }

    // ---- results ----

    fn expr(&self, ty: Ty, kind: ExprKind) -> Expr {
        Expr {
            ty,
            kind,
            span: self.span,
        }
    }

    fn address_of(&mut self, value: Value) -> Option<Expr> {
        match value.place {
            Place::Memory(a, None) => {
                Some(self.expr(Ty::Long, ExprKind::TargetAddress(Box::new(a))))
            }
            _ => {
                self.diags
                    .error(
                        Tag::CtxVarKind,
                        self.span,
                        "this is in a register or a bit-field: it has no address",
                    )
                    .help("read its value");
                None
            }
        }
    }

    fn scalar(&mut self, value: Value) -> Option<Expr> {
        let types = value.types.types();
        let ty = types.strip_refs(value.ty);
        let is_reference = is_reference(&value);
        let kind = types.get(ty);
        // An array is its address, as in C, and so is an object that a reference leads to.
        let is_object = matches!(&*kind, Type::Composite(_));
        if matches!(&*kind, Type::Array { .. }) || is_object && self.referred {
            let a = self.memory_of(&value)?;
            return Some(self.expr(Ty::Long, ExprKind::TargetAddress(Box::new(a))));
        }
        let size = types.size(ty).unwrap_or(8);
        if is_object || !matches!(size, 1 | 2 | 4 | 8) {
            let name = types.name(value.ty);
            self.diags
                .error(
                    Tag::CtxVarKind,
                    self.span,
                    format!("a `{name}` is not a number"),
                )
                .help("read a member (->name), its address (&$x), or its text ($x$)");
            return None;
        }
        let signed = types.is_signed(ty);
        let swapped = size > 1 && types.is_swapped(value.ty);
        let memory = |addr, bits: Option<di::BitField>| TargetPlace::Memory {
            addr,
            size: bits.map_or(size as u8, |b| b.storage),
            signed,
            bits: bits.map(|b| ir::Bits {
                offset: b.shift,
                width: b.width,
            }),
            swapped,
        };
        let place = match value.place {
            Place::Pointer(_) => return self.no_pointer(),
            _ if is_reference => memory(self.number(&value)?, None),
            Place::Memory(addr, bits) => memory(addr, bits),
            Place::Register(r) if !swapped => TargetPlace::Register {
                reg: Reg(r),
                size: size as u8,
                signed,
            },
            place => {
                let number = parts::ordered(parts::whole(&place)?, size, swapped);
                TargetPlace::Value(parts::extended(number, size, signed))
            }
        };
        Some(self.expr(Ty::Long, ExprKind::Target(Box::new(place))))
    }

    // ---- locations ----

    fn place(&mut self, l: &Location, image: ir::ImageId) -> Option<Place> {
        match l {
            Location::Memory(ops) => Some(Place::Memory(self.compute(ops, image)?, None)),
            Location::Value(ops) => Some(Place::Computed(self.compute(ops, image)?)),
            Location::Register(r) if self.is_readable(*r) => Some(Place::Register(*r)),
            Location::Register(_) => {
                self.diags
                    .error(
                        Tag::DebuginfoUnsupported,
                        self.span,
                        "the value is in a register of the x87 unit, which handlers do not touch",
                    )
                    .help("read it where it is in memory: at another line of the function");
                None
            }
            Location::Bytes(b) => {
                let word = |(n, bytes): (usize, &[u8])| {
                    let value = self.world.machine.abi.order.read(bytes) as i64;
                    parts::Part {
                        at: 8 * n as u64,
                        size: bytes.len() as u64,
                        place: Place::Computed(Addr::Const(value)),
                    }
                };
                let mut words: Vec<parts::Part> = b.chunks(8).enumerate().map(word).collect();
                match words.len() {
                    1 => words.pop().map(|w| w.place),
                    _ => Some(Place::Parts(words)),
                }
            }
            Location::Pieces(pieces) => self.pieces(pieces, image),
            Location::Pointer(_) => self.no_pointer(),
            Location::OptimizedOut => {
                self.diags
                    .error(
                        Tag::CtxVarOptimizedOut,
                        self.span,
                        "the value is not there at this place",
                    )
                    .help("read it at another line of the function");
                None
            }
        }
    }

    /// Is it a register that handlers can read?
    fn is_readable(&self, register: u16) -> bool {
        let registers = &self.world.machine.abi.registers;
        registers.is_general(register) || registers.floats.has(register)
    }

    /// Those that are there; none of single bits.
    fn pieces(&mut self, pieces: &[di::Piece], image: ir::ImageId) -> Option<Place> {
        let (mut at, mut parts) = (0, Vec::new());
        for p in pieces {
            let whole_bytes = p.bits % 8 == 0 && p.bit_offset == 0;
            let place = match p.place {
                Location::OptimizedOut => None,
                _ => self.quietly(|r| r.place(&p.place, image)),
            };
            if let Some(place) = place.filter(|_| whole_bytes && at % 8 == 0) {
                parts.push(parts::Part {
                    at: at / 8,
                    size: u64::from(p.bits / 8),
                    place,
                });
            }
            at += u64::from(p.bits);
        }
        Some(Place::Parts(parts))
    }

    /// The stack program as a tree.
    fn compute(&mut self, ops: &[LocOp], image: ir::ImageId) -> Option<Addr> {
        let words = 0..self.world.machine.abi.registers.names.len() as u16;
        let mut stack: Vec<Addr> = Vec::new();
        for op in ops {
            if let LocOp::Tls(offset) = op {
                stack.push(self.thread_local(*offset, image)?);
                continue;
            }
            if let LocOp::EntryReg(r) = op {
                stack.push(self.at_entry(Reg(*r), image)?);
                continue;
            }
            if step(op, &mut stack, image, words.clone()).is_none() {
                self.diags
                    .error(
                        Tag::DebuginfoUnsupported,
                        self.span,
                        format!("the location uses {op:?}, which is not built yet"),
                    )
                    .help("read the variable at another line of the function");
                return None;
            }
        }
        stack.pop()
    }

    fn frame_of(binary: &Binary, cx: &di::Context) -> Option<(u64, Vec<LocOp>)> {
        Some((cx.entry?, binary.frame_address(cx).ok()?))
    }

    /// What a register held as the function was entered.
    fn at_entry(&mut self, reg: Reg, image: ir::ImageId) -> Option<Addr> {
        let Some((entry, frame)) = self.frame.take().filter(|_| reg.0 <= 15) else {
            self.diags
                .error(
                    Tag::DebuginfoUnsupported,
                    self.span,
                    "this is what a register held at the function's entry, and the frame is not known here",
                )
                .help("read it at the function's entry");
            return None;
        };
        let address = self.compute(&frame, image);
        self.frame = Some((entry, frame));
        let what = Entered { image, entry, reg };
        Some(entered::kept(self.world, what, address?, self.span))
    }

    /// Those of the program itself lie at a fixed distance from the thread pointer.
    fn thread_local(&mut self, offset: u64, image: ir::ImageId) -> Option<Addr> {
        let binary = self.binary(image)?;
        if let Some(at) = binary.tls_distance(offset) {
            return Some(plus(Addr::ThreadPointer, at));
        }
        let file = binary.path().file_name().unwrap_or_default();
        let library = file.to_string_lossy().into_owned();
        let Some(slot) = binary.tls_slot(offset) else {
            self.diags
                .error(
                    Tag::DebuginfoUnsupported,
                    self.span,
                    format!(
                        "no code of {library} asks its loader where its thread-local variables lie"
                    ),
                )
                .help("read it where a function has its address in a parameter or local");
            return None;
        };
        Some(Addr::ThreadLocal {
            image,
            slot,
            offset,
            library,
        })
    }
}

/// One step of a location; `None`: not understood.
fn step(
    op: &LocOp,
    stack: &mut Vec<Addr>,
    image: ir::ImageId,
    words: std::ops::Range<u16>,
) -> Option<()> {
    let binary = |op, stack: &mut Vec<Addr>| {
        let (b, a) = (stack.pop()?, stack.pop()?);
        stack.push(Addr::Binary(op, Box::new(a), Box::new(b)));
        Some(())
    };
    match op {
        LocOp::Reg(r) if words.contains(r) => stack.push(Addr::Register(Reg(*r))),
        LocOp::Const(n) => stack.push(Addr::Const(*n as i64)),
        LocOp::Addr(vaddr) => stack.push(Addr::Image {
            image,
            vaddr: *vaddr,
        }),
        LocOp::Deref(n) => {
            let a = stack.pop()?;
            stack.push(load(a, *n, false));
        }
        LocOp::PlusConst(n) => {
            let a = stack.pop()?;
            stack.push(plus(a, *n as i64));
        }
        LocOp::Plus => binary(BinOp::Add, stack)?,
        LocOp::Minus => binary(BinOp::Sub, stack)?,
        LocOp::Mul => binary(BinOp::Mul, stack)?,
        LocOp::And => binary(BinOp::BitAnd, stack)?,
        LocOp::Or => binary(BinOp::BitOr, stack)?,
        LocOp::Xor => binary(BinOp::BitXor, stack)?,
        LocOp::Shl => binary(BinOp::Shl, stack)?,
        LocOp::Shr => binary(BinOp::UShr, stack)?,
        LocOp::Sar => binary(BinOp::Shr, stack)?,
        LocOp::Eq => binary(BinOp::Eq, stack)?,
        LocOp::Ne => binary(BinOp::Ne, stack)?,
        LocOp::Lt => binary(BinOp::Lt, stack)?,
        LocOp::Le => binary(BinOp::Le, stack)?,
        LocOp::Gt => binary(BinOp::Gt, stack)?,
        LocOp::Ge => binary(BinOp::Ge, stack)?,
        LocOp::Neg => {
            let a = stack.pop()?;
            stack.push(Addr::Binary(
                BinOp::Sub,
                Box::new(Addr::Const(0)),
                Box::new(a),
            ));
        }
        LocOp::Not => {
            let a = stack.pop()?;
            stack.push(Addr::Binary(
                BinOp::BitXor,
                Box::new(Addr::Const(-1)),
                Box::new(a),
            ));
        }
        LocOp::Drop => drop(stack.pop()?),
        LocOp::Pick(n) => {
            let at = stack.len().checked_sub(1 + *n as usize)?;
            stack.push(stack[at].clone());
        }
        LocOp::Swap => {
            let n = stack.len().checked_sub(2)?;
            stack.swap(n, n + 1);
        }
        LocOp::Rot => {
            let top = stack.pop()?;
            let at = stack.len().checked_sub(2)?;
            stack.insert(at, top);
        }
        LocOp::SignExtend(n) => extend(stack, *n, BinOp::Shr)?,
        LocOp::ZeroExtend(n) => extend(stack, *n, BinOp::UShr)?,
        _ => return None,
    }
    Some(())
}

fn extend(stack: &mut Vec<Addr>, bytes: u8, back: BinOp) -> Option<()> {
    let bits = 64 - 8 * i64::from(bytes.clamp(1, 8));
    let a = stack.pop()?;
    let up = Addr::Binary(BinOp::Shl, Box::new(a), Box::new(Addr::Const(bits)));
    stack.push(Addr::Binary(
        back,
        Box::new(up),
        Box::new(Addr::Const(bits)),
    ));
    Some(())
}

fn load(addr: Addr, size: u8, signed: bool) -> Addr {
    Addr::Load {
        addr: Box::new(addr),
        size,
        signed,
    }
}

fn plus(a: Addr, n: i64) -> Addr {
    match (n, a) {
        (0, a) => a,
        (n, Addr::Const(m)) => Addr::Const(m.wrapping_add(n)),
        (n, Addr::Image { image, vaddr }) => Addr::Image {
            image,
            vaddr: vaddr.wrapping_add(n as u64),
        },
        (n, a) => Addr::Binary(BinOp::Add, Box::new(a), Box::new(Addr::Const(n))),
    }
}

/// What a pointer leads to; arrays and references are not pointers here.
fn pointee(types: &Types, ty: TypeId) -> Option<TypeId> {
    match &*types.get(types.strip(ty)) {
        Type::Pointer { to, .. } => Some(*to),
        _ => None,
    }
}

/// One element: of `int a[2][3]` an `int[3]`.
fn element_type(types: &Types, ty: TypeId) -> Option<TypeId> {
    match &*types.get(ty) {
        Type::Pointer { to, .. } => Some(*to),
        Type::Array { of, counts } if counts.len() > 1 => Some(types.add(Type::Array {
            of: *of,
            counts: counts[1..].to_vec(),
        })),
        Type::Array { of, .. } => Some(*of),
        _ => None,
    }
}

fn is_reference(value: &Value) -> bool {
    let types = value.types.types();
    matches!(&*types.get(types.strip(value.ty)), Type::Reference { .. })
}
