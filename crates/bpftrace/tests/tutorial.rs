// SPDX-License-Identifier: MIT
//! The lessons of bpftrace's tutorial of one-liners, text in and text out.

mod common;

use common::{error, of_target, probes, whole};
use trapless_bpftrace::{is_listing, translate, Setting};

/// Program, and its probes as a script.
const LESSONS: [(&str, &str); 12] = [
    ("tracepoint:syscalls:sys_enter_*",
        "probe syscall.* { }"),
    ("BEGIN { printf(\"hello world\\n\"); }", "probe begin {\n\tprintf(\"hello world\\n\")\n}"),
    (
        "tracepoint:syscalls:sys_enter_openat { printf(\"%s %s\\n\", comm, str(args.filename)); }",
        "probe process.syscall.number(257) {\n\tprintf(\"%s %s\\n\", execname(), user_string_nofault($arg2))\n}",
    ),
    (
        "tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }",
        "probe process.syscall {\n\tmap[execname()] <<< 1\n}",
    ),
    (
        "tracepoint:syscalls:sys_exit_read /pid == 18644/ { @bytes = hist(args.ret); }",
        "probe process.syscall.number(0).return {\n\tif (!(pid() == 18644))\n\t\tnext\n\tmap_bytes <<< $return\n}",
    ),
    (
        "kretprobe:vfs_read { @bytes = lhist(retval, 0, 2000, 200); }",
        "probe kernel.function(\"vfs_read\").return {\n\tmap_bytes <<< returnval()\n}",
    ),
    (
        "kprobe:vfs_read { @start[tid] = nsecs; } kretprobe:vfs_read /@start[tid]/ { @ns[comm] = hist(nsecs - @start[tid]); delete(@start[tid]); }",
        "probe kernel.function(\"vfs_read\") {\n\tmap_start[tid()] = gettimeofday_ns()\n}\n\
         probe kernel.function(\"vfs_read\").return {\n\tif (!(map_start[tid()]))\n\t\tnext\n\
         \tmap_ns[execname()] <<< gettimeofday_ns() - map_start[tid()]\n\tdelete map_start[tid()]\n}",
    ),
    (
        "tracepoint:sched:sched* { @[probe] = count(); } interval:s:5 { exit(); }",
        "probe kernel.trace(\"sched:sched*\") {\n\tmap[(\"tracepoint:\" . substr(pn(), 14, strlen(pn()) - 16))] <<< 1\n}\n\
         probe timer.s(5) {\n\texit(); next\n}",
    ),
    (
        "profile:hz:99 { @[kstack] = count(); }",
        "probe timer.profile.freq.hz(99) {\n\tmap[sprint_backtrace()] <<< 1\n}",
    ),
    (
        "tracepoint:sched:sched_switch { @[kstack] = count(); }",
        "probe kernel.trace(\"sched:sched_switch\") {\n\tmap[sprint_backtrace()] <<< 1\n}",
    ),
    (
        "tracepoint:block:block_rq_issue { @ = hist(args.bytes); }",
        "probe kernel.trace(\"block:block_rq_issue\") {\n\tmap <<< $rq->__data_len\n}",
    ),
    (
        "#include <linux/path.h>\n#include <linux/dcache.h>\n\nkprobe:vfs_open\n{\n\tprintf(\"open path: %s\\n\", str(((struct path *)arg0)->dentry->d_name.name));\n}\n",
        "probe kernel.function(\"vfs_open\") {\n\tprintf(\"open path: %s\\n\", kernel_string(@cast(long_arg(1), \"path\", \"kernel\")->dentry->d_name->name, \"\"))\n}",
    ),
];

#[test]
fn lessons() {
    for (program, wanted) in LESSONS {
        let made = match is_listing(program) {
            true => whole(program, &Setting::default()).trim_end().to_string(),
            false => probes(program, &Setting::default()),
        };
        assert_eq!(made, wanted, "{program}");
    }
}

#[test]
fn the_program_is_told() {
    let text = whole("BEGIN { @x = 1; }\nEND { }", &of_target(&[]));
    assert!(
        text.starts_with("# BEGIN { @x = 1; }\n# END { }\nglobal map_x\n"),
        "{text}"
    );
    assert!(
        text.contains("\n# BEGIN\nprobe begin {\n\tmap_x = 1\n}\n"),
        "{text}"
    );
}

#[test]
fn errors_have_line_and_column() {
    let program = "BEGIN {\n\tcat(\"/x\"); }";
    let shown = error(program, &Setting::default()).shown(program);
    assert_eq!(
        shown,
        "2:2: cat: handlers do not read files; cat the file before or behind the session"
    );
}

/// Whatever is cut off, taken out or put in: there is a script, or an error within the text.
#[test]
fn broken_lessons() {
    for (program, _) in LESSONS {
        for n in 0..program.len() {
            let (before, behind) = program.split_at(n);
            for text in [
                before.to_string(),
                format!("{before}{}", &behind[1..]),
                format!("{before}\u{e9}{behind}"),
                format!("{before}/{behind}"),
            ] {
                if let Err(e) = translate(&text, &Setting::default()) {
                    assert!(
                        text.get(e.at.lo..e.at.hi).is_some() && !e.next.is_empty(),
                        "{text}: {e:?}"
                    );
                }
            }
        }
    }
}
