// SPDX-License-Identifier: MIT
//! From syntax to the typed program: every body at every kind of place.
//!
//! This is the pass that complains: it sees each expression with the types
//! that inference found.

mod auto;
mod callers;
mod command;
mod condition;
pub mod embedded;
mod enums;
mod expr;
mod globals;
mod matching;
mod print;
mod program;
mod stmt;
mod unresolved;

use crate::declare::alias_variables::Offered;
use crate::declare::declarations::{Declarations, Origin, Scope};
use crate::declare::expand::Unit;
use crate::ir;
use crate::points::{Context, Place};
use crate::regex::Regex;
use crate::types::infer::{Types, VTy};
use crate::world::World;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use trapless_syntax::ast::{self, FunctionBody};
use trapless_syntax::diag::{Diagnostic, Diagnostics, Severity, Tag};
use trapless_syntax::{FileId, SourceMap, Span};

pub use condition::{can_be_armed, lower_condition};
pub use globals::lower_globals;

/// What all bodies share.
pub struct Shared<'a> {
    pub all: &'a Declarations,
    pub types: &'a Types,
    pub map: &'a SourceMap,
    pub world: &'a mut World,
    pub diags: &'a mut Diagnostics,
    pub guru: bool,
    pub skip_badvars: bool,
    /// Functions that are reached, in the order in which they were found.
    functions: Vec<Reached>,
    function_ids: HashMap<usize, ir::FunctionId>,
    /// Patterns so far, each once.
    pub regexes: Vec<Regex>,
    /// Globals that typed values are assigned to: are all of them pointers?
    pub pointers: HashMap<ir::GlobalId, bool>,
    /// Names a function of the tapset that was not loaded (for suggestions).
    pub known_functions: Vec<String>,
}

impl<'a> Shared<'a> {
    pub fn new(
        all: &'a Declarations,
        types: &'a Types,
        map: &'a SourceMap,
        world: &'a mut World,
        diags: &'a mut Diagnostics,
        guru: bool,
    ) -> Shared<'a> {
        Shared {
            all,
            types,
            map,
            world,
            diags,
            guru,
            skip_badvars: false,
            functions: Vec::new(),
            function_ids: HashMap::new(),
            regexes: Vec::new(),
            pointers: HashMap::new(),
            known_functions: Vec::new(),
        }
    }

    /// The number of a function; from now on it is part of the program.
    fn function_id(&mut self, f: usize) -> ir::FunctionId {
        let next = ir::FunctionId(self.functions.len() as u32);
        let functions = &mut self.functions;
        *self.function_ids.entry(f).or_insert_with(|| {
            functions.push(Reached::Declared(f));
            next
        })
    }
}

/// A function of the script, or what `%{ %}` inside a body is made into.
#[derive(Clone)]
enum Reached {
    Declared(usize),
    Embedded(ir::Function),
}

/// One body being lowered.
pub struct Lowerer<'s, 'a> {
    shared: &'s mut Shared<'a>,
    scope: Scope,
    file: FileId,
    locals: Vec<ir::Local>,
    names: HashMap<String, ir::LocalId>,
    /// Set at least once; for the warning about those that are not.
    assigned: Vec<bool>,
    read_at: Vec<Option<Span>>,
    /// Variables that got what a function without a result gives, with its name.
    resultless: HashMap<String, String>,
    context: Option<Context>,
    /// Return probes: what is saved at entry, and its text, to find it again.
    entry: Option<Vec<(String, ir::Expr)>>,
    in_loop: u32,
    needs_all_regs: bool,
    /// For the types of `EXPR->member`.
    auto_values: auto::Assigned,
    /// What the handler inside aliases writes to.
    written: Option<HashSet<String>>,
    /// What those aliases set.
    offered: Option<Arc<Offered>>,
    /// Within what is computed for nobody, or never: no type is asked for there.
    lenient: u32,
    /// The coming call's result is not used.
    dropped: bool,
}

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
        ir::ProbeKind::Site { .. } => ir::HandlerKind::Site,
        ir::ProbeKind::Return { .. } => ir::HandlerKind::Return,
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
        ir::ProbeKind::Site { parts, .. } => parts.first().is_some_and(|p| p.addr != c.pc),
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

impl<'s, 'a> Lowerer<'s, 'a> {
    fn new(shared: &'s mut Shared<'a>, scope: Scope, file: FileId) -> Lowerer<'s, 'a> {
        Lowerer {
            shared,
            scope,
            file,
            locals: Vec::new(),
            names: HashMap::new(),
            assigned: Vec::new(),
            read_at: Vec::new(),
            resultless: HashMap::new(),
            context: None,
            entry: None,
            in_loop: 0,
            needs_all_regs: false,
            auto_values: auto::Assigned::new(),
            written: None,
            offered: None,
            lenient: 0,
            dropped: false,
        }
    }

    fn error(
        &mut self,
        tag: Tag,
        span: Span,
        message: impl Into<String>,
    ) -> &mut trapless_syntax::Diagnostic {
        self.shared.diags.error(tag, span, message)
    }

    /// The local of this name, which begins to exist when it is first named.
    fn local(&mut self, name: &str) -> ir::LocalId {
        if let Some(id) = self.names.get(name) {
            return *id;
        }
        let ty = match self.shared.types.local(self.scope, name) {
            VTy::Str => ir::Ty::Str,
            _ => ir::Ty::Long,
        };
        let id = ir::LocalId(self.locals.len() as u32);
        self.locals.push(ir::Local {
            name: name.to_string(),
            ty,
        });
        self.assigned.push(false);
        self.read_at.push(None);
        self.names.insert(name.to_string(), id);
        id
    }

    fn local_read(&mut self, name: &str, span: Span) -> ir::LocalId {
        let id = self.local(name);
        self.read_at[id.0 as usize].get_or_insert(span);
        id
    }

    fn local_set(&mut self, name: &str) -> ir::LocalId {
        let id = self.local(name);
        self.assigned[id.0 as usize] = true;
        id
    }

    /// Of those that the text has set before; nothing is declared.
    fn assigned_local(&self, name: &str) -> Option<ir::LocalId> {
        let id = *self.names.get(name)?;
        self.assigned[id.0 as usize].then_some(id)
    }

    fn near_variable(&self, name: &str) -> Option<String> {
        let all = self.shared.all;
        let others = self.locals.iter().map(|l| l.name.as_str());
        let others = others.chain(all.globals.iter().map(|g| g.item.name.name.as_str()));
        let offered = self.offered.iter().flat_map(|o| &o.names);
        let others = others.chain(offered.map(String::as_str));
        trapless_syntax::nearest(name, others.filter(|o| *o != name)).map(str::to_string)
    }

    /// What to write instead of a variable that nobody sets.
    fn meant(&self, name: &str) -> Option<String> {
        let offered = self.offered.as_deref();
        let later = offered.and_then(|o| o.return_of(name));
        let later = later.map(|alias| format!("`{alias}.return` sets it"));
        let near = || Some(format!("did you mean `{}`?", self.near_variable(name)?));
        let all = || offered?.listed("");
        later
            .or_else(|| self.other_word(name))
            .or_else(near)
            .or_else(all)
    }

    /// What has been said of this place among so many first complaints: of the points that a wildcard
    /// matches one is told, others repeat it.
    fn told(&self, severity: Severity, span: Span, before: usize) -> Option<Diagnostic> {
        let is_here = |d: &&Diagnostic| d.severity == severity && d.span == Some(span);
        let mut all = self.shared.diags.iter().take(before);
        self.offered
            .as_ref()
            .and_then(|_| all.find(is_here).cloned())
    }

    /// What to write instead of a variable that is none.
    fn other_word(&self, name: &str) -> Option<String> {
        let all = self.shared.all.function_names();
        let mut known = all.chain(self.shared.known_functions.iter().map(String::as_str));
        match known.any(|f| f == name) {
            true => Some(format!("to call the function write {name}()")),
            false => trapless_syntax::foreign::instead(name),
        }
    }

    fn warn_unset(&mut self) {
        for n in 0..self.locals.len() {
            if let (false, Some(span)) = (self.assigned[n], self.read_at[n]) {
                let before = self.shared.diags.len();
                if self.told(Severity::Warning, span, before).is_some() {
                    continue;
                }
                let name = self.locals[n].name.clone();
                let meant = self.meant(&name);
                self.shared
                    .diags
                    .warn(
                        Tag::NeverAssigned,
                        span,
                        format!("`{name}` is never assigned"),
                    )
                    .help("assign to it, or declare it with `global`")
                    .help(meant);
            }
        }
    }

    fn global(&self, name: &str) -> Option<usize> {
        self.shared.all.global_seen(name, self.file, self.scope)
    }
}

/// Texts end at a NUL, as strings of C do.
fn up_to_nul(text: &[u8]) -> &[u8] {
    text.split(|b| *b == 0).next().unwrap_or_default()
}

/// The two kinds of value that expressions have.
fn value_type(ty: VTy) -> ir::Ty {
    match ty {
        VTy::Str => ir::Ty::Str,
        _ => ir::Ty::Long,
    }
}

fn type_name(ty: ir::Ty) -> &'static str {
    match ty {
        ir::Ty::Long => "number",
        ir::Ty::Str => "string",
    }
}

fn is_error(e: &ast::Expr) -> bool {
    matches!(e.kind, ast::ExprKind::Error)
}
