// SPDX-License-Identifier: MIT
//! The files that `@cast`, `@var` and `@enum` name.

use super::{Reader, Source};
use crate::points::Context;
use crate::types::header;
use crate::world::World;
use std::path::Path;
use std::sync::Arc;
use trapless_debuginfo as di;
use trapless_debuginfo::Binary;
use trapless_syntax::diag::{Diagnostics, Tag};
use trapless_syntax::Span;

/// The file that a module's name means, or that of the place; see [`Reader::module_or_own`].
pub fn module_of(
    module: Option<String>,
    context: Option<&Context>,
    span: Span,
    has: &dyn Fn(&Source) -> bool,
    world: &mut World,
    diags: &mut Diagnostics,
) -> Option<Source> {
    let mut r = Reader {
        world,
        diags,
        span,
        homes: false,
        lists: false,
        referred: false,
        frame: None,
        kept: None,
    };
    r.module_or_own(module, context, span, has)
}

impl Reader<'_> {
    /// What is named, or the file of this place. Of several, `"one:two"`, the first one that `has` what is asked for; where
    /// none has, one that is there, whose lack the caller tells.
    pub(super) fn module_or_own(
        &mut self,
        modules: Option<String>,
        context: Option<&Context>,
        span: Span,
        has: &dyn Fn(&Source) -> bool,
    ) -> Option<Source> {
        let Some(modules) = modules else {
            if self.world.in_kernel {
                let own = context.and_then(|c| self.world.binary(c.image));
                let own = own.map(Source::File).filter(|own| has(own));
                return own.or_else(|| self.kernel().map(Source::Kernel));
            }
            if let Some(c) = context {
                return self.binary(c.image).map(Source::File);
            }
            self.diags
                .error(Tag::ContextNone, span, "which program has the type?")
                .help("name it: @cast(x, \"type\", \"/path/of/program\")");
            return None;
        };
        if Path::new(&modules).exists() {
            return self.named(&modules, context, span); // a colon in a file's name
        }
        let told = self.diags.len();
        let mut other = None;
        for module in modules.split(':').filter(|m| !m.is_empty()) {
            let found = self.named(module, context, span);
            if found.as_ref().is_some_and(has) {
                self.diags.truncate(told);
                return found;
            }
            other = other.or(found);
        }
        if other.is_some() {
            self.diags.truncate(told);
        }
        other
    }

    fn named(&mut self, module: &str, context: Option<&Context>, span: Span) -> Option<Source> {
        if header::is_header(module) {
            return self.header(module, span).map(Source::File);
        }
        if module == "kernel" || module.starts_with("kernel<") {
            if self.world.in_kernel {
                return self.kernel().map(Source::Kernel);
            }
            self.diags
                .error(Tag::PointKernel, span, "these types are the kernel's")
                .help("name a program, or a header of programs: \"</usr/include/FILE.h>\"");
            return None;
        }
        let own = context.and_then(|c| self.world.binary(c.image));
        let found = match own {
            Some(own) => self.module(module, &own),
            None => self.world.info().open_program_or_here(module),
        };
        match found {
            Ok(binary) => Some(Source::File(binary)),
            Err(e) => self.fail(&e),
        }
    }

    fn header(&mut self, name: &str, span: Span) -> Option<Arc<Binary>> {
        let compiled = match header::compiled(name, self.world.cache.as_deref()) {
            Ok(compiled) => compiled,
            Err(why) => {
                self.diags
                    .error(
                        Tag::TypeUnknown,
                        span,
                        format!("{name} cannot be compiled: {why}"),
                    )
                    .help("name a header that the C compiler finds and that stands for itself");
                return None;
            }
        };
        let (path, _folder) = compiled;
        self.world.headers.insert(path.clone(), name.to_string());
        match self.world.info().open(&path) {
            Ok(binary) => Some(binary),
            Err(e) => self.fail(&e),
        }
    }

    /// A program by its name, or a library of the one that is probed.
    fn module(&mut self, name: &str, own: &Binary) -> di::Result<Arc<Binary>> {
        let info = self.world.info();
        if let Ok(mut libraries) = info.open_libraries(own, name) {
            return Ok(libraries.swap_remove(0));
        }
        info.open_program_or_here(name)
    }
}
