// SPDX-License-Identifier: MIT
//! The script that `--trace-events` stands for: an ordinary one, to be read and changed.

use super::caller::Within;
use super::choice::{Chosen, Home};
use super::table::{Field, Kind, Source, Whose};
use trapless_debuginfo::glob;

/// What the lines of all events begin with.
struct Line {
    format: &'static str,
    values: &'static str,
    told: &'static str,
}

const fn line(home: Home) -> Line {
    match home {
        Home::Process => Line {
            format: "%6d.%06d %7d %s(%d)",
            values: "us / 1000000, us % 1000000, tid(), execname(), pid()",
            told: "seconds since the session began, thread, program(process), event, its fields",
        },
        Home::Kernel => Line {
            format: "%6d.%06d [%03d] %s(%d)",
            values: "us / 1000000, us % 1000000, cpu(), execname(), pid()",
            told:
                "seconds since the session began, [processor], program(process), event, its fields",
        },
    }
}

pub fn text(list: &str, chosen: &[Chosen], home: Home, caller: Option<&Within>) -> String {
    let mut out = format!("# --trace-events {list}\n# {}\n", line(home).told);
    out += "private global began_us\nprobe begin { began_us = gettimeofday_us() }\n";
    if let Some(caller) = caller {
        out += &caller.function();
    }
    if chosen.iter().any(is_pattern) {
        out += match home {
            Home::Process => HOOK_OF,
            Home::Kernel => TRACEPOINT_OF,
        };
    }
    for event in chosen {
        match event {
            Chosen::Standard(e) => {
                let asked = caller.is_some() && e.name == "sys_enter";
                let source = e.source(home).into_iter();
                source.for_each(|s| out += &standard(e.name, s, home, asked));
            }
            Chosen::Named { provider, name } => out += &named(provider, name, home),
        }
    }
    out
}

fn standard(name: &str, source: &Source, home: Home, caller: bool) -> String {
    let mut fields: Vec<(&str, Kind, &str)> = source.fields.iter().map(field).collect();
    if caller {
        fields.push(("caller", Kind::Name, "made_by()"));
    }
    let format = |(name, kind, _): &(&str, Kind, &str)| format!(" {name}={}", kind.conversion());
    let formats: String = fields.iter().map(format).collect();
    let values: String = fields.iter().map(|(.., v)| format!(", {v}")).collect();
    let left_out = left_out(source, home);
    probe(
        &source.points.join(", "),
        &left_out,
        home,
        &format!("{name}{formats}"),
        &values,
    )
}

fn field(f: &Field) -> (&str, Kind, &str) {
    (f.name, f.kind, f.value)
}

/// Conditions under which a hit is no event.
fn left_out(source: &Source, home: Home) -> Vec<String> {
    let mut all = Vec::new();
    if !source.only.is_empty() {
        all.push(format!("!({})", source.only));
    }
    if home == Home::Kernel {
        all.extend(others(&source.whose));
    }
    all
}

/// Of a kernel: what the session itself does, and where a program is named (-c, -x) what is neither it nor its child.
fn others(whose: &Whose) -> Vec<String> {
    let none = |of: &[&str]| {
        let each: Vec<String> = of.iter().map(|p| format!("!target_set_pid({p})")).collect();
        format!("target() && {}", each.join(" && "))
    };
    match whose {
        Whose::Machine => Vec::new(),
        Whose::Runner => vec!["pid() == stp_pid()".to_string(), none(&["pid()"])],
        Whose::Of(processes) => vec![none(processes)],
    }
}

/// What has a provider, with whatever parameters it has.
fn named(provider: &str, name: &str, home: Home) -> String {
    let exact = format!("{provider}:{name}");
    let is_exact = !glob::is_glob(&exact);
    let (points, left_out, found) = match home {
        Home::Process => (hooks(provider, name), Vec::new(), "hook_of(pn())"),
        Home::Kernel => {
            let points = vec![format!("kernel.trace(\"{exact}\")")];
            (points, others(&Whose::Runner), "tracepoint_of(pn())")
        }
    };
    let (format, values) = match is_exact {
        true => (format!("{exact} %s"), ", $$parms".to_string()),
        false => ("%s %s".to_string(), format!(", {found}, $$parms")),
    };
    let each = points.iter();
    each.map(|p| probe(p, &left_out, home, &format, &values))
        .collect()
}

/// In the program, and in its libraries; static marks where there is no such hook, since each hook is a mark, too.
fn hooks(provider: &str, name: &str) -> Vec<String> {
    let of = |file: &str| {
        format!("{file}.hook(\"{provider}:{name}\")!, {file}.provider(\"{provider}\").mark(\"{name}\")?")
    };
    vec![of("process"), of("process.library(\"*\")")]
}

/// How a pattern's handler tells what it has met.
const TRACEPOINT_OF: &str = r#"
private function tracepoint_of:string (point:string) {
	return substr(point, strlen("kernel.trace(\""), strlen(point) - strlen("kernel.trace(\"\")"))
}
"#;

const HOOK_OF: &str = r#"
private function hook_of:string (point:string) {
	if (strpos(point, ".hook(\"") > 0)
		return quoted_behind(point, ".hook(\"")
	return quoted_behind(point, "provider(\"") . ":" . quoted_behind(point, "mark(\"")
}
private function quoted_behind:string (point:string, word:string) {
	point = substr(point, strpos(point, word) + strlen(word), strlen(point))
	return substr(point, 0, strpos(point, "\""))
}
"#;

fn is_pattern(event: &Chosen) -> bool {
    matches!(event, Chosen::Named { provider, name } if glob::is_glob(provider) || glob::is_glob(name))
}

fn probe(points: &str, left_out: &[String], home: Home, format: &str, values: &str) -> String {
    let Line {
        format: head,
        values: first,
        ..
    } = line(home);
    let next: String = left_out
        .iter()
        .map(|c| format!("\tif ({c})\n\t\tnext\n"))
        .collect();
    format!(
        "\nprobe {points} {{\n{next}\tus = gettimeofday_us() - began_us\n\
         \tprintf(\"{head} {format}\\n\",\n\t\t{first}{values})\n}}\n"
    )
}
