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

/// Points of SystemTap's library that stand for places in the kernel, by the words that they begin with, and the way round.
const KERNEL_POINTS: &[(&str, &str)] = &[
    ("kernel", FUNCTION),
    ("netfilter", FUNCTION),
    ("lsm", FUNCTION),
    ("memory", FUNCTION),
    ("ioscheduler", FUNCTION),
    ("ioscheduler_trace", FUNCTION),
    ("sunrpc", FUNCTION),
    ("ipmib", FUNCTION),
    ("tcpmib", FUNCTION),
    ("linuxmib", FUNCTION),
    ("nfs", FUNCTION),
    ("nfsd", FUNCTION),
    ("scsi", FUNCTION),
    ("tty", FUNCTION),
    ("atomic", FUNCTION),
    ("livepatch", FUNCTION),
    ("nfsderror", FUNCTION),
    ("generic", FUNCTION),
    ("vfs.add_to_page_cache", PAGES),
    ("vfs.remove_from_page_cache", PAGES),
    ("vfs.block_sync_page", FUNCTION),
    ("vfs.buffer_migrate_page", FUNCTION),
    ("vfs.do_mpage_readpage", FUNCTION),
    ("vfs.do_sync_read", "use vfs.read"),
    ("vfs.do_sync_write", "use vfs.write"),
    ("socket.aio_read", READS),
    ("socket.readv", READS),
    ("socket.aio_write", WRITES),
    ("socket.writev", WRITES),
    (
        "workqueue.create",
        "use kernel.function(\"alloc_workqueue\")",
    ),
    (
        "workqueue.destroy",
        "use kernel.function(\"destroy_workqueue\")",
    ),
];

const FUNCTION: &str =
    "probe the kernel's function, kernel.function(\"NAME\"), or the program that calls the kernel";
const PAGES: &str = "use kernel.trace(\"filemap:*\")";
const READS: &str = "use socket.read_iter, which reads by vectors, too";
const WRITES: &str = "use socket.write_iter, which writes by vectors, too";

/// The same of those that trapless will have.
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

/// What is known of a point.
pub struct Point {
    /// The words that all such points begin with.
    pub words: &'static str,
    pub in_kernel: bool,
    /// What to do instead.
    pub instead: &'static str,
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

/// The words of a point are separate.
pub fn point(words: &[&str]) -> Option<Point> {
    let kernel = KERNEL_POINTS.iter().map(|p| (p, true));
    let all = POINTS.iter().map(|p| (p, false)).chain(kernel);
    let begins = |with: &str| {
        let mut given = words.iter();
        with.split('.').all(|word| given.next() == Some(&word))
    };
    let mut found = all.filter(|((with, _), _)| begins(with));
    found.next().map(|(&(words, instead), in_kernel)| Point {
        words,
        in_kernel,
        instead,
    })
}
