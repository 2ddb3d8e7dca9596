// SPDX-License-Identifier: MIT
//! Expressions.

use super::{is_error, type_name, up_to_nul, value_type, Lowerer};
use crate::declare::declarations::Scope;
use crate::ir::{self, Ty};
use crate::not_built::{self, Known};
use crate::types::infer::VTy;
use trapless_syntax::ast::{self, AssignOp, BinOp, Expr, ExprKind, FunctionBody, Key, UnOp};
use trapless_syntax::diag::{nearest, Tag};
use trapless_syntax::foreign;
use trapless_syntax::parser::PRINTS;
use trapless_syntax::Span;

impl Lowerer<'_, '_> {
    /// `want` only helps where nothing else tells; a wrong type is reported
    /// by whoever needs another one ([`Lowerer::typed`]).
    pub fn expr(&mut self, e: &Expr, want: VTy) -> Option<ir::Expr> {
        if is_error(e) {
            return None;
        }
        let long = |kind| Some((Ty::Long, kind));
        let (ty, kind) = match &e.kind {
            ExprKind::Number(n) => long(ir::ExprKind::Long(*n)),
            ExprKind::Str(s) => Some((Ty::Str, ir::ExprKind::Str(up_to_nul(s).to_vec()))),
            ExprKind::Ident(name) => self.variable(name, e.span),
            ExprKind::Unary(op, a) => {
                let a = self.number(a)?;
                long(fold_unary(*op, a))
            }
            ExprKind::Crement { op, prefix, target } => {
                let by = match op {
                    ast::CrementOp::Increment => 1,
                    ast::CrementOp::Decrement => -1,
                };
                let place = self.place(target, Ty::Long)?;
                long(ir::ExprKind::Crement {
                    place,
                    by,
                    prefix: *prefix,
                })
            }
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b),
            ExprKind::Ternary {
                cond,
                then,
                otherwise,
            } => return self.ternary(cond, then, otherwise, want, e.span),
            ExprKind::Assign { op, target, value } => self.assign(*op, target, value),
            ExprKind::In { keys, base } if matches!(base.kind, ExprKind::Hist { .. }) => {
                let (ty, kind) = self.index(base, keys, e.span)?;
                let span = base.span; // as SystemTap's errors at run time say
                return Some(ir::Expr { ty, kind, span });
            }
            ExprKind::In { keys, base } => {
                let (g, slice) = self.slice(base, keys, e.span)?;
                let map = ir::GlobalId(g as u32);
                long(match all_given(&slice) {
                    Some(keys) => ir::ExprKind::In { map, keys },
                    None => ir::ExprKind::InSlice { map, slice },
                })
            }
            ExprKind::Index { base, keys } => self.index(base, keys, e.span),
            ExprKind::Call { name, args } => self.call(name, args),
            ExprKind::Print(p) => {
                let ty = if p.to_string { Ty::Str } else { Ty::Long };
                self.print(p, e.span).map(|p| (ty, ir::ExprKind::Print(p)))
            }
            ExprKind::Stat { op, operand, .. } => {
                let (global, keys) = self.statistic(operand)?;
                let op = *op;
                long(ir::ExprKind::Stat { op, global, keys })
            }
            ExprKind::Hist { .. } => {
                self.error(Tag::StatMisuse, e.span, "a histogram is no value")
                    .help("print(@hist_log(x)), or @hist_log(x)[n]");
                None
            }
            ExprKind::Target(t) => return self.target(t),
            ExprKind::Entry(inner) => return self.entry(inner, e.span),
            ExprKind::Defined(inner) => long(ir::ExprKind::Long(self.defined(inner) as i64)),
            ExprKind::Match {
                subject,
                negated,
                pattern,
            } => long(self.matching(subject, *negated, pattern)?),
            ExprKind::ProbeWrite(what) => {
                let written = self.probewrite(what, e.span)?;
                long(ir::ExprKind::Long(written as i64))
            }
            ExprKind::Const(text) => self.embedded_const(text),
            ExprKind::Perf(_) => self.not_built(e.span, "@perf", "count events with a global"),
            ExprKind::Enum { name, module } => self.enum_value(name, module.as_ref()),
            ExprKind::EnumName { value, ty, module } => {
                self.enum_name(value, ty.as_ref(), module.as_ref())
            }
            ExprKind::Deref { kernel: true, .. } | ExprKind::Register { kernel: true, .. }
                if !self.shared.world.in_kernel =>
            {
                self.error(Tag::PointKernel, e.span, "this reads the kernel")
                    .help("use @uderef and @uregister");
                None
            }
            ExprKind::Deref { size, addr, .. } => self.deref(size, addr),
            ExprKind::Register { number, .. } => self.register(number),
            ExprKind::EmbeddedC(c) => self.embedded_value(c),
            ExprKind::Error => None,
        }?;
        Some(ir::Expr {
            ty,
            kind,
            span: e.span,
        })
    }

    fn not_built<T>(&mut self, span: Span, what: &str, instead: &str) -> Option<T> {
        self.error(Tag::NotBuilt, span, format!("{what}: not built yet"))
            .help(instead);
        None
    }

    /// What reads the text to which a variable points, and what is said behind it. In a kernel most are the kernel's own; at
    /// a system call all are the program's.
    pub(super) fn reader_of_text(&self) -> (&'static str, &'static str) {
        let named = self.context.as_ref().and_then(|c| c.named.as_deref());
        let of_call = named.is_some_and(|n| n.syscall.is_some());
        match self.shared.world.in_kernel && !of_call {
            true => ("kernel_string", " (user_string() where it is a program's)"),
            false => ("user_string", ""),
        }
    }

    /// The value, if it has the type.
    pub fn typed(&mut self, e: ir::Expr, ty: Ty) -> Option<ir::Expr> {
        if e.ty == ty {
            return Some(e);
        }
        let (want, is) = (type_name(ty), type_name(e.ty));
        let help = match ty {
            Ty::Long => "strtol(s, 10) makes a number of a string".to_string(),
            Ty::Str if self.shared.map.text(e.span).starts_with('$') => {
                let (reader, where_else) = self.reader_of_text();
                format!("{reader}(x) reads the text it points to{where_else}, sprint(x) makes a string of a number, $x->y is a member")
            }
            Ty::Str => "sprint(x) makes a string of a number".to_string(),
        };
        self.error(
            Tag::TypeMismatch,
            e.span,
            format!("a {want} is needed here, this is a {is}"),
        )
        .help(help);
        None
    }

    pub fn number(&mut self, e: &Expr) -> Option<ir::Expr> {
        let v = self.expr(e, VTy::Long)?;
        self.typed(v, Ty::Long)
    }

    pub fn string(&mut self, e: &Expr) -> Option<ir::Expr> {
        let v = self.expr(e, VTy::Str)?;
        self.typed(v, Ty::Str)
    }

    pub fn condition(&mut self, e: &Expr) -> Option<ir::Expr> {
        self.number(e)
    }

    pub fn is_array(&self, g: usize) -> bool {
        let item = &self.shared.all.globals[g].item;
        let keys = &self.shared.types.globals[g].keys;
        item.size.is_some() || item.wrap || keys.as_ref().is_some_and(|k| !k.is_empty())
    }

    fn variable(&mut self, name: &str, span: Span) -> Option<(Ty, ir::ExprKind)> {
        let Some(g) = self.global(name) else {
            let id = self.local_read(name, span);
            self.resolved_local(name, id, span);
            let ty = self.locals[id.0 as usize].ty;
            return Some((ty, ir::ExprKind::Read(ir::Place::Local(id))));
        };
        let value = self.shared.types.globals[g].value;
        if self.is_array(g) {
            self.error(Tag::ArrayScalar, span, format!("`{name}` is an array"))
                .help("name an element: a[key]");
            return None;
        }
        if value == VTy::Stats {
            self.error(Tag::StatMisuse, span, format!("`{name}` is a statistic"))
                .help("read it with @count, @sum, @min, @max or @avg");
            return None;
        }
        self.resolved_global(g, name, span);
        let place = ir::Place::Global(ir::GlobalId(g as u32));
        Some((value_type(value), ir::ExprKind::Read(place)))
    }

    // ---- arrays ----

    fn near_global(&self, name: &str) -> Option<String> {
        let globals = &self.shared.all.globals;
        let near = nearest(name, globals.iter().map(|g| g.item.name.name.as_str()))?;
        Some(format!("did you mean `{near}`?"))
    }

    /// The array and its keys, checked.
    pub fn element(
        &mut self,
        base: &Expr,
        keys: &[Key],
        span: Span,
    ) -> Option<(usize, Vec<ir::Expr>)> {
        let any = keys.iter().find(|k| matches!(k, Key::Any(_)));
        let (g, slice) = self.slice(base, keys, span)?;
        match (any, all_given(&slice)) {
            (None, Some(keys)) => Some((g, keys)),
            _ => {
                let at = any.map_or(span, Key::span);
                self.error(
                    Tag::ArrayKeys,
                    at,
                    "`*` stands for many elements, this is one",
                )
                .help("slices are for foreach, delete and in");
                None
            }
        }
    }

    /// The same where a key may be `*`.
    pub fn slice(&mut self, base: &Expr, keys: &[Key], span: Span) -> Option<(usize, ir::Slice)> {
        let ExprKind::Ident(name) = &base.kind else {
            self.error(Tag::StatMisuse, base.span, "a histogram cannot be changed")
                .help("delete the statistic");
            return None;
        };
        let Some(g) = self.global(name) else {
            let near = self.near_global(name);
            self.error(
                Tag::ArrayLocal,
                base.span,
                format!("`{name}` is not a global array"),
            )
            .help(format!("declare it: global {name}"))
            .help(near);
            return None;
        };
        let types = self.shared.types.globals[g]
            .keys
            .clone()
            .unwrap_or_default();
        if types.is_empty() {
            self.error(
                Tag::ArrayScalar,
                base.span,
                format!("`{name}` is used as a single value elsewhere"),
            )
            .help("use two globals");
            return None;
        }
        if types.len() != keys.len() {
            self.error(
                Tag::ArrayKeys,
                span,
                format!("`{name}` has {} keys, not {}", types.len(), keys.len()),
            )
            .help("use the same keys everywhere");
            return None;
        }
        self.resolved_global(g, name, base.span);
        let mut out = Vec::new();
        for (key, ty) in keys.iter().zip(types) {
            match key {
                Key::Expr(e) => {
                    let v = self.expr(e, ty)?;
                    out.push(Some(self.typed(v, value_type(ty))?));
                }
                Key::Any(_) => out.push(None),
            }
        }
        Some((g, out))
    }

    fn index(&mut self, base: &Expr, keys: &[Key], span: Span) -> Option<(Ty, ir::ExprKind)> {
        if let ExprKind::Hist { operand, .. } = &base.kind {
            let (global, stat_keys) = self.statistic(operand)?;
            let [Key::Expr(n)] = keys else {
                self.error(Tag::StatArgs, span, "a histogram has one index: the bucket")
                    .help("@hist_log(x)[n]");
                return None;
            };
            let bucket = Box::new(self.number(n)?);
            let kind = ir::ExprKind::HistBucket {
                global,
                keys: stat_keys,
                bucket,
            };
            return Some((Ty::Long, kind));
        }
        let (g, keys) = self.element(base, keys, span)?;
        let value = self.shared.types.globals[g].value;
        if value == VTy::Stats {
            self.error(Tag::StatMisuse, span, "the element is a statistic")
                .help("read it with @count, @sum, @min, @max or @avg");
            return None;
        }
        let map = ir::GlobalId(g as u32);
        let kind = ir::ExprKind::Read(ir::Place::Element { map, keys });
        Some((value_type(value), kind))
    }

    // ---- operators ----

    /// `1.5` is what joins 1 and 5: refused in the words of who writes it.
    fn is_fraction(&mut self, a: &Expr, b: &Expr) -> bool {
        let (left, all) = (self.shared.map.text(a.span), a.span.to(b.span));
        let right = self.shared.map.text(all).get(left.len()..).unwrap_or("");
        let word = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        let start = left.len() - left.chars().rev().take_while(word).count();
        let digits = |s: &str| s.chars().take_while(char::is_ascii_digit).count();
        let after = right.strip_prefix('.').map_or(0, digits);
        if left[..start].ends_with(['$', '@']) {
            return false; // an argument of the script
        }
        if start == left.len() || start + digits(&left[start..]) < left.len() || after == 0 {
            return false;
        }
        let number = format!("{}{}", &left[start..], &right[..=after]);
        let what = format!("`{number}` is no number: numbers are whole");
        let help = format!("count in a smaller unit, or string_to_fp(\"{number}\") with fp_add() and its kin; text is written in quotes");
        self.error(Tag::TypeMismatch, all, what).help(help);
        true
    }

    fn binary(&mut self, op: BinOp, a: &Expr, b: &Expr) -> Option<(Ty, ir::ExprKind)> {
        match op {
            BinOp::Concat => {
                if self.is_fraction(a, b) {
                    return None;
                }
                let (a, b) = (self.string(a), self.string(b));
                Some((Ty::Str, ir::ExprKind::Concat(Box::new(a?), Box::new(b?))))
            }
            BinOp::And | BinOp::Or => self.logic(op, a, b),
            _ if op.is_comparison() => {
                let x = self.expr(a, VTy::Unknown)?;
                let y = self.expr(b, if x.ty == Ty::Str { VTy::Str } else { VTy::Long })?;
                let y = self.typed(y, x.ty)?;
                Some((
                    Ty::Long,
                    match x.ty {
                        Ty::Long => fold_binary(op, x, y),
                        Ty::Str => ir::ExprKind::Compare(op, Box::new(x), Box::new(y)),
                    },
                ))
            }
            BinOp::Add if is_text(a) || is_text(b) => {
                let text = if is_text(a) { a } else { b };
                self.error(
                    Tag::TypeMismatch,
                    text.span,
                    "`+` adds numbers, this is a string",
                )
                .help("strings are joined by a dot: a . b");
                None
            }
            _ => {
                let (a, b) = (self.number(a), self.number(b));
                Some((Ty::Long, fold_binary(op, a?, b?)))
            }
        }
    }

    /// A constant left side decides whether the right one is looked at.
    fn logic(&mut self, op: BinOp, a: &Expr, b: &Expr) -> Option<(Ty, ir::ExprKind)> {
        let a = self.condition(a)?;
        if let ir::ExprKind::Long(n) = a.kind {
            let decided = (n != 0) == (op == BinOp::Or);
            if decided {
                return Some((Ty::Long, ir::ExprKind::Long((n != 0) as i64)));
            }
            let b = self.condition(b)?;
            if let ir::ExprKind::Long(n) = b.kind {
                return Some((Ty::Long, ir::ExprKind::Long((n != 0) as i64)));
            }
            return Some((
                Ty::Long,
                ir::ExprKind::And(Box::new(one(a.span)), Box::new(b)),
            ));
        }
        let b = Box::new(self.condition(b)?);
        let a = Box::new(a);
        let kind = match op {
            BinOp::And => ir::ExprKind::And(a, b),
            _ => ir::ExprKind::Or(a, b),
        };
        Some((Ty::Long, kind))
    }

    fn ternary(&mut self, c: &Expr, a: &Expr, b: &Expr, want: VTy, span: Span) -> Option<ir::Expr> {
        let c = self.condition(c)?;
        if let ir::ExprKind::Long(n) = c.kind {
            return self.expr(if n != 0 { a } else { b }, want);
        }
        let a = self.expr(a, want)?;
        let b = self.expr(b, if a.ty == Ty::Str { VTy::Str } else { VTy::Long })?;
        let b = self.typed(b, a.ty)?;
        Some(ir::Expr {
            ty: a.ty,
            kind: ir::ExprKind::Ternary(Box::new(c), Box::new(a), Box::new(b)),
            span,
        })
    }

    // ---- assignment ----

    fn place(&mut self, target: &Expr, want: Ty) -> Option<ir::Place> {
        let (place, ty) = match &target.kind {
            ExprKind::Ident(name) => match self.global(name) {
                None => {
                    // `x++` reads, and sets.
                    let id = self.local_set(name);
                    (ir::Place::Local(id), self.locals[id.0 as usize].ty)
                }
                Some(_) => {
                    let (ty, kind) = self.variable(name, target.span)?;
                    match kind {
                        ir::ExprKind::Read(place) => (place, ty),
                        _ => return None,
                    }
                }
            },
            ExprKind::Index { base, keys } if matches!(base.kind, ExprKind::Ident(_)) => {
                let (ty, kind) = self.index(base, keys, target.span)?;
                match kind {
                    ir::ExprKind::Read(place) => (place, ty),
                    _ => return None,
                }
            }
            ExprKind::Target(t) => (self.target_place(t)?, Ty::Long),
            ExprKind::Error => return None,
            _ => {
                self.error(Tag::AssignTarget, target.span, "this cannot be set")
                    .help("assign to a variable or an array element");
                return None;
            }
        };
        if ty != want {
            let (want, is) = (type_name(want), type_name(ty));
            self.error(
                Tag::TypeMismatch,
                target.span,
                format!("a {want} is assigned to a variable that is a {is} elsewhere"),
            )
            .help("use a variable of its own");
            return None;
        }
        Some(place)
    }

    /// A global holds pointers where one is assigned to it, and no typed number is.
    fn note_pointer(&mut self, place: &ir::Place, value: &Expr) {
        let ir::Place::Global(g) = place else {
            return;
        };
        let pointer = self.auto_type(value).is_some();
        if pointer || matches!(value.kind, ExprKind::Target(_)) {
            let known = self.shared.pointers.entry(*g).or_insert(pointer);
            *known &= pointer;
        }
    }

    fn assign(&mut self, op: AssignOp, target: &Expr, value: &Expr) -> Option<(Ty, ir::ExprKind)> {
        match op {
            AssignOp::Sample => {
                let v = self.number(value);
                let (global, keys) = self.statistic(target)?;
                let value = Box::new(v?);
                Some((
                    Ty::Long,
                    ir::ExprKind::Sample {
                        global,
                        keys,
                        value,
                    },
                ))
            }
            AssignOp::Set => {
                let want = self.hint(target);
                // read anywhere, the variable itself is the mistake
                let local = match &target.kind {
                    ExprKind::Ident(n) if want == VTy::Unknown && self.global(n).is_none() => {
                        Some(n)
                    }
                    _ => None,
                };
                let v = match local {
                    Some(local) => {
                        self.note_resultless(local, value);
                        self.leniently(|l| l.expr(value, want))
                    }
                    None => self.expr(value, want),
                };
                let ty = v.as_ref().map_or(value_type(want), |v| v.ty);
                let place = self.place(target, ty)?;
                self.note_pointer(&place, value);
                Some((ty, ir::ExprKind::Assign(place, Box::new(v?))))
            }
            AssignOp::Op(op) => {
                let ty = if op == BinOp::Concat {
                    Ty::Str
                } else {
                    Ty::Long
                };
                let v = match ty {
                    Ty::Str => self.string(value),
                    Ty::Long => self.number(value),
                };
                let place = self.place(target, ty)?;
                Some((ty, ir::ExprKind::AssignOp(place, op, Box::new(v?))))
            }
        }
    }

    /// What inference knows of a place.
    fn hint(&self, target: &Expr) -> VTy {
        let name = match &target.kind {
            ExprKind::Ident(name) => name,
            ExprKind::Index { base, .. } => match &base.kind {
                ExprKind::Ident(name) => name,
                _ => return VTy::Unknown,
            },
            _ => return VTy::Unknown,
        };
        match self.global(name) {
            Some(g) => self.shared.types.globals[g].value,
            None => self.shared.types.local(self.scope, name),
        }
    }

    // ---- statistics ----

    /// A statistic and its keys, from the operand of `<<<` or `@count`.
    pub fn statistic(&mut self, e: &Expr) -> Option<(ir::GlobalId, Vec<ir::Expr>)> {
        let (g, keys) = match &e.kind {
            ExprKind::Ident(name) => match self.global(name) {
                Some(g) if !self.is_array(g) => (g, Vec::new()),
                Some(_) => {
                    self.error(Tag::ArrayScalar, e.span, format!("`{name}` is an array"))
                        .help("name an element: a[key]");
                    return None;
                }
                None => {
                    let near = self.near_global(name);
                    self.error(Tag::ArrayLocal, e.span, format!("`{name}` is not a global"))
                        .help(format!("declare it: global {name}"))
                        .help(near);
                    return None;
                }
            },
            ExprKind::Index { base, keys } => self.element(base, keys, e.span)?,
            ExprKind::Error => return None,
            _ => {
                self.error(Tag::StatMisuse, e.span, "this is not a statistic")
                    .help("statistics are globals, or elements of global arrays");
                return None;
            }
        };
        if self.shared.types.globals[g].value != VTy::Stats {
            let name = self.shared.all.globals[g].item.name.name.clone();
            self.error(
                Tag::StatMisuse,
                e.span,
                format!("`{name}` is used as a plain value elsewhere"),
            )
            .help("use a global of its own for the statistic");
            return None;
        }
        Some((ir::GlobalId(g as u32), keys))
    }

    // ---- calls ----

    fn call(&mut self, name: &ast::Ident, args: &[Expr]) -> Option<(Ty, ir::ExprKind)> {
        let found = self.shared.all.overloads(&name.name, args.len(), self.file);
        let Some(&f) = found.first() else {
            let others = self.shared.all.functions_named(&name.name, self.file);
            return self.no_function(name, args, others.first().copied());
        };
        found.iter().for_each(|f| self.check_guru(*f, name));
        if !found.iter().all(|f| self.check_home(*f, name)) {
            return None;
        }
        if !std::mem::take(&mut self.dropped) {
            self.resolved_result(&found, &name.name, name.span);
        }
        let all = self.shared.all;
        let mut values = Vec::new();
        for (n, a) in args.iter().enumerate() {
            let want = self.parameter(f, n);
            let mut v = self.expr(a, want);
            for f in &found {
                let want = self.parameter(*f, n);
                v = v.and_then(|v| self.typed(v, value_type(want)));
            }
            values.push(v);
        }
        let ty = value_type(self.shared.types.returns[f]);
        for other in &found[1..] {
            let is = value_type(self.shared.types.returns[*other]);
            if is != ty {
                let at = all.functions[*other].item.name.span;
                let (ty, is) = (type_name(ty), type_name(is));
                let message = format!("`{}` gives a {ty} here, and a {is} elsewhere", name.name);
                self.error(Tag::TypeMismatch, name.span, message)
                    .label(at, "this one is tried, too")
                    .help("functions that follow each other by `next` have one type");
                return None;
            }
        }
        let args = values.into_iter().collect::<Option<Vec<_>>>()?;
        if let Some(command) = self.fixed_command(f, &args) {
            return Some((ty, command));
        }
        let ids = found.iter().map(|f| self.shared.function_id(*f)).collect();
        Some((
            ty,
            ir::ExprKind::Call {
                functions: ids,
                args,
            },
        ))
    }

    /// Functions of our tapset say of themselves that they read the kernel, or name its types.
    fn check_home(&mut self, f: usize, name: &ast::Ident) -> bool {
        let called = &self.shared.all.functions[f];
        let reads_kernel = match &called.item.body {
            FunctionBody::EmbeddedC(c) => c.code.contains("/* kernel */"),
            FunctionBody::Script(b) => called.from_tapset() && names_kernel_types(b),
        };
        let fits = !reads_kernel || self.shared.world.in_kernel;
        if !fits {
            let message = format!(
                "`{}` reads the kernel: this script does not run there",
                name.name
            );
            self.error(Tag::PointKernel, name.span, message)
                .help("probe a function of the kernel, kernel.function(\"NAME\"); of programs user_string() and its kin read");
        }
        fits
    }

    /// The type of a function's n-th parameter.
    fn parameter(&self, f: usize, n: usize) -> VTy {
        let name = &self.shared.all.functions[f].item.params[n].name.name;
        self.shared.types.local(Scope::Function(f), name)
    }

    /// A library function that changes the program is for guru mode, as an assignment is.
    fn check_guru(&mut self, f: usize, name: &ast::Ident) {
        let FunctionBody::EmbeddedC(c) = &self.shared.all.functions[f].item.body else {
            return;
        };
        if c.code.contains("/* guru */") && !self.shared.guru && !self.in_tapset() {
            self.error(
                Tag::GuruNeeded,
                name.span,
                format!("`{}` changes the traced program", name.name),
            )
            .help("allow it with -g (guru mode)");
        }
    }

    /// `@probewrite(x)`: asked in an alias, answered by the handler inside it.
    fn probewrite(&mut self, what: &Expr, span: Span) -> Option<bool> {
        if let (Some(written), Some(name)) = (&self.written, crate::declare::assigned::name(what)) {
            return Some(written.contains(name));
        }
        self.error(
            Tag::ProbewriteMisplaced,
            span,
            "no handler stands inside of this",
        )
        .help(
            "use it in an alias, with a variable: probe a = begin { }, { if (@probewrite(x)) ... }",
        );
        None
    }

    fn no_function<T>(
        &mut self,
        name: &ast::Ident,
        args: &[Expr],
        other: Option<usize>,
    ) -> Option<T> {
        for a in args {
            self.expr(a, VTy::Unknown);
        }
        if let Some(f) = other {
            let item = &self.shared.all.functions[f].item;
            let (n, at) = (item.params.len(), item.name.span);
            self.error(
                Tag::CallArgs,
                name.span,
                format!("`{}` takes {}, not {}", name.name, arguments(n), args.len()),
            )
            .label(at, "defined here")
            .help("give one value for each parameter");
            return None;
        }
        if let Some(known) = not_built::function(&name.name) {
            let (tag, message, instead) = match known {
                Known::Kernel => (
                    Tag::PointKernel,
                    format!("`{}` looks into the kernel, and is not built yet", name.name),
                    "read it where it lies, @cast(ADDRESS, \"struct NAME\")->member; or trace the program that has the facts",
                ),
                Known::Later(instead) => (
                    Tag::NotBuilt,
                    format!("the function `{}` is not built yet", name.name),
                    instead,
                ),
            };
            self.error(tag, name.span, message).help(instead);
            return None;
        }
        let known = self
            .shared
            .all
            .function_names()
            .chain(self.shared.known_functions.iter().map(String::as_str))
            .chain(PRINTS.iter().copied());
        let near = nearest(&name.name, known.collect::<Vec<_>>()).map(str::to_string);
        self.error(
            Tag::NameUnknown,
            name.span,
            format!("there is no function `{}`", name.name),
        )
        .help("define it, or give its folder with -I")
        .help(near.as_deref())
        .help(foreign::instead(&name.name));
        None
    }
}

fn arguments(n: usize) -> String {
    match n {
        0 => "no arguments".to_string(),
        1 => "1 argument".to_string(),
        n => format!("{n} arguments"),
    }
}

fn is_text(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Str(_))
}

fn one(span: Span) -> ir::Expr {
    ir::Expr {
        ty: Ty::Long,
        kind: ir::ExprKind::Long(1),
        span,
    }
}

/// Constants are folded: conditions on `@defined` choose code.
fn fold_unary(op: UnOp, a: ir::Expr) -> ir::ExprKind {
    match (op, &a.kind) {
        (UnOp::Plus, _) => a.kind,
        (UnOp::Minus, ir::ExprKind::Long(n)) => ir::ExprKind::Long(n.wrapping_neg()),
        (UnOp::Not, ir::ExprKind::Long(n)) => ir::ExprKind::Long((*n == 0) as i64),
        (UnOp::BitNot, ir::ExprKind::Long(n)) => ir::ExprKind::Long(!n),
        _ => ir::ExprKind::Unary(op, Box::new(a)),
    }
}

/// SystemTap folds with 0 for all that is negative and 64, of which six bits count, for all above.
fn shift_of_constants(by: i64) -> u32 {
    by.clamp(0, 64) as u32 % 64
}

fn fold_binary(op: BinOp, a: ir::Expr, b: ir::Expr) -> ir::ExprKind {
    if let (ir::ExprKind::Long(x), ir::ExprKind::Long(y)) = (&a.kind, &b.kind) {
        let (x, y) = (*x, *y);
        let folded = match op {
            BinOp::Add => Some(x.wrapping_add(y)),
            BinOp::Sub => Some(x.wrapping_sub(y)),
            BinOp::Mul => Some(x.wrapping_mul(y)),
            BinOp::Shl => Some(x.wrapping_shl(shift_of_constants(y))),
            BinOp::Shr => Some(x.wrapping_shr(shift_of_constants(y))),
            BinOp::Eq => Some((x == y) as i64),
            BinOp::Ne => Some((x != y) as i64),
            BinOp::Lt => Some((x < y) as i64),
            BinOp::Le => Some((x <= y) as i64),
            BinOp::Gt => Some((x > y) as i64),
            BinOp::Ge => Some((x >= y) as i64),
            // Division may fail at run time, and must say where.
            _ => None,
        };
        if let Some(n) = folded {
            return ir::ExprKind::Long(n);
        }
    }
    match (op, &b.kind) {
        (BinOp::Shl | BinOp::Shr, ir::ExprKind::Long(..=0)) => a.kind,
        _ => ir::ExprKind::Binary(op, Box::new(a), Box::new(b)),
    }
}

/// The keys of a slice that is one element.
pub fn all_given(slice: &ir::Slice) -> Option<Vec<ir::Expr>> {
    slice.iter().cloned().collect()
}

fn names_kernel_types(body: &ast::Block) -> bool {
    use trapless_syntax::visit::{self, Visit};
    struct Look(bool);
    impl Visit for Look {
        fn visit_expr(&mut self, e: &Expr) {
            let module = match &e.kind {
                ExprKind::Target(t) => match &t.base {
                    ast::TargetBase::Cast { module, .. } => module.as_ref(),
                    _ => None,
                },
                _ => None,
            };
            self.0 |= module.is_some_and(|m| m.text() == "kernel");
            visit::walk_expr(self, e);
        }
    }
    let mut look = Look(false);
    visit::walk_block(&mut look, body);
    look.0
}
