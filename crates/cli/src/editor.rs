// SPDX-License-Identifier: MIT
//! `--language-server`: scripts are an editor's; what else is on the command line holds for all of them.

use crate::cache::Cache;
use crate::exit::{EXIT_FAILURE, EXIT_USAGE};
use crate::options::Options;
use crate::paths::Paths;
use crate::{input, settings, target};
use std::path::Path;
use trapless_language_server::{serve, Settings};
use trapless_syntax::diag::Diagnostics;
use trapless_syntax::SourceMap;

/// The exit status.
pub fn start(options: &Options) -> u8 {
    let mut diags = Diagnostics::new();
    let settings = settings(options, &mut diags);
    eprint!("{}", diags.render(&SourceMap::new(), false));
    let Some(settings) = settings.filter(|_| !diags.has_errors()) else {
        return EXIT_USAGE;
    };
    let input = std::io::BufReader::new(std::io::stdin());
    match serve(input, std::io::stdout().lock(), settings) {
        Ok(true) => 0,
        // As the protocol has it, also where the editor is gone.
        Ok(false) | Err(_) => EXIT_FAILURE,
    }
}

fn settings(options: &Options, diags: &mut Diagnostics) -> Option<Settings> {
    input::check_built(options, diags);
    let command = target::command(options, diags)?;
    let mut tapsets = vec![Paths::find().tapset];
    tapsets.extend(options.include.iter().cloned());
    let cache = Cache::open(options);
    Some(Settings {
        tapsets,
        environment: input::environment(options, options.words.clone()),
        target: target::of(options, command.as_ref(), diags)?,
        options: settings::limits(options, diags),
        cache: cache.folder().map(Path::to_path_buf),
    })
}
