// SPDX-License-Identifier: MIT
//! Embedded C: who may write it, and which globals it names. What stands in a
//! body is made into a function of its own.

use super::{Lowerer, Reached, Shared};
use crate::declare::declarations::Scope;
use crate::ir::{self, Access, Ty};
use crate::types::infer::STRING;
use trapless_syntax::ast::{EmbeddedC, Function, StrLit};
use trapless_syntax::diag::Tag;
use trapless_syntax::FileId;

/// The blocks between declarations.
pub fn blocks(shared: &mut Shared) -> Vec<ir::Embedded> {
    let all = shared.all;
    let block = |b: &crate::declare::declarations::Declared<EmbeddedC>| {
        body(shared, &b.item, b.file, b.from_tapset())
    };
    all.c_blocks.iter().filter_map(block).collect()
}

/// A piece of C with the globals that it says to use; a tapset is trusted.
pub fn body(
    shared: &mut Shared,
    c: &EmbeddedC,
    file: FileId,
    from_tapset: bool,
) -> Option<ir::Embedded> {
    if !shared.guru && !from_tapset {
        shared
            .diags
            .error(Tag::GuruNeeded, c.span, "embedded C needs guru mode")
            .help("allow it with -g (guru mode), or write it in the script language");
        return None;
    }
    let mut globals: Vec<(ir::GlobalId, Access)> = Vec::new();
    for (word, access) in [("read", Access::Read), ("write", Access::Write)] {
        for name in pragmas(&c.code, word) {
            let Some(g) = shared.all.global_named(name, file) else {
                let message = format!("there is no global `{name}`");
                shared
                    .diags
                    .error(Tag::NameUnknown, c.span, message)
                    .help("declare it: global name");
                return None;
            };
            let g = ir::GlobalId(g as u32);
            globals.retain(|(known, _)| *known != g);
            globals.push((g, access));
        }
    }
    Some(ir::Embedded {
        code: c.code.clone(),
        span: c.span,
        globals,
    })
}

/// C that gives a value must be told its type, by the function or by a call.
pub fn known_result(shared: &mut Shared, f: &Function, c: &EmbeddedC, ret: Option<Ty>) {
    let gives = ["STAP_RETVALUE", "__retvalue"];
    if ret.is_some() || !gives.iter().any(|word| c.code.contains(word)) {
        return;
    }
    let name = &f.name.name;
    let message = format!("nothing tells whether `{name}` gives a number or a string");
    shared
        .diags
        .error(Tag::TypeUnresolved, f.name.span, message)
        .help(format!("declare it: function {name}:long, or :string"));
}

/// The names behind `pragma:read:`.
fn pragmas<'a>(code: &'a str, word: &str) -> Vec<&'a str> {
    let start = format!("/* pragma:{word}:");
    let name = |rest: &'a str| rest.split("*/").next().map(str::trim);
    code.split(&start).skip(1).filter_map(name).collect()
}

impl Lowerer<'_, '_> {
    /// `%{ 1 %}`, `%{ /* string */ "one" %}`
    pub fn embedded_value(&mut self, c: &EmbeddedC) -> Option<(Ty, ir::ExprKind)> {
        let (ty, set) = match c.code.contains(STRING) {
            true => (Ty::Str, "strlcpy(STAP_RETVALUE, (EXPR), MAXSTRINGLEN);"),
            false => (Ty::Long, "STAP_RETVALUE = (EXPR);"),
        };
        let code = set.replace("EXPR", &c.code);
        Some((ty, self.embedded(c, code, Some(ty))?))
    }

    /// `@const("C expression")`
    pub fn embedded_const(&mut self, text: &StrLit) -> Option<(Ty, ir::ExprKind)> {
        let c = EmbeddedC {
            code: text.text().into_owned(),
            span: text.span,
        };
        self.embedded_value(&c)
    }

    /// `%{ ... %}` as a statement.
    pub fn embedded_stmt(&mut self, c: &EmbeddedC) -> Option<ir::StmtKind> {
        let kind = self.embedded(c, c.code.clone(), None)?;
        Some(ir::StmtKind::Expr(ir::Expr {
            ty: Ty::Long,
            kind,
            span: c.span,
        }))
    }

    /// A call of the function that the piece is made into.
    fn embedded(&mut self, c: &EmbeddedC, code: String, ret: Option<Ty>) -> Option<ir::ExprKind> {
        let from_tapset = self.in_tapset();
        let body = body(self.shared, c, self.file, from_tapset)?;
        let same = |r: &Reached| match r {
            Reached::Embedded(f) => {
                matches!(&f.body, ir::FunctionBody::Embedded(b) if b.span == c.span)
            }
            Reached::Declared(_) => false,
        };
        let known = self.shared.functions.iter().position(same);
        let id = known.unwrap_or_else(|| {
            self.shared.functions.push(Reached::Embedded(ir::Function {
                name: "embedded".to_string(),
                locals: Vec::new(),
                nparams: 0,
                ret,
                body: ir::FunctionBody::Embedded(ir::Embedded { code, ..body }),
                says_next: false,
                recursive: false,
                ours: false,
            }));
            self.shared.functions.len() - 1
        });
        Some(ir::ExprKind::Call {
            functions: vec![ir::FunctionId(id as u32)],
            args: Vec::new(),
        })
    }

    /// What a tapset calls is its own affair.
    pub fn in_tapset(&self) -> bool {
        match self.scope {
            Scope::Function(f) => self.shared.all.functions[f].from_tapset(),
            Scope::Unit(_) => false,
        }
    }
}
