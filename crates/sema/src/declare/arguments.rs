// SPDX-License-Identifier: MIT
//! `argc` and `argv[]`: the script's arguments as variables, in scripts that name them.

use crate::declare::loader::Loader;
use std::fmt::Write;
use trapless_syntax::ast::{Expr, ExprKind, Item, Script};
use trapless_syntax::diag::Diagnostics;
use trapless_syntax::visit::{self, Visit};

const COUNT: &str = "argc";
const WORDS: &str = "argv";

/// What declares and fills them, in the script's own words; `None`: nobody asks for them.
pub fn script(scripts: &[Script], loader: &mut Loader, diags: &mut Diagnostics) -> Option<Script> {
    let mut names = Names::default();
    scripts
        .iter()
        .for_each(|s| visit::walk_script(&mut names, s));
    let text = (names.used && !names.declared).then(|| text(loader.env.args.words()))?;
    Some(loader.parse("<arguments>", text, diags))
}

fn text(args: &[String]) -> String {
    let mut text = format!(
        "global {COUNT} = {}, {WORDS}[{}]\nprobe begin({}) {{",
        args.len(),
        args.len().max(1),
        i64::MIN + 1
    );
    for (n, arg) in args.iter().enumerate() {
        let _ = write!(text, " {WORDS}[{}] = \"{}\"", n + 1, escaped(arg));
    }
    if args.is_empty() {
        // Its elements are strings all the same.
        let _ = write!(text, " {WORDS}[1] = \"\" delete {WORDS}");
    }
    text + " }\n"
}

fn escaped(arg: &str) -> String {
    arg.bytes().map(|b| format!("\\{b:03o}")).collect()
}

#[derive(Default)]
struct Names {
    used: bool,
    declared: bool,
}

fn ours(name: &str) -> bool {
    name == COUNT || name == WORDS
}

impl Visit for Names {
    fn visit_expr(&mut self, e: &Expr) {
        self.used |= matches!(&e.kind, ExprKind::Ident(name) if ours(name));
        visit::walk_expr(self, e);
    }

    fn visit_item(&mut self, item: &Item) {
        self.declared |= matches!(item, Item::Global(g) if ours(&g.name.name));
        visit::walk_item(self, item);
    }
}
