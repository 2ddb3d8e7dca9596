// SPDX-License-Identifier: MIT
//! The standard events of `--trace-events`: names, payloads, and where each comes from.

/// How a field is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Number,
    Hex,
    Address,
    /// A word, without quotes.
    Name,
    /// Text whose expression has put it into quotes.
    Text,
}

impl Kind {
    pub fn conversion(self) -> &'static str {
        match self {
            Kind::Number => "%d",
            Kind::Hex => "%#x",
            Kind::Address => "%p",
            Kind::Name | Kind::Text => "%s",
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Kind::Number => "number",
            Kind::Hex => "hex",
            Kind::Address => "address",
            Kind::Name => "name",
            Kind::Text => "text",
        }
    }
}

pub struct Field {
    pub name: &'static str,
    pub kind: Kind,
    /// In the script's language.
    pub value: &'static str,
}

/// Whose an event is: where a kernel is asked for one program's alone, others' are left out.
pub enum Whose {
    /// The running task's.
    Runner,
    /// Those processes'.
    Of(&'static [&'static str]),
    /// The machine's: whoever ran then.
    Machine,
}

/// What an event is in a process, or in a kernel.
pub struct Source {
    pub points: &'static [&'static str],
    /// The event is only there where this holds; "": always.
    pub only: &'static str,
    pub whose: Whose,
    pub fields: &'static [Field],
}

pub struct Event {
    pub name: &'static str,
    pub what: &'static str,
    pub process: Option<Source>,
    pub kernel: Option<Source>,
}

const fn field(name: &'static str, kind: Kind, value: &'static str) -> Field {
    Field { name, kind, value }
}

const fn number(name: &'static str, value: &'static str) -> Field {
    field(name, Kind::Number, value)
}

const fn hex(name: &'static str, value: &'static str) -> Field {
    field(name, Kind::Hex, value)
}

const fn address(name: &'static str, value: &'static str) -> Field {
    field(name, Kind::Address, value)
}

const fn name(name: &'static str, value: &'static str) -> Field {
    field(name, Kind::Name, value)
}

const fn text(name: &'static str, value: &'static str) -> Field {
    field(name, Kind::Text, value)
}

const fn source(
    points: &'static [&'static str],
    whose: Whose,
    fields: &'static [Field],
) -> Option<Source> {
    Some(Source {
        points,
        only: "",
        whose,
        fields,
    })
}

/// In a process and in a kernel alike, by aliases of the script library.
const fn both(
    name: &'static str,
    what: &'static str,
    points: &'static [&'static str],
    fields: &'static [Field],
) -> Event {
    Event {
        name,
        what,
        process: source(points, Whose::Runner, fields),
        kernel: source(points, Whose::Runner, fields),
    }
}

const fn in_kernel(
    name: &'static str,
    what: &'static str,
    points: &'static [&'static str],
    whose: Whose,
    fields: &'static [Field],
) -> Event {
    Event {
        name,
        what,
        process: None,
        kernel: source(points, whose, fields),
    }
}

const DISK: Field = text(
    "disk",
    "$rq->q->disk ? kernel_string_quoted(&$rq->q->disk->disk_name) : \"\\\"\\\"\"",
);
const SECTOR: Field = number("sector", "$rq->__sector");
const DEVICE: Field = text("device", "kernel_string_quoted(&$skb->dev->name)");
const LENGTH: Field = number("len", "$skb->len");
const NR: Field = number("nr", "$syscall");
const CALL: Field = name("name", "syscall_name($syscall)");
const KERNEL_NR: Field = number("nr", "syscall_nr");
const KERNEL_CALL: Field = name("name", "name");
const IP: Field = address("ip", "uaddr()");
const ARG: [Field; 6] = [
    hex("arg1", "$arg1"),
    hex("arg2", "$arg2"),
    hex("arg3", "$arg3"),
    hex("arg4", "$arg4"),
    hex("arg5", "$arg5"),
    hex("arg6", "$arg6"),
];
const ENTERED: [Field; 9] = entered(NR, CALL);
const KERNEL_ENTERED: [Field; 9] = entered(KERNEL_NR, KERNEL_CALL);
const LEFT: [Field; 3] = [NR, CALL, number("ret", "$return")];
const KERNEL_LEFT: [Field; 3] = [KERNEL_NR, KERNEL_CALL, number("ret", "retval")];

const fn entered(nr: Field, call: Field) -> [Field; 9] {
    let [a, b, c, d, e, f] = ARG;
    [nr, call, a, b, c, d, e, f, IP]
}

pub const EVENTS: &[Event] = &[
    Event {
        name: "sys_enter",
        what: "a system call begins; ip: where it was made",
        process: source(&["process.syscall"], Whose::Runner, &ENTERED),
        kernel: source(&["syscall_any"], Whose::Runner, &KERNEL_ENTERED),
    },
    Event {
        name: "sys_exit",
        what: "and returns",
        process: source(&["process.syscall.return"], Whose::Runner, &LEFT),
        kernel: source(&["syscall_any.return"], Whose::Runner, &KERNEL_LEFT),
    },
    Event {
        name: "fork",
        what: "a child is made, or a thread (in a process: by its parent's system call)",
        process: Some(Source {
            points: &[
                "syscall.clone.return",
                "syscall.clone3.return?",
                "syscall.fork.return?",
                "syscall.vfork.return?",
            ],
            only: "retval > 0",
            whose: Whose::Runner,
            fields: &[number("child", "retval")],
        }),
        kernel: source(
            &["kernel.trace(\"sched:sched_process_fork\")"],
            Whose::Runner,
            &[
                number("child", "$child->pid"),
                number("child_pid", "$child->tgid"),
            ],
        ),
    },
    Event {
        name: "exec",
        what: "a process begins: with a new program (in a process also as a fork's child)",
        process: source(
            &["process.begin"],
            Whose::Runner,
            &[
                number("parent", "ppid()"),
                text("args", "string_quoted(cmdline_str())"),
            ],
        ),
        kernel: source(
            &["kernel.trace(\"sched:sched_process_exec\")"],
            Whose::Runner,
            &[
                number("old_tid", "$old_pid"),
                text("file", "kernel_string_quoted($bprm->filename)"),
            ],
        ),
    },
    Event {
        name: "exit",
        what: "a process ends (in a kernel: a thread)",
        process: source(&["process.end"], Whose::Runner, &[]),
        kernel: source(
            &["kernel.trace(\"sched:sched_process_exit\")"],
            Whose::Runner,
            &[
                number("tid", "$p->pid"),
                number("status", "$p->exit_code >> 8 & 255"),
                number("signal", "$p->exit_code & 127"),
            ],
        ),
    },
    Event {
        name: "thread_begin",
        what: "a thread begins, but a process's first",
        process: source(&["process.thread.begin"], Whose::Runner, &[]),
        kernel: None,
    },
    Event {
        name: "thread_end",
        what: "and ends",
        process: source(&["process.thread.end"], Whose::Runner, &[]),
        kernel: None,
    },
    both(
        "file_open",
        "a file is about to be opened",
        &["syscall.open?", "syscall.openat"],
        &[text("file", "filename"), name("flags", "flags_str")],
    ),
    both(
        "mem_map",
        "memory is about to be mapped",
        &["syscall.mmap"],
        &[
            number("len", "length"),
            name("prot", "prot_str"),
            name("flags", "flags_str"),
            number("fd", "fd"),
        ],
    ),
    both(
        "mem_unmap",
        "and to be unmapped",
        &["syscall.munmap"],
        &[address("at", "start"), number("len", "length")],
    ),
    in_kernel(
        "sched_switch",
        "a processor goes from one task to another; state: what the first one waits as, 0: it could go on",
        &["kernel.trace(\"sched:sched_switch\")"],
        Whose::Of(&["$prev->tgid", "$next->tgid"]),
        &[
            number("prev", "$prev->pid"),
            number("prio", "$prev->prio"),
            hex("state", "$prev->__state"),
            number("next", "$next->pid"),
            number("next_prio", "$next->prio"),
            text("next_name", "kernel_string_quoted(&$next->comm)"),
        ],
    ),
    in_kernel(
        "sched_wakeup",
        "a task may run again",
        &["kernel.trace(\"sched:sched_wakeup\")"],
        Whose::Of(&["$p->tgid"]),
        &[
            number("tid", "$p->pid"),
            number("prio", "$p->prio"),
            number("on_cpu", "task_cpu($p)"),
            text("task", "kernel_string_quoted(&$p->comm)"),
        ],
    ),
    in_kernel(
        "sched_migrate",
        "a task goes to another processor",
        &["kernel.trace(\"sched:sched_migrate_task\")"],
        Whose::Of(&["$p->tgid"]),
        &[
            number("tid", "$p->pid"),
            number("from", "task_cpu($p)"),
            number("to", "$dest_cpu"),
            text("task", "kernel_string_quoted(&$p->comm)"),
        ],
    ),
    in_kernel(
        "irq_enter",
        "the handler of a device's interrupt begins",
        &["kernel.trace(\"irq:irq_handler_entry\")"],
        Whose::Machine,
        &[
            number("irq", "$irq"),
            text("handler", "kernel_string_quoted($action->name)"),
        ],
    ),
    in_kernel(
        "irq_exit",
        "and ends; ret 1: it was its device's",
        &["kernel.trace(\"irq:irq_handler_exit\")"],
        Whose::Machine,
        &[number("irq", "$irq"), number("ret", "$ret")],
    ),
    in_kernel(
        "softirq_enter",
        "deferred work begins",
        &["kernel.trace(\"irq:softirq_entry\")"],
        Whose::Machine,
        &[number("vec", "$vec_nr")],
    ),
    in_kernel(
        "softirq_exit",
        "and ends",
        &["kernel.trace(\"irq:softirq_exit\")"],
        Whose::Machine,
        &[number("vec", "$vec_nr")],
    ),
    in_kernel(
        "timer_expire",
        "a timer's function is called",
        &["kernel.trace(\"timer:timer_expire_entry\")"],
        Whose::Machine,
        &[
            address("timer", "$timer"),
            name("function", "symname($timer->function)"),
        ],
    ),
    in_kernel(
        "hrtimer_expire",
        "the same of one with a high resolution",
        &["kernel.trace(\"timer:hrtimer_expire_entry\")"],
        Whose::Machine,
        &[
            address("timer", "$hrtimer"),
            name("function", "symname($hrtimer->function)"),
        ],
    ),
    in_kernel(
        "block_issue",
        "a request goes to a disk",
        &["kernel.trace(\"block:block_rq_issue\")"],
        Whose::Machine,
        &[DISK, SECTOR, number("bytes", "$rq->__data_len"), hex("op", "$rq->cmd_flags & 255")],
    ),
    in_kernel(
        "block_complete",
        "a disk has done so much of one",
        &["kernel.trace(\"block:block_rq_complete\")"],
        Whose::Machine,
        &[DISK, SECTOR, number("bytes", "$nr_bytes"), number("error", "$error")],
    ),
    in_kernel(
        "net_send",
        "a packet is queued at a device",
        &["kernel.trace(\"net:net_dev_queue\")"],
        Whose::Machine,
        &[DEVICE, LENGTH],
    ),
    in_kernel(
        "net_receive",
        "a packet has come from a device",
        &["kernel.trace(\"net:netif_receive_skb\")"],
        Whose::Machine,
        &[DEVICE, LENGTH],
    ),
    in_kernel(
        "page_fault",
        "a program touches memory that is not there, or not so",
        &["kernel.trace(\"exceptions:page_fault_user\")"],
        Whose::Runner,
        &[
            address("at", "$address"),
            IP,
            hex("error", "$error_code"),
        ],
    ),
    in_kernel(
        "signal",
        "a signal is sent; result 0: it will come",
        &["kernel.trace(\"signal:signal_generate\")"],
        Whose::Of(&["pid()", "$task->tgid"]),
        &[
            name("sig", "signal_str($sig)"),
            number("to", "$task->pid"),
            text("task", "kernel_string_quoted(&$task->comm)"),
            number("result", "$result"),
        ],
    ),
    in_kernel(
        "signal_deliver",
        "and is taken",
        &["kernel.trace(\"signal:signal_deliver\")"],
        Whose::Runner,
        &[name("sig", "signal_str($sig)"), address("handler", "$ka->sa->sa_handler")],
    ),
];
