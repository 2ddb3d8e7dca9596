// SPDX-License-Identifier: MIT
//! Print what is known of a program's functions: `describe PROGRAM PATTERN...`

use trapless_debuginfo::*;

fn main() {
    let mut args = std::env::args().skip(1);
    let Some(program) = args.next() else {
        eprintln!("usage: describe PROGRAM PATTERN...");
        std::process::exit(2);
    };
    let session = DebugInfo::new(SearchPath::host());
    for pattern in args {
        if let Err(e) = describe(&session, &program, &pattern) {
            println!("{}: {e}", e.tag());
            if let Some(help) = e.help() {
                println!("  {help}");
            }
        }
    }
}

fn describe(session: &DebugInfo, program: &str, pattern: &str) -> Result<()> {
    let bin = session.open_program(program)?;
    let pattern = Pattern::parse(pattern)?;
    if pattern.line != LineSpec::None {
        for s in bin.statements(&pattern, false)? {
            println!(
                "{:#x} {}:{} in {}",
                s.addr, s.source.file, s.source.line, s.function
            );
        }
        return Ok(());
    }
    for f in bin.functions(&pattern, Inlines::Also)? {
        println!(
            "{} {:?} {:x?} {:?}",
            f.name, f.kind, f.ranges, f.linkage_name
        );
        if let Some(pos) = bin.declared_at(&f) {
            println!("  {}:{}", pos.file, pos.line);
        }
        let site = bin.probe_site(&f)?;
        println!("  {site:x?}");
        let cx = match bin.context_of(&f, site.pc) {
            Ok(cx) => cx,
            Err(e) => {
                println!("  {e}");
                continue;
            }
        };
        for v in bin.variables(&cx)? {
            let place = bin.locate(&v, &cx);
            println!(
                "  {:?} {}: {place:x?}",
                v.kind,
                bin.types().declaration(v.ty, &v.name)
            );
        }
        println!(
            "  returns {:?}",
            bin.return_value(&f)
                .map(|r| (bin.types().name(r.ty), r.location))
        );
    }
    Ok(())
}
