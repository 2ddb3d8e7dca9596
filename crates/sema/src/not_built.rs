// SPDX-License-Identifier: MIT
//! What SystemTap's library has and trapless does not have yet, with the way
//! round; so that a script from elsewhere is told what is the matter.

/// Functions by name or wildcard.
const FUNCTIONS: &[(&str, &str)] = &[
    ("panic", "use error() or exit()"),
    ("get_and_inc*", "use a global"),
    ("tls_*", "use @var in the thread"),
    ("module_size", "use pp()"),
    ("print_java_backtrace", "probe the machine's own functions"),
    ("sprint_java_backtrace", "probe the machine's own functions"),
    ("python*", INTERPRETER),
    ("Py[23]Object_*", INTERPRETER),
    ("stp_print_binary", "use printf() with %b"),
];

const INTERPRETER: &str = "probe the interpreter's own functions";

/// Functions that look into the kernel.
const KERNEL_FUNCTIONS: &[&str] = &[
    "task_*",
    "kernel_*",
    "pid2*",
    "inode_*",
    "printk",
    "addr_to_*",
    "set_kernel_*",
    "irq*",
    "current_*",
    "fullpath_*",
    "stack*",
    "MKDEF",
    "nfsderror",
    "atomic_*",
    "dump_stack",
    "ftrace",
    "inet_get_*",
    "ipmib_*",
    "linuxmib_*",
    "tcpmib_*",
    "real_mount",
    "is_sig_blocked",
    "get_sa_*",
    "sa_handler",
    // of disks
    "bdevname",
    "bio_*",
    "daddr_to_string",
    "describe_device_state",
    "describe_data_direction",
    "disk_*",
    "get_devstate_from_req",
    "scsi_timer_pending",
    "timer_pending",
    // of network files
    "NFS_*",
    "nfs[34]_*",
    "stap_NFS_CLIENT",
    "*_from_rqst*",
    "*_from_cl*nt",
    "*_from_xprt",
    "*_from_msg",
    "*_from_prog",
    "get_ip*",
    "get_prot*",
    "ftype",
    "ppos_pos",
    // of its network
    "get_netdev_name",
    "tcp_*get_info_*",
    // of its memory and tasks
    "container_of_task_rcu",
    "rcu_dereference",
    "get_mmap_args",
    "get_sigaction_mask",
];

/// Points of SystemTap's library that stand for places in the kernel.
const KERNEL_POINTS: &[&str] = &[
    "kernel",
    "netfilter",
    "lsm",
    "memory",
    "ioscheduler",
    "ioscheduler_trace",
    "sunrpc",
    "ipmib",
    "tcpmib",
    "linuxmib",
    "nfs",
    "nfsd",
    "scsi",
    "tty",
    "atomic",
    "livepatch",
    "nfsderror",
    "generic",
];

/// Points that trapless will have, with the way round.
const POINTS: &[(&str, &str)] = &[
    ("perf", "use timer.ms(n)"),
    ("java", "probe the machine's own functions"),
    ("hotspot", "probe the machine's own functions"),
    ("python2", INTERPRETER),
    ("python3", INTERPRETER),
    ("python", INTERPRETER),
    ("perl", INTERPRETER),
    ("ruby", INTERPRETER),
    ("debuginfod", "name the program: process(\"/path\")"),
];

/// What is known of a word.
pub enum Known {
    /// Not built yet; what to do instead.
    Later(&'static str),
    Kernel,
}

fn is(pattern: &str, name: &str) -> bool {
    trapless_debuginfo::glob::matches(pattern, name)
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
