// SPDX-License-Identifier: MIT
//! SystemTap as second opinion.
//!
//! - `corpus/...`: small scripts with recorded answers of `stap -p1`.
//! - `examples/...`: every script of Debian's package systemtap-doc parses, and
//!   survives printing.
//! - `tapset/...`: so does every script of the tapset folder.
//! - `stap/...` (only with `-- --ignored`; minutes, for `make check-long`): the real
//!   `stap -p1` gives the recorded answers, and sees the same tree in a script
//!   as in what our printer made of it, where every operator has parentheses.

mod common;

use common::{check_round_trip, parse, parse_with, Parsed};
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock};
use trapless_syntax::ast::NodeIds;
use trapless_syntax::{parse_file, Diagnostics, Environment, MacroLibrary, SourceMap, Words};

const EXAMPLES: &[&str] = &[
    "/usr/share/systemtap/examples",
    "/usr/share/doc/systemtap/examples",
];
const TAPSET: &str = "/usr/share/systemtap/tapset";
/// Debian's example packages have at least this many scripts.
const LEAST_EXAMPLES: usize = 200;
/// Script arguments to try with the examples: numbers, or probe points.
const ARGS: &[&[&str]] = &[
    &["1", "2", "3", "4", "5", "6"],
    &["begin", "end", "begin", "end", "end"],
    &["begin", "end", "3"],
];
/// Examples that are no scripts.
const EXCLUDED: &[(&str, &str)] = &[(
    "security-bandaid-template.stp",
    "a template to fill in: line 31 has `...` for a body; stap refuses it too",
)];

fn main() {
    let args = Arguments::from_args();
    let mut trials = recorded(corpus());
    trials.extend(installed_scripts());
    // Minutes of work are only listed when they are asked for, so that
    // nothing that was meant to run counts as left out.
    if args.ignored || args.include_ignored {
        trials.extend(asking_stap());
    }
    let conclusion = libtest_mimic::run(&args, trials);
    if let Some(tree) = KERNEL_TREE.get() {
        let _ = std::fs::remove_dir_all(tree);
    }
    conclusion.exit();
}

/// The corpus, against what is recorded in it.
fn recorded(cases: Result<Vec<Case>, String>) -> Vec<Trial> {
    match cases {
        Err(message) => vec![Trial::test("corpus", move || Err(message.into()))],
        Ok(cases) => {
            let trial = |case: Case| {
                let name = format!("corpus/{}", case.name);
                Trial::test(name, move || case.check())
            };
            cases.into_iter().map(trial).collect()
        }
    }
}

/// The examples and the tapset, where they are installed.
fn installed_scripts() -> Vec<Trial> {
    let mut trials = vec![Trial::ignorable_test("tapset/all", check_tapset)];
    let examples = scripts_in(EXAMPLES);
    for path in &examples {
        let (name, path) = (format!("examples{}", path.display()), path.clone());
        trials.push(Trial::ignorable_test(name, move || check_example(&path)));
    }
    let count = examples.len();
    trials.push(Trial::ignorable_test("examples/all", move || match count {
        0 => Ok(skip("the package systemtap-doc is not installed")),
        n if n < LEAST_EXAMPLES => Err(format!("only {n} scripts").into()),
        _ => Ok(libtest_mimic::Completion::Completed),
    }));
    trials
}

/// The corpus and the examples, against the real stap.
fn asking_stap() -> Vec<Trial> {
    if Command::new("stap").arg("--version").output().is_err() {
        let why = "the package systemtap is not installed";
        let trial = Trial::ignorable_test("stap/all", move || Ok(skip(why)));
        return vec![trial.with_ignored_flag(true)];
    }
    let mut trials = Vec::new();
    for case in corpus().unwrap_or_default() {
        let name = format!("stap/{}", case.name);
        trials.push(Trial::test(name, move || case.ask_stap()));
    }
    for path in scripts_in(EXAMPLES) {
        if !EXCLUDED.iter().any(|(name, _)| path.ends_with(name)) {
            let name = format!("stap{}", path.display());
            trials.push(Trial::test(name, move || example_tree(&path)));
        }
    }
    trials
        .into_iter()
        .map(|t| t.with_ignored_flag(true))
        .collect()
}

fn skip(why: &str) -> libtest_mimic::Completion {
    libtest_mimic::Completion::ignored_with(why)
}

// ---- files ----

fn scripts_in(folders: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
    while let Some(folder) = todo.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            // Links are other names of the same scripts.
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => todo.push(path),
                Ok(kind) if kind.is_file() && path.extension().is_some_and(|e| e == "stp") => {
                    found.push(path)
                }
                _ => {}
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> Result<String, Failed> {
    Ok(String::from_utf8_lossy(&std::fs::read(path)?).into_owned())
}

/// What stap takes this machine for (see [`kernel_tree`]).
fn environment(args: &[&str]) -> Environment {
    Environment {
        kernel_release: "6.1.0".to_string(),
        language_version: "4.8".to_string(),
        runtime: "kernel".to_string(),
        guru: true,
        args: Words::new(args.iter().map(|a| a.to_string()).collect()),
        ..Environment::default()
    }
}

fn check_example(path: &Path) -> Result<libtest_mimic::Completion, Failed> {
    if let Some((_, why)) = EXCLUDED.iter().find(|(name, _)| path.ends_with(name)) {
        return Ok(skip(why));
    }
    let parsed = parse_example(&read(path)?, false)?;
    check_round_trip(&parsed.script)?;
    Ok(libtest_mimic::Completion::Completed)
}

fn check_tapset() -> Result<libtest_mimic::Completion, Failed> {
    let files = scripts_in(&[TAPSET]);
    if files.is_empty() {
        return Ok(skip("the package systemtap-common is not installed"));
    }
    let env = environment(&[]);
    let mut map = SourceMap::new();
    let library = library(&mut map, &env);
    let mut wrong = String::new();
    for path in files {
        let mut diags = Diagnostics::new();
        let file = map.add(path.display().to_string(), read(&path)?);
        let script = parse_file(&mut map, file, &env, &library, &NodeIds::new(), &mut diags);
        if diags.has_errors() {
            wrong += &diags.render(&map, false);
        } else if let Err(message) = check_round_trip(&script) {
            wrong += &format!("{}: {message}\n", path.display());
        }
    }
    match wrong.is_empty() {
        true => Ok(libtest_mimic::Completion::Completed),
        false => Err(wrong.into()),
    }
}

/// The prelude and the macros of the installed tapset.
fn library(map: &mut SourceMap, env: &Environment) -> MacroLibrary {
    let mut library = MacroLibrary::with_prelude(map);
    for name in macro_files() {
        let bytes = std::fs::read(&name).unwrap_or_default();
        let file = map.add_bytes(name.to_string_lossy(), &bytes);
        library.load(map, file, env, &mut Diagnostics::new());
    }
    library
}

/// Parse with the first set of arguments that suits the script, and with the
/// macros of the installed tapset; without them first, unless `installed`.
fn parse_example(text: &str, installed: bool) -> Result<Parsed, Failed> {
    let mut said = String::new();
    for args in ARGS {
        let env = environment(args);
        let mut parsed = parse(text, &env);
        if installed || parsed.diags.has_errors() {
            parsed = parse_with(text, &env, |map| library(map, &env));
        }
        if !parsed.diags.has_errors() {
            return Ok(parsed);
        }
        said += &parsed.said();
    }
    Err(said.into())
}

fn macro_files() -> Vec<PathBuf> {
    let folders = [PathBuf::from(TAPSET), PathBuf::from(TAPSET).join("linux")];
    let entries = folders
        .iter()
        .flat_map(|f| std::fs::read_dir(f).into_iter().flatten());
    let mut files: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "stpm"));
    files.sort();
    files
}

// ---- the corpus ----

#[derive(Clone, Debug)]
struct Case {
    name: String,
    args: Vec<String>,
    stap: Answer,
    ours: Answer,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    Ok,
    /// With the line, where one is told.
    Error(Option<usize>),
    /// It does not come to an end.
    None,
}

impl Answer {
    fn read(text: &str) -> Option<Answer> {
        let mut words = text.split_whitespace();
        match (words.next()?, words.next()) {
            ("ok", None) => Some(Answer::Ok),
            ("none", None) => Some(Answer::None),
            ("error", line) => Some(Answer::Error(line.and_then(|l| l.parse().ok()))),
            _ => None,
        }
    }

    fn agrees(self, other: Answer) -> bool {
        match (self, other) {
            (Answer::Error(Some(a)), Answer::Error(Some(b))) => a == b,
            (Answer::Error(_), Answer::Error(_)) => true,
            (a, b) => a == b,
        }
    }
}

fn corpus() -> Result<Vec<Case>, String> {
    let text = include_str!("stap-corpus.txt");
    let mut cases = Vec::new();
    for block in text.split("\n== ").skip(1) {
        let (head, rest) = block.split_once('\n').unwrap_or((block, ""));
        let (name, args) = head.split_once(" args: ").unwrap_or((head, ""));
        let mut lines = rest.lines().peekable();
        let mut field = |key: &str| {
            let value = lines.peek().and_then(|l| l.strip_prefix(key));
            value.inspect(|_| {
                lines.next();
            })
        };
        let bad = || format!("corpus: `{name}` has a bad head");
        let stap = field("stap: ").and_then(Answer::read).ok_or_else(bad)?;
        let ours = match field("ours: ") {
            None => stap,
            Some(text) => {
                field("why: ").ok_or_else(bad)?;
                Answer::read(text).ok_or_else(bad)?
            }
        };
        let mut text: String = lines.collect::<Vec<_>>().join("\n");
        text.push('\n');
        let args = args.split_whitespace().map(String::from).collect();
        cases.push(Case {
            name: name.to_string(),
            args,
            stap,
            ours,
            text,
        });
    }
    match cases.len() {
        n if n < 150 => Err(format!("the corpus has only {n} scripts")),
        _ => Ok(cases),
    }
}

impl Case {
    fn args(&self) -> Vec<&str> {
        self.args.iter().map(|a| a.as_str()).collect()
    }

    fn check(&self) -> Result<(), Failed> {
        let parsed = parse(&self.text, &environment(&self.args()));
        let found = answer(&parsed);
        if !found.agrees(self.ours) {
            let said = parsed.said();
            return Err(format!(
                "expected {:?}, found {found:?}\n{}{said}",
                self.ours, self.text
            )
            .into());
        }
        if found == Answer::Ok {
            check_round_trip(&parsed.script)?;
        }
        Ok(())
    }

    fn ask_stap(&self) -> Result<(), Failed> {
        let (found, said) = stap(&self.text, &self.args())?;
        if !found.agrees(self.stap) {
            return Err(format!("recorded {:?}, stap says {found:?}\n{said}", self.stap).into());
        }
        if found == Answer::Ok && self.ours == Answer::Ok {
            same_tree(&self.text, &self.args())?;
        }
        Ok(())
    }
}

fn answer(parsed: &Parsed) -> Answer {
    if parsed.diags.has_errors() {
        Answer::Error(parsed.first_error_line())
    } else {
        Answer::Ok
    }
}

// ---- stap ----

static KERNEL_TREE: OnceLock<PathBuf> = OnceLock::new();

/// As much of a kernel's build tree as `stap -p1` wants to see.
fn kernel_tree() -> std::io::Result<&'static PathBuf> {
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock();
    if let Some(tree) = KERNEL_TREE.get() {
        return Ok(tree);
    }
    let root = std::env::temp_dir().join(format!("trapless-kernel-tree-{}", std::process::id()));
    for folder in ["include/config", "include/generated", "include/linux"] {
        std::fs::create_dir_all(root.join(folder))?;
    }
    for file in ["Module.symvers", "Makefile", "System.map", ".config"] {
        std::fs::write(root.join(file), "")?;
    }
    std::fs::write(root.join("include/config/kernel.release"), "6.1.0\n")?;
    std::fs::write(
        root.join("include/generated/utsrelease.h"),
        "#define UTS_RELEASE \"6.1.0\"\n",
    )?;
    Ok(KERNEL_TREE.get_or_init(|| root))
}

/// Ask for pass 1: the answer, and what was printed.
fn stap(text: &str, args: &[&str]) -> Result<(Answer, String), Failed> {
    let tree = kernel_tree()?;
    // Some scripts keep it busy for ever: 20 seconds of a processor are its own, however busy the machine is.
    let p = Command::new("prlimit")
        .args(["--cpu=20", "stap", "-w", "-p1", "-g", "-r"])
        .arg(tree)
        .args(["-e", text])
        .args(args)
        .stdin(Stdio::null())
        .output()?;
    let said = String::from_utf8_lossy(&[p.stdout, p.stderr].concat()).into_owned();
    let answer = match p.status.code() {
        None => Answer::None,
        Some(0) => Answer::Ok,
        Some(_) => Answer::Error(first_line(&said)),
    };
    Ok((answer, said))
}

/// The line in the first `... at <input>:LINE:COL`.
fn first_line(said: &str) -> Option<usize> {
    let rest = said.split_once("at <input>:")?.1;
    rest.split(':').next()?.parse().ok()
}

/// Like [`same_tree`], for an example.
fn example_tree(path: &Path) -> Result<(), Failed> {
    let text = read(path)?;
    let printed = parse_example(&text, true)?.script.to_string();
    for args in ARGS {
        let (answer, theirs) = stap(&text, args)?;
        if answer == Answer::Ok {
            return compare(&theirs, &printed, args);
        }
    }
    Err("stap does not take this script".into())
}

/// stap must see the same tree in `text` as in what our printer makes of it.
fn same_tree(text: &str, args: &[&str]) -> Result<(), Failed> {
    let env = environment(args);
    // With stap's macros, where ours of the same name differ.
    let parsed = parse_with(text, &env, |map| library(map, &env));
    if parsed.diags.has_errors() {
        return Err(parsed.said().into());
    }
    let printed = parsed.script.to_string();
    let (answer, theirs) = stap(text, args)?;
    if answer != Answer::Ok {
        return Err(format!("{answer:?} {theirs}").into());
    }
    compare(&theirs, &printed, args)
}

/// What stap prints for `printed` must be `theirs`.
fn compare(theirs: &str, printed: &str, args: &[&str]) -> Result<(), Failed> {
    let (again, ours) = stap(printed, args)?;
    if again != Answer::Ok {
        return Err(format!("{again:?} {ours}\n{printed}").into());
    }
    // The comment at the top names the file.
    let lines = |text: &str| -> Vec<String> {
        let kept = text.lines().filter(|l| !l.starts_with("# "));
        // We print `\n` for a line end, where stap keeps what was written.
        kept.flat_map(|l| {
            l.replace("\\t", "\t")
                .split("\\n")
                .map(String::from)
                .collect::<Vec<_>>()
        })
        .collect()
    };
    let (theirs, ours) = (lines(theirs), lines(&ours));
    match theirs.iter().zip(&ours).find(|(a, b)| a != b) {
        Some((a, b)) => Err(format!("stap sees another tree:\n{a}\n{b}").into()),
        None if theirs.len() != ours.len() => Err("another length".into()),
        None => Ok(()),
    }
}
