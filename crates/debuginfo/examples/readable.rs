// SPDX-License-Identifier: MIT
//! How many formal parameters of a binary can be read where `.function` probes:
//! `readable BINARY...`

use std::collections::BTreeMap;
use std::time::Instant;
use trapless_debuginfo::*;

fn main() {
    for path in std::env::args().skip(1) {
        if let Err(e) = count(&path) {
            println!("{path}: {e}");
        }
    }
}

fn count(path: &str) -> Result<()> {
    let start = Instant::now();
    let bin = Binary::open(path, &SearchPath::host())?;
    let all = bin.functions(&Pattern::parse("*")?, Inlines::No)?;
    let (mut described, mut parameters, mut readable, mut unknown_types) = (0, 0, 0, 0);
    let mut reasons: BTreeMap<String, u32> = BTreeMap::new();
    for f in &all {
        let place = bin
            .probe_site(f)
            .and_then(|site| bin.context_of(f, site.pc));
        let cx = match place {
            Ok(cx) => cx,
            Err(e) => {
                *reasons.entry(format!("function: {}", e.tag())).or_default() += 1;
                continue;
            }
        };
        described += 1;
        for v in bin.variables(&cx)? {
            if v.kind != VariableKind::Parameter {
                continue;
            }
            parameters += 1;
            if matches!(
                &*bin.types().get(bin.types().strip(v.ty)),
                Type::Unknown { .. }
            ) {
                unknown_types += 1;
            }
            match bin.locate(&v, &cx) {
                Ok(place) if place.is_readable() => readable += 1,
                Ok(_) => *reasons.entry("half missing".into()).or_default() += 1,
                Err(e) => {
                    *reasons
                        .entry(format!("parameter: {}", e.tag()))
                        .or_default() += 1
                }
            }
        }
        if let Err(e) = bin.return_value(f) {
            *reasons.entry(format!("result: {}", e.tag())).or_default() += 1;
        }
    }
    let share = 100.0 * readable as f64 / f64::max(parameters as f64, 1.0);
    println!("{path}: {} functions, {described} described", all.len());
    println!("  {readable} of {parameters} parameters readable ({share:.1} %), {unknown_types} of unknown type");
    println!(
        "  {reasons:?}, {:.0} ms",
        start.elapsed().as_secs_f64() * 1e3
    );
    Ok(())
}
