/* SPDX-License-Identifier: MIT */
/* The trace facility of trapless.ko: its tracer, its callbacks, and what its events tell, compared with what the kernel says. */
#define pr_fmt(fmt) fmt

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/interrupt.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <linux/timer.h>
#include <linux/tracepoint.h>
#include <linux/umh.h>
#include <linux/vmalloc.h>
#include <trapless/trace.h>
#include "vm.h"

static atomic_t counts[TL_TRACE_EVENTS], wrong;

static void count(uint32_t event, const void *payload, size_t size, void *data)
{
	atomic_inc(&counts[event]);
	if (size != tl_trace_describe(event)->size)
		atomic_inc(&wrong);
}

static void forget_counts(void)
{
	for (unsigned i = 0; i < TL_TRACE_EVENTS; i++)
		atomic_set(&counts[i], 0);
	atomic_set(&wrong, 0);
}

/* A program that ends at once, as itself; 0 or -errno. */
static int run_program(void)
{
	char *argv[] = {"/init", "nothing", NULL}, *envp[] = {NULL};

	return call_usermodehelper(argv[0], argv, envp, UMH_WAIT_PROC);
}

/* --- one tracer ---------------------------------------------------------------------- */

static const char *one_tracer_at_a_time(void)
{
	struct tl_tracer first = {.name = "first", .trace = count};
	struct tl_tracer second = {.name = "second", .trace = count};
	struct tl_trace_sys_exit e = {0};

	CHECK(!tl_tracer_name());
	CHECK(tl_trace(TL_TRACE_SYS_EXIT, &e, sizeof(e)) == -TL_E_NO_TRACER);
	CHECK(!tl_tracer_register(&first));
	CHECK(tl_tracer_register(&second) == -TL_E_TRACER);
	CHECK(tl_tracer_register(&first) == -TL_E_STATE);
	CHECK(!strcmp(tl_tracer_name(), "first"));
	CHECK(tl_trace(TL_TRACE_SYS_EXIT, &e, sizeof(e) - 1) == -TL_E_PAYLOAD);
	CHECK(tl_trace(TL_TRACE_EVENTS - 1, &e, sizeof(e)) == -TL_E_NO_EVENT);
	CHECK(tl_tracer_unregister(&second) == -TL_E_STATE);
	CHECK(!tl_tracer_unregister(&first));
	CHECK(tl_trace(TL_TRACE_SYS_EXIT, &e, sizeof(e)) == -TL_E_NO_TRACER);
	return NULL;
}

static const char *a_tracer_sees_what_happens(void)
{
	static const uint32_t events[] = {TL_TRACE_SYS_ENTER, TL_TRACE_SYS_EXIT,
		TL_TRACE_SCHED_SWITCH, TL_TRACE_PROCESS_FORK, TL_TRACE_PROCESS_EXEC,
		TL_TRACE_PROCESS_EXIT, TL_TRACE_PAGE_FAULT, TL_TRACE_TIMER};
	struct tl_tracer all = {.name = "all", .trace = count};

	forget_counts();
	CHECK(!tl_tracer_register(&all));
	CHECK(run_program() >= 0);
	msleep(50);
	CHECK(!tl_tracer_unregister(&all));
	for (unsigned i = 0; i < ARRAY_SIZE(events); i++)
		if (!atomic_read(&counts[events[i]]))
			return tl_trace_describe(events[i])->name;
	CHECK(!atomic_read(&wrong));
	return NULL;
}

/* --- what they tell ------------------------------------------------------------------ */

static atomic_t ours_out, ours_in, theirs_out, theirs_in;
static pid_t me;

static void on_switch(uint32_t event, const void *payload, size_t size, void *data)
{
	const struct tl_trace_sched_switch *e = payload;

	if (e->previous == me)
		atomic_inc(&ours_out);
	if (e->next == me)
		atomic_inc(&ours_in);
	if (e->previous != current->pid)
		atomic_inc(&wrong);
}

/* This task's turns, as the kernel counts them itself. */
static const char *a_task_is_switched_as_often_as_the_kernel_says(void)
{
	struct tl_trace_callback cb = {.event = TL_TRACE_SCHED_SWITCH, .fn = on_switch};
	unsigned long before, after;
	int n;

	me = current->pid;
	forget_counts();
	CHECK(!tl_trace_callback_add(&cb));
	before = current->nvcsw + current->nivcsw;
	n = atomic_read(&ours_out);
	for (int i = 0; i < 20; i++)
		msleep(5);
	after = current->nvcsw + current->nivcsw;
	n = atomic_read(&ours_out) - n;
	CHECK(!tl_trace_callback_remove(&cb));
	CHECK(n >= 20 && (unsigned long)n >= after - before - 2 &&
		(unsigned long)n <= after - before + 2);
	CHECK(!atomic_read(&wrong));
	return NULL;
}

/* The same tracepoints, asked by ourselves. */
static void see_fork(void *data, struct task_struct *parent, struct task_struct *child)
{
	atomic_add(child->pid, &theirs_out);
}

static void see_exit(void *data, struct task_struct *p)
{
	atomic_add(p->pid, &theirs_in);
}

static void on_fork(uint32_t event, const void *payload, size_t size, void *data)
{
	atomic_add((int)((const struct tl_trace_process_fork *)payload)->child, &ours_out);
}

static void on_end(uint32_t event, const void *payload, size_t size, void *data)
{
	atomic_add((int)((const struct tl_trace_process_exit *)payload)->pid, &ours_in);
}

static struct tracepoint *fork_point, *exit_point;

static void look(struct tracepoint *tp, void *arg)
{
	if (!strcmp(tp->name, "sched_process_fork"))
		fork_point = tp;
	if (!strcmp(tp->name, "sched_process_exit"))
		exit_point = tp;
}

static const char *children_are_those_that_the_kernel_makes(void)
{
	struct tl_trace_callback made = {.event = TL_TRACE_PROCESS_FORK, .fn = on_fork};
	struct tl_trace_callback gone = {.event = TL_TRACE_PROCESS_EXIT, .fn = on_end};

	atomic_set(&ours_out, 0);
	atomic_set(&ours_in, 0);
	for_each_kernel_tracepoint(look, NULL);
	CHECK(fork_point && exit_point);
	CHECK(!tl_trace_callback_add(&made) && !tl_trace_callback_add(&gone));
	CHECK(!tracepoint_probe_register(fork_point, see_fork, NULL));
	CHECK(!tracepoint_probe_register(exit_point, see_exit, NULL));
	for (int i = 0; i < 5; i++)
		CHECK(run_program() >= 0);
	tracepoint_probe_unregister(fork_point, see_fork, NULL);
	tracepoint_probe_unregister(exit_point, see_exit, NULL);
	tracepoint_synchronize_unregister();
	CHECK(!tl_trace_callback_remove(&made) && !tl_trace_callback_remove(&gone));
	CHECK(atomic_read(&theirs_out) && atomic_read(&ours_out) == atomic_read(&theirs_out));
	CHECK(atomic_read(&theirs_in) && atomic_read(&ours_in) == atomic_read(&theirs_in));
	return NULL;
}

static int32_t exit_code;
static int64_t last_call;
static atomic_t callers;

static void on_exited(uint32_t event, const void *payload, size_t size, void *data)
{
	if (!strcmp(current->comm, "init") && current->pid != 1)
		exit_code = ((const struct tl_trace_process_exit *)payload)->code;
}

static void on_call(uint32_t event, const void *payload, size_t size, void *data)
{
	const struct tl_trace_sys_enter *e = payload;
	const struct pt_regs *user = task_pt_regs(current);

	if (e->number < 0 || e->args[0] != user->di || e->args[3] != user->r10 ||
		e->args[5] != user->r9)
		atomic_inc(&wrong);
	if (e->caller == user->ip)
		atomic_inc(&callers);
	if (!strcmp(current->comm, "init") && current->pid != 1)
		last_call = e->number;
}

/* The program's last call is exit_group(7); its caller is where it stands, while nothing else was asked for. */
static const char *calls_have_their_number_arguments_and_caller(void)
{
	enum { EXIT_GROUP = 231, CODE = 7, IN_WAIT = 8 };
	struct tl_trace_callback call = {.event = TL_TRACE_SYS_ENTER, .fn = on_call};
	struct tl_trace_callback end = {.event = TL_TRACE_PROCESS_EXIT, .fn = on_exited};
	const struct tl_trace_config nowhere = {.low = 1, .high = 2, .depth = 4, .words = 16};
	const struct tl_trace_config bad = {.low = 2, .high = 2};
	int at_first;

	forget_counts();
	CHECK(!tl_trace_callback_add(&call) && !tl_trace_callback_add(&end));
	CHECK(run_program() >= 0);
	at_first = atomic_read(&callers);
	CHECK(tl_trace_configure(&bad) == -TL_E_INVAL);
	CHECK(!tl_trace_configure(&nowhere));
	msleep(20);
	atomic_set(&callers, 0);
	CHECK(run_program() >= 0);
	CHECK(!atomic_read(&callers));
	CHECK(!tl_trace_configure(NULL));
	CHECK(!tl_trace_callback_remove(&call) && !tl_trace_callback_remove(&end));
	CHECK(at_first > 0 && !atomic_read(&wrong));
	CHECK(last_call == EXIT_GROUP && exit_code == CODE << IN_WAIT);
	return NULL;
}

static atomic_t timer_runs, timer_events;
static struct timer_list timer;

static void on_time(struct timer_list *t)
{
	atomic_inc(&timer_runs);
}

static void on_timer(uint32_t event, const void *payload, size_t size, void *data)
{
	const struct tl_trace_timer *e = payload;

	if (e->timer == (uintptr_t)&timer && e->function == (uintptr_t)on_time)
		atomic_inc(&timer_events);
}

static const char *a_timer_is_told_each_time(void)
{
	struct tl_trace_callback cb = {.event = TL_TRACE_TIMER, .fn = on_timer};

	timer_setup(&timer, on_time, 0);
	CHECK(!tl_trace_callback_add(&cb));
	for (int i = 0; i < 10; i++) {
		mod_timer(&timer, jiffies + 1);
		while (atomic_read(&timer_runs) <= i)
			msleep(1);
	}
	CHECK(!tl_trace_callback_remove(&cb));
	CHECK(atomic_read(&timer_events) == 10);
	return NULL;
}

/* --- one's own, and who may not ------------------------------------------------------- */

static int refused[3];

static void ask(uint32_t event, const void *payload, size_t size, void *data)
{
	refused[0] = tl_trace_callback_remove(data);
}

static void ask_in_interrupt(void *unused)
{
	struct tl_tracer t = {.trace = count};

	refused[1] = tl_tracer_register(&t);
}

static const char *own_events_and_refusals(void)
{
	struct tl_trace_field field = {"value", 0, 8, 1, TL_TRACE_UNSIGNED};
	struct tl_trace_type type = {"vm_own", "a test's", &field, 1, 8};
	struct tl_trace_callback cb = {.fn = ask, .data = &cb};
	u64 value = 5;
	int own = tl_trace_declare(&type);

	CHECK(own >= TL_TRACE_OWN && tl_trace_find("vm_own") == own);
	CHECK(tl_trace_declare(&type) == -TL_E_INVAL);
	cb.event = (uint32_t)own;
	CHECK(!tl_trace_callback_add(&cb));
	CHECK(!tl_trace(own, &value, sizeof(value)));
	CHECK(refused[0] == -TL_E_IN_CALLBACK);
	CHECK(!smp_call_function_single(0, ask_in_interrupt, NULL, 1));
	preempt_disable();
	refused[2] = tl_trace_withdraw(own);
	preempt_enable();
	CHECK(refused[1] == -TL_E_IN_SIGNAL && refused[2] == -TL_E_IN_SIGNAL);
	CHECK(tl_trace_withdraw(own) == -TL_E_STATE);
	CHECK(!tl_trace_callback_remove(&cb) && !tl_trace_withdraw(own));
	CHECK(tl_trace(own, &value, sizeof(value)) == -TL_E_NO_EVENT);
	return NULL;
}

/* --- the recorder ------------------------------------------------------------------------ */

static int64_t recorded;
static uint64_t latest;

static int see_record(const struct tl_trace_record *r, void *arg)
{
	if (r->time < latest || r->event != TL_TRACE_SYS_EXIT ||
		r->kept != sizeof(struct tl_trace_sys_exit))
		atomic_inc(&wrong);
	latest = r->time;
	recorded++;
	return 0;
}

/* As many as a callback counts, and in order. */
static const char *records_are_read_in_order(void)
{
	const struct tl_trace_ring_config config = {
		.lanes = 8, .records = 4096, .payload = sizeof(struct tl_trace_sys_exit)};
	struct tl_trace_callback counted = {.event = TL_TRACE_SYS_EXIT, .fn = count};
	struct tl_trace_callback kept = {.event = TL_TRACE_SYS_EXIT, .fn = tl_trace_ring_record};
	struct tl_trace_ring *ring;
	uint64_t lost;

	forget_counts();
	CHECK(!tl_trace_ring_create(&config, &ring));
	kept.data = ring;
	CHECK(!tl_trace_callback_add(&kept) && !tl_trace_callback_add(&counted));
	for (int i = 0; i < 3; i++)
		CHECK(run_program() >= 0);
	CHECK(!tl_trace_callback_remove(&counted) && !tl_trace_callback_remove(&kept));
	tl_trace_ring_read(ring, see_record, NULL);
	lost = tl_trace_ring_lost(ring);
	tl_trace_ring_destroy(ring);
	CHECK(recorded && !atomic_read(&wrong));
	CHECK(recorded + (int64_t)lost >= atomic_read(&counts[TL_TRACE_SYS_EXIT]));
	return NULL;
}

/* --- callbacks come and go while events are raised on all processors -------------------- */

enum { ROUNDS = 300, GOOD = 0x600d, BAD = 0xbad };
static bool stop_raising;
static uint32_t storm;

static int raise_on(void *arg)
{
	u64 value = 1;

	while (!READ_ONCE(stop_raising)) {
		for (int i = 0; i < 100; i++)
			tl_trace(storm, &value, sizeof(value));
		cond_resched();
	}
	while (!kthread_should_stop())
		msleep(1);
	return 0;
}

static void be_good(uint32_t event, const void *payload, size_t size, void *data)
{
	if (READ_ONCE(*(int *)data) != GOOD)
		atomic_inc(&wrong);
	atomic_inc(&counts[event]);
}

static const char *come_and_go(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct tl_trace_callback one = {.event = storm, .fn = be_good};
		struct tl_trace_callback two = {.event = TL_TRACE_SCHED_SWITCH, .fn = be_good};
		int good = GOOD;

		one.data = two.data = &good;
		CHECK(!tl_trace_callback_add(&one) && !tl_trace_callback_add(&two));
		CHECK(!tl_trace_callback_remove(&one) && !tl_trace_callback_remove(&two));
		WRITE_ONCE(good, BAD);
	}
	return NULL;
}

static const char *nobody_is_called_after_he_was_removed(void)
{
	static const struct tl_trace_type type = {"vm_storm", "a test's", NULL, 0, 8};
	struct task_struct *tasks[NR_CPUS > 8 ? 8 : NR_CPUS];
	int own = tl_trace_declare(&type), n = 0, cpu;
	const char *why;

	CHECK(own > 0);
	storm = (uint32_t)own;
	forget_counts();
	for_each_online_cpu(cpu)
	{
		struct task_struct *t = kthread_create(raise_on, NULL, "raise/%d", cpu);

		if (IS_ERR(t) || n == ARRAY_SIZE(tasks))
			break;
		kthread_bind(t, cpu);
		wake_up_process(t);
		tasks[n++] = t;
	}
	why = come_and_go();
	WRITE_ONCE(stop_raising, true);
	while (n)
		kthread_stop(tasks[--n]);
	CHECK(!tl_trace_withdraw(storm));
	if (why)
		return why;
	CHECK(!atomic_read(&wrong));
	return NULL;
}

static const struct test tests[] = {
	{TEST(one_tracer_at_a_time)},
	{TEST(a_tracer_sees_what_happens)},
	{TEST(a_task_is_switched_as_often_as_the_kernel_says)},
	{TEST(children_are_those_that_the_kernel_makes)},
	{TEST(calls_have_their_number_arguments_and_caller)},
	{TEST(a_timer_is_told_each_time)},
	{TEST(own_events_and_refusals)},
	{TEST(records_are_read_in_order)},
	{TEST(nobody_is_called_after_he_was_removed)},
};

/* This one stays while the module is there, and leaves with it in the middle of all events. */
static struct tl_tracer tracer = {.name = "vm", .trace = count};

static int __init events_init(void)
{
	run_all(tests, ARRAY_SIZE(tests));
	forget_counts();
	say("a_tracer_stays", tl_tracer_register(&tracer) ? "refused" : NULL);
	return 0;
}

static void __exit events_exit(void)
{
	bool seen = atomic_read(&counts[TL_TRACE_SYS_ENTER]);

	say("it_leaves_while_events_are_raised",
		tl_tracer_unregister(&tracer) || !seen ? "refused, or it saw nothing" : NULL);
}

module_init(events_init);
module_exit(events_exit);
MODULE_DESCRIPTION("trapless: events of the trace facility");
MODULE_LICENSE("Dual MIT/GPL");
