// SPDX-License-Identifier: MIT
//! Fields of a kernel's tracepoints, by the parameters that a script reads there.

/// Whether a field is text.
type Field = (&'static str, bool, &'static str);

const fn number(name: &'static str, value: &'static str) -> Field {
    (name, false, value)
}

const fn text(name: &'static str, value: &'static str) -> Field {
    (name, true, value)
}

const WAKEUP: &[Field] = &[
    text("comm", "kernel_string(&$p->comm)"),
    number("pid", "$p->pid"),
    number("prio", "$p->prio"),
    number("target_cpu", "task_cpu($p)"),
];
const REQUEST: &[Field] = &[
    number("sector", "$rq->__sector"),
    number("nr_sector", "($rq->__data_len >> 9)"),
    number("bytes", "$rq->__data_len"),
    text("comm", "execname()"),
];
const ENDING: &[Field] = &[
    text("comm", "kernel_string(&$p->comm)"),
    number("pid", "$p->pid"),
    number("prio", "$p->prio"),
];

/// Those whose fields are not their parameters.
const TABLE: &[(&str, &[Field])] = &[
    (
        "sched:sched_switch",
        &[
            text("prev_comm", "kernel_string(&$prev->comm)"),
            number("prev_pid", "$prev->pid"),
            number("prev_prio", "$prev->prio"),
            number("prev_state", "$prev->__state"),
            text("next_comm", "kernel_string(&$next->comm)"),
            number("next_pid", "$next->pid"),
            number("next_prio", "$next->prio"),
        ],
    ),
    ("sched:sched_wakeup", WAKEUP),
    ("sched:sched_wakeup_new", WAKEUP),
    ("sched:sched_waking", WAKEUP),
    (
        "sched:sched_migrate_task",
        &[
            text("comm", "kernel_string(&$p->comm)"),
            number("pid", "$p->pid"),
            number("prio", "$p->prio"),
            number("orig_cpu", "task_cpu($p)"),
            number("dest_cpu", "$dest_cpu"),
        ],
    ),
    (
        "sched:sched_process_fork",
        &[
            text("parent_comm", "kernel_string(&$parent->comm)"),
            number("parent_pid", "$parent->pid"),
            text("child_comm", "kernel_string(&$child->comm)"),
            number("child_pid", "$child->pid"),
        ],
    ),
    (
        "sched:sched_process_exec",
        &[
            text("filename", "kernel_string($bprm->filename)"),
            number("pid", "$p->pid"),
            number("old_pid", "$old_pid"),
        ],
    ),
    ("sched:sched_process_exit", ENDING),
    ("sched:sched_process_free", ENDING),
    ("block:block_rq_issue", REQUEST),
    ("block:block_rq_insert", REQUEST),
    (
        "block:block_rq_complete",
        &[
            number("sector", "$rq->__sector"),
            number("nr_sector", "($nr_bytes >> 9)"),
            number("error", "$error"),
        ],
    ),
    (
        "irq:irq_handler_entry",
        &[
            number("irq", "$irq"),
            text("name", "kernel_string($action->name)"),
        ],
    ),
    (
        "irq:irq_handler_exit",
        &[number("irq", "$irq"), number("ret", "$ret")],
    ),
    ("irq:softirq_entry", &[number("vec", "$vec_nr")]),
    ("irq:softirq_exit", &[number("vec", "$vec_nr")]),
    ("irq:softirq_raise", &[number("vec", "$vec_nr")]),
    (
        "net:net_dev_queue",
        &[number("skbaddr", "$skb"), number("len", "$skb->len")],
    ),
    (
        "net:netif_receive_skb",
        &[number("skbaddr", "$skb"), number("len", "$skb->len")],
    ),
];

/// The field's value and whether it is text. `Err`: the fields that there are, or none where nothing is known.
pub fn field(point: &str, name: &str) -> Result<(String, bool), Option<String>> {
    let Some((_, fields)) = TABLE.iter().find(|(p, _)| *p == point) else {
        return Err(None);
    };
    match fields.iter().find(|f| f.0 == name) {
        Some((_, is_text, value)) => Ok((value.to_string(), *is_text)),
        None => Err(Some(
            fields.iter().map(|f| f.0).collect::<Vec<_>>().join(", "),
        )),
    }
}
