// SPDX-License-Identifier: MIT
//! What SystemTap's library has and trapless does not have yet, with the way
//! round; so that a script from elsewhere is told what is the matter.

/// Functions by name or by `prefix*`.
const FUNCTIONS: &[(&str, &str)] = &[
    ("matched", "take the text apart with tokenize() or substr()"),
    ("ngroups", "take the text apart with tokenize() or substr()"),
    ("backtrace", "use caller_addr() and usymname()"),
    ("print_backtrace", "use caller_addr() and usymname()"),
    ("sprint_backtrace", "use caller_addr() and usymname()"),
    ("ubacktrace", "use caller_addr() and usymname()"),
    ("print_ubacktrace*", "use caller_addr() and usymname()"),
    ("sprint_ubacktrace", "use caller_addr() and usymname()"),
    ("print_ustack", "use caller_addr() and usymname()"),
    ("sprint_ustack", "use caller_addr() and usymname()"),
    ("print_usyms", "print usymname() of each address"),
    ("sprint_usyms", "print usymname() of each address"),
    ("callers", "use caller_addr() and usymname()"),
    ("system", "run the command beside trapless"),
    ("raise", "send the signal with kill(1)"),
    ("panic", "use error() or exit()"),
    ("speculat*", "collect the text in a global array"),
    ("commit", "collect the text in a global array"),
    ("discard", "collect the text in a global array"),
    ("switch_file", "use -o FILE"),
    (
        "start_stopwatch",
        "subtract two values of gettimeofday_us()",
    ),
    ("stop_stopwatch", "subtract two values of gettimeofday_us()"),
    (
        "read_stopwatch*",
        "subtract two values of gettimeofday_us()",
    ),
    ("qs_*", "count arrivals and add up times in globals"),
    ("qsq_*", "count arrivals and add up times in globals"),
    ("fp_*", "count in whole numbers, e.g. thousandths"),
    ("string_to_fp", "count in whole numbers, e.g. thousandths"),
    ("long_to_fp", "count in whole numbers, e.g. thousandths"),
    ("target_set_*", "compare pid() with target()"),
    (
        "set_user_*",
        "trapless does not write to the traced program yet",
    ),
    ("get_and_inc*", "use a global"),
    ("randint", "use gettimeofday_ns() % n"),
    ("cmdline_*", "use execname()"),
    ("env_var", "read the variable in a probe of getenv()"),
    (
        "uid",
        "the traced process runs with one user id: see ps -p PID -o uid",
    ),
    (
        "euid",
        "the traced process runs with one user id: see ps -p PID -o euid",
    ),
    ("gid", "see ps -p PID -o gid"),
    ("egid", "see ps -p PID -o egid"),
    ("ppid", "see ps -p PID -o ppid"),
    ("pgrp", "see ps -p PID -o pgrp"),
    ("sid", "see ps -p PID -o sid"),
    ("pexecname", "see ps -p PID -o ppid, and /proc/PPID/comm"),
    ("cpu", "use tid()"),
    ("pn", "use pp()"),
    ("ip_ntop", "print the bytes of the address with %d"),
    ("htonl", "use shifts and masks"),
    ("ntohl", "use shifts and masks"),
    ("htons", "use shifts and masks"),
    ("ntohs", "use shifts and masks"),
    ("mem_page_size", "see getconf PAGESIZE"),
    ("proc_mem_*", "see /proc/PID/status"),
    ("print_syms", "print usymname() of each address"),
    ("tls_*", "use @var in the thread"),
];

/// Functions that look into the kernel.
const KERNEL_FUNCTIONS: &[&str] = &[
    "task_*",
    "kernel_*",
    "symname",
    "symdata",
    "symfileline",
    "pid2*",
    "d_name",
    "d_path",
    "inode_*",
    "MAJOR",
    "MINOR",
    "MKDEV",
    "printk",
    "ktime_*",
    "addr_to_*",
    "set_kernel_*",
    "modname",
    "irq*",
    "current_*",
    "fullpath_*",
    "cpu_clock_*",
    "jiffies",
    "HZ",
    "stack*",
    "print_stack",
    "json_*",
];

/// Points of SystemTap's library that stand for places in the kernel.
const KERNEL_POINTS: &[&str] = &[
    "kernel",
    "module",
    "kprobe",
    "netfilter",
    "lsm",
    "vm",
    "memory",
    "vfs",
    "ioblock",
    "ioblock_trace",
    "ioscheduler",
    "ioscheduler_trace",
    "scheduler",
    "signal",
    "kprocess",
    "socket",
    "tcp",
    "udp",
    "netdev",
    "sunrpc",
    "ipmib",
    "tcpmib",
    "linuxmib",
    "nfs",
    "nfsd",
    "scsi",
    "irq_handler",
    "softirq",
    "workqueue",
    "tty",
    "atomic",
    "livepatch",
    "nfsderror",
    "generic",
];

/// Points that trapless will have, with the way round.
const POINTS: &[(&str, &str)] = &[
    ("syscall", LIBC),
    ("nd_syscall", LIBC),
    ("dw_syscall", LIBC),
    ("tp_syscall", LIBC),
    ("syscall_any", LIBC),
    ("nd_syscall_any", LIBC),
    ("tp_syscall_any", LIBC),
    ("prometheus", "print the figures in a timer.s(n) probe"),
    ("json_data", "print the figures in a timer.s(n) probe"),
    ("procfs", "print in a timer.s(n) probe"),
    ("input", "use timer.s(n), or end the session with Ctrl-C"),
    ("perf", "use timer.ms(n)"),
    ("java", "probe the machine's own functions"),
    ("hotspot", "probe the machine's own functions"),
    ("python2", "probe the interpreter's own functions"),
    ("python3", "probe the interpreter's own functions"),
    ("python", "probe the interpreter's own functions"),
    ("perl", "probe the interpreter's own functions"),
    ("ruby", "probe the interpreter's own functions"),
    ("debuginfod", "name the program: process(\"/path\")"),
];

const LIBC: &str =
    "probe the C library's function: process.library(\"libc.so*\").function(\"open\")";

/// What is known of a word.
pub enum Known {
    /// Not built yet; what to do instead.
    Later(&'static str),
    Kernel,
}

fn is(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}

pub fn function(name: &str) -> Option<Known> {
    if let Some((_, instead)) = FUNCTIONS.iter().find(|f| is(f.0, name)) {
        return Some(Known::Later(instead));
    }
    let kernel = KERNEL_FUNCTIONS.iter().any(|p| is(p, name));
    kernel.then_some(Known::Kernel)
}

pub fn point(name: &str) -> Option<Known> {
    if let Some((_, instead)) = POINTS.iter().find(|p| p.0 == name) {
        return Some(Known::Later(instead));
    }
    KERNEL_POINTS.contains(&name).then_some(Known::Kernel)
}
