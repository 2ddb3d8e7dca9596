// SPDX-License-Identifier: MIT
//! Statements, expressions and functions, text in and text out; and what is wrong with them.

mod common;

use common::{error, of_target, probes, whole};
use trapless_bpftrace::{Kind, Setting};

/// Of `uprobe:/bin/a:f`: statements, and what becomes of them.
const IN_PROGRAM: [(&str, &str); 44] = [
    ("$x = arg0 + arg6;", "var_x = long_arg(1) + long_arg(7)"),
    ("$x = sarg0;", "var_x = long_arg(7)"),
    ("@ = 0x10 + 010 + 1e3 + 1_0;", "map = ((16 + 8) + 1000) + 10"),
    ("@a[1, comm]++; --@b;", "map_a[1, execname()]++\n--map_b"),
    ("@a[1] += 2; @a[1] <<= 1;", "map_a[1] += 2\nmap_a[1] <<= 1"),
    ("@ = uid + gid + ppid + cpu + rand;", "map = (((uid() + gid()) + ppid()) + cpu()) + randint(1048576)"),
    ("@ = func; @p = probe;", "map = probefunc()\nmap_p = (\"uprobe:/bin/a:f\")"),
    ("@ = str(arg0); @n = str(arg0, 8);", "map = user_string_nofault(long_arg(1))\nmap_n = user_string_n_nofault(long_arg(1), 8)"),
    ("@ = ustr(arg0);", "map = user_string_nofault(long_arg(1))"),
    ("@ = ustack; @n[ustack(3)] = ustack(perf);", "map = sprint_ubacktrace()\nmap_n[frames(sprint_ubacktrace(), 3)] = sprint_ubacktrace()"),
    ("@ = args.len; @m = args->p->next.x[2];", "map = $len\nmap_m = $p->next->x[2]"),
    ("@ = sum(arg0); @b = avg(1);", "map <<< long_arg(1)\nmap_b <<< 1"),
    ("@ = min(1); @b = max(1); @c = stats(1);", "map <<< 1\nmap_b <<< 1\nmap_c <<< 1"),
    ("@ = count(); if (@ > 5) { @ = count(); }", "map <<< 1\nif (@count(map) > 5) {\n\tmap <<< 1\n}"),
    ("@ = 1; clear(@); zero(@);", "map = 1\ndelete map\ndelete map"),
    ("@[1, 2] = 1; zero(@);", "map[1, 2] = 1\nforeach ([key0, key1] in map) map[key0, key1] = 0"),
    ("@[1] = 1; delete(@[1]); delete(@, 1);", "map[1] = 1\ndelete map[1]\ndelete map[1]"),
    ("@[1] = count(); print(@); print(@, 5); print(@, 5, 1000);", "map[1] <<< 1\nprint_map(0, 1)\nprint_map(5, 1)\nprint_map(5, 1000)"),
    ("@x = 1; print(@x); print(3); print(comm);", "map_x = 1\nprintf(\"@x: %d\\n\", map_x)\nprintf(\"%d\\n\", 3)\nprintf(\"%s\\n\", execname())"),
    ("printf(\"%-5s %lld %llx %5lu%%\\n\", comm, 1, 2, 3);", "printf(\"%-5s %d %x %5u%%\\n\", execname(), 1, 2, 3)"),
    ("if pid == 1 { @ = 1; } else if (pid == 2) { @ = 2; } else { @ = 3; }", "if (pid() == 1) {\n\tmap = 1\n} else if (pid() == 2) {\n\tmap = 2\n} else {\n\tmap = 3\n}"),
    ("$i = 0; while ($i < 3) { $i++; if ($i == 2) { break; } continue; }", "var_i = 0\nwhile (var_i < 3) {\n\tvar_i++\n\tif (var_i == 2) {\n\t\tbreak\n\t}\n\tcontinue\n}"),
    ("unroll(3) { @ = count(); }", "for (round1 = 0; round1 < 3; round1++) {\n\tmap <<< 1\n}"),
    ("for ($i : 0..4) { @ = sum($i); }", "for (var_i = 0; var_i < 4; var_i++) {\n\tmap <<< var_i\n}"),
    ("@[1] = 2; for ($kv : @) { printf(\"%d %d\", $kv.0, $kv.1); }", "map[1] = 2\nforeach (key_kv_0 in map) {\n\tprintf(\"%d %d\", key_kv_0, map[key_kv_0])\n}"),
    ("@[1, comm] = count(); for ($e : @) { print($e.0.1); print($e.1); }", "map[1, execname()] <<< 1\nforeach ([key_e_0, key_e_1] in map) {\n\tprintf(\"%s\\n\", key_e_1)\n\tprintf(\"%d\\n\", @count(map[key_e_0, key_e_1]))\n}"),
    ("@ = pid == 1 ? \"one\" : \"more\";", "map = (pid() == 1) ? \"one\" : \"more\""),
    ("@ = !pid || ~1 & -2 && comm != \"x\";", "map = (!pid()) || (((~1) & (-2)) && (execname() != \"x\"))"),
    ("return;", "next"),
    ("exit();", "exit(); next"),
    ("@ = (uint8)arg0; @b = (int32)arg0; @c = (uint64)arg0;", "map = long_arg(1) & 0xff\nmap_b = (long_arg(1) << 32) >> 32\nmap_c = long_arg(1)"),
    ("@ = (unsigned char)arg0;", "map = long_arg(1) & 0xff"),
    ("@ = *(uint32 *)arg0; @b = *(int8 *)(arg0 + 1);", "map = user_uint32(long_arg(1))\nmap_b = user_int8(long_arg(1) + 1)"),
    ("$p = (uint16 *)arg0; @ = $p[3];", "var_p = long_arg(1)\nmap = user_uint16(var_p + 3 * 2)"),
    ("@ = ((struct s *)arg0)->a.b;", "map = @cast(long_arg(1), \"s\")->a->b"),
    ("$s = (struct s *)arg0; @ = $s->a; @b = &$s->a;", "var_s = long_arg(1)\nmap = @cast(var_s, \"s\")->a\nmap_b = &@cast(var_s, \"s\")->a"),
    ("@ = sizeof(struct s) + sizeof(uint32) + sizeof(s *);", "map = (@cast_sizeof(\"s\") + 4) + 8"),
    ("@ = usym(arg0); @r = reg(\"ip\") + reg(\"di\");", "map = usymname(long_arg(1))\nmap_r = uaddr() + register(\"rdi\")"),
    ("@ = strncmp(comm, \"ab\", 2); @l = strlen(comm);", "map = (substr(execname(), 0, 2) != substr(\"ab\", 0, 2))\nmap_l = strlen(execname())"),
    ("@ = strcontains(comm, \"a\"); @n = ntop(arg0);", "map = isinstr(execname(), \"a\")\nmap_n = ip_ntop(long_arg(1))"),
    ("time(\"%H:%M\\n\"); @ = strftime(\"%T\", nsecs);", "printf(\"%s:%s\\n\", clock(11, 2, gettimeofday_s()), clock(14, 2, gettimeofday_s()))\nmap = sprintf(\"%s\", clock(11, 8, (gettimeofday_ns()) / 1000000000))"),
    ("system(\"date\"); system(\"kill %d\", pid);", "system(\"date\")\nsystem(sprintf(\"kill %d\", pid()))"),
    ("join(arg0); join(arg0, \",\");", "println(joined(long_arg(1), \" \"))\nprintln(joined(long_arg(1), \",\"))"),
    ("@ = $1; @s = str($2); @n = $#; // two\n/* words */ @e = elapsed", "map = 7\nmap_s = \"w\\\"\"\nmap_n = 2\nmap_e = (gettimeofday_ns() - began)"),
];

#[test]
fn constructs() {
    for (statements, wanted) in IN_PROGRAM {
        let made = probes(
            &format!("uprobe:/bin/a:f {{ {statements} }}"),
            &of_target(&["7", "w\""]),
        );
        let body: String = wanted.lines().map(|l| format!("\t{l}\n")).collect();
        let wanted = format!("probe process(\"/bin/a\").function(\"f\").call {{\n{body}}}");
        assert_eq!(made, wanted, "{statements}");
    }
}

/// Point, statements, and what becomes of them.
const ELSEWHERE: [(&str, &str, &str); 13] = [
    ("uretprobe:/bin/a:f", "@ = retval;", "map = returnval()"),
    ("usdt:/bin/a:p:n", "@ = arg1;", "map = $arg2"),
    ("tracepoint:raw_syscalls:sys_enter", "@[args.id] = args.args[1];", "map[$syscall] = $arg2"),
    ("tracepoint:raw_syscalls:sys_exit", "@[args.id] = args.ret;", "map[$syscall] = $return"),
    ("kprobe:f", "@ = str(arg0); @u = ustr(arg0); @k = ksym(arg1);", "map = kernel_string(long_arg(1), \"\")\nmap_u = user_string_nofault(long_arg(1))\nmap_k = symname(long_arg(2))"),
    ("kprobe:f", "@[kstack(5), ustack] = *(uint32 *)arg0;", "map[frames(sprint_backtrace(), 5), sprint_ubacktrace()] = kernel_uint(long_arg(1))"),
    ("kprobe:f", "@ = curtask->pid;", "map = @cast(task_current(), \"task_struct\", \"kernel\")->pid"),
    ("kprobe:f", "@ = sizeof(struct file);", "map = @cast_module_sizeof(\"kernel\", \"file\")"),
    ("fentry:f", "@ = args.file->f_pos;", "map = $file->f_pos"),
    ("fexit:f", "@[args.n] = retval;", "map[@entry($n)] = $return"),
    ("tracepoint:sched:sched_switch", "@[args.prev_comm, str(args.next_comm)] = args.next_pid;", "map[kernel_string(&$prev->comm), kernel_string(&$next->comm)] = $next->pid"),
    ("tracepoint:x:y", "@ = args.z;", "map = $z"),
    ("tracepoint:irq:softirq_entry", "@[args.vec] = count();", "map[$vec_nr] <<< 1"),
];

#[test]
fn elsewhere() {
    for (point, statements, wanted) in ELSEWHERE {
        let kernel = point.starts_with('k')
            || point.starts_with('f')
            || !point.contains("sys") && point.starts_with('t');
        let setting = if kernel {
            Setting::default()
        } else {
            of_target(&[])
        };
        let made = probes(&format!("{point} {{ {statements} }}"), &setting);
        let body = made
            .split_once("{\n")
            .and_then(|(_, b)| b.strip_suffix("\n}"))
            .unwrap_or("");
        let body = body.replace("\n\t", "\n");
        assert_eq!(
            body.trim_start_matches('\t'),
            wanted,
            "{point} {statements}"
        );
    }
}

/// What a map holds, and how it is printed.
const PRINTED: [(&str, &str); 9] = [
    ("@x = 1", "\tprintf(\"@x: %d\\n\", map_x)\n"),
    ("@x = comm", "\tprintf(\"@x: %s\\n\", map_x)\n"),
    ("@x = hist(1)", "\tif (@count(map_x)) { printf(\"@x:\\n\"); print(@hist_log(map_x)) }\n"),
    ("@x[1, comm] = 1", "\tforeach ([key1, key2] in map_x+) {\n\t\tprintf(\"@x[%d, %s]: %d\\n\", key1, key2, map_x[key1, key2])\n\t}\n"),
    ("@x[1] = sum(1)", "\tforeach (key1 in map_x @sum +) {\n\t\tprintf(\"@x[%d]: %d\\n\", key1, @sum(map_x[key1]))\n\t}\n"),
    ("@x[1] = avg(1)", "\tforeach (key1 in map_x @avg +) {\n\t\tprintf(\"@x[%d]: %d\\n\", key1, @avg(map_x[key1]))\n\t}\n"),
    ("@x[1] = stats(1)", "\tforeach (key1 in map_x @count +) {\n\t\tprintf(\"@x[%d]: count %d, average %d, total %d\\n\", key1, @count(map_x[key1]), @avg(map_x[key1]), @sum(map_x[key1]))\n\t}\n"),
    ("@x[1] = lhist(1, 0, 10, 2)", "\tforeach (key1 in map_x @count +) {\n\t\tprintf(\"@x[%d]:\\n\", key1); print(@hist_linear(map_x[key1], 0, 10, 2))\n\t}\n"),
    ("@x[ustack] = max(1)", "\tforeach (key1 in map_x @max +) {\n\t\tprintf(\"@x[\\n%s]: %d\\n\", key1, @max(map_x[key1]))\n\t}\n"),
];

#[test]
fn maps_are_printed_at_the_end() {
    for (statement, wanted) in PRINTED {
        let text = whole(
            &format!("uprobe:/bin/a:f {{ {statement} }}"),
            &of_target(&[]),
        );
        assert!(
            text.contains(&format!("function print_map_x () {{\n{wanted}}}\n")),
            "{statement}: {text}"
        );
        assert!(
            text.ends_with("\nprobe end(1000), error(1000) {\n\tprint_map_x()\n}\n"),
            "{text}"
        );
    }
    let text = whole(
        "uprobe:/bin/a:f { @[1] = count(); print(@, 2); }",
        &of_target(&[]),
    );
    let wanted = "\tleft = 0\n\tforeach (key1 in map) left++\n\tforeach (key1 in map @count +) {\n\
                  \t\tif (top && left-- > top) continue\n\t\tprintf(\"@[%d]: %d\\n\", key1, @count(map[key1]) / div)\n\t}\n";
    assert!(
        text.contains(wanted) && text.ends_with("\tprint_map(0, 1)\n}\n"),
        "{text}"
    );
}

/// A map's type may be known only behind its use, and by way of others.
#[test]
fn types_are_found_in_any_order() {
    let text = whole(
        "uprobe:/bin/a:f { @a = @b; @b = @c[1]; } BEGIN { @c[1] = comm; }",
        &of_target(&[]),
    );
    assert!(text.contains("printf(\"@a: %s\\n\", map_a)"), "{text}");
}

/// Statements of `uprobe:/bin/a:f`, kind, column, a part of what is said.
const WRONG: [(&str, Kind, usize, &str); 33] = [
    (
        "printf(\"%d\\n\", comm)",
        Kind::Wrong,
        16,
        "%d does not go with text",
    ),
    (
        "printf(\"%s\\n\", pid)",
        Kind::Wrong,
        16,
        "%s does not go with a number",
    ),
    (
        "printf(\"%d\\n\")",
        Kind::Wrong,
        8,
        "the format wants 1 values, and there are 0",
    ),
    (
        "printf(\"%r\\n\", 1)",
        Kind::Refused,
        8,
        "%r is not translated",
    ),
    (
        "@x = 1; @x = comm",
        Kind::Wrong,
        9,
        "@x holds text here, and a number elsewhere",
    ),
    (
        "@x = 1; @x = count()",
        Kind::Wrong,
        9,
        "what count() gathers",
    ),
    (
        "@x[1] = 1; @x = 2",
        Kind::Wrong,
        12,
        "@x has no key here, and one key elsewhere",
    ),
    (
        "@x[1] = 1; @x[comm] = 2",
        Kind::Wrong,
        12,
        "key 1 of @x is text here, and a number elsewhere",
    ),
    ("print(@y)", Kind::Wrong, 7, "@y is never set"),
    ("print($y)", Kind::Wrong, 7, "$y is never set in this probe"),
    (
        "$x = 1; $x = comm",
        Kind::Wrong,
        9,
        "$x is text here, and a number before",
    ),
    (
        "@ = comm + 1",
        Kind::Wrong,
        5,
        "a number and text do not go together",
    ),
    (
        "@ = comm < \"a\"",
        Kind::Wrong,
        5,
        "< does not go with text",
    ),
    ("pid = 1", Kind::Wrong, 1, "this cannot be set"),
    ("@ = (1, 2)", Kind::Refused, 6, "tuples are not translated"),
    (
        "@ = kstack",
        Kind::Refused,
        5,
        "does not see the kernel's stack",
    ),
    (
        "@ = curtask",
        Kind::Refused,
        5,
        "does not see the kernel's task",
    ),
    ("@ = cgroup", Kind::Refused, 5, "control groups"),
    (
        "@ = kaddr(\"x\")",
        Kind::Refused,
        5,
        "kaddr: addresses of a kernel's symbols",
    ),
    (
        "cat(\"/proc/loadavg\")",
        Kind::Refused,
        1,
        "cat: handlers do not read files",
    ),
    (
        "signal(9)",
        Kind::Refused,
        1,
        "signal: signals are not sent",
    ),
    (
        "@ = retval",
        Kind::Wrong,
        5,
        "only where a function returns",
    ),
    ("@ = nothing", Kind::Wrong, 5, "`nothing` is not a name"),
    ("nothing(1)", Kind::Wrong, 1, "`nothing` is not a function"),
    (
        "@ = arg0->x",
        Kind::Wrong,
        5,
        "nothing says what type this points to",
    ),
    (
        "@ = *arg0",
        Kind::Wrong,
        5,
        "nothing says what number stands at this address",
    ),
    (
        "@ = hist(1, 3)",
        Kind::Refused,
        13,
        "one row for each power of two",
    ),
    (
        "@ = lhist(1, 5, 5, 1)",
        Kind::Wrong,
        14,
        "from a smaller to a larger number",
    ),
    (
        "@ = lhist(1, 0, 5)",
        Kind::Wrong,
        5,
        "lhist() takes 4 values, not 3",
    ),
    ("break", Kind::Wrong, 1, "break stands in no loop"),
    ("@ = 12ab", Kind::Wrong, 5, "`12ab` is no number"),
    ("@ = \"abc", Kind::Wrong, 5, "this text does not end"),
    (
        "@ = $3",
        Kind::Wrong,
        5,
        "there is no word 3 on the command line",
    ),
];

#[test]
fn wrong_statements() {
    for (statements, kind, column, what) in WRONG {
        let program = format!("uprobe:/bin/a:f {{\n{statements} }}");
        let e = error(&program, &of_target(&["a"]));
        assert!(
            e.kind == kind && e.what.contains(what) && !e.next.is_empty(),
            "{statements}: {e:?}"
        );
        assert_eq!(e.place(&program), (2, column), "{statements}: {e:?}");
    }
}

/// Of whole programs.
const BROKEN: [(&str, &str); 8] = [
    ("", "there is no probe in this program"),
    ("BEGIN { printf(\"a\" }", "`)` is wanted here, not `}`"),
    ("BEGIN { @ = 1 @ = 2 }", "`;` is wanted here"),
    (
        "BEGIN { @ = 1;",
        "a value is wanted, and the program ends here",
    ),
    (
        "struct a { int x; }; BEGIN { }",
        "`struct` declarations are not translated",
    ),
    ("#define X 1\nBEGIN { }", "only #include <HEADER> is taken"),
    ("/* BEGIN { }", "this comment does not end"),
    ("BEGIN { \u{e9} }", "`\u{e9}` means nothing here"),
];

#[test]
fn broken_programs() {
    for (program, what) in BROKEN {
        let e = error(program, &of_target(&[]));
        assert!(e.what.contains(what), "{program}: {e:?}");
    }
    for (part, what) in [
        ("(", "nested"),
        ("++", "nested"),
        ("!", "nested"),
        ("1+", "parts"),
    ] {
        let deep = format!("BEGIN {{ @ = {}1 }}", part.repeat(5000));
        let e = error(&deep, &of_target(&[]));
        assert!(e.what.contains(what), "{part}: {e:?}");
    }
    let deep = format!("BEGIN {{ @ = args{} }}", ".a".repeat(5000));
    assert!(error(&deep, &of_target(&[])).what.contains("parts"));
}
