// SPDX-License-Identifier: MIT
//! Words of probe points, and what the program gives for their arguments.

use super::{Choice, MOST};
use crate::analysis::Analysis;
use crate::cursor::{Argument, Part};
use crate::library::{self, Declared, Kind};
use crate::points;
use lsp_types::CompletionItemKind;
use std::collections::BTreeSet;
use std::path::Path;
use trapless_debuginfo::{Binary, Function, Inlines, Pattern, SymbolKind};
use trapless_sema::points::components;
use trapless_sema::world::World;

/// What may stand behind these.
pub fn words(analysis: &Analysis, text: &str, parts: &[Part]) -> Vec<Choice> {
    if !parts.is_empty() {
        let before: Vec<&str> = parts.iter().map(|p| p.word.as_str()).collect();
        let following = components::after(&before).into_iter();
        let word = |(word, shown)| Choice::new(word, CompletionItemKind::METHOD).detail(shown);
        return following.map(word).collect();
    }
    let first = components::FIRST.iter();
    let first = first.map(|w| Choice::new(*w, CompletionItemKind::EVENT));
    let script = analysis.parse(text).script;
    let document = library::declared(&script, text).into_iter();
    let library = analysis.library().iter().flat_map(|f| f.declared.clone());
    let aliases = document.chain(library).filter(|d| d.kind == Kind::Alias);
    first.chain(aliases.map(alias)).collect()
}

fn alias(d: Declared) -> Choice {
    Choice {
        detail: Some(d.detail),
        words: d.words,
        ..Choice::new(d.name, CompletionItemKind::EVENT)
    }
}

/// What may be the argument of the last part, which begins with `typed`.
pub fn texts(analysis: &mut Analysis, parts: &[Part], typed: &str) -> Vec<Choice> {
    let mut world = analysis.world();
    let Some((last, before)) = parts.split_last() else {
        return Vec::new();
    };
    if last.word == "process" {
        return programs(&world, typed);
    }
    let Some(binary) = points::file(&mut world, before) else {
        return Vec::new();
    };
    let all = |names: Vec<String>, kind| names.into_iter().map(|n| Choice::new(n, kind)).collect();
    match last.word.as_str() {
        "library" | "plugin" => all(libraries(&world, &binary), CompletionItemKind::FILE),
        "function" => functions(&binary, typed),
        "statement" => statements(&binary, typed),
        "callee" => functions(&binary, typed),
        "mark" => all(marks(&binary, before), CompletionItemKind::EVENT),
        "hook" => all(hooks(&binary, before), CompletionItemKind::EVENT),
        "provider" => all(providers(&binary), CompletionItemKind::MODULE),
        "plt" => {
            let names = binary.plt().into_iter().map(|e| e.name).collect();
            all(names, CompletionItemKind::FUNCTION)
        }
        "data" => all(data(&binary), CompletionItemKind::VARIABLE),
        "label" => all(labels(&binary, before), CompletionItemKind::REFERENCE),
        _ => Vec::new(),
    }
}

/// Programs of PATH by name; with a slash, files and folders.
fn programs(world: &World, typed: &str) -> Vec<Choice> {
    let Some((folder, _)) = typed.rsplit_once('/') else {
        let names = world.info().search().all_programs().into_iter();
        let names = names.filter_map(|p| p.file_name()?.to_str().map(str::to_string));
        let program = |n| Choice::new(n, CompletionItemKind::FILE);
        return names.map(program).collect();
    };
    let Ok(entries) = std::fs::read_dir(format!("{folder}/")) else {
        return Vec::new();
    };
    let entries = entries.flatten().filter_map(|e| {
        let name = e.file_name().into_string().ok()?;
        let path = format!("{folder}/{name}");
        match e.path().is_dir() {
            true => Some(Choice::new(path + "/", CompletionItemKind::FOLDER)),
            false => is_program(&e.path()).then(|| Choice::new(path, CompletionItemKind::FILE)),
        }
    });
    entries.collect()
}

/// Can it be executed, or loaded?
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
    let mode = std::fs::metadata(path).map_or(0, |m| m.permissions().mode());
    mode & 0o111 != 0 || name.contains(".so")
}

fn libraries(world: &World, binary: &Binary) -> Vec<String> {
    let needed = world.info().search().closure(binary).into_iter();
    needed.map(|l| l.name).collect()
}

fn matching(binary: &Binary, pattern: &str, inlines: Inlines) -> Vec<Function> {
    let pattern = Pattern::parse(pattern).ok();
    let found = pattern.and_then(|p| binary.functions(&p, inlines).ok());
    found.unwrap_or_default()
}

/// `f`, or behind an `@` its files.
fn functions(binary: &Binary, typed: &str) -> Vec<Choice> {
    if let Some((name, _)) = typed.split_once('@') {
        return files(binary, name);
    }
    let found = matching(binary, &format!("{typed}*"), Inlines::Also);
    // Where each is declared takes time.
    let few = found.len() <= MOST;
    let choice = |f: &Function| {
        let declared = few.then(|| binary.declared_at(f)).flatten();
        let choice = Choice::new(&*f.name, CompletionItemKind::FUNCTION);
        match declared {
            Some(at) => choice.detail(format!("{}:{}", base(&at.file), at.line)),
            None => choice,
        }
    };
    found.iter().map(choice).collect()
}

/// `f@FILE` for the files that these functions are of.
fn files(binary: &Binary, name: &str) -> Vec<Choice> {
    let found = matching(binary, name, Inlines::No);
    let declared = found.iter().filter_map(|f| binary.declared_at(f));
    let files: BTreeSet<String> = declared.map(|d| base(&d.file).to_string()).collect();
    let choice = |f| Choice::new(format!("{name}@{f}"), CompletionItemKind::FILE);
    files.into_iter().map(choice).collect()
}

/// The same, and behind the file's name the lines that have code.
fn statements(binary: &Binary, typed: &str) -> Vec<Choice> {
    let at = typed.find('@').unwrap_or(typed.len());
    let Some(colon) = typed[at..].find(':').map(|n| at + n) else {
        return functions(binary, typed);
    };
    let file = &typed[..colon];
    let pattern = Pattern::parse(&format!("{file}:*")).ok();
    let found = pattern.and_then(|p| binary.statements(&p, false).ok());
    let choice = |s: trapless_debuginfo::Statement| {
        let text = format!("{file}:{}", s.source.line);
        Choice::new(text, CompletionItemKind::REFERENCE).detail(s.function)
    };
    found.unwrap_or_default().into_iter().map(choice).collect()
}

fn base(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// Variables that have a place of their own.
fn data(binary: &Binary) -> Vec<String> {
    let symbols = binary.symbols().iter();
    let data = symbols.filter(|s| s.kind == SymbolKind::Data);
    data.map(|s| s.name.to_string()).collect()
}

fn text_of(part: &Part) -> Option<&str> {
    match &part.arg {
        Some(Argument::Text(text)) => Some(text),
        _ => None,
    }
}

fn marks(binary: &Binary, before: &[Part]) -> Vec<String> {
    let provider = before.iter().find(|p| p.word == "provider");
    let provider = provider.and_then(text_of);
    let marks = binary.marks().into_iter();
    let marks = marks.filter(|m| provider.is_none_or(|p| p == m.provider));
    marks.map(|m| m.name).collect()
}

/// With their providers, where none is named yet.
fn hooks(binary: &Binary, before: &[Part]) -> Vec<String> {
    let provider = before.iter().find(|p| p.word == "provider");
    let hooks = binary.hooks().hooks.into_iter();
    match provider.and_then(text_of) {
        None => hooks.map(|h| h.full_name()).collect(),
        Some(p) => {
            let own = hooks.filter(|h| h.provider == p);
            own.map(|h| h.name).collect()
        }
    }
}

fn providers(binary: &Binary) -> Vec<String> {
    binary.marks().into_iter().map(|m| m.provider).collect()
}

fn labels(binary: &Binary, before: &[Part]) -> Vec<String> {
    let function = before.iter().find(|p| p.word == "function");
    let Some(name) = function.and_then(text_of) else {
        return Vec::new();
    };
    let found = matching(binary, name, Inlines::Also);
    let labels = found.iter().flat_map(|f| binary.labels(f));
    labels.flatten().map(|l| l.name).collect()
}
