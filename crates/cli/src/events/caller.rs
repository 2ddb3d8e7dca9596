// SPDX-License-Identifier: MIT
//! `--trace-caller DEPTH[,BOUNDS]`: who made a system call, looked for on its stack.

use std::path::Path;
use trapless_debuginfo::Binary;
use trapless_sema::world::{files_of, TargetSpec};
use trapless_syntax::diag::{Diagnostics, Tag};

/// As many as a stack has frames at most (MAXBACKTRACE), but for the call's own.
const DEEPEST: u32 = 31;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Caller {
    pub depth: u32,
    pub bounds: Bounds,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Bounds {
    Program,
    /// A program or library: its path, or the last part of it.
    File(String),
    Addresses(u64, u64),
}

/// For the command line's parser.
pub fn parse(text: &str) -> Result<Caller, String> {
    let (depth, bounds) = text.split_once(',').unwrap_or((text, ""));
    let depth = depth.parse().ok().filter(|n| (1..=DEEPEST).contains(n));
    let depth = depth.ok_or_else(|| format!("DEPTH is a number of callers, 1 to {DEEPEST}"))?;
    Ok(Caller {
        depth,
        bounds: match bounds {
            "" if text.contains(',') => return Err(WANTED.into()),
            "" => Bounds::Program,
            text => bounds_of(text)?,
        },
    })
}

const WANTED: &str =
    "behind the comma LOW-HIGH is wanted, two addresses, or the name of a program or library";

fn bounds_of(text: &str) -> Result<Bounds, String> {
    let ends = text.split_once('-');
    if let Some((Some(low), Some(high))) = ends.map(|(l, h)| (address(l), address(h))) {
        return match low < high {
            true => Ok(Bounds::Addresses(low, high)),
            false => Err(format!(
                "{text}: HIGH, the first address behind, is above LOW"
            )),
        };
    }
    if text.contains(['"', '\\', '\n']) {
        return Err(WANTED.into());
    }
    if !text.contains('/') {
        return Ok(Bounds::File(text.to_string()));
    }
    match Path::new(text).canonicalize() {
        Ok(path) => Ok(Bounds::File(path.to_string_lossy().into_owned())),
        Err(_) => Err(format!("{text}: there is no such file")),
    }
}

fn address(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The same where the files are known.
pub struct Within {
    depth: u32,
    area: Area,
}

enum Area {
    /// By its path, as umodname() has it.
    File(String),
    Addresses(u64, u64),
}

/// `None`: reported.
pub fn resolve(caller: &Caller, spec: &TargetSpec, diags: &mut Diagnostics) -> Option<Within> {
    let program = spec.program.clone().unwrap_or_default();
    Some(Within {
        depth: caller.depth,
        area: match &caller.bounds {
            Bounds::Addresses(low, high) => Area::Addresses(*low, *high),
            Bounds::Program => Area::File(program),
            Bounds::File(name) => Area::File(file(name, &program, spec.pid, diags)?),
        },
    })
}

/// The program, or a library that it needs or has mapped.
fn file(name: &str, program: &str, pid: Option<u32>, diags: &mut Diagnostics) -> Option<String> {
    if name.contains('/') {
        return Some(name.to_string());
    }
    if Path::new(program).file_name().is_some_and(|n| n == name) {
        return Some(program.to_string());
    }
    let search = files_of(pid);
    let found = Binary::open(program, &search).and_then(|b| search.libraries(&b, name));
    match found.map(|paths| paths.into_iter().next()) {
        Ok(path) => Some(path?.to_string_lossy().into_owned()),
        Err(e) => {
            diags
                .error(Tag::LibraryUnknown, None, format!("--trace-caller: {e}"))
                .help(e.help());
            None
        }
    }
}

impl Within {
    /// The functions that the made script calls.
    pub fn function(&self) -> String {
        let (within, test) = match &self.area {
            Area::File(path) => (path.clone(), format!("file == \"{path}\"")),
            Area::Addresses(low, high) => (
                format!("{low:#x}-{high:#x}"),
                format!("pc >= {low:#x} && pc < {high:#x}"),
            ),
        };
        FUNCTION
            .replace("DEPTH", &self.depth.to_string())
            .replace("FRAMES", &(self.depth + 1).to_string())
            .replace("WITHIN", &within)
            .replace("TEST", &test)
    }
}

const FUNCTION: &str = r#"
# The nearest of DEPTH callers that lies in WITHIN, "-" where there is none.
private function made_by:string () {
	frames = ucallers(FRAMES)
	while ((blank = strpos(frames, " ")) >= 0) {
		frames = substr(frames, blank + 1, strlen(frames))
		pc = strtol(frames, 16)
		try { file = umodname(pc) } catch { file = "" }
		if (TEST)
			return place_of(pc, file)
	}
	return "-"
}
private function place_of:string (pc:long, file:string) {
	text = usymdata(pc)
	if (substr(text, 0, 2) == "0x")
		return file == "" ? sprintf("%p", pc) : sprintf("%s+%#x", last_part(file), umodaddr(pc))
	return substr(text, 0, strpos(text, "/"))
}
private function last_part:string (path:string) {
	while ((slash = strpos(path, "/")) >= 0)
		path = substr(path, slash + 1, strlen(path))
	return path
}
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_and_bounds() {
        let of = |text: &str| parse(text).map(|c| (c.depth, c.bounds));
        assert_eq!(of("3"), Ok((3, Bounds::Program)));
        assert_eq!(
            of("31,0x1000-8192"),
            Ok((31, Bounds::Addresses(4096, 8192)))
        );
        let file = |name: &str| Bounds::File(name.to_string());
        assert_eq!(of("2,libc.so.6"), Ok((2, file("libc.so.6"))));
        assert_eq!(of("2,a-b"), Ok((2, file("a-b"))));
        assert_eq!(of("2,/dev/../dev/null"), Ok((2, file("/dev/null"))));
    }

    #[test]
    fn what_is_neither() {
        for (text, part) in [
            ("0", "1 to 31"),
            ("32", "1 to 31"),
            ("x,libc.so.6", "1 to 31"),
            ("3,", "behind the comma"),
            ("3,9-9", "above LOW"),
            ("3,/nowhere/at/all", "no such file"),
            ("3,a\"b", "behind the comma"),
        ] {
            let said = parse(text).expect_err(text);
            assert!(said.contains(part), "{text}: {said}");
        }
    }
}
