// SPDX-License-Identifier: MIT
//! Embedded C: the words by which SystemTap's scripts reach their arguments,
//! results and globals. What is the same for all is in runtime/embedded.h.

use crate::text::{c_string, Text};
use crate::Unit;
use trapless_sema::ir::{
    Access, Embedded, Function, FunctionBody, GlobalId, GlobalKind, MapValue, Program, Ty,
};
use trapless_syntax::span::Span;

/// What a piece of embedded C may use, its locals included; strings apart.
pub const STACK: u32 = 4096;

pub fn is_used(program: &Program) -> bool {
    let embedded = |f: &Function| matches!(f.body, FunctionBody::Embedded(_));
    !program.c_blocks.is_empty() || program.functions.iter().any(embedded)
}

/// Where embedded C speaks of a variable first; only its block where that is not the script's very text.
pub fn place_of(program: &Program, variable: &str) -> Option<Span> {
    let of_function = |f: &'_ Function| match &f.body {
        FunctionBody::Embedded(c) => Some(c.clone()),
        _ => None,
    };
    let functions = program.functions.iter().filter_map(of_function);
    let all = program.c_blocks.iter().cloned().chain(functions);
    all.into_iter().find_map(|c| {
        let at = word(&c.code, variable)?;
        let (open, close) = ("%{".len(), "%}".len());
        let verbatim = (c.span.hi - c.span.lo) as usize == open + c.code.len() + close;
        let lo = c.span.lo + (open + at) as u32;
        Some(match verbatim {
            true => Span {
                lo,
                hi: lo + variable.len() as u32,
                ..c.span
            },
            false => c.span,
        })
    })
}

/// Where a name stands in C, not as a part of a longer one.
fn word(code: &str, name: &str) -> Option<usize> {
    let of_name = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let bytes = code.as_bytes();
    let alone = |at: &usize| {
        let before = at.checked_sub(1).and_then(|b| bytes.get(b));
        !of_name(before) && !of_name(bytes.get(at + name.len()))
    };
    code.match_indices(name).map(|(at, _)| at).find(alone)
}

impl Unit<'_> {
    /// The blocks between declarations.
    pub(crate) fn embedded_blocks(&self, out: &mut Text) {
        for block in &self.program.c_blocks {
            self.verbatim(out, &block.code, block.span);
        }
    }

    /// The text, so that the compiler names lines of the script.
    fn verbatim(&self, out: &mut Text, code: &str, span: Span) {
        let place = self.map.locate(span);
        let mut words = place.rsplitn(3, ':');
        let (_, line, file) = (words.next(), words.next(), words.next());
        if let (Some(line), Some(file)) = (line, file) {
            out.line(format!("#line {line} {}", c_string(file.as_bytes())));
        }
        out.line(code);
        out.line("#line 1 \"made from the script\"");
    }

    pub(crate) fn embedded_function(
        &self,
        out: &mut Text,
        f: &Function,
        prototype: &str,
        c: &Embedded,
    ) {
        let mut defined = self.frame(out, f, prototype, c);
        defined.extend(self.globals(out, c));
        self.verbatim(out, &c.code, c.span);
        out.line("\tgoto out;");
        out.line("out:");
        out.line(match f.ret {
            Some(Ty::Str) => "\tstap_text_end(run, stap_text, THIS->__retvalue);",
            _ => "\t;",
        });
        if f.ret == Some(Ty::Long) {
            out.line("\treturn THIS->__retvalue;");
        }
        out.line("}");
        for name in defined {
            out.line(format!("#undef {name}"));
        }
        out.blank();
    }

    /// The function's head and its words; gives the names that it defines.
    fn frame(&self, out: &mut Text, f: &Function, prototype: &str, c: &Embedded) -> Vec<String> {
        // The names of parameters may be words of C, unless THIS names them.
        let prefix = if c.code.contains("THIS") { "" } else { "l_" };
        let mut defined = Vec::new();
        let mut define = |out: &mut Text, name: String, value: String| {
            out.line(format!("#define {name} {value}"));
            defined.push(name.split('(').next().unwrap_or_default().to_string());
        };
        let mut fields = String::new();
        let mut values = Vec::new();
        for (n, p) in f.locals[..f.nparams].iter().enumerate() {
            let (ty, value) = match p.ty {
                Ty::Long => ("int64_t ", format!("p{n}")),
                Ty::Str => ("const char *", format!("p{n}->b")),
            };
            fields.push_str(&format!("{ty}{prefix}{}; ", p.name));
            values.push(value);
            let value = format!("(THIS->{prefix}{})", p.name);
            define(out, format!("STAP_ARG_{}", p.name), value);
        }
        let give = match f.ret {
            Some(Ty::Str) => "strlcpy(THIS->__retvalue, (v), MAXSTRINGLEN)",
            Some(Ty::Long) => "THIS->__retvalue = (v)",
            None => "",
        };
        let give = match f.ret {
            Some(_) => (
                "STAP_RETURN(v)",
                format!("do {{ {give}; goto out; }} while (0)"),
            ),
            None => ("STAP_RETURN()", "goto out".to_string()),
        };
        define(out, give.0.to_string(), give.1);
        define(
            out,
            "STAP_RETVALUE".to_string(),
            "(THIS->__retvalue)".to_string(),
        );
        let error = "do { stap_error(run, __VA_ARGS__); goto out; } while (0)";
        define(out, "STAP_ERROR(...)".to_string(), error.to_string());
        if f.says_next {
            let next = "do { *next = true; goto out; } while (0)";
            define(out, "STAP_NEXT".to_string(), next.to_string());
        }
        let (kind, value) = match f.ret {
            Some(Ty::Str) => ("char *", "stap_text->b"),
            _ => ("int64_t ", "0"),
        };
        values.push(value.to_string());
        out.line(prototype);
        out.line("{");
        out.line(format!("\tstruct {{ {fields}{kind}__retvalue; }}"));
        out.line(format!(
            "\t\tthis_room = {{ {} }}, *const THIS = &this_room;",
            values.join(", ")
        ));
        out.line("\t(void)THIS;");
        if c.globals.iter().any(|(g, _)| self.holds_texts(*g)) {
            out.line("\tTL_STRING(stap_room);");
            out.line("\t(void)stap_room;");
        }
        if f.ret == Some(Ty::Str) {
            out.line("\tTHIS->__retvalue[0] = 0;");
        }
        defined
    }

    /// STAP_GLOBAL_GET_x and STAP_GLOBAL_SET_x of what a piece says to use.
    fn globals(&self, out: &mut Text, c: &Embedded) -> Vec<String> {
        let mut defined = Vec::new();
        for (g, access) in &c.globals {
            let name = &self.program.globals[g.0 as usize].name;
            let (get, set) = (
                format!("STAP_GLOBAL_GET_{name}"),
                format!("STAP_GLOBAL_SET_{name}"),
            );
            // What may be written may be read: the lock is the same.
            out.line(format!("#define {get}{}", self.getter(*g)));
            defined.push(get);
            if *access == Access::Write {
                out.line(format!("#define {set}{}", self.setter(*g)));
                defined.push(set);
            }
        }
        defined
    }

    fn holds_texts(&self, g: GlobalId) -> bool {
        let kind = &self.program.globals[g.0 as usize].kind;
        matches!(
            kind,
            GlobalKind::Map {
                value: MapValue::Str,
                ..
            }
        )
    }

    /// `(k0, k1)`, and `{ ... }` that makes the keys of them.
    fn key_words(types: &[Ty]) -> (Vec<String>, String) {
        let names: Vec<String> = (0..types.len()).map(|n| format!("k{n}")).collect();
        let mut texts = String::new();
        let mut values = Vec::new();
        for (n, ty) in types.iter().enumerate() {
            match ty {
                Ty::Long => values.push(format!("TL_LONG(k{n})")),
                Ty::Str => {
                    texts.push_str(&format!(
                        "TL_STRING(key{n}); tl_str_set_c(run, key{n}, (k{n})); "
                    ));
                    values.push(format!("TL_STR(key{n})"));
                }
            }
        }
        (
            names,
            format!(
                "{texts}const struct tl_value keys[] = {{ {} }};",
                values.join(", ")
            ),
        )
    }

    fn getter(&self, g: GlobalId) -> String {
        let (n, offset) = (g.0, self.layout.slot(g).offset);
        let global = &self.program.globals[n as usize];
        match &global.kind {
            GlobalKind::Long { .. } if global.sharded => format!("() tl_shard_get(run, {offset})"),
            GlobalKind::Long { .. } => format!("() (*tl_global_long(run, {offset}))"),
            GlobalKind::Str { .. } => {
                format!("() ((const char *)((struct tl_str *)(run->view->globals + {offset}))->b)")
            }
            GlobalKind::Stats(_) => {
                "() _Static_assert(0, \"a statistic is read by the script\")".into()
            }
            GlobalKind::Map { keys, value, .. } => {
                let (names, keys) = Self::key_words(keys);
                let names = names.join(", ");
                match value {
                    MapValue::Long => {
                        format!("({names}) ({{ {keys} tl_map_get(run, &map{n}, keys); }})")
                    }
                    MapValue::Str => format!(
                        "({names}) ({{ {keys} tl_map_get_str(run, &map{n}, keys, stap_room); \
                         (const char *)stap_room->b; }})"
                    ),
                    MapValue::Stats(_) => format!(
                        "({names}) _Static_assert(0, \"a statistic is read by the script\")"
                    ),
                }
            }
        }
    }

    fn setter(&self, g: GlobalId) -> String {
        let (n, offset) = (g.0, self.layout.slot(g).offset);
        let global = &self.program.globals[n as usize];
        let text = "TL_STRING(value); tl_str_set_c(run, value, (v));";
        match &global.kind {
            GlobalKind::Long { .. } if global.sharded => {
                format!("(v) tl_shard_set(run, {offset}, (v))")
            }
            GlobalKind::Long { .. } => format!("(v) (*tl_global_long(run, {offset}) = (v))"),
            GlobalKind::Str { .. } => {
                format!("(v) ({{ {text} tl_global_str_set(run, {offset}, value); }})")
            }
            GlobalKind::Stats(_) => format!("(v) ({{ {} }})", self.sample(g)),
            GlobalKind::Map { keys, value, .. } => {
                let (mut names, keys) = Self::key_words(keys);
                names.push("v".to_string());
                let names = names.join(", ");
                let set = match value {
                    MapValue::Long => format!("tl_map_set(run, &map{n}, keys, (v));"),
                    MapValue::Str => format!("{text} tl_map_set_str(run, &map{n}, keys, value);"),
                    MapValue::Stats(_) => format!("tl_map_stat_add(run, &map{n}, keys, (v));"),
                };
                format!("({names}) ({{ {keys} {set} }})")
            }
        }
    }

    fn sample(&self, g: GlobalId) -> String {
        let (n, offset) = (g.0, self.layout.slot(g).offset);
        match self.program.globals[n as usize].sharded {
            true => format!("tl_shard_stat_add(run->view, run->block, {offset}, &hist{n}, (v));"),
            false => format!("tl_stat_add(tl_global_stat(run, {offset}), &hist{n}, (v));"),
        }
    }
}
