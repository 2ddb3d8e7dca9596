// SPDX-License-Identifier: MIT
//! The passes, run on a text, with what is kept from one run to the next: the script library, and the
//! debug information of files that have not changed.

use crate::library::{self, File};
use crate::settings::Settings;
use std::cell::OnceCell;
use std::path::Path;
use std::sync::Arc;
use trapless_debuginfo::DebugInfo;
use trapless_sema::declare::expand::Unused;
use trapless_sema::declare::loader::Loader;
use trapless_sema::declare::tapset::Tapset;
use trapless_sema::declare::{arguments, collect, expand};
use trapless_sema::types::infer;
use trapless_sema::world::{files_of, World};
use trapless_sema::Input;
use trapless_syntax::ast::{NodeIds, Script};
use trapless_syntax::diag::Diagnostics;
use trapless_syntax::{FileId, MacroLibrary, SourceMap};

pub struct Analysis {
    pub settings: Settings,
    pub tapset: Tapset,
    macros: MacroLibrary,
    /// The texts of the macros.
    texts: SourceMap,
    ids: NodeIds,
    info: Arc<DebugInfo>,
    library: OnceCell<Vec<File>>,
}

/// What the passes said of a text.
pub struct Checked {
    pub map: SourceMap,
    pub file: FileId,
    pub diags: Diagnostics,
}

/// A text as a tree, as far as it could be understood.
pub struct Parsed {
    pub map: SourceMap,
    pub script: Script,
}

impl Analysis {
    pub fn new(settings: Settings) -> Analysis {
        // What is wrong with the library is not the document's to tell.
        let mut unsaid = Diagnostics::new();
        let tapset = Tapset::open(&settings.tapsets, &mut unsaid);
        let mut texts = SourceMap::new();
        let macros = tapset.macros(&mut texts, &settings.environment, &mut unsaid);
        Analysis {
            info: debug_info(&settings),
            tapset,
            macros,
            texts,
            ids: NodeIds::new(),
            library: OnceCell::new(),
            settings,
        }
    }

    pub fn loader<'a>(&'a self, map: &'a mut SourceMap) -> Loader<'a> {
        Loader {
            map,
            env: &self.settings.environment,
            macros: &self.macros,
            ids: &self.ids,
        }
    }

    pub fn parse(&self, text: &str) -> Parsed {
        let mut map = self.texts.clone();
        let script = self
            .loader(&mut map)
            .parse("", text.to_string(), &mut Diagnostics::new());
        Parsed { map, script }
    }

    /// Debug information that is up to date.
    pub fn world(&mut self) -> World {
        if !self.info.is_current() {
            self.info = debug_info(&self.settings);
        }
        let mut world = World::sharing(self.settings.target.clone(), self.info.clone());
        world.cache = self.settings.cache.clone();
        world
    }

    /// Passes 1 and 2.
    pub fn check(&mut self, path: Option<&Path>, text: &str) -> Checked {
        let mut world = self.world();
        let mut map = self.texts.clone();
        let mut diags = Diagnostics::new();
        let mut loader = self.loader(&mut map);
        let name = path.map_or("<document>".into(), |p| p.to_string_lossy());
        let script = loader.parse(name, text.to_string(), &mut diags);
        let file = script.file;
        if !diags.has_errors() && !path.is_some_and(|p| self.is_library(p)) {
            let scripts = vec![script];
            let made = arguments::script(&scripts, &mut loader, &mut diags);
            let input = Input {
                scripts,
                made: made.into_iter().collect(),
                tapset: &self.tapset,
                loader,
                options: self.settings.options.clone(),
            };
            trapless_sema::check(input, &mut world, &mut diags);
        }
        Checked { map, file, diags }
    }

    /// A file of the library has no probes, and rights of its own.
    fn is_library(&self, path: &Path) -> bool {
        self.settings.tapsets.iter().any(|t| path.starts_with(t))
    }

    /// The type of a global: `long`, `string[long]`; `None`: nothing tells it.
    pub fn global_type(&self, text: &str, name: &str) -> Option<String> {
        let mut unsaid = Diagnostics::new();
        let Parsed { mut map, script } = self.parse(text);
        let file = script.file;
        let mut loader = self.loader(&mut map);
        let all = collect::collect(
            vec![script],
            Vec::new(),
            &self.tapset,
            &mut loader,
            &mut unsaid,
        );
        let units = expand::expand(&all, Unused::Out, loader.ids, &mut unsaid);
        let types = infer::infer(&all, &units);
        let global = &types.globals[all.global_named(name, file)?];
        let keys: Option<Vec<_>> = global.keys.iter().flatten().map(|k| word(*k)).collect();
        let keys = keys.filter(|k| !k.is_empty());
        let keys = keys.map_or(String::new(), |k| format!("[{}]", k.join(", ")));
        Some(format!("{}{keys}", word(global.value)?))
    }

    /// The script library, read at first need.
    pub fn library(&self) -> &[File] {
        self.library.get_or_init(|| self.read_library())
    }

    fn read_library(&self) -> Vec<File> {
        let mut map = self.texts.clone();
        let mut unsaid = Diagnostics::new();
        let mut files = Vec::new();
        for path in self.tapset.files() {
            let mut loader = self.loader(&mut map);
            let Some(script) = self.tapset.parse(&path, &mut loader, &mut unsaid) else {
                continue;
            };
            let text = map.file(script.file).map_or("", |f| f.text()).to_string();
            let mut declared = library::declared(&script, &text);
            declared.retain(|d| !d.private && !d.name.starts_with('_'));
            files.push(File {
                path,
                text,
                declared,
            });
        }
        files.extend(self.tapset.macro_files().iter().map(|(path, text)| File {
            path: path.clone(),
            text: text.clone(),
            declared: library::macros(text),
        }));
        files
    }
}

fn debug_info(settings: &Settings) -> Arc<DebugInfo> {
    Arc::new(DebugInfo::new(files_of(settings.target.pid)))
}

fn word(ty: infer::VTy) -> Option<&'static str> {
    match ty {
        infer::VTy::Unknown => None,
        infer::VTy::Long => Some("long"),
        infer::VTy::Str => Some("string"),
        infer::VTy::Stats => Some("statistic"),
    }
}
