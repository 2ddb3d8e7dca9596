// SPDX-License-Identifier: MIT
//! Tokens to tokens: conditionals, macros, and complaints about bad pieces.

use crate::diag::{nearest, Diagnostics, Tag};
use crate::lexer::{is_keyword, lex, Token, TokenKind, Words};
use crate::span::{FileId, SourceMap, Span};
use std::collections::HashMap;
use std::rc::Rc;

/// What conditionals and script arguments are answered with.
#[derive(Clone, Debug)]
pub struct Environment {
    /// `uname -r` of the target, e.g. `6.1.0-18-amd64`.
    pub kernel_release: String,
    /// The target's processor, e.g. `x86_64`.
    pub arch: String,
    /// The level of the language that `systemtap_v` reports.
    pub language_version: String,
    /// `stapdev`, `stapsys` or `stapusr`.
    pub privilege: String,
    pub guru: bool,
    pub runtime: String,
    /// Kernel configuration, `CONFIG_X` to `y`, `m`, or a value.
    pub config: HashMap<String, String>,
    /// `$1`, `$2` ...
    pub args: Words,
}

impl Default for Environment {
    fn default() -> Environment {
        Environment {
            kernel_release: String::new(),
            arch: std::env::consts::ARCH.to_string(),
            language_version: "5.6".to_string(),
            privilege: "stapdev".to_string(),
            guru: false,
            runtime: "trapless".to_string(),
            config: HashMap::new(),
            args: Words::default(),
        }
    }
}

/// One `@define`.
#[derive(Debug)]
struct Macro {
    span: Span,
    params: Vec<String>,
    body: Vec<Token>,
}

/// Macros that files share: those of the prelude and of `.stpm` files.
#[derive(Clone, Debug, Default)]
pub struct MacroLibrary {
    macros: HashMap<String, Rc<Macro>>,
}

impl MacroLibrary {
    pub fn new() -> MacroLibrary {
        MacroLibrary::default()
    }

    /// The library with the macros that belong to the language.
    pub fn with_prelude(map: &mut SourceMap) -> MacroLibrary {
        let mut library = MacroLibrary::new();
        let file = map.add("<prelude>", include_str!("prelude.stpm"));
        library.load(map, file, &Environment::default(), &mut Diagnostics::new());
        library
    }

    /// Add the macros of a `.stpm` file; other content is an error.
    pub fn load(
        &mut self,
        map: &mut SourceMap,
        file: FileId,
        env: &Environment,
        diags: &mut Diagnostics,
    ) {
        let tokens = lex(map, file, &Words::default());
        let mut pp = Preprocessor::new(map, env, self, diags);
        let mut rest = Vec::new();
        pp.expand(&tokens, None, &mut Vec::new(), 0, &mut rest);
        let found = std::mem::take(&mut pp.local);
        if let Some(token) = rest.iter().find(|t| t.kind != TokenKind::Eof) {
            diags
                .error(
                    Tag::MacroDefine,
                    token.span,
                    "only @define may stand in a macro file",
                )
                .help("move this into a .stp file");
        }
        self.macros.extend(found);
    }
}

/// Lex and preprocess one file. The result ends with `Eof` and holds neither
/// `Bad` tokens nor preprocessor operators.
pub fn preprocess(
    map: &mut SourceMap,
    file: FileId,
    env: &Environment,
    library: &MacroLibrary,
    diags: &mut Diagnostics,
) -> Vec<Token> {
    let tokens = lex(map, file, &env.args);
    let mut out = Vec::with_capacity(tokens.len());
    let mut pp = Preprocessor::new(map, env, library, diags);
    pp.expand(&tokens, None, &mut Vec::new(), 0, &mut out);
    if out.last().is_none_or(|t| t.kind != TokenKind::Eof) {
        out.extend(tokens.last().cloned());
    }
    out
}

/// Conditionals and macros nest at most this deep.
const MAX_DEPTH: usize = 100;
/// No file grows beyond this many tokens.
const MAX_TOKENS: usize = 500_000;

type Scope = HashMap<String, Vec<Token>>;

struct Preprocessor<'a> {
    map: &'a mut SourceMap,
    env: &'a Environment,
    library: &'a MacroLibrary,
    diags: &'a mut Diagnostics,
    local: HashMap<String, Rc<Macro>>,
    left: usize,
}

impl<'a> Preprocessor<'a> {
    fn new(
        map: &'a mut SourceMap,
        env: &'a Environment,
        library: &'a MacroLibrary,
        diags: &'a mut Diagnostics,
    ) -> Preprocessor<'a> {
        Preprocessor {
            map,
            env,
            library,
            diags,
            local: HashMap::new(),
            left: MAX_TOKENS,
        }
    }

    /// Append what `input` stands for. `scope` holds the arguments of the
    /// macro whose body this is, `active` the macros being expanded.
    fn expand(
        &mut self,
        input: &[Token],
        scope: Option<&Scope>,
        active: &mut Vec<String>,
        depth: usize,
        out: &mut Vec<Token>,
    ) {
        if depth > MAX_DEPTH {
            if let Some(token) = input.first() {
                self.diags
                    .error(
                        Tag::ParseDepth,
                        token.span,
                        "conditionals or macros nest too deep",
                    )
                    .help(format!("use at most {MAX_DEPTH} levels"));
            }
            return;
        }
        let mut at = 0;
        while let Some(token) = input.get(at) {
            if self.left == 0 {
                return;
            }
            at += match &token.kind {
                TokenKind::At(name) => {
                    if let Some(tokens) = scope.and_then(|s| s.get(&name[1..])) {
                        tokens.iter().for_each(|t| self.push(t.clone(), out));
                        1
                    } else if name == "@define" {
                        self.define(&input[at..], active.last())
                    } else if let Some(found) = self.find(&name[1..]) {
                        self.call(found, &input[at..], scope, active, depth, out)
                    } else {
                        self.push(token.clone(), out);
                        1
                    }
                }
                TokenKind::Op("%(") => self.conditional(&input[at..], scope, active, depth, out),
                TokenKind::Op(op @ ("%?" | "%:" | "%)")) => {
                    self.diags
                        .error(Tag::PpStray, token.span, format!("`{op}` without `%(`"))
                        .help("remove it, or open the conditional with %(");
                    1
                }
                TokenKind::Bad(bad) => {
                    let said = self.diags.error(bad.tag, token.span, bad.message.clone());
                    said.help(bad.help.clone());
                    if let Some(kind) = &bad.instead {
                        self.push(
                            Token {
                                kind: kind.clone(),
                                ..token.clone()
                            },
                            out,
                        );
                    }
                    1
                }
                _ => {
                    self.push(token.clone(), out);
                    1
                }
            };
        }
    }

    fn push(&mut self, token: Token, out: &mut Vec<Token>) {
        if self.spend(1, token.span) {
            out.push(token);
        }
    }

    /// Take `count` tokens from the budget; complains once, when it is used up.
    fn spend(&mut self, count: usize, span: Span) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left = self.left.saturating_sub(count);
        if self.left == 0 {
            self.diags
                .error(Tag::ParseSize, span, "macros make this script too large")
                .help(format!("a file may grow to {MAX_TOKENS} tokens"));
        }
        self.left > 0
    }

    fn find(&self, name: &str) -> Option<Rc<Macro>> {
        self.local
            .get(name)
            .or_else(|| self.library.macros.get(name))
            .cloned()
    }

    /// `@define NAME(A, B) %( BODY %)`; the number of tokens it takes.
    /// `inside`: the macro in whose body it stands.
    fn define(&mut self, input: &[Token], inside: Option<&String>) -> usize {
        if let Some(outer) = inside {
            let message = format!("a macro cannot be defined in the body of `@{outer}`");
            return self.define_error(input, 0, &message);
        }
        let Some((name, span)) = input.get(1).and_then(plain_word) else {
            return self.define_error(input, 1, "a macro's name is missing");
        };
        if name == "define" {
            return self.define_error(input, 1, "`@define` itself cannot be defined");
        }
        let mut at = 2;
        let mut params = Vec::new();
        if input.get(at).is_some_and(|t| t.is_op("(")) {
            loop {
                at += 1;
                let Some((param, _)) = input.get(at).and_then(plain_word) else {
                    return self.define_error(input, at, "a parameter's name is missing");
                };
                params.push(param);
                at += 1;
                match input.get(at) {
                    Some(t) if t.is_op(",") => continue,
                    Some(t) if t.is_op(")") => break,
                    _ => return self.define_error(input, at, "`,` or `)` is missing"),
                }
            }
            at += 1;
        }
        if !input.get(at).is_some_and(|t| t.is_op("%(")) {
            return self.define_error(input, at, "`%(` is missing");
        }
        let Some(end) = matching(&input[at..]) else {
            self.diags
                .error(
                    Tag::PpUnclosed,
                    input[at].span,
                    format!("macro `@{name}` has no end"),
                )
                .help("write %) where the macro ends");
            return input.len().saturating_sub(1).max(1);
        };
        let body = input[at + 1..at + end].to_vec();
        if let Some(old) = self.local.get(&name) {
            self.diags
                .error(
                    Tag::MacroDefine,
                    span,
                    format!("macro `@{name}` is defined twice"),
                )
                .label(old.span, "first defined here")
                .help("give one of them another name");
        } else {
            self.local
                .insert(name, Rc::new(Macro { span, params, body }));
        }
        at + end + 1
    }

    /// Complain, and skip the definition as far as it can be told.
    fn define_error(&mut self, input: &[Token], at: usize, message: &str) -> usize {
        let span = input
            .get(at)
            .or(input.last())
            .map_or(input[0].span, |t| t.span);
        self.diags
            .error(Tag::MacroDefine, span, message)
            .help("write @define name(a, b) %( ... @a ... @b ... %)");
        let body = input.iter().skip(at).take(8).position(|t| t.is_op("%("));
        match body.and_then(|b| matching(&input[at + b..]).map(|end| at + b + end + 1)) {
            Some(behind) => behind,
            None => {
                let rest = input.iter().skip(at.max(1));
                at.max(1) + rest.take_while(|t| !t.starts_line).count().max(1)
            }
        }
    }

    /// `@name(ARGS)`; the number of tokens the call takes.
    fn call(
        &mut self,
        found: Rc<Macro>,
        input: &[Token],
        scope: Option<&Scope>,
        active: &mut Vec<String>,
        depth: usize,
        out: &mut Vec<Token>,
    ) -> usize {
        let TokenKind::At(at_name) = &input[0].kind else {
            return 1;
        };
        let name = &at_name[1..];
        let span = input[0].span;
        if active.iter().any(|a| a == name) {
            self.diags
                .error(
                    Tag::MacroRecursion,
                    span,
                    format!("macro `@{name}` uses itself"),
                )
                .label(found.span, "defined here");
            return 1;
        }
        let mut taken = 1;
        let mut values = Scope::new();
        if !found.params.is_empty() {
            let Some(args) = split_args(&input[1..]) else {
                let behind = input.get(1).unwrap_or(&input[0]).span;
                let count = found.params.len();
                let plural = if count == 1 { "" } else { "s" };
                let message = format!("macro `@{name}` takes {count} argument{plural} in ( )");
                self.diags
                    .error(Tag::MacroArgs, behind, message)
                    .label(found.span, "defined here")
                    .help(format!("write @{name}({})", found.params.join(", ")));
                return 1;
            };
            taken = 1 + args.length;
            if args.list.len() != found.params.len() {
                let message = format!(
                    "macro `@{name}` takes {} arguments, but {} are given",
                    found.params.len(),
                    args.list.len()
                );
                self.diags
                    .error(Tag::MacroArgs, span, message)
                    .label(found.span, "defined here")
                    .help(format!("write @{name}({})", found.params.join(", ")));
                return taken;
            }
            for (param, tokens) in found.params.iter().zip(args.list) {
                let mut value = Vec::new();
                self.expand(tokens, scope, active, depth + 1, &mut value);
                values.insert(param.clone(), value);
            }
        }
        // Also an empty body costs something.
        if !self.spend(1 + found.body.len(), span) {
            return taken;
        }
        let expansion = self.map.add_expansion(name, span);
        let body: Vec<Token> = found
            .body
            .iter()
            .cloned()
            .map(|mut t| {
                t.span.expansion = expansion;
                t
            })
            .collect();
        active.push(name.to_string());
        self.expand(&body, Some(&values), active, depth + 1, out);
        active.pop();
        taken
    }

    /// `%( COND %? A %: B %)`; the number of tokens it takes.
    fn conditional(
        &mut self,
        input: &[Token],
        scope: Option<&Scope>,
        active: &mut Vec<String>,
        depth: usize,
        out: &mut Vec<Token>,
    ) -> usize {
        let Some(end) = matching(input) else {
            self.diags
                .error(
                    Tag::PpUnclosed,
                    input[0].span,
                    "this conditional has no end",
                )
                .help("write %) where it ends");
            // Nothing inside can be trusted; only the end of file is kept.
            return input.len().saturating_sub(1).max(1);
        };
        let inner = &input[1..end];
        let Some(question) = find_own(inner, "%?") else {
            self.diags
                .error(
                    Tag::PpCondition,
                    input[0].span,
                    "this conditional has no `%?`",
                )
                .help("write %( CONDITION %? THEN %: ELSE %)");
            return end + 1;
        };
        let branches = &inner[question + 1..];
        let colon = find_own(branches, "%:");
        let last = &branches[colon.map_or(branches.len(), |at| at + 1)..];
        let second = find_own(branches, "%?").map(|at| &branches[at]);
        if let Some(second) = second.or_else(|| find_own(last, "%:").map(|at| &last[at])) {
            self.diags
                .error(
                    Tag::PpCondition,
                    second.span,
                    "a conditional has one `%?` and at most one `%:`",
                )
                .label(input[0].span, "it begins here")
                .help("end it with %), or open another with %( CONDITION %?");
            return end + 1;
        }
        let mut condition = Vec::new();
        self.expand(&inner[..question], scope, active, depth + 1, &mut condition);
        let place = inner[question].span;
        let Some(holds) = self.evaluate(&condition, place) else {
            return end + 1;
        };
        let chosen = match (holds, colon) {
            (true, Some(colon)) => &branches[..colon],
            (true, None) => branches,
            (false, Some(colon)) => &branches[colon + 1..],
            (false, None) => &[],
        };
        self.expand(chosen, scope, active, depth + 1, out);
        end + 1
    }

    /// `A && B || C`; `None` after a complaint.
    fn evaluate(&mut self, tokens: &[Token], end: Span) -> Option<bool> {
        let mut result = false;
        for part in tokens.split(|t| t.is_op("||")) {
            let mut all = true;
            for comparison in part.split(|t| t.is_op("&&")) {
                all &= self.compare(comparison, end)?;
            }
            result |= all;
        }
        Some(result)
    }

    fn compare(&mut self, tokens: &[Token], end: Span) -> Option<bool> {
        let place = tokens.first().map_or(end, |t| t.span);
        let [left, op, right] = tokens else {
            self.diags
                .error(
                    Tag::PpCondition,
                    place,
                    "a condition is LEFT OPERATOR RIGHT",
                )
                .help("compare with == != < <= > or >=; join with && and ||");
            return None;
        };
        let TokenKind::Op(op_text @ ("==" | "!=" | "<" | "<=" | ">" | ">=")) = op.kind else {
            self.diags
                .error(Tag::PpCondition, op.span, "a comparison is expected here")
                .help("use == != < <= > or >=");
            return None;
        };
        let left_value = self.operand(left)?;
        let right_value = self.operand(right)?;
        match comparison(&left_value, op_text, &right_value) {
            Ok(result) => Some(result),
            Err(message) => {
                self.diags.error(Tag::PpCondition, right.span, message);
                None
            }
        }
    }

    fn operand(&mut self, token: &Token) -> Option<Operand> {
        let env = self.env;
        let version = |s: &str| Operand::Version(s.to_string());
        let value = match &token.kind {
            TokenKind::Number(n) => Operand::Number(*n),
            TokenKind::Str(s) => Operand::Text(String::from_utf8_lossy(s).into_owned()),
            TokenKind::Word(word) => match word.as_str() {
                "kernel_v" => version(env.kernel_release.split('-').next().unwrap_or("")),
                "kernel_vr" => version(&env.kernel_release),
                "systemtap_v" => version(&env.language_version),
                "arch" => Operand::Named(env.arch.clone()),
                "runtime" => Operand::Named(env.runtime.clone()),
                "systemtap_privilege" => Operand::Named(env.privilege.clone()),
                "guru_mode" => Operand::Number(i64::from(env.guru)),
                name if name.starts_with("CONFIG_") => {
                    Operand::Config(env.config.get(name).cloned().unwrap_or_default())
                }
                name => {
                    let near = nearest(name, NAMES.to_vec());
                    let message = format!("`{name}` cannot be tested in a conditional");
                    let list = format!("test one of: {}, CONFIG_...", NAMES.join(", "));
                    self.diags
                        .error(Tag::PpCondition, token.span, message)
                        .help(list)
                        .help(near);
                    return None;
                }
            },
            _ => {
                self.diags
                    .error(
                        Tag::PpCondition,
                        token.span,
                        "a name, number or string is expected",
                    )
                    .help(format!("test one of: {}, CONFIG_...", NAMES.join(", ")));
                return None;
            }
        };
        Some(value)
    }
}

const NAMES: &[&str] = &[
    "arch",
    "guru_mode",
    "kernel_v",
    "kernel_vr",
    "runtime",
    "systemtap_privilege",
    "systemtap_v",
];

enum Operand {
    Number(i64),
    Text(String),
    Version(String),
    /// A word that may be compared with a pattern.
    Named(String),
    Config(String),
}

fn comparison(left: &Operand, op: &str, right: &Operand) -> Result<bool, String> {
    use Operand::*;
    let equality = matches!(op, "==" | "!=");
    match (left, right) {
        (Number(a), Number(b)) => Ok(holds(op, a.cmp(b))),
        (Text(a), Text(b)) => Ok(holds(op, a.cmp(b))),
        (Version(a), Text(b)) if equality && b.contains(['*', '?', '[']) => {
            Ok(matches_pattern(b, a) == (op == "=="))
        }
        (Version(a), Text(b)) => Ok(holds(op, compare_versions(a, b))),
        (Named(a), Text(b)) if equality => Ok(matches_pattern(b, a) == (op == "==")),
        (Named(_), Text(_)) => Err("this can only be compared with == or !=".to_string()),
        (Config(a), Text(b)) if equality => Ok(matches_pattern(b, a) == (op == "==")),
        (Config(a), Config(b)) => Ok(holds(op, a.cmp(b))),
        (Config(a), Number(b)) => Ok(holds(op, a.trim().parse::<i64>().unwrap_or(0).cmp(b))),
        (Config(_), Text(_)) => Err("a string can only be compared with == or !=".to_string()),
        (Number(_), _) => Err("a number can only be compared with a number".to_string()),
        _ => Err("a string is expected here".to_string()),
    }
}

fn holds(op: &str, order: std::cmp::Ordering) -> bool {
    match op {
        "==" => order.is_eq(),
        "!=" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_ge(),
    }
}

/// Runs of digits count as numbers: `2.6.9` is before `2.6.18`.
pub fn compare_versions(a: &str, b: &str) -> std::cmp::Ordering {
    let (a, b) = (runs(a), runs(b));
    for (x, y) in a.iter().zip(&b) {
        let order = match (x.parse::<u64>(), y.parse::<u64>()) {
            (Ok(x), Ok(y)) => x.cmp(&y),
            _ => x.cmp(y),
        };
        if order.is_ne() {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

fn runs(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut start = 0;
    let bytes = text.as_bytes();
    for i in 1..bytes.len() {
        if bytes[i].is_ascii_digit() != bytes[i - 1].is_ascii_digit() && text.is_char_boundary(i) {
            out.push(&text[start..i]);
            start = i;
        }
    }
    if start < text.len() {
        out.push(&text[start..]);
    }
    out
}

/// Shell pattern with `*` and `?`.
fn matches_pattern(pattern: &str, text: &str) -> bool {
    let (p, t) = (pattern.as_bytes(), text.as_bytes());
    let (mut i, mut j, mut star) = (0, 0, None);
    while j < t.len() {
        if i < p.len() && p[i] == b'*' {
            star = Some((i, j));
            i += 1;
        } else if i < p.len() && (p[i] == b'?' || p[i] == t[j]) {
            i += 1;
            j += 1;
        } else if let Some((si, sj)) = star {
            star = Some((si, sj + 1));
            i = si + 1;
            j = sj + 1;
        } else {
            return false;
        }
    }
    p[i..].iter().all(|b| *b == b'*')
}

fn plain_word(token: &Token) -> Option<(String, Span)> {
    match &token.kind {
        TokenKind::Word(w) if !is_keyword(w) => Some((w.clone(), token.span)),
        _ => None,
    }
}

/// Where the `%)` of the `%(` at the start is.
fn matching(tokens: &[Token]) -> Option<usize> {
    let mut depth = 0usize;
    for (i, token) in tokens.iter().enumerate() {
        if token.is_op("%(") {
            depth += 1;
        } else if token.is_op("%)") {
            depth -= 1;
            if depth == 0 {
                return Some(i);
            }
        }
    }
    None
}

/// The first `op` that is not inside a nested conditional.
fn find_own(tokens: &[Token], op: &str) -> Option<usize> {
    let mut depth = 0i64;
    tokens.iter().position(|t| {
        if t.is_op("%(") {
            depth += 1;
        } else if t.is_op("%)") {
            depth -= 1;
        }
        depth == 0 && t.is_op(op)
    })
}

struct Args<'t> {
    list: Vec<&'t [Token]>,
    /// Tokens from `(` to `)`.
    length: usize,
}

/// `(A, B)`, split at the commas that are not inside brackets.
fn split_args(tokens: &[Token]) -> Option<Args<'_>> {
    if !tokens.first()?.is_op("(") {
        return None;
    }
    let mut list = Vec::new();
    let mut depth = 0i64;
    let mut start = 1;
    for (i, token) in tokens.iter().enumerate() {
        let TokenKind::Op(op) = token.kind else {
            continue;
        };
        match op {
            "(" | "[" => depth += 1,
            ")" | "]" => {
                depth -= 1;
                if depth == 0 {
                    list.push(&tokens[start..i]);
                    return Some(Args {
                        list,
                        length: i + 1,
                    });
                }
            }
            "," if depth == 1 => {
                list.push(&tokens[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    None
}
