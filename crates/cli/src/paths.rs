// SPDX-License-Identifier: MIT
//! Where the parts of the product lie: beside the program in a build tree,
//! under the same prefix when installed.

use std::path::{Path, PathBuf};
use trapless_syntax::diag::{Diagnostics, Tag};

#[derive(Debug)]
pub struct Paths {
    pub tapset: PathBuf,
    /// Folders with `script.h`, what it includes, and `trapless/`.
    pub headers: Vec<PathBuf>,
    pub runner: PathBuf,
    pub examples: PathBuf,
}

impl Paths {
    pub fn find() -> Paths {
        let exe = std::env::current_exe().unwrap_or_default();
        let bin = exe.parent().unwrap_or(Path::new("."));
        let top = bin.parent().unwrap_or(Path::new("/"));
        let runner = std::env::var_os("TRAPLESS_RUN").map(PathBuf::from);
        let runner = runner.unwrap_or_else(|| bin.join("trapless-run"));
        let share = top.join("share/trapless");
        match share.is_dir() {
            true => Paths {
                tapset: share.join("tapset"),
                headers: vec![share.join("include")],
                runner,
                examples: share.join("examples"),
            },
            false => Paths {
                tapset: top.join("tapset"),
                headers: vec![top.join("runtime"), top.join("include")],
                runner,
                examples: top.join("examples"),
            },
        }
    }

    /// Without the script library no script can be understood. `None`: reported.
    pub fn check(&self, diags: &mut Diagnostics) -> Option<()> {
        if self.tapset.is_dir() {
            return Some(());
        }
        let what = format!("there is no script library in {}", self.tapset.display());
        diags.error(Tag::FileMissing, None, what).help(
            "run bin/trapless where it was built, or install all of it: make install PREFIX=/path",
        );
        None
    }
}
