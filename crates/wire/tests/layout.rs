// SPDX-License-Identifier: MIT
//! The writer against `wire.h`: a C program reads what Rust wrote, on this
//! machine and, where the tools are there, on a 32-bit big-endian one.

use std::path::{Path, PathBuf};
use std::process::Command;
use trapless_machine::{Abi, ByteOrder, KNOWN, MACHINES};
use trapless_wire::*;

fn sample() -> Tap {
    let mut tap = Tap {
        flags: tap_flag::GURU,
        build_hash: [1, 0x1122_3344_5566_7788],
        ..Tap::default()
    };
    tap.name = tap.strings.add("sample");
    tap.images.push(Image {
        path: tap.strings.add("/usr/bin/git"),
        flags: image_flag::PROGRAM,
        build_id: vec![0xab, 0xcd, 1, 2],
        file_size: 5_000_000_000,
    });
    tap.probes.push(Probe {
        kind: ProbeKind::Return,
        flags: probe_flag::REGS | probe_flag::OPTIONAL,
        process: NONE,
        image: 0,
        addr: 0x1_0000_2000,
        arg: -7,
        first_part: 3,
        nparts: 2,
        handler: 0x40,
        on_entry: NONE,
        call_data: 24,
        point: tap.strings.add("point"),
        func: tap.strings.add("main"),
        script: tap.strings.add("a.stp:1:2"),
        condition: 0x60,
        name: tap.strings.add("alias"),
        event: tap.strings.add("main.return"),
    });
    tap.prints.push(Print {
        format: tap.strings.add("%d"),
        script: tap.strings.add("a.stp:3:4"),
        first_field: 0,
        nfields: 1,
    });
    tap.fields.push(Field {
        name: tap.strings.add("delay_ns"),
        unit: tap.strings.add("ns"),
    });
    tap.parts.push(Part {
        addr: 0x2000,
        size: 0x30,
    });
    tap.code = vec![0x90; 5];
    tap.data = vec![0; 16];
    tap.imports.push(Import {
        name: tap.strings.add("tl_print"),
        slot: 8,
    });
    tap.globals.push(Global {
        name: tap.strings.add("g"),
        ty: Value::Stats,
        sharded: true,
        wrap: true,
        keys: vec![Value::Long, Value::String],
        offset: 64,
        size: 128,
        capacity: 2048,
        lock: 5,
        init: -1,
        init_string: tap.strings.add("hello"),
        hist: 2,
        hist_low: -10,
        hist_high: 10,
        hist_step: 2,
    });
    tap.options = Options {
        globals_size: 1,
        nlocks: 2,
        max_string: 3,
        max_skipped: 4,
        stack: 5,
        uses: uses::SYMBOLS,
        ..Options::default()
    };
    tap.symbols.push(Symbol {
        addr: 0x77,
        size: 0x88,
        image: 0,
        name: tap.strings.add("f"),
    });
    tap.unwind.push(Unwind {
        base: 0x1_0000_0000,
        first_row: 0,
        nrows: 1,
    });
    tap.rows.push(Row { at: 0x99, frame: 1 });
    let mut saved = [0; FRAME_REGS];
    (saved[3], saved[16]) = (-16, FRAME_LOST);
    tap.frames.push(Frame {
        cfa: 7,
        flags: frame_flag::DEREF | frame_flag::SIGNAL,
        base: 6,
        offset: -8,
        moved: 1 << 3 | 1 << 16,
        by_base: 1 << 3,
        saved,
    });
    tap
}

fn expected(abi: &Abi) -> String {
    format!(
        "1 2 {} {} {} 1 sample 2 1122334455667788\n\
         /usr/bin/git 1 abcd 4 5000000000\n\
         6 5 4294967295 0 100002000 -7 3 2 40 ffffffff 24 point main a.stp:1:2 alias main.return\n\
         %d a.stp:3:4 0 1 delay_ns ns\n\
         2000 30 tl_print 8\n\
         g 3 1 2 1 1 2 64 128 2048 5 -1 hello 2 -10 10 2\n\
         1 2 3 4 5 1\n\
         77 88 0 f\n\
         100000000 0 1 99 1\n\
         7 3 6 -8 10008 8 -16 -32768\n",
        abi.elf_machine,
        8 * abi.word,
        (abi.order == ByteOrder::Big) as u8
    )
}

fn read_back(compiler: &str, emulator: Option<&str>, abi: &Abi) -> Option<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("layout-{}", abi.elf_machine));
    let file = out.with_extension("tap");
    std::fs::write(&file, sample().encode(abi)).expect("write the module");
    let built = Command::new(compiler)
        .arg(format!("-DKERNEL_TAP={}", tap_flag::KERNEL))
        .arg(format!("-DKERNEL_IMAGE={}", image_flag::KERNEL))
        .arg(format!("-DKERNEL_ENTRY={}", probe_flag::ENTRY))
        .arg(format!("-DRAW={RAW_MAGIC}"))
        .arg(format!("-DRECORD={RECORD_SIZE}"))
        .arg(format!("-DPROBE={PROBE_SIZE}"))
        .arg(format!("-DSWITCH={}", RecordKind::Switch as u8))
        .args(["-std=c11", "-static", "-I"])
        .arg(here.join("../../include"))
        .arg(here.join("tests/layout.c"))
        .arg("-o")
        .arg(&out)
        .status()
        .ok()?;
    assert!(built.success());
    let mut run = match emulator {
        Some(e) => Command::new(e),
        None => Command::new(&out),
    };
    if emulator.is_some() {
        run.arg(&out);
    }
    let run = run.arg(&file).output().ok()?;
    Some(String::from_utf8_lossy(&run.stdout).into_owned())
}

#[test]
fn c_reads_what_rust_wrote() {
    let text = read_back("cc", None, &MACHINES[0].abi).expect("a C compiler");
    assert_eq!(text, expected(&MACHINES[0].abi));
}

#[test]
fn a_big_endian_32_bit_target_reads_it_too() {
    let mips = KNOWN.into_iter().find(|a| a.name == "mips").unwrap();
    let text = read_back("mips-linux-gnu-gcc", Some("qemu-mips-static"), mips)
        .expect("mips-linux-gnu-gcc and qemu-mips-static (make deps installs them)");
    assert_eq!(text, expected(mips));
}
