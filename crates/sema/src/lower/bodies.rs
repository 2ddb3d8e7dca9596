// SPDX-License-Identifier: MIT
//! Bodies of probes and functions as a whole.

use super::lowerer::{Lowerer, Reached, Shared};
use super::{auto, embedded};
use crate::declare::declarations::{Origin, Scope};
use crate::declare::unit::Unit;
use crate::ir;
use crate::points::{Context, Place};
use crate::types::infer::VTy;
use trapless_syntax::ast::FunctionBody;
use trapless_syntax::diag::Tag;
use trapless_syntax::Span;

/// A handler, and the one at entry that it needs.
pub struct Lowered {
    pub handler: ir::Handler,
    pub on_entry: Option<ir::Handler>,
    pub call_data: Vec<ir::Ty>,
}

/// Lower the body of a unit for one place. `None`: reported.
pub fn lower_unit(shared: &mut Shared, units: &[Unit], n: usize, place: &Place) -> Option<Lowered> {
    let unit = &units[n];
    let errors = shared.diags.error_count();
    let is_return = matches!(place.kind, ir::ProbeKind::Return { .. });
    let in_kernel = shared.world.in_kernel;
    let mut l = Lowerer::new(shared, Scope::Unit(n), unit.file);
    l.context = place.context.clone();
    l.entry = is_return.then(Vec::new);
    l.auto_values = auto::assigned(&unit.body);
    l.written = unit.written.clone();
    l.offered = unit.offered.clone();
    let body = l.block(&unit.body);
    let body = l.only_callers(body, unit.span);
    l.warn_unset();
    let kind = match place.kind {
        ir::ProbeKind::Site { .. } | ir::ProbeKind::Trace { .. } => ir::HandlerKind::Site,
        ir::ProbeKind::Return { .. } => ir::HandlerKind::Return,
        // Of a processor, in the middle of an interrupt, or of whatever uses memory.
        ir::ProbeKind::Profile { .. } | ir::ProbeKind::Watch { .. } if in_kernel => {
            ir::HandlerKind::Site
        }
        _ => ir::HandlerKind::Session,
    };
    let handler = ir::Handler {
        locals: std::mem::take(&mut l.locals),
        budget: budget(&place.kind),
        needs_all_regs: l.needs_all_regs || is_all_regs(place),
        ..ir::Handler::new(kind, body, unit.span)
    };
    let saved = l.entry.take().unwrap_or_default();
    let call_data = saved.iter().map(|(_, e)| e.ty).collect();
    let on_entry = (!saved.is_empty()).then(|| entry_handler(saved, unit.span, l.needs_all_regs));
    (shared.diags.error_count() == errors).then_some(Lowered {
        handler,
        on_entry,
        call_data,
    })
}

fn budget(kind: &ir::ProbeKind) -> ir::Budget {
    match kind {
        ir::ProbeKind::Begin { .. } | ir::ProbeKind::End { .. } | ir::ProbeKind::Error { .. } => {
            ir::Budget::Interruptible
        }
        _ => ir::Budget::Hit,
    }
}

/// In the middle of a function a variable may be in any register.
fn is_all_regs(place: &Place) -> bool {
    let inside = |c: &Context| match &place.kind {
        // Of a kernel's it is known how far behind the entry it is, if debug information tells more than that.
        ir::ProbeKind::Site { parts, addr, .. } => {
            parts.first().map_or(c.pc != *addr, |p| p.addr != c.pc)
        }
        _ => false,
    };
    place.syscall().is_none() && place.context.as_ref().is_some_and(inside)
}

fn entry_handler(saved: Vec<(String, ir::Expr)>, span: Span, needs_all_regs: bool) -> ir::Handler {
    let save = |(n, (_, e)): (usize, (String, ir::Expr))| {
        let span = e.span;
        let save = ir::Expr {
            ty: e.ty,
            kind: ir::ExprKind::SaveCallData(n as u32, Box::new(e)),
            span,
        };
        ir::Stmt {
            kind: ir::StmtKind::Expr(save),
            span,
        }
    };
    let body = saved.into_iter().enumerate().map(save).collect();
    ir::Handler {
        needs_all_regs,
        ..ir::Handler::new(ir::HandlerKind::Entry, body, span)
    }
}

/// Lower the functions that bodies have reached, and those that they reach.
pub fn lower_functions(shared: &mut Shared) -> Vec<ir::Function> {
    let mut out = Vec::new();
    while let Some(f) = shared.functions.get(out.len()) {
        out.push(match f.clone() {
            Reached::Declared(f) => lower_function(shared, f),
            Reached::Embedded(f) => f,
        });
    }
    crate::finish::nesting::mark_recursion(&mut out);
    out
}

fn lower_function(shared: &mut Shared, f: usize) -> ir::Function {
    let all = shared.all;
    let declared = &all.functions[f];
    let item = &declared.item;
    let mut l = Lowerer::new(shared, Scope::Function(f), declared.file);
    for p in &item.params {
        if l.names.contains_key(&p.name.name) {
            l.shared
                .diags
                .error(
                    Tag::NameDuplicate,
                    p.name.span,
                    format!("two parameters are called `{}`", p.name.name),
                )
                .help("give the second one another name");
        }
        let local = l.local(&p.name.name);
        l.assigned[local.0 as usize] = true;
    }
    let ret = match l.shared.types.returns[f] {
        VTy::Long => Some(ir::Ty::Long),
        VTy::Str => Some(ir::Ty::Str),
        _ => None,
    };
    let body = match &item.body {
        FunctionBody::Script(b) => {
            l.auto_values = auto::assigned(b);
            let body = l.block(b);
            l.warn_unset();
            ir::FunctionBody::Script(body)
        }
        FunctionBody::EmbeddedC(c) => {
            if declared.origin != Origin::Own {
                let from_tapset = declared.from_tapset();
                embedded::known_result(l.shared, item, c, ret);
                let body = embedded::body(l.shared, c, declared.file, from_tapset);
                body.map_or(
                    ir::FunctionBody::Script(Vec::new()),
                    ir::FunctionBody::Embedded,
                )
            } else {
                ir::FunctionBody::C(c.code.clone())
            }
        }
    };
    ir::Function {
        name: item.name.name.clone(),
        locals: l.locals,
        nparams: item.params.len(),
        ret,
        body,
        says_next: declared.says_next,
        recursive: false,
        ours: declared.origin == Origin::Own,
    }
}
