// SPDX-License-Identifier: MIT
//! One body being lowered, and what all bodies share.

use crate::declare::alias_variables::Offered;
use crate::declare::declarations::{Declarations, Scope};
use crate::ir;
use crate::points::Context;
use crate::regex::Regex;
use crate::types::infer::{Types, VTy};
use crate::world::World;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use trapless_syntax::ast::{self};
use trapless_syntax::diag::{Diagnostic, Diagnostics, Severity, Tag};
use trapless_syntax::{FileId, SourceMap, Span};

/// What each local of a body is assigned.
pub type Assigned = HashMap<String, Vec<ast::Expr>>;

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
    pub(super) functions: Vec<Reached>,
    pub(super) function_ids: HashMap<usize, ir::FunctionId>,
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
    pub(super) fn function_id(&mut self, f: usize) -> ir::FunctionId {
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
pub(super) enum Reached {
    Declared(usize),
    Embedded(ir::Function),
}

/// One body being lowered.
pub struct Lowerer<'s, 'a> {
    pub(super) shared: &'s mut Shared<'a>,
    pub(super) scope: Scope,
    pub(super) file: FileId,
    pub(super) locals: Vec<ir::Local>,
    pub(super) names: HashMap<String, ir::LocalId>,
    /// Set at least once; for the warning about those that are not.
    pub(super) assigned: Vec<bool>,
    pub(super) read_at: Vec<Option<Span>>,
    /// Variables that got what a function without a result gives, with its name.
    pub(super) resultless: HashMap<String, String>,
    pub(super) context: Option<Context>,
    /// Return probes: what is saved at entry, and its text, to find it again.
    pub(super) entry: Option<Vec<(String, ir::Expr)>>,
    pub(super) in_loop: u32,
    pub(super) needs_all_regs: bool,
    /// For the types of `EXPR->member`.
    pub(super) auto_values: Assigned,
    /// What the handler inside aliases writes to.
    pub(super) written: Option<HashSet<String>>,
    /// What those aliases set.
    pub(super) offered: Option<Arc<Offered>>,
    /// Within what is computed for nobody, or never: no type is asked for there.
    pub(super) lenient: u32,
    /// The coming call's result is not used.
    pub(super) dropped: bool,
}

impl<'s, 'a> Lowerer<'s, 'a> {
    pub(super) fn new(shared: &'s mut Shared<'a>, scope: Scope, file: FileId) -> Lowerer<'s, 'a> {
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
            auto_values: Assigned::new(),
            written: None,
            offered: None,
            lenient: 0,
            dropped: false,
        }
    }

    pub(super) fn error(
        &mut self,
        tag: Tag,
        span: Span,
        message: impl Into<String>,
    ) -> &mut trapless_syntax::Diagnostic {
        self.shared.diags.error(tag, span, message)
    }

    /// The local of this name, which begins to exist when it is first named.
    pub(super) fn local(&mut self, name: &str) -> ir::LocalId {
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

    pub(super) fn local_read(&mut self, name: &str, span: Span) -> ir::LocalId {
        let id = self.local(name);
        self.read_at[id.0 as usize].get_or_insert(span);
        id
    }

    pub(super) fn local_set(&mut self, name: &str) -> ir::LocalId {
        let id = self.local(name);
        self.assigned[id.0 as usize] = true;
        id
    }

    /// Of those that the text has set before; nothing is declared.
    pub(super) fn assigned_local(&self, name: &str) -> Option<ir::LocalId> {
        let id = *self.names.get(name)?;
        self.assigned[id.0 as usize].then_some(id)
    }

    pub(super) fn near_variable(&self, name: &str) -> Option<String> {
        let all = self.shared.all;
        let others = self.locals.iter().map(|l| l.name.as_str());
        let others = others.chain(all.globals.iter().map(|g| g.item.name.name.as_str()));
        let offered = self.offered.iter().flat_map(|o| &o.names);
        let others = others.chain(offered.map(String::as_str));
        trapless_syntax::nearest(name, others.filter(|o| *o != name)).map(str::to_string)
    }

    /// What to write instead of a variable that nobody sets.
    pub(super) fn meant(&self, name: &str) -> Option<String> {
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
    pub(super) fn told(&self, severity: Severity, span: Span, before: usize) -> Option<Diagnostic> {
        let is_here = |d: &&Diagnostic| d.severity == severity && d.span == Some(span);
        let mut all = self.shared.diags.iter().take(before);
        self.offered
            .as_ref()
            .and_then(|_| all.find(is_here).cloned())
    }

    /// What to write instead of a variable that is none.
    pub(super) fn other_word(&self, name: &str) -> Option<String> {
        let all = self.shared.all.function_names();
        let mut known = all.chain(self.shared.known_functions.iter().map(String::as_str));
        match known.any(|f| f == name) {
            true => Some(format!("to call the function write {name}()")),
            false => trapless_syntax::foreign::instead(name),
        }
    }

    pub(super) fn warn_unset(&mut self) {
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

    pub(super) fn global(&self, name: &str) -> Option<usize> {
        self.shared.all.global_seen(name, self.file, self.scope)
    }
}

/// Texts end at a NUL, as strings of C do.
pub(super) fn up_to_nul(text: &[u8]) -> &[u8] {
    text.split(|b| *b == 0).next().unwrap_or_default()
}

/// The two kinds of value that expressions have.
pub(super) fn value_type(ty: VTy) -> ir::Ty {
    match ty {
        VTy::Str => ir::Ty::Str,
        _ => ir::Ty::Long,
    }
}

pub(super) fn type_name(ty: ir::Ty) -> &'static str {
    match ty {
        ir::Ty::Long => "number",
        ir::Ty::Str => "string",
    }
}

pub(super) fn is_error(e: &ast::Expr) -> bool {
    matches!(e.kind, ast::ExprKind::Error)
}
