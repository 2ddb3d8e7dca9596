// SPDX-License-Identifier: MIT
//! A program to a script.

mod expr;
mod format;
mod stmt;

use crate::ast::{Probe, Program};
use crate::error::{refused, wrong, Result};
use crate::handler::{Handler, Notes};
use crate::maps;
use crate::points::{self, Home, Place, Resolved};
use crate::setting::{Script, Setting};
use crate::types::{Held, Ty, Types};
use std::collections::BTreeMap;

/// Rounds until types are known: each step of a chain of maps takes one.
const ROUNDS: usize = 20;

pub fn translate(text: &str, program: &Program, setting: &Setting) -> Result<Script> {
    let resolved = resolve(program, setting)?;
    let home = home(program, &resolved, setting)?;
    if program.probes.iter().any(|p| p.body.is_none()) {
        return Ok(listing(&resolved));
    }
    let mut types = Types::default();
    let mut notes = Notes::default();
    for _ in 0..ROUNDS {
        let before = types.clone();
        handlers(
            program, &resolved, home, setting, &mut types, &mut notes, false,
        )?;
        if before == types {
            break;
        }
    }
    check_maps(&types)?;
    notes = Notes::default();
    let probes = handlers(
        program, &resolved, home, setting, &mut types, &mut notes, true,
    )?;
    check_maps(&types)?;
    Ok(Script {
        text: whole(text, &probes, &types, &notes),
        words: notes.words,
    })
}

fn resolve(program: &Program, setting: &Setting) -> Result<Vec<Vec<Resolved>>> {
    let of_probe = |p: &Probe| -> Result<Vec<Resolved>> {
        let mut all = Vec::new();
        for point in &p.points {
            all.extend(points::resolve(point, setting)?);
        }
        Ok(all)
    };
    program.probes.iter().map(of_probe).collect()
}

/// Where all handlers run: one session is about programs or about a kernel.
fn home(program: &Program, resolved: &[Vec<Resolved>], setting: &Setting) -> Result<Home> {
    let all = || resolved.iter().flatten();
    let has = |home| all().any(|r| r.home == Some(home));
    let (program_points, kernel_points) = (has(Home::Process), has(Home::Kernel) || setting.kernel);
    if program_points && kernel_points {
        let point = program
            .probes
            .iter()
            .flat_map(|p| &p.points)
            .find(|p| p.text.starts_with(['u', 'U']));
        let at = point.map(|p| p.at).unwrap_or_default();
        return refused(
            at,
            "probes of programs and of a kernel are in one program",
            "make two of it, and run them beside each other; leave -r out for programs",
        );
    }
    let neither = !program_points && !setting.target;
    let wants = all().any(|r| r.place != Place::Session);
    Ok(match kernel_points || neither && wants {
        true => Home::Kernel,
        false => Home::Process,
    })
}

/// What is listed: the points alone, system calls by their names.
fn listing(resolved: &[Vec<Resolved>]) -> Script {
    let shown = |r: &Resolved| match r.place {
        Place::Enter(None) => "syscall.*".to_string(),
        Place::Exit(None) => "syscall.*.return".to_string(),
        _ => r.script.clone(),
    };
    let points: Vec<String> = resolved.iter().flatten().map(shown).collect();
    Script {
        text: format!("probe {} {{ }}\n", points.join(", ")),
        words: 0,
    }
}

/// Points that share a handler's text, and that text.
struct Made {
    told: String,
    points: Vec<String>,
    body: String,
}

fn handlers(
    program: &Program,
    resolved: &[Vec<Resolved>],
    home: Home,
    setting: &Setting,
    types: &mut Types,
    notes: &mut Notes,
    last: bool,
) -> Result<Vec<Made>> {
    let mut all: Vec<Made> = Vec::new();
    for (n, (probe, points)) in program.probes.iter().zip(resolved).enumerate() {
        let told: Vec<&str> = probe.points.iter().map(|p| p.text.as_str()).collect();
        let first = all.len();
        for point in points {
            let mut handler = Handler {
                setting,
                home,
                point,
                probe: n,
                includes: &program.includes,
                types,
                notes,
                walks: BTreeMap::new(),
                last,
                loops: 0,
            };
            let body = handler.probe(probe)?;
            match all[first..].iter_mut().find(|m| m.body == body) {
                Some(made) => made.points.push(point.script.clone()),
                None => all.push(Made {
                    told: told.join(", "),
                    points: vec![point.script.clone()],
                    body,
                }),
            }
        }
    }
    Ok(all)
}

fn check_maps(types: &Types) -> Result<()> {
    for (name, map) in &types.maps {
        if map.held == Held::One(Ty::Unknown) {
            let next = "set it in a probe, e.g. by = count() or ++";
            return wrong(map.at, format!("@{name} is never set"), next);
        }
    }
    Ok(())
}

fn whole(text: &str, probes: &[Made], types: &Types, notes: &Notes) -> String {
    let mut out = String::new();
    for line in text.trim_end().lines() {
        out += &format!("# {line}\n");
    }
    if !types.maps.is_empty() {
        let names: Vec<String> = types.maps.keys().map(|n| maps::global(n)).collect();
        out += &format!("global {}\n", names.join(", "));
    }
    for helper in &notes.helpers {
        out += helper.text();
    }
    for (name, map) in &types.maps {
        out += &maps::printer(name, map, notes.printed.contains(name));
    }
    for made in probes {
        out += &format!(
            "\n# {}\nprobe {} {{\n{}}}\n",
            made.told,
            made.points.join(", "),
            made.body
        );
    }
    out + &maps::at_the_end(types, notes)
}

impl Handler<'_> {
    fn probe(&mut self, probe: &Probe) -> Result<String> {
        let mut out = String::new();
        if let Some(condition) = &probe.predicate {
            let condition = self.condition(condition)?;
            out += &format!("\tif (!({condition}))\n\t\tnext\n");
        }
        let body = probe.body.as_deref().unwrap_or_default();
        Ok(out + &self.block(body, 1)?)
    }
}
