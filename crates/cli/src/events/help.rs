// SPDX-License-Identifier: MIT
//! `--trace-events help`: the events, their payloads, and where they are.

use super::table::{Event, Source, EVENTS};

pub fn is_asked(list: &str) -> bool {
    ["help", "list"].contains(&list)
}

pub fn text() -> String {
    let mut out = String::from(HEAD);
    for event in EVENTS {
        out += &format!("{:<15} {}\n", event.name, event.what);
        out += &sources(event);
    }
    out + TAIL
}

const HEAD: &str = "\
Events of --trace-events LIST, a list with commas; * and ? in a name stand for others.
Behind each: where it is, and its fields with their types.

";

const TAIL: &str = "
PROVIDER:NAME   in a process the program's own hooks and static marks, in a kernel its tracepoints: net:*, sched:sched_stat_*
                fields are those that it has

-c CMD and -x PID trace a process and its children, -r RELEASE a kernel, for root.
--trace-events LIST -p1 shows the script that does it.
";

/// One line where both are alike.
fn sources(event: &Event) -> String {
    let process = event.process.as_ref().map(fields);
    let kernel = event.kernel.as_ref().map(fields);
    match (process, kernel) {
        (Some(p), Some(k)) if p == k => line("process, kernel", &p),
        (p, k) => {
            let of = |home: &str, f: Option<String>| f.map_or(String::new(), |f| line(home, &f));
            of("process", p) + &of("kernel", k)
        }
    }
}

fn line(home: &str, fields: &str) -> String {
    format!("    {home:<16} {fields}").trim_end().to_string() + "\n"
}

fn fields(source: &Source) -> String {
    let of = |f: &super::table::Field| format!("{}:{}", f.name, f.kind.name());
    let fields: Vec<String> = source.fields.iter().map(of).collect();
    fields.join(" ")
}
