/* SPDX-License-Identifier: MIT */
/*
 * What a place of a kernel costs, ours or the kernel's own: ticks of a thousand times, the lowest of some. And who listens to
 * system calls, for as long as the module is loaded.
 *
 *     insmod trapless_costs.ko [stand=tracepoint | tracepoints | tracer | callbacks]
 */
#define pr_fmt(fmt) "cost " fmt

#include <linux/jump_label.h>
#include <linux/module.h>
#include <linux/tracepoint.h>
#include <trapless/trace.h>
#include "vm.h"

enum { TIMES = 1000, REPETITIONS = 20, LANES = 4, RECORDS = 1024 };

static char *stand;
module_param(stand, charp, 0);

#define MUST(call)                                                                                 \
	do {                                                                                       \
		int ret_ = call;                                                                   \
		if (ret_)                                                                          \
			pr_info("not ok " #call ": %d\n", ret_);                                   \
	} while (0)

/* --- places ---------------------------------------------------------------------------- */

DECLARE_TRACE(trapless_costs, TP_PROTO(unsigned long a, unsigned long b, unsigned long c),
	TP_ARGS(a, b, c));
DEFINE_TRACE(trapless_costs, TP_PROTO(unsigned long a, unsigned long b, unsigned long c),
	TP_ARGS(a, b, c));

static DEFINE_STATIC_KEY_FALSE(key);

struct three {
	u64 a, b, c;
};
static uint32_t event;

static __always_inline void empty_place(unsigned long i)
{
}

static __always_inline void branch(unsigned long i)
{
	if (static_branch_unlikely(&key))
		barrier();
}

static __always_inline void tracepoint(unsigned long i)
{
	trace_trapless_costs(i, i + 1, 7);
}

static __always_inline void raise(unsigned long i)
{
	if (tl_trace_enabled(event)) {
		const struct three e = {i, i + 1, 7};

		tl_trace(event, &e, sizeof(e));
	}
}

static __always_inline void read_clock(unsigned long i)
{
	unsigned long ticks = rdtsc();

	asm volatile("" ::"r"(ticks));
}

/* Nothing else runs there meanwhile. */
#define TIMED(place)                                                                               \
	static noinline u64 time_##place(void)                                                     \
	{                                                                                          \
		unsigned long flags;                                                               \
		u64 ticks;                                                                         \
                                                                                                   \
		local_irq_save(flags);                                                             \
		ticks = rdtsc();                                                                   \
		for (unsigned long i = 0; i < TIMES; i++) {                                        \
			barrier();                                                                 \
			place(i);                                                                  \
		}                                                                                  \
		ticks = rdtsc() - ticks;                                                           \
		local_irq_restore(flags);                                                          \
		return ticks;                                                                      \
	}

TIMED(empty_place)
TIMED(branch)
TIMED(tracepoint)
TIMED(raise)
TIMED(read_clock)

static void row(const char *name, u64 (*time)(void))
{
	u64 least = U64_MAX;

	for (int i = 0; i < REPETITIONS; i++)
		least = min(least, time());
	pr_info("%s: %llu\n", name, least);
}

/* --- who listens ------------------------------------------------------------------------ */

static void see_three(void *data, unsigned long a, unsigned long b, unsigned long c)
{
}

static void ignore(uint32_t number, const void *payload, size_t size, void *data)
{
}

static struct tl_trace_ring *ring;
static const struct tl_trace_ring_config config = {
	.lanes = LANES, .records = RECORDS, .payload = 64, .overwrite = true};
static struct tl_tracer empty = {.name = "empty", .trace = ignore};
static struct tl_tracer recorder = {.name = "recorder", .trace = tl_trace_ring_record};

static void branches(void)
{
	row("jump label, off", time_branch);
	static_branch_enable(&key);
	row("jump label, on", time_branch);
	static_branch_disable(&key);
}

static void tracepoints(void)
{
	row("tracepoint, off", time_tracepoint);
	MUST(register_trace_trapless_costs(see_three, NULL));
	row("tracepoint, an empty function", time_tracepoint);
	unregister_trace_trapless_costs(see_three, NULL);
	tracepoint_synchronize_unregister();
}

static void with_tracer(const char *name, struct tl_tracer *tracer)
{
	MUST(tl_tracer_register(tracer));
	row(name, time_raise);
	MUST(tl_tracer_unregister(tracer));
}

static void events(void)
{
	struct tl_trace_callback cb = {.event = event, .fn = ignore};

	row("event, off", time_raise);
	with_tracer("event, an empty tracer", &empty);
	MUST(tl_trace_callback_add(&cb));
	row("event, an empty callback", time_raise);
	MUST(tl_trace_callback_remove(&cb));
	with_tracer("event, recorded in a ring", &recorder);
}

static void places(void)
{
	static const struct tl_trace_type type = {
		"costs_three", "three words", NULL, 0, sizeof(struct three)};
	int own = tl_trace_declare(&type);

	MUST(own < 0 ? own : 0);
	event = (uint32_t)own;
	row("empty loop", time_empty_place);
	branches();
	tracepoints();
	events();
	row("reading the clock alone", time_read_clock);
	MUST(tl_trace_withdraw(event));
}

/* --- those who stay -------------------------------------------------------------------- */

static const uint32_t calls[] = {TL_TRACE_SYS_ENTER, TL_TRACE_SYS_EXIT};
static struct tl_trace_callback callbacks[ARRAY_SIZE(calls)];
static void see_entry(void *data, struct pt_regs *regs, long number)
{
}

static void see_exit(void *data, struct pt_regs *regs, long result)
{
}

/* The kernel's own. */
static struct standing {
	const char *name;
	void *fn;
	struct tracepoint *at;
	bool on;
} standing[] = {{"sys_enter", see_entry}, {"sys_exit", see_exit}};

static void look(struct tracepoint *tp, void *arg)
{
	struct standing *s = arg;

	if (!strcmp(tp->name, s->name))
		s->at = tp;
}

static void stand_at(struct standing *s)
{
	for_each_kernel_tracepoint(look, s);
	MUST(s->at ? tracepoint_probe_register(s->at, s->fn, NULL) : -ENOENT);
	s->on = s->at;
}

static void stand_as_tracer(void)
{
	recorder.events = calls;
	recorder.nevents = ARRAY_SIZE(calls);
	MUST(tl_tracer_register(&recorder));
}

static void stand_as_callbacks(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		callbacks[i] = (struct tl_trace_callback){.event = calls[i], .fn = ignore};
		MUST(tl_trace_callback_add(&callbacks[i]));
	}
}

static bool stands(const char *how)
{
	return stand && !strcmp(stand, how);
}

static int __init costs_init(void)
{
	MUST(tl_trace_ring_create(&config, &ring));
	recorder.data = ring;
	if (!stand)
		places();
	else if (stands("tracepoint"))
		stand_at(&standing[0]);
	else if (stands("tracepoints"))
		for (size_t i = 0; i < ARRAY_SIZE(standing); i++)
			stand_at(&standing[i]);
	else if (stands("tracer"))
		stand_as_tracer();
	else if (stands("callbacks"))
		stand_as_callbacks();
	return 0;
}

static void __exit costs_exit(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(standing); i++)
		if (standing[i].on)
			tracepoint_probe_unregister(standing[i].at, standing[i].fn, NULL);
	tracepoint_synchronize_unregister();
	if (stands("tracer"))
		MUST(tl_tracer_unregister(&recorder));
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (callbacks[i].added)
			MUST(tl_trace_callback_remove(&callbacks[i]));
	tl_trace_ring_destroy(ring);
}

module_init(costs_init);
module_exit(costs_exit);
MODULE_DESCRIPTION("trapless: what places of a kernel cost");
MODULE_LICENSE("Dual MIT/GPL");
