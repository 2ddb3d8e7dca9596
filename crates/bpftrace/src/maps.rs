// SPDX-License-Identifier: MIT
//! Maps as globals, and how they are printed.

use crate::handler::Notes;
use crate::types::{Gather, Held, Map, Ty, Types};

pub fn global(name: &str) -> String {
    match name {
        "" => "map".to_string(),
        _ => format!("map_{name}"),
    }
}

fn printer_name(name: &str) -> String {
    format!("print_{}", global(name))
}

/// A call that prints the map: `top` elements, or all where it is 0; values divided by `div`.
pub fn print_call(name: &str, top: &str, div: &str) -> String {
    format!("{}({top}, {div})", printer_name(name))
}

/// Prints the map as bpftrace does: the largest value last.
/// `chosen`: how many elements is said by the caller.
pub fn printer(name: &str, map: &Map, chosen: bool) -> String {
    let parameters = if chosen { "top:long, div:long" } else { "" };
    let body = match map.keys.is_empty() {
        true => single(name, map, chosen),
        false => elements(name, map, chosen),
    };
    format!(
        "function {} ({parameters}) {{\n{body}}}\n",
        printer_name(name)
    )
}

fn single(name: &str, map: &Map, chosen: bool) -> String {
    let global = global(name);
    let shown = shown(&format!("@{name}"), &global, map, "", chosen);
    match map.held {
        Held::One(_) => format!("\t{shown}\n"),
        Held::Many(_) => format!("\tif (@count({global})) {{ {shown} }}\n"),
    }
}

fn elements(name: &str, map: &Map, chosen: bool) -> String {
    let global = global(name);
    let keys: Vec<String> = (1..=map.keys.len()).map(|n| format!("key{n}")).collect();
    let list = keys.join(", ");
    let walked = match keys.len() {
        1 => list.clone(),
        _ => format!("[{list}]"),
    };
    let order = match map.held {
        Held::One(_) => "+".to_string(),
        Held::Many(gather) => format!(" {} +", gather.order()),
    };
    let formats: Vec<&str> = map.keys.iter().map(|k| key_format(*k)).collect();
    let label = format!("@{name}[{}]", formats.join(", "));
    let element = format!("{global}[{list}]");
    let shown = shown(&label, &element, map, &format!(", {list}"), chosen);
    let (count, skip) = match chosen {
        true => (
            format!("\tleft = 0\n\tforeach ({walked} in {global}) left++\n"),
            "\t\tif (top && left-- > top) continue\n",
        ),
        false => (String::new(), ""),
    };
    format!("{count}\tforeach ({walked} in {global}{order}) {{\n{skip}\t\t{shown}\n\t}}\n")
}

fn key_format(key: Ty) -> &'static str {
    match key {
        Ty::Text => "%s",
        Ty::Stack => "\\n%s",
        _ => "%d",
    }
}

/// The statement that prints one element.
fn shown(label: &str, element: &str, map: &Map, keys: &str, chosen: bool) -> String {
    let part = |function: &str| match chosen {
        true => format!("{function}({element}) / div"),
        false => format!("{function}({element})"),
    };
    let line =
        |format: &str, values: &str| format!("printf(\"{label}: {format}\\n\"{keys}, {values})");
    match map.held {
        Held::One(Ty::Text) => line("%s", element),
        Held::One(Ty::Stack) => line("\\n%s", element),
        Held::One(_) if chosen => line("%d", &format!("{element} / div")),
        Held::One(_) => line("%d", element),
        Held::Many(Gather::Stats) => line(
            "count %d, average %d, total %d",
            &format!("@count({element}), @avg({element}), @sum({element})"),
        ),
        Held::Many(Gather::Hist) => drawn(label, keys, &format!("@hist_log({element})")),
        Held::Many(Gather::Lhist(low, high, step)) => drawn(
            label,
            keys,
            &format!("@hist_linear({element}, {low}, {high}, {step})"),
        ),
        Held::Many(gather) => line("%d", &part(gather.order())),
    }
}

fn drawn(label: &str, keys: &str, histogram: &str) -> String {
    format!("printf(\"{label}:\\n\"{keys}); print({histogram})")
}

/// All maps by their names, behind what the program's own END prints.
pub fn at_the_end(types: &Types, notes: &Notes) -> String {
    if types.maps.is_empty() {
        return String::new();
    }
    let call = |name: &String| match notes.printed.contains(name) {
        true => format!("\t{}\n", print_call(name, "0", "1")),
        false => format!("\t{}()\n", printer_name(name)),
    };
    let calls: String = types.maps.keys().map(call).collect();
    format!("\nprobe end(1000), error(1000) {{\n{calls}}}\n")
}
