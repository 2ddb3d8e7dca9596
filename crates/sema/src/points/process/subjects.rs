// SPDX-License-Identifier: MIT
//! `process(...)` and `.library(...)`: which files are meant, of which programs.

use super::{Resolver, Subject};
use crate::points::running;
use crate::world::{is_program, report};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trapless_debuginfo::{glob, Binary};
use trapless_syntax::ast::{Component, Literal, NumLit};
use trapless_syntax::diag::Tag;

impl Resolver<'_> {
    pub(super) fn process(&mut self, c: &Component) -> Option<Vec<Subject>> {
        let (name, process_text) = match &c.arg {
            Some(Literal::String(s)) => {
                (s.text().into_owned(), format!("process(\"{}\")", s.text()))
            }
            Some(Literal::Number(n)) => (self.process_number(n)?, format!("process({})", n.value)),
            None => match &self.world.target.program {
                Some(program) => (program.clone(), format!("process(\"{program}\")")),
                None if self.world.release.is_some() => {
                    let message = "processes of a whole system are not probed yet";
                    self.diags
                        .error(Tag::PointKernel, c.span, message)
                        .help("leave -r out and give a process with -c CMD or -x PID; or probe the kernel: kernel.function(\"NAME\")");
                    return None;
                }
                None => {
                    self.diags
                        .error(Tag::ProcessTarget, c.span, "which process is meant?")
                        .help("name the program, process(\"/path\"), or give one with -c CMD or -x PID");
                    return None;
                }
            },
        };
        if name.len() == 40 && name.bytes().all(|b| b.is_ascii_hexdigit()) {
            let binary = self.by_build_id(&name.to_ascii_lowercase(), c)?;
            return Some(vec![self.subject(binary, c, process_text)]);
        }
        // A file of that very name is no pattern, least of all the target's own.
        let search = self.world.info().search();
        let there = || search.exists(&search.host_path(Path::new(&name)));
        let given = matches!(c.arg, Some(Literal::String(_)));
        let literal = !given || name.contains('/') && there();
        if !literal && name.contains(['*', '?', '[']) {
            return self.programs(&name, c);
        }
        let info = self.world.info();
        let found = match given {
            true => info.open_program_or_here(&name),
            false => info.open_program(&name),
        };
        let binary = match found {
            Ok(b) => b,
            Err(e) => {
                report(&e, c.span, self.diags);
                return None;
            }
        };
        Some(vec![self.subject(binary, c, process_text)])
    }

    /// Another way to say -x PID.
    fn process_number(&mut self, n: &NumLit) -> Option<String> {
        let asked = format!("process({})", n.value);
        let target = &self.world.target;
        let pid = u32::try_from(n.value).ok();
        if let (Some(program), true) = (&target.program, target.pid == pid) {
            return Some(program.clone());
        }
        if target.program.is_some() {
            self.diags
                .error(
                    Tag::ProcessTarget,
                    n.span,
                    format!("{asked} is not the process that this session is about"),
                )
                .help("leave -x and -c out, and name one process only");
            return None;
        }
        let pid = pid.unwrap_or(0);
        let program = running::program(pid, &asked, Some(n.span), self.diags)?;
        self.world.attach(pid, program.clone());
        Some(program)
    }

    /// The target's own program, a running one, or one of those in PATH.
    fn by_build_id(&mut self, id: &str, c: &Component) -> Option<Arc<Binary>> {
        let search = self.world.info().search();
        let own = self.world.target.program.iter().map(PathBuf::from);
        let linked = search.host_path(Path::new("/usr/lib/debug/.build-id"));
        let linked = linked.join(&id[..2]).join(&id[2..]);
        let all = own
            .chain([linked])
            .chain(trapless_debuginfo::running_programs())
            .chain(search.all_programs());
        let fits = |b: &Arc<Binary>| b.build_id().as_deref() == Some(id);
        let mut seen = HashSet::new();
        let found = all
            .filter(|p| seen.insert(p.clone()))
            .find_map(|p| self.world.info().open(p).ok().filter(fits));
        if found.is_none() {
            self.diags
                .error(
                    Tag::ProgramUnknown,
                    c.span,
                    format!("no program that runs or is in PATH has the build-id {id}"),
                )
                .help("give the program's path; file PROGRAM shows its build-id");
        }
        found
    }

    /// The programs whose paths match; where there are none, the libraries.
    fn programs(&mut self, pattern: &str, c: &Component) -> Option<Vec<Subject>> {
        let search = self.world.info().search();
        let whole = std::env::current_dir().unwrap_or_default().join(pattern);
        let paths = crate::points::files::matching(&search.host_path(&whole));
        let opened = paths
            .iter()
            .filter_map(|p| self.world.info().open(p).ok())
            .collect::<Vec<_>>();
        let mut seen = HashSet::new();
        let opened = opened
            .into_iter()
            .filter(|b| seen.insert(std::fs::canonicalize(b.path()).ok()));
        let (programs, libraries): (Vec<_>, Vec<_>) = opened.partition(|b| is_program(b));
        let which = if programs.is_empty() {
            libraries
        } else {
            programs
        };
        let found: Vec<Subject> = which
            .into_iter()
            .map(|b| self.subject(b, c, String::new()))
            .collect();
        if found.is_empty() {
            self.diags
                .error(
                    Tag::ProgramUnknown,
                    c.span,
                    format!("no program matches `{pattern}`"),
                )
                .help("look with ls which files there are");
            return None;
        }
        Some(found)
    }

    fn subject(&mut self, binary: Arc<Binary>, c: &Component, process_text: String) -> Subject {
        let image = self.world.image_of(&binary);
        let given = matches!(c.arg, Some(Literal::String(_)));
        let named = given && is_program(&binary);
        let text = match given {
            true => format!("process(\"{}\")", binary.path().display()),
            false => process_text,
        };
        Subject {
            process: named.then_some(image),
            binary,
            image,
            text,
        }
    }

    pub(super) fn libraries(&mut self, c: &Component, of: &[Subject]) -> Option<Vec<Subject>> {
        let word = c.name.name.as_str();
        let Some(Literal::String(s)) = &c.arg else {
            self.diags
                .error(Tag::PointArgument, c.span, "a library needs its name")
                .help("e.g. .library(\"libc.so.6\")");
            return None;
        };
        self.each(of, |r, of| {
            let opened = r.world.info().open_libraries(&of.binary, &s.text());
            let found = match opened {
                Ok(found) => found,
                Err(e) => {
                    let found = r.library_files(&s.text());
                    if found.is_empty() {
                        report(&e, s.span, r.diags);
                        return None;
                    }
                    found
                }
            };
            let subject = |binary: Arc<Binary>| Subject {
                image: r.world.image_of(&binary),
                text: format!("{}.{word}(\"{}\")", of.text, binary.path().display()),
                process: of.process,
                binary,
            };
            Some(found.into_iter().map(subject).collect())
        })
    }

    /// What the program may open later: files whose paths match, and one of that name in this folder.
    fn library_files(&self, pattern: &str) -> Vec<Arc<Binary>> {
        if glob::is_glob(pattern) && !pattern.contains('/') {
            return Vec::new();
        }
        let info = self.world.info();
        let whole = std::env::current_dir().unwrap_or_default().join(pattern);
        let paths = crate::points::files::matching(&info.search().host_path(&whole));
        let opened = paths.iter().filter_map(|p| info.open(p).ok());
        opened.filter(|b| !is_program(b)).collect()
    }
}
