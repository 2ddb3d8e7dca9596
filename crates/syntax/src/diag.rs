// SPDX-License-Identifier: MIT
//! What the host tool says when something is wrong.
//!
//! A [`Diagnostic`] has a stable tag, a place, a message, the cause and a next
//! step. Passes collect several in a [`Diagnostics`]; only the command line
//! renders them.

use crate::span::{FileId, SourceMap, Span};
use annotate_snippets::{renderer::DecorStyle, AnnotationKind, Group, Level, Renderer, Snippet};

/// Declares [`Tag`]: one line for each reason, with its cause in one sentence.
macro_rules! tags {
    ($($(#[$doc:meta])* $variant:ident $name:literal $cause:literal;)*) => {
        /// The stable name of one reason. Scripts, tests and documents match on
        /// it, so a name is never changed or used again for something else.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Tag { $($(#[$doc])* $variant,)* }

        impl Tag {
            const LIST: &'static [Tag] = &[$(Tag::$variant,)*];

            /// `UPPER_SNAKE`, as printed.
            pub fn name(self) -> &'static str {
                match self { $(Tag::$variant => $name,)* }
            }

            /// Why this happens, in one sentence, for every user of the tag.
            pub fn cause(self) -> &'static str {
                match self { $(Tag::$variant => $cause,)* }
            }
        }
    };
}

// The one list. Other crates add their tags to the part that names them.
tags! {
    // ---- syntax: characters, preprocessing, grammar ----
    LexChar "LEX_CHAR" "This character has no meaning outside strings, comments and embedded C.";
    LexString "LEX_STRING" "A string literal ends on the line where it starts; write \\n for a line end.";
    LexNumber "LEX_NUMBER" "Numbers are 64 bits wide: decimal, 0x hexadecimal or 0 octal.";
    LexComment "LEX_COMMENT" "A comment that starts with /* ends with */.";
    LexEmbedded "LEX_EMBEDDED" "Embedded C starts with %{ and ends with %}.";
    ArgMissing "ARG_MISSING" "$1 and @1 stand for the first word behind the script on the command line, and so on.";
    ArgUnused "ARG_UNUSED" "Words behind the script are its arguments, which it names by $1, @1 and so on, or argv[1].";
    PpCondition "PP_CONDITION" "A conditional reads %( NAME == \"value\" %? tokens %: tokens %).";
    PpUnclosed "PP_UNCLOSED" "Every %( needs its %).";
    PpStray "PP_STRAY" "%? %: and %) only have a meaning inside %( ... %).";
    MacroDefine "MACRO_DEFINE" "A macro is defined as @define name(parameters) %( tokens %).";
    MacroUnknown "MACRO_UNKNOWN" "A word that starts with @ is a built-in operator, a macro, or a macro's parameter.";
    MacroArgs "MACRO_ARGS" "A macro is called with as many arguments as it has parameters.";
    MacroRecursion "MACRO_RECURSION" "A macro may not use itself, directly or through others.";
    ParseExpected "PARSE_EXPECTED" "The grammar allows something else at this place.";
    ParseUnclosed "PARSE_UNCLOSED" "Every opening bracket needs its closing one.";
    ParseDepth "PARSE_DEPTH" "Nesting is bounded, so that no input can exhaust the stack.";
    ParseSize "PARSE_SIZE" "Braces in a probe point and macros multiply; the product is bounded.";
    ParseDuplicate "PARSE_DUPLICATE" "This may be written only once.";
    PrintArgs "PRINT_ARGS" "print takes values, printf a literal format first, printd a literal delimiter first.";
    PrintFormat "PRINT_FORMAT" "A conversion reads %, then a flag, 0, a width, .precision, l (all optional), and one of b c d i m M o p s u x X.";
    StatArgs "STAT_ARGS" "@count and its kin take a statistic; the parameters of histograms are literal numbers.";
    ForeachSort "FOREACH_SORT" "foreach sorts by one key, or by the value, written once.";
    GlobalInit "GLOBAL_INIT" "A global starts with a literal number or string; an array cannot be initialised.";

    // ---- semantics: names, types, probe points ----
    NotBuilt "NOT_BUILT" "SystemTap has this; trapless does not yet.";
    NameUnknown "NAME_UNKNOWN" "A function comes from the script, from the tapset, or is built in.";
    NameDuplicate "NAME_DUPLICATE" "Functions, globals and the parameters of one function have names of their own.";
    CallArgs "CALL_ARGS" "A function is called with as many arguments as it has parameters.";
    TypeMismatch "TYPE_MISMATCH" "Every variable and function has one type: number, string, or statistic.";
    TypeUnresolved "TYPE_UNRESOLVED" "Nothing in the script tells the type of this.";
    ArrayKeys "ARRAY_KEYS" "An array has the same number and types of keys everywhere.";
    ArrayScalar "ARRAY_SCALAR" "A global is either an array or a single value.";
    ConditionName "CONDITION_NAME" "A condition is asked before its handler and aliases around that have set their variables.";
    ArrayLocal "ARRAY_LOCAL" "Arrays and statistics are global.";
    AssignTarget "ASSIGN_TARGET" "Only variables and array elements can be set.";
    StatMisuse "STAT_MISUSE" "A statistic is filled by <<< and read by @count, @sum, @min, @max, @avg and histograms.";
    HistConflict "HIST_CONFLICT" "One statistic keeps one kind of histogram, and one scale for @variance.";
    RegexLetter "REGEX_LETTER" "In POSIX's regular expressions a backslash makes a character stand for itself, letters and digits, too.";
    RegexBad "REGEX_BAD" "A regular expression is POSIX's extended one: . [] () * + ? {} | ^ $, without back references.";
    FormatArgs "FORMAT_ARGS" "Every directive of a format takes one argument of its type.";
    FlowMisplaced "FLOW_MISPLACED" "break and continue stand in loops, return in functions, next in probes.";
    ForeachChange "FOREACH_CHANGE" "The elements of the array that a foreach walks may not change inside.";
    NeverAssigned "NEVER_ASSIGNED" "A local that is read but never set holds 0 or the empty string.";
    PointUnknown "POINT_UNKNOWN" "No probe point family has this component at this place.";
    PointArgument "POINT_ARGUMENT" "This component of a probe point takes another argument.";
    PointNoMatch "POINT_NO_MATCH" "A probe point must match at least one place, unless `?` or `!` stands behind it.";
    HookDamaged "HOOK_DAMAGED" "What the file's table says of a static hook contradicts the file, or another hook.";
    PointKernel "POINT_KERNEL" "Some of what kernels have cannot be probed or read yet; the message says what.";
    AliasRecursion "ALIAS_RECURSION" "An alias may not stand for itself.";
    ContextNone "CONTEXT_NONE" "Only probes at functions and statements of a program have $variables.";
    ReturnMisplaced "RETURN_MISPLACED" "$return and @entry belong to .return probes.";
    ProbewriteMisplaced "PROBEWRITE_MISPLACED" "@probewrite asks, in a probe alias, what the handler of the user writes to.";
    CtxVarUnknown "CTX_VAR_UNKNOWN" "The debug information has no such variable at this place.";
    CtxVarKind "CTX_VAR_KIND" "Numbers, pointers and enumerations can be read; structures and arrays by their members.";
    MemberUnknown "MEMBER_UNKNOWN" "The type has no such member.";
    TypeUnknown "TYPE_UNKNOWN" "No type of this name is in the debug information.";
    ProcessTarget "PROCESS_TARGET" "`process` without a name means the target of -c or -x.";
    ProcessLater "PROCESS_LATER" "With --no-follow only the first program that a command starts is traced.";
    ProbesNone "PROBES_NONE" "A script needs at least one probe.";
    GuruNeeded "GURU_NEEDED" "Embedded C and writes to the program need guru mode.";
    ModuleBuild "MODULE_BUILD" "The module could not be made from a valid script.";
    BpftraceWrong "BPFTRACE_WRONG" "A program for --bpftrace reads as bpftrace's own: PROBE, PROBE /CONDITION/ { STATEMENTS }, one or more.";
    BpftraceRefused "BPFTRACE_REFUSED" "bpftrace has this, and scripts have no counterpart that is translated to.";
    Usage "USAGE" "The command line is not understood.";
    FileMissing "FILE_MISSING" "The file cannot be read or written.";
    TargetMissing "TARGET_MISSING" "The process is gone, or may not be traced.";
    CompilerMissing "COMPILER_MISSING" "Pass 4 needs a C compiler.";

    // ---- programs and their debug information (crates/debuginfo names these) ----
    FileUnreadable "FILE_UNREADABLE" "The file is not there, or may not be read.";
    FileRemoved "FILE_REMOVED" "The file was removed or replaced since the process has mapped it; what is mapped can be read by root only.";
    FileNotElf "FILE_NOT_ELF" "Only ELF programs and libraries can be probed; a script is run by its interpreter.";
    File32Bit "FILE_32BIT" "32-bit programs need an agent of their own, which does not exist yet.";
    FileWrongArch "FILE_WRONG_ARCH" "The program is made for another processor.";
    FileNotProgram "FILE_NOT_PROGRAM" "The file is ELF, but neither a program nor a shared library.";
    FileCorrupt "FILE_CORRUPT" "The file contradicts itself or ends too early.";
    ProgramUnknown "PROGRAM_UNKNOWN" "There is no program of this name, or none in PATH.";
    LibraryUnknown "LIBRARY_UNKNOWN" "The program needs no library of this name.";
    ProcessGone "PROCESS_GONE" "The process has ended.";
    ProcessDenied "PROCESS_DENIED" "The process belongs to somebody else.";
    ProcessNoImage "PROCESS_NO_IMAGE" "The process has no program that could be traced.";
    DebuginfoNone "DEBUGINFO_NONE" "Variables, types and source lines need debug information (DWARF).";
    SymbolsNone "SYMBOLS_NONE" "The file has not even a symbol table.";
    DebuginfoNotHere "DEBUGINFO_NOT_HERE" "The debug information does not cover this address.";
    FunctionUnknown "FUNCTION_UNKNOWN" "No function of this name is in the symbols or the debug information.";
    FunctionNotExported "FUNCTION_NOT_EXPORTED" "A stripped program only keeps the names of the functions that it exports.";
    FunctionOverload "FUNCTION_OVERLOAD" "There are functions of this name, but none with these parameters.";
    SourceFileUnknown "SOURCE_FILE_UNKNOWN" "The program was not built from a source file of this name.";
    SourceLineNoCode "SOURCE_LINE_NO_CODE" "The compiler made no code for this line.";
    TypeNotAggregate "TYPE_NOT_AGGREGATE" "Only structures have members, only arrays and pointers have elements.";
    TypeIncomplete "TYPE_INCOMPLETE" "The type is only declared in this program.";
    CtxVarOptimizedOut "CTX_VAR_OPTIMIZED_OUT" "The compiler removed the variable at this place.";
    ReturnVoid "RETURN_VOID" "The function returns nothing.";
    ReturnTaken "RETURN_TAKEN" "The compiler may have taken away a result that no caller wants.";
    FrameRuleNone "FRAME_RULE_NONE" "No unwind rule covers this address, so the frame cannot be found.";
    DebuginfoUnsupported "DEBUGINFO_UNSUPPORTED" "The debug information uses something that trapless does not read yet.";
    DebuginfoSplit "DEBUGINFO_SPLIT" "The debug information lies in .dwo files, which are not found.";
    KernelFiles "KERNEL_FILES" "A kernel's functions and types are read from its own files, which hold BTF.";
    KernelAddress "KERNEL_ADDRESS" "An address in a kernel is probed as a place in a function, which the kernel finds by its name.";
    PatternBad "PATTERN_BAD" "A function or statement is named as FUNCTION, FUNCTION@FILE or FUNCTION@FILE:LINE.";
}

impl Tag {
    /// Every tag, in the order of the list.
    pub fn all() -> &'static [Tag] {
        Tag::LIST
    }

    /// The tag with this printed name.
    pub fn from_name(name: &str) -> Option<Tag> {
        Tag::LIST.iter().copied().find(|t| t.name() == name)
    }
}

impl std::fmt::Display for Tag {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Severity {
    Error,
    Warning,
}

/// A second place that helps to understand the first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    pub span: Span,
    pub text: String,
}

/// One thing to say. Made by [`Diagnostics::error`] and [`Diagnostics::warn`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    pub tag: Tag,
    pub severity: Severity,
    /// `None`: not about a place in a script (a missing file, a dead process).
    pub span: Option<Span>,
    pub message: String,
    /// Said at the caret.
    pub at: Option<String>,
    pub labels: Vec<Label>,
    /// The next step, an imperative sentence.
    pub help: Option<String>,
    pub notes: Vec<String>,
}

/// What can be given as a next step: a sentence, or the suggested name that
/// [`nearest`] found (or did not find).
pub trait IntoHelp {
    fn into_help(self) -> Option<String>;
}

impl IntoHelp for &str {
    fn into_help(self) -> Option<String> {
        Some(self.to_string())
    }
}

impl IntoHelp for String {
    fn into_help(self) -> Option<String> {
        Some(self)
    }
}

impl IntoHelp for Option<String> {
    fn into_help(self) -> Option<String> {
        self
    }
}

impl IntoHelp for Option<&str> {
    fn into_help(self) -> Option<String> {
        self.map(|name| format!("did you mean `{name}`?"))
    }
}

impl Diagnostic {
    pub fn new(
        severity: Severity,
        tag: Tag,
        span: impl Into<Option<Span>>,
        message: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            tag,
            severity,
            span: span.into(),
            message: message.into(),
            at: None,
            labels: Vec::new(),
            help: None,
            notes: Vec::new(),
        }
    }

    /// Set the next step; `None` keeps what is there.
    pub fn help(&mut self, help: impl IntoHelp) -> &mut Diagnostic {
        if let Some(text) = help.into_help() {
            self.help = Some(text);
        }
        self
    }

    /// Say `text` at the caret.
    pub fn at(&mut self, text: impl Into<String>) -> &mut Diagnostic {
        self.at = Some(text.into());
        self
    }

    /// Show a second place.
    pub fn label(&mut self, span: Span, text: impl Into<String>) -> &mut Diagnostic {
        self.labels.push(Label {
            span,
            text: text.into(),
        });
        self
    }

    pub fn note(&mut self, text: impl Into<String>) -> &mut Diagnostic {
        self.notes.push(text.into());
        self
    }

    /// The text as shown to the user, ending with a line end.
    pub fn render(&self, map: &SourceMap, colour: bool) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut group = Group::with_title(
            level
                .primary_title(one_line(&self.message))
                .id(self.tag.name()),
        );
        let labels: Vec<Label> = self.labels.iter().map(Label::tidy).collect();
        let at = self.at.as_deref().map(one_line);
        let files = self.files_shown();
        for file in &files {
            let Some(source) = map.file(*file) else {
                continue;
            };
            let mut snippet = Snippet::source(source.text())
                .path(source.name())
                .line_start(1);
            if let Some(span) = self.span.filter(|s| s.file == *file) {
                let mut mark = AnnotationKind::Primary.span(clamp(source.text(), span));
                if let Some(text) = &at {
                    mark = mark.label(text.as_str());
                }
                snippet = snippet.annotation(mark);
            }
            for label in labels.iter().filter(|l| l.span.file == *file) {
                let mark = AnnotationKind::Context.span(clamp(source.text(), label.span));
                snippet = snippet.annotation(mark.label(label.text.as_str()));
            }
            group = group.element(snippet);
        }
        let mut extra: Vec<(&str, String)> = vec![("cause", self.tag.cause().to_string())];
        extra.extend(self.notes.iter().map(|n| ("note", n.clone())));
        extra.extend(
            expansion_notes(map, self.span)
                .into_iter()
                .map(|n| ("note", n)),
        );
        if let Some(help) = &self.help {
            extra.push(("next step", help.clone()));
        }
        for (name, text) in &extra {
            let level = if *name == "next step" {
                Level::HELP
            } else {
                Level::NOTE
            };
            group = group.element(level.with_name(*name).message(one_line(text)));
        }
        let renderer = if colour {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        let mut text = renderer.decor_style(DecorStyle::Ascii).render(&[group]);
        text.push('\n');
        text
    }

    /// The files to quote: the main one first, each once.
    fn files_shown(&self) -> Vec<crate::span::FileId> {
        let mut files: Vec<_> = self.span.iter().map(|s| s.file).collect();
        for label in &self.labels {
            if !files.contains(&label.span.file) {
                files.push(label.span.file);
            }
        }
        files
    }
}

impl Label {
    fn tidy(&self) -> Label {
        Label {
            span: self.span,
            text: one_line(&self.text),
        }
    }
}

/// Messages quote script text; control characters in it must not reach a
/// terminal or break the layout.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

/// A span that surely lies inside `text` and on character boundaries.
fn clamp(text: &str, span: Span) -> std::ops::Range<usize> {
    let fix = |at: u32| {
        let mut at = (at as usize).min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let (lo, hi) = (fix(span.lo), fix(span.hi));
    lo..hi.max(lo)
}

/// `in the expansion of @name at FILE:LINE:COL`, innermost first.
fn expansion_notes(map: &SourceMap, span: Option<Span>) -> Vec<String> {
    let expansions = span.into_iter().flat_map(|s| map.expansions(s)).take(8);
    expansions
        .map(|e| format!("in the expansion of @{} at {}", e.name, map.locate(e.call)))
        .collect()
}

/// No more diagnostics than this are printed.
const MAX_SHOWN: usize = 30;

/// What the passes of one run had to say, in the order they said it.
#[derive(Clone, Default, Debug)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    pub fn new() -> Diagnostics {
        Diagnostics::default()
    }

    /// Add an error; the result takes [`Diagnostic::help`] and the like.
    pub fn error(
        &mut self,
        tag: Tag,
        span: impl Into<Option<Span>>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.push(Diagnostic::new(Severity::Error, tag, span, message))
    }

    pub fn warn(
        &mut self,
        tag: Tag,
        span: impl Into<Option<Span>>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.push(Diagnostic::new(Severity::Warning, tag, span, message))
    }

    pub fn push(&mut self, diagnostic: Diagnostic) -> &mut Diagnostic {
        self.list.push(diagnostic);
        let last = self.list.len() - 1;
        &mut self.list[last]
    }

    pub fn last_mut(&mut self) -> Option<&mut Diagnostic> {
        self.list.last_mut()
    }

    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.severity == Severity::Error)
    }

    pub fn error_count(&self) -> usize {
        self.list
            .iter()
            .filter(|d| d.severity == Severity::Error)
            .count()
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Diagnostic> {
        self.list.iter_mut()
    }

    /// Append what another collector holds.
    pub fn append(&mut self, other: Diagnostics) {
        self.list.extend(other.list);
    }

    /// Forget everything behind the first `len`: for tries that were given up.
    pub fn truncate(&mut self, len: usize) {
        self.list.truncate(len);
    }

    /// Tidy what was said behind the first `len` while `file` was read: what
    /// is wrong in a macro of another file is shown where `file` uses it, and
    /// all is put into the order of its places.
    pub fn settle(&mut self, len: usize, file: FileId, map: &SourceMap) {
        let Some(tail) = self.list.get_mut(len..) else {
            return;
        };
        for diagnostic in tail.iter_mut() {
            let Some(place) = diagnostic.span else {
                continue;
            };
            if place.file == file {
                continue;
            }
            if let Some(call) = map.calls(place).find(|call| call.file == file) {
                diagnostic.span = Some(call);
                diagnostic.labels.insert(
                    0,
                    Label {
                        span: place,
                        text: "in this macro".into(),
                    },
                );
            }
        }
        // A macro of the same file counts where it is used.
        tail.sort_by_key(|d| {
            d.span.map(|s| {
                let outermost = map.calls(s).last().unwrap_or(s);
                (outermost.file, outermost.lo)
            })
        });
    }

    /// Forget the warnings (`-w`).
    /// Warnings become errors.
    pub fn raise_warnings(&mut self) {
        for d in &mut self.list {
            d.severity = Severity::Error;
        }
    }

    pub fn drop_warnings(&mut self) {
        self.list.retain(|d| d.severity != Severity::Warning);
    }

    /// All texts, each followed by an empty line. One that repeats an earlier
    /// one is left out, and so are those behind the first [`MAX_SHOWN`].
    pub fn render(&self, map: &SourceMap, colour: bool) -> String {
        let mut out = String::new();
        let mut shown = 0;
        for (i, d) in self.list.iter().enumerate() {
            if self.list[..i].contains(d) {
                continue;
            }
            shown += 1;
            if shown <= MAX_SHOWN {
                out.push_str(&d.render(map, colour));
                out.push('\n');
            }
        }
        if shown > MAX_SHOWN {
            out.push_str(&format!("{} more are not shown\n", shown - MAX_SHOWN));
        }
        out
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

/// The candidate that `name` was most likely meant to be, if one is near: a
/// third of its length may differ, and a swap counts once.
pub fn nearest<'a, I, S>(name: &str, candidates: I) -> Option<&'a str>
where
    I: IntoIterator<Item = &'a S>,
    S: AsRef<str> + ?Sized + 'a,
{
    if name.is_empty() {
        return None;
    }
    let allowed = (name.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|c| c.as_ref())
        .filter(|c| *c != name)
        .map(|c| (distance(name, c), c))
        .filter(|(d, _)| *d <= allowed)
        .min_by_key(|(d, c)| (*d, std::cmp::Reverse(alike(name, c)), c.len()))
        .map(|(_, c)| c)
}

/// With how many bytes both begin.
fn alike(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count()
}

/// Edits between two names; a difference of case alone counts as one.
fn distance(a: &str, b: &str) -> usize {
    if a.eq_ignore_ascii_case(b) {
        return 1;
    }
    strsim::osa_distance(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> SourceMap {
        let mut map = SourceMap::new();
        map.add("a.stp", "probe begin {\n\tx = @cuont(s)\n}\n");
        map.add("b.stp", "global s");
        map
    }

    #[test]
    fn renders_tag_place_cause_and_next_step() {
        let mut diags = Diagnostics::new();
        diags
            .error(
                Tag::MacroUnknown,
                Span::new(FileId(0), 19, 25),
                "no `@cuont`",
            )
            .at("here")
            .label(Span::new(FileId(1), 7, 8), "the statistic")
            .note("a note")
            .help(nearest("@cuont", ["@count", "@sum"]));
        let text = diags.render(&map(), false);
        let wanted = [
            "error[MACRO_UNKNOWN]: no `@cuont`",
            "--> a.stp:2:6",
            "2 |     x = @cuont(s)",
            "^^^^^^ here",
            "::: b.stp:1:8",
            "- the statistic",
            "= cause: A word that starts with @",
            "= note: a note",
            "= next step: did you mean `@count`?",
        ];
        for part in wanted {
            assert!(text.contains(part), "no `{part}` in\n{text}");
        }
        assert!(!text.contains('\u{1b}'));
        assert!(diags.render(&map(), true).contains('\u{1b}'));
    }

    #[test]
    fn renders_without_a_place_and_outside_of_the_text() {
        let mut diags = Diagnostics::new();
        diags.error(Tag::ArgMissing, None, "first\u{1b}[2J\nline");
        diags.warn(Tag::ArgMissing, Span::new(FileId(0), 4000, 5000), "second");
        diags.warn(Tag::ArgMissing, Span::new(FileId(77), 0, 1), "third");
        let text = diags.render(&map(), false);
        assert!(text.contains("error[ARG_MISSING]: first\u{fffd}[2J\u{fffd}line"));
        assert!(text.contains("warning[ARG_MISSING]: second"));
        assert!(text.contains("warning[ARG_MISSING]: third"));
        assert_eq!((diags.len(), diags.error_count()), (3, 1));
        diags.drop_warnings();
        assert_eq!(diags.len(), 1);
    }

    #[test]
    fn says_the_same_thing_once() {
        let mut diags = Diagnostics::new();
        for _ in 0..3 {
            diags.error(Tag::ArgMissing, None, "again");
        }
        assert_eq!(diags.render(&map(), false).matches("again").count(), 1);
    }

    #[test]
    fn a_flood_is_cut() {
        let mut diags = Diagnostics::new();
        for i in 0..MAX_SHOWN + 5 {
            diags.error(Tag::ArgMissing, None, format!("number {i}."));
        }
        let text = diags.render(&map(), false);
        assert!(text.contains("number 29.") && !text.contains("number 30."));
        assert!(text.ends_with("5 more are not shown\n"));
    }

    #[test]
    fn tags_have_names_of_their_own() {
        let mut seen = std::collections::HashSet::new();
        for tag in Tag::all() {
            let name = tag.name();
            assert!(seen.insert(name), "{name} is there twice");
            assert!(name
                .bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_'));
            assert!(
                tag.cause().ends_with('.'),
                "{name}: the cause is a sentence"
            );
            assert_eq!(Tag::from_name(name), Some(*tag));
        }
    }

    #[test]
    fn nearest_is_near() {
        assert_eq!(
            nearest("pirntf", ["print", "printf", "sprintf"]),
            Some("printf")
        );
        assert_eq!(nearest("PID", ["tid", "pid"]), Some("pid"));
        assert_eq!(nearest("x", ["alpha", "beta"]), None);
        assert_eq!(nearest("same", ["same"]), None);
        assert_eq!(nearest("", ["a"]), None);
        assert_eq!(nearest("proces", ["procfs", "process"]), Some("process"));
    }
}
