// SPDX-License-Identifier: MIT
//! Probe points, text in and text out.

mod common;

use common::{error, of_target, probes};
use trapless_bpftrace::{Kind, Setting};

const OF_TARGET: [(&str, &str); 18] = [
    (
        "uprobe:/bin/bash:readline",
        "process(\"/bin/bash\").function(\"readline\").call",
    ),
    (
        "u:/bin/bash:read*",
        "process(\"/bin/bash\").function(\"read*\").call",
    ),
    (
        "uprobe:bash:\"cpp:ns::f(int)\"",
        "process(\"bash\").function(\"ns::f(int)\").call",
    ),
    (
        "uprobe:libc:malloc",
        "process.library(\"libc.so*\").function(\"malloc\").call",
    ),
    (
        "ur:/lib/libc.so.6:malloc",
        "process.library(\"/lib/libc.so.6\").function(\"malloc\").return",
    ),
    ("uprobe::main", "process.function(\"main\").call"),
    (
        "uprobe:/bin/a:0x401136",
        "process(\"/bin/a\").function(0x401136)",
    ),
    (
        "usdt:/bin/a:prov:name",
        "process(\"/bin/a\").provider(\"prov\").mark(\"name\")",
    ),
    ("U:/bin/a:name", "process(\"/bin/a\").mark(\"name\")"),
    (
        "tracepoint:syscalls:sys_exit_close",
        "process.syscall.number(3).return",
    ),
    ("t:syscalls:sys_enter_*", "process.syscall"),
    (
        "tracepoint:syscalls:sys_enter_openat*",
        "process.syscall.number(257), process.syscall.number(437)",
    ),
    ("tracepoint:raw_syscalls:sys_exit", "process.syscall.return"),
    ("interval:ms:100", "timer.ms(100)"),
    ("i:hz:2", "timer.hz(2)"),
    ("profile:ms:10", "timer.profile.freq.hz(100)"),
    ("p:hz:49", "timer.profile.freq.hz(49)"),
    ("BEGIN, END", "begin, end"),
];

const OF_KERNEL: [(&str, &str); 7] = [
    ("k:vfs_*", "kernel.function(\"vfs_*\")"),
    ("kretprobe:vfs_read", "kernel.function(\"vfs_read\").return"),
    (
        "kprobe:loop:lo_ioctl",
        "module(\"loop\").function(\"lo_ioctl\")",
    ),
    (
        "fexit:vmlinux:vfs_read",
        "kernel.function(\"vfs_read\").return",
    ),
    (
        "tracepoint:sched:sched_wakeup",
        "kernel.trace(\"sched:sched_wakeup\")",
    ),
    (
        "rawtracepoint:sched_switch",
        "kernel.trace(\"sched_switch\")",
    ),
    (
        "kprobe:a,kprobe:b",
        "kernel.function(\"a\"), kernel.function(\"b\")",
    ),
];

fn check(rows: &[(&str, &str)], setting: &Setting) {
    for (point, wanted) in rows {
        let made = probes(&format!("{point} {{ }}"), setting);
        assert_eq!(made, format!("probe {wanted} {{\n}}"), "{point}");
    }
}

#[test]
fn points() {
    check(&OF_TARGET, &of_target(&[]));
    check(&OF_KERNEL, &Setting::default());
}

#[test]
fn predicates_beside_paths() {
    for program in [
        "uprobe:/bin/a:f/pid == 1/{ }",
        "uprobe:/bin/a:f /pid == 1/ { }",
        "uprobe:/bin/a:f\n/pid == 1/\n{\n}",
    ] {
        let made = probes(program, &of_target(&[]));
        assert_eq!(
            made,
            "probe process(\"/bin/a\").function(\"f\").call {\n\tif (!(pid() == 1))\n\t\tnext\n}",
            "{program}"
        );
    }
    let made = probes("BEGIN /(2 / 1) == 4 / 2/ { }", &of_target(&[]));
    assert_eq!(
        made,
        "probe begin {\n\tif (!((2 / 1) == (4 / 2)))\n\t\tnext\n}"
    );
}

/// Handlers that differ by their points are apart.
#[test]
fn the_name_of_a_probe() {
    let made = probes(
        "tracepoint:syscalls:sys_enter_openat* { print(probe) }",
        &of_target(&[]),
    );
    let one = |n, name| {
        format!("probe process.syscall.number({n}) {{\n\tprintf(\"%s\\n\", (\"tracepoint:syscalls:sys_enter_{name}\"))\n}}")
    };
    assert_eq!(made, [one(257, "openat"), one(437, "openat2")].join("\n"));
    let made = probes("uprobe:libc:mem* { print(probe) }", &of_target(&[]));
    assert!(made.contains("(\"uprobe:libc:\" . probefunc())"), "{made}");
    let made = probes(
        "tracepoint:syscalls:sys_enter_* { print(probe) }",
        &of_target(&[]),
    );
    assert!(
        made.contains("(\"tracepoint:syscalls:sys_enter_\" . syscall_name($syscall))"),
        "{made}"
    );
}

/// Point, setting with a target or not, kind, a part of what is said, where.
const WRONG: [(&str, bool, Kind, &str); 16] = [
    (
        "uprobe:libc:malloc",
        false,
        Kind::Refused,
        "libc is a library: of which program?",
    ),
    ("uprobe::main", false, Kind::Wrong, "no program is named"),
    (
        "uprobe:/bin/a:main+4",
        true,
        Kind::Refused,
        "behind a function's begin",
    ),
    (
        "uprobe:/bin/a",
        true,
        Kind::Wrong,
        "a part of the point `uprobe:/bin/a` is missing",
    ),
    (
        "kprobe:vfs_read+8",
        false,
        Kind::Refused,
        "by address are not translated",
    ),
    (
        "kprobe:f, uprobe:/bin/a:g",
        true,
        Kind::Refused,
        "probes of programs and of a kernel are in one program",
    ),
    (
        "hardware:cache-misses:100",
        true,
        Kind::Refused,
        "hardware events",
    ),
    ("software:faults:1", true, Kind::Refused, "software events"),
    (
        "watchpoint:0x10:8:w",
        true,
        Kind::Refused,
        "watchpoints are not translated",
    ),
    ("iter:task", true, Kind::Refused, "BPF"),
    (
        "nothing:x",
        true,
        Kind::Wrong,
        "there is no kind of probe `nothing`",
    ),
    (
        "tracepoint:syscalls:sys_enter_nothing",
        true,
        Kind::Wrong,
        "there is no tracepoint syscalls:sys_enter_nothing",
    ),
    ("interval:d:1", true, Kind::Wrong, "there is no unit `d`"),
    ("interval:s:0", true, Kind::Wrong, "a number above 0"),
    ("profile:s:5", true, Kind::Refused, "once a second at least"),
    ("tracepoint:sched", true, Kind::Wrong, "is missing"),
];

#[test]
fn wrong_points() {
    for (point, target, kind, what) in WRONG {
        let setting = Setting {
            target,
            ..Setting::default()
        };
        let program = format!("BEGIN {{ }}\n{point} {{ }}");
        let e = error(&program, &setting);
        assert!(
            e.kind == kind && e.what.contains(what) && !e.next.is_empty(),
            "{point}: {e:?}"
        );
        assert_eq!(e.place(&program).0, 2, "{point}");
    }
    let e = error("tracepoint:syscalls:sys_enter_stat { }", &of_target(&[]));
    assert_eq!(e.next, "did you mean sys_enter_newstat?");
}
