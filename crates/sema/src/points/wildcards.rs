// SPDX-License-Identifier: MIT
//! Wildcards in the words of points: `timer.*(5)`, `process("p").function("f").*`; `**` goes on as deep as words go.
//! Each stands for all words that may be there with such an argument; those of them that are there count. A kernel has no
//! points without a name: of one, or of a module, that is written out the words stand for all names.

use crate::ir::Refusal;
use crate::points::components;
use crate::points::Place;
use trapless_debuginfo::glob;
use trapless_syntax::ast::{Component, Literal, ProbePoint, StrLit};
use trapless_syntax::diag::Diagnostics;
use trapless_syntax::Span;

pub fn is_wild(word: &str) -> bool {
    word.contains('*')
}

/// The points that one with wildcards stands for; none: it has no wildcards, or no word fits.
pub fn points(point: &ProbePoint) -> Vec<ProbePoint> {
    let mut found = Vec::new();
    if point.components.iter().any(|c| is_wild(&c.name.name)) {
        go_on(&[], 0, &point.components, &mut found);
    }
    let with = |components| ProbePoint {
        components,
        ..point.clone()
    };
    found.into_iter().map(with).collect()
}

/// `written`: so many of those before have no wildcard.
fn go_on(
    before: &[Component],
    written: usize,
    rest: &[Component],
    found: &mut Vec<Vec<Component>>,
) {
    let Some((next, tail)) = rest.split_first() else {
        found.push(before.to_vec());
        return;
    };
    let pattern = next.name.name.as_str();
    let with = |word: &str| {
        let mut components = before.to_vec();
        components.push(next.clone());
        components[before.len()].name.name = word.to_string();
        components
    };
    if !is_wild(pattern) {
        return go_on(&with(pattern), written + 1, tail, found);
    }
    let so_far: Vec<&str> = before.iter().map(|c| c.name.name.as_str()).collect();
    let of_kernel = next.arg.is_none() && written == before.len();
    let words = components::words_after(&so_far).into_iter();
    for word in words.filter(|w| glob::matches(pattern, w)) {
        let mut there = with(word);
        if !components::takes(word, &next.arg) {
            if !(of_kernel && components::takes_all_names(&so_far, word)) {
                continue;
            }
            there[before.len()].arg = Some(all_names(next.span));
        }
        go_on(&there, written, tail, found);
        if pattern.contains("**") && next.arg.is_none() {
            let mut deeper = next.clone();
            deeper.name.name = "**".to_string();
            let deeper: Vec<Component> = std::iter::once(deeper).chain(tail.to_vec()).collect();
            go_on(&there, written, &deeper, found);
        }
    }
}

fn all_names(span: Span) -> Literal {
    let bytes = b"*".to_vec();
    Literal::String(StrLit { bytes, span })
}

/// Resolve all that the point stands for by `one`: it is enough when one of them is there, and the first one's
/// mistakes stand for all.
pub fn each(
    point: &ProbePoint,
    diags: &mut Diagnostics,
    mut one: impl FnMut(&ProbePoint, &mut Diagnostics) -> Vec<Place>,
) -> Vec<Place> {
    let points = points(point);
    if points.is_empty() {
        return one(point, diags);
    }
    let (mut all, mut first) = (Vec::new(), None);
    for point in &points {
        let mut own = Diagnostics::new();
        let found = one(point, &mut own);
        match found.is_empty() {
            true => drop(first.get_or_insert(own)),
            false => diags.append(own),
        }
        all.extend(found.into_iter().map(of_many));
    }
    if let (true, Some(own)) = (all.is_empty(), first) {
        diags.append(own);
    }
    all
}

/// One of many may be refused.
fn of_many(place: Place) -> Place {
    let refusal = match place.refusal {
        Refusal::Error => Refusal::Warning,
        other => other,
    };
    Place { refusal, ..place }
}

#[cfg(test)]
mod tests {
    use super::points;
    use crate::points::components::text;
    use trapless_syntax::ast::{Item, NodeIds};
    use trapless_syntax::diag::Diagnostics;
    use trapless_syntax::{parse_file, Environment, MacroLibrary, SourceMap};

    fn stands_for(written: &str) -> Vec<String> {
        let (mut map, mut diags, ids) = (SourceMap::new(), Diagnostics::new(), NodeIds::new());
        let file = map.add("x", format!("probe {written} {{ }}"));
        let (env, macros) = (Environment::default(), MacroLibrary::new());
        let script = parse_file(&mut map, file, &env, &macros, &ids, &mut diags);
        let Item::Probe(probe) = &script.items[0] else {
            return Vec::new();
        };
        let found = points(&probe.points[0]);
        found.iter().map(|p| text(&p.components)).collect()
    }

    #[test]
    fn words_and_their_arguments() {
        assert_eq!(stands_for("timer.s*(5)"), ["timer.s(5)", "timer.sec(5)"]);
        assert_eq!(stands_for("timer.*"), ["timer.profile"]);
        assert_eq!(stands_for("*e*n"), ["begin"]);
        assert!(stands_for("process.**").contains(&"process.thread.begin".to_string()));
        let of_function = stands_for("process(\"p\").f*(\"f\").r*");
        assert_eq!(of_function, ["process(\"p\").function(\"f\").return"]);
        assert!(stands_for("process.function(\"*\")").is_empty());
        let all = ["kernel.function(\"*\")", "kernel.trace(\"*\")"];
        assert_eq!(stands_for("kernel.*"), all);
        let deeper = stands_for("module(\"m\").**");
        assert!(deeper.contains(&"module(\"m\").function(\"*\").return".to_string()));
        assert!(!stands_for("**").iter().any(|p| p.starts_with("kernel.")));
        assert!(stands_for("process.nothing*").is_empty());
    }
}
