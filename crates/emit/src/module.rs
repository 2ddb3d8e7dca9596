// SPDX-License-Identifier: MIT
//! The module file out of program, C facts and linked code.

use crate::events::{event_name, Site};
use crate::layout::call_data;
use crate::link::Linked;
use crate::result::reads_result;
use crate::{handler_name, Emitted, SMALL_STACK};
use trapless_sema::ir::{
    Event, HandlerId, Image, ImageId, LineRow, LineTable, Part, Probe, ProbeKind, Program, Refusal,
    Symbol,
};
use trapless_wire as wire;

/// As jiffies go.
const TICK_NS: u64 = 10_000_000;

/// Put the module together.
pub fn assemble(
    program: &Program,
    emitted: &Emitted,
    linked: &Linked,
    name: &str,
    hash: [u64; 2],
) -> wire::Tap {
    let mut tap = wire::Tap {
        build_hash: hash,
        code: linked.code.clone(),
        data: linked.data.clone(),
        relocs: linked.relocs.clone(),
        ..wire::Tap::default()
    };
    tap.name = tap.strings.add(name);
    if program.options.guru {
        tap.flags |= wire::tap_flag::GURU;
    }
    if program.options.kernel {
        tap.flags |= wire::tap_flag::KERNEL;
    }
    for (import, slot) in &linked.imports {
        let name = tap.strings.add(import);
        tap.imports.push(wire::Import { name, slot: *slot });
    }
    for site in &emitted.sites {
        print_site(&mut tap, site);
    }
    for command in &emitted.commands {
        let command = tap.strings.add(command);
        tap.commands.push(command);
    }
    for i in &program.images {
        let image = image(i, &mut tap.strings);
        tap.images.push(image);
    }
    for p in &program.probes {
        probe(&mut tap, program, p, emitted, linked);
    }
    tap.globals = emitted.layout.globals(program, &mut tap.strings);
    tap.options = options(program, emitted);
    let mut symbols: Vec<&Symbol> = program.symbols.iter().collect();
    symbols.sort_by_key(|s| (s.image, s.addr));
    for s in symbols {
        let name = tap.strings.add(&s.name);
        tap.symbols.push(wire::Symbol {
            addr: s.addr,
            size: s.size,
            image: s.image.0,
            name,
        });
    }
    crate::unwind::write(&program.unwind, &mut tap);
    for (image, table) in &program.lines {
        lines(*image, table, &mut tap);
    }
    for w in &program.run_warnings {
        let w = tap.strings.add(w);
        tap.warnings.push(w);
    }
    tap
}

fn print_site(tap: &mut wire::Tap, site: &Site) {
    let print = wire::Print {
        format: tap.strings.add(&site.format),
        script: tap.strings.add(&site.script),
        first_field: tap.fields.len() as u32,
        nfields: site.fields.len() as u32,
    };
    tap.prints.push(print);
    for f in &site.fields {
        let field = wire::Field {
            name: tap.strings.add(&f.name),
            unit: tap.strings.add(f.unit),
        };
        tap.fields.push(field);
    }
}

fn image(i: &Image, strings: &mut wire::Strings) -> wire::Image {
    wire::Image {
        path: strings.add(&i.path),
        flags: match (i.program, i.kernel) {
            (true, _) => wire::image_flag::PROGRAM,
            (false, true) => wire::image_flag::KERNEL,
            (false, false) => 0,
        },
        build_id: i.build_id.clone(),
        file_size: i.file_size,
    }
}

fn options(program: &Program, emitted: &Emitted) -> wire::Options {
    let o = &program.options;
    let uses_symbols = if !program.symbols.is_empty() {
        wire::uses::SYMBOLS
    } else {
        0
    };
    let uses_times = if o.timing { wire::uses::TIMES } else { 0 };
    wire::Options {
        globals_size: emitted.layout.globals_size,
        shard_size: emitted.layout.shard_size,
        nlocks: emitted.layout.nlocks,
        max_string: o.max_string,
        max_action: o.max_action,
        max_nesting: o.max_nesting.unwrap_or(1),
        max_errors: o.max_errors,
        max_skipped: o.max_skipped,
        ring_size: o.ring_size,
        ring_pool: o.ring_pool,
        stack: emitted.handlers.iter().map(|h| h.stack).max().unwrap_or(0),
        uses: uses_symbols | wire::uses::HITS | uses_times,
    }
}

fn event_kind(event: Event) -> wire::ProbeKind {
    match event {
        Event::ProcessBegin => wire::ProbeKind::ProcessBegin,
        Event::ProcessEnd => wire::ProbeKind::ProcessEnd,
        Event::ThreadBegin => wire::ProbeKind::ThreadBegin,
        Event::ThreadEnd => wire::ProbeKind::ThreadEnd,
    }
}

fn probe(tap: &mut wire::Tap, program: &Program, p: &Probe, emitted: &Emitted, linked: &Linked) {
    let entry_of = |id: HandlerId| {
        linked
            .functions
            .get(&handler_name(id))
            .copied()
            .unwrap_or(wire::NONE)
    };
    let mut out = wire::Probe {
        kind: wire::ProbeKind::Begin,
        flags: 0,
        process: wire::NONE,
        image: wire::NONE,
        addr: 0,
        arg: 0,
        first_part: tap.parts.len() as u32,
        nparts: 0,
        handler: entry_of(p.handler),
        on_entry: wire::NONE,
        condition: p.condition.map_or(wire::NONE, entry_of),
        call_data: 0,
        point: tap.strings.add(&*p.point),
        func: tap.strings.add(&*p.func),
        script: tap.strings.add(&*p.script),
        name: tap.strings.add(&*p.name),
        event: tap.strings.add(event_name(&p.point, &p.name)),
    };
    let picked = program.handlers[p.handler.0 as usize].called().iter();
    let mut all: Vec<HandlerId> = picked.map(|c| c.1).chain([p.handler]).collect();
    match &p.kind {
        ProbeKind::Begin { order } => out.arg = *order,
        ProbeKind::End { order } => {
            out.kind = wire::ProbeKind::End;
            out.arg = *order;
        }
        ProbeKind::Error { order } => {
            out.kind = wire::ProbeKind::Error;
            out.arg = *order;
        }
        ProbeKind::Timer {
            period_ns,
            jitter_ns,
        } => {
            out.kind = wire::ProbeKind::Timer;
            out.arg = *period_ns as i64;
            out.addr = *jitter_ns;
        }
        ProbeKind::File { write, max, umask } => {
            out.kind = match write {
                false => wire::ProbeKind::FileRead,
                true => wire::ProbeKind::FileWrite,
            };
            let longest = program.options.max_string.saturating_sub(1);
            out.arg = i64::from(if *max == 0 { longest } else { *max });
            out.addr = u64::from(*umask);
        }
        ProbeKind::Show => out.kind = wire::ProbeKind::Show,
        ProbeKind::Trace { image } => {
            out.kind = wire::ProbeKind::Trace;
            out.image = image.0;
        }
        ProbeKind::Reset => out.kind = wire::ProbeKind::Reset,
        ProbeKind::Profile { period_ns } => {
            out.kind = wire::ProbeKind::Profile;
            // 0: the kernel knows its own.
            let ticks = if program.options.kernel { 0 } else { TICK_NS };
            out.arg = period_ns.unwrap_or(ticks) as i64;
        }
        ProbeKind::Event { event, process } => {
            out.kind = event_kind(*event);
            out.process = process.map_or(wire::NONE, |i| i.0);
        }
        ProbeKind::Watch {
            process,
            image,
            addr,
            size,
            ..
        } => {
            out.kind = wire::ProbeKind::Watch;
            out.process = process.map_or(wire::NONE, |i| i.0);
            out.image = image.map_or(wire::NONE, |i| i.0);
            out.addr = *addr;
            out.arg = *size as i64;
        }
        ProbeKind::Site {
            process,
            image,
            addr,
            parts,
            semaphore,
            nth,
        } => {
            out.kind = wire::ProbeKind::Site;
            out.arg = semaphore.map_or(i64::from(*nth), |at| at as i64);
            place(tap, &mut out, *process, *image, *addr, parts);
        }
        ProbeKind::Return {
            process,
            image,
            addr,
            parts,
            nth,
            on_entry,
            call_data: slots,
            linkage: _,
        } => {
            out.kind = wire::ProbeKind::Return;
            out.arg = (*nth).into();
            place(tap, &mut out, *process, *image, *addr, parts);
            out.call_data = call_data(slots, program.options.max_string).1;
            if let Some(h) = on_entry {
                out.on_entry = entry_of(*h);
                all.push(*h);
            }
        }
    }
    out.flags = flags(p, &all, program, emitted);
    if p.hierarchy {
        tap.flags |= wire::tap_flag::HIERARCHY;
    }
    tap.probes.push(out);
}

fn flags(p: &Probe, handlers: &[HandlerId], program: &Program, emitted: &Emitted) -> u32 {
    let mut flags = 0;
    for h in handlers {
        if program.handlers[h.0 as usize].needs_all_regs {
            flags |= wire::probe_flag::REGS;
        }
        if emitted.handlers[h.0 as usize].stack > SMALL_STACK {
            flags |= wire::probe_flag::BIG_STACK;
        }
    }
    if let ProbeKind::Return { linkage, .. } = p.kind {
        // at an entry's jump nothing has returned, whatever the handler reads
        if linkage || reads_result(program, &program.handlers[p.handler.0 as usize]) {
            flags |= wire::probe_flag::RESULT;
        }
    }
    if matches!(p.kind, ProbeKind::Watch { reads: true, .. }) {
        flags |= wire::probe_flag::READS;
    }
    if program.options.kernel && matches!(p.kind, ProbeKind::Site { addr: 0, .. }) {
        flags |= wire::probe_flag::ENTRY;
    }
    if p.at_syscall {
        flags |= wire::probe_flag::SYSCALL;
    }
    flags |= match p.refusal {
        Refusal::Error => 0,
        Refusal::Warning => wire::probe_flag::MATCHED,
        Refusal::Bytes => wire::probe_flag::MATCHED | wire::probe_flag::BYTES,
        Refusal::Nothing => wire::probe_flag::OPTIONAL,
    };
    if p.never {
        flags |= wire::probe_flag::NEVER;
    }
    if p.script.is_empty() {
        flags |= wire::probe_flag::MADE;
    }
    flags
}

fn place(
    tap: &mut wire::Tap,
    out: &mut wire::Probe,
    process: Option<ImageId>,
    image: ImageId,
    addr: u64,
    parts: &[Part],
) {
    out.process = process.map_or(wire::NONE, |p| p.0);
    if process.is_none() && tap.flags & wire::tap_flag::KERNEL == 0 {
        tap.flags |= wire::tap_flag::ANY_PROCESS;
    }
    out.image = image.0;
    out.addr = addr;
    out.nparts = parts.len() as u32;
    tap.parts.extend(parts.iter().map(|p| wire::Part {
        addr: p.addr,
        size: p.size,
    }));
}

fn lines(image: ImageId, table: &LineTable, tap: &mut wire::Tap) {
    let files: Vec<_> = table.files.iter().map(|f| tap.strings.add(f).0).collect();
    let row = |r: &LineRow| wire::Line {
        addr: r.addr,
        image: image.0,
        file: r.at.map_or(wire::NONE, |(file, _)| files[file as usize]),
        line: r.at.map_or(0, |(_, line)| line),
    };
    tap.lines.extend(table.rows.iter().map(row));
}
