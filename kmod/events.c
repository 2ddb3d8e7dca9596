/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The standard events of the trace facility come from the kernel's own tracepoints. We stand on one only while somebody wants
 * its event. The kernel calls us there with preemption off, in whatever context.
 */
#include <linux/binfmts.h>
#include <linux/blk-mq.h>
#include <linux/compat.h>
#include <linux/interrupt.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <linux/timer.h>
#include <linux/tracepoint.h>
#include <asm/syscall.h>
#include <trapless/trace.h>

#include "../engine/os/kernel/kernel.h"
#include "../engine/os/kernel/machine.h"
#include "events.h"
#include "kmod.h"

#define RAISE(NUMBER, payload) tl_trace(TL_TRACE_##NUMBER, &(payload), sizeof(payload))

/* --- system calls ---------------------------------------------------------------------------- */

/* As a usual program would make it. False: it is a call that has no name here. */
static bool is_known(const struct pt_regs *user, long *number)
{
	struct pt_regs own;

	return !in_compat_syscall() || tl_machine_usual(&own, user, number);
}

static void on_sys_enter(void *data, struct pt_regs *user, long number)
{
	struct tl_trace_sys_enter e;
	unsigned long args[ARRAY_SIZE(e.args)];

	if (!is_known(user, &number))
		return;
	e.number = number;
	e.caller = tl_trace_caller(
		instruction_pointer(user), user_stack_pointer(user), frame_pointer(user));
	syscall_get_arguments(current, user, args);
	for (size_t i = 0; i < ARRAY_SIZE(args); i++)
		e.args[i] = args[i];
	RAISE(SYS_ENTER, e);
}

static void on_sys_exit(void *data, struct pt_regs *user, long result)
{
	struct tl_trace_sys_exit e = {.number = tl_machine_number(user), .result = result};
	long number = e.number;

	if (!is_known(user, &number))
		return;
	e.number = number;
	RAISE(SYS_EXIT, e);
}

/* --- threads ----------------------------------------------------------------------------------- */

static void on_switch(void *data, bool preempt, struct task_struct *prev, struct task_struct *next,
	unsigned int state)
{
	struct tl_trace_sched_switch e = {
		.state = preempt ? 0 : state,
		.previous = (u32)prev->pid,
		.next = (u32)next->pid,
	};

	RAISE(SCHED_SWITCH, e);
}

static void on_fork(void *data, struct task_struct *parent, struct task_struct *child)
{
	struct tl_trace_process_fork e = {.parent = (u32)parent->pid, .child = (u32)child->pid};

	RAISE(PROCESS_FORK, e);
}

static void on_exec(void *data, struct task_struct *p, pid_t before, struct linux_binprm *bprm)
{
	struct tl_trace_process_exec e = {.pid = (u32)p->pid, .before = (u32)before};

	RAISE(PROCESS_EXEC, e);
}

static void on_exit_of(void *data, struct task_struct *p)
{
	struct tl_trace_process_exit e = {.pid = (u32)p->pid, .code = p->exit_code};

	RAISE(PROCESS_EXIT, e);
}

static void on_fault(void *data, unsigned long address, struct pt_regs *regs, unsigned long error)
{
	struct tl_trace_page_fault e = {
		.address = address,
		.ip = instruction_pointer(regs),
		.error = error,
	};

	RAISE(PAGE_FAULT, e);
}

/* --- devices ------------------------------------------------------------------------------------- */

static void on_irq(void *data, int irq, struct irqaction *action)
{
	struct tl_trace_irq_enter e = {.handler = (uintptr_t)action->handler, .irq = irq};

	RAISE(IRQ_ENTER, e);
}

static void on_irq_done(void *data, int irq, struct irqaction *action, int result)
{
	struct tl_trace_irq_exit e = {
		.handler = (uintptr_t)action->handler,
		.irq = irq,
		.result = result,
	};

	RAISE(IRQ_EXIT, e);
}

static void on_issue(void *data, struct request *rq)
{
	struct tl_trace_block_issue e = {
		.request = (uintptr_t)rq,
		.sector = blk_rq_pos(rq),
		.bytes = blk_rq_bytes(rq),
		.operation = (u32)req_op(rq),
	};

	RAISE(BLOCK_ISSUE, e);
}

static void on_complete(void *data, struct request *rq, blk_status_t error, unsigned int bytes)
{
	struct tl_trace_block_complete e = {
		.request = (uintptr_t)rq,
		.sector = blk_rq_pos(rq),
		.bytes = bytes,
		.error = (s32)(__force u8)error,
	};

	RAISE(BLOCK_COMPLETE, e);
}

static void on_send(void *data, struct sk_buff *skb)
{
	struct tl_trace_net_send e = {
		.packet = (uintptr_t)skb,
		.length = skb->len,
		.protocol = be16_to_cpu(skb->protocol),
	};

	RAISE(NET_SEND, e);
}

static void on_receive(void *data, struct sk_buff *skb)
{
	struct tl_trace_net_receive e = {
		.packet = (uintptr_t)skb,
		.length = skb->len,
		.protocol = be16_to_cpu(skb->protocol),
	};

	RAISE(NET_RECEIVE, e);
}

static void on_timer(void *data, struct timer_list *timer, unsigned long base)
{
	struct tl_trace_timer e = {
		.timer = (uintptr_t)timer,
		.function = (uintptr_t)timer->function,
	};

	RAISE(TIMER, e);
}

/* --- on and off ---------------------------------------------------------------------------------- */

static const struct source {
	const char *name; /* NULL: no tracepoint tells it */
	void *fn;
} sources[TL_TRACE_STANDARD] = {
	[TL_TRACE_SYS_ENTER] = {"sys_enter", on_sys_enter},
	[TL_TRACE_SYS_EXIT] = {"sys_exit", on_sys_exit},
	[TL_TRACE_SCHED_SWITCH] = {"sched_switch", on_switch},
	[TL_TRACE_PROCESS_FORK] = {"sched_process_fork", on_fork},
	[TL_TRACE_PROCESS_EXEC] = {"sched_process_exec", on_exec},
	[TL_TRACE_PROCESS_EXIT] = {"sched_process_exit", on_exit_of},
	[TL_TRACE_PAGE_FAULT] = {"page_fault_user", on_fault},
	[TL_TRACE_NET_SEND] = {"net_dev_queue", on_send},
	[TL_TRACE_NET_RECEIVE] = {"netif_receive_skb", on_receive},
	[TL_TRACE_IRQ_ENTER] = {"irq_handler_entry", on_irq},
	[TL_TRACE_IRQ_EXIT] = {"irq_handler_exit", on_irq_done},
	[TL_TRACE_BLOCK_ISSUE] = {"block_rq_issue", on_issue},
	[TL_TRACE_BLOCK_COMPLETE] = {"block_rq_complete", on_complete},
	[TL_TRACE_TIMER] = {"timer_expire_entry", on_timer},
};

int event_want(u32 event, bool wanted)
{
	const struct source *s = &sources[event];
	struct tracepoint *tp = s->name ? kernel_tracepoint(s->name) : NULL;
	int ret;

	if (!tp)
		return 0;
	if (!wanted) {
		tracepoint_probe_unregister(tp, s->fn, NULL);
		return 0;
	}
	ret = tracepoint_probe_register(tp, s->fn, NULL);
	if (!ret)
		return 0;
	return ret == -ENOMEM ? -TL_E_NOMEM : -TL_E_LIMIT;
}

/* Who listened has left before us: he has our functions' names. Somebody may be on his way out. */
void events_stop(void)
{
	tracepoint_synchronize_unregister();
}
