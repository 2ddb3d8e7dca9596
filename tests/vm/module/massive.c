/* SPDX-License-Identifier: MIT */
/*
 * The figures of 2014: all functions of the kernel registered, 20,000 of them
 * enabled while it works, by jumps and by breakpoints; what a hit costs then,
 * in ticks of the time stamp counter; and the kernel's own beside it. Its
 * fprobe stands on ftrace, which is what is asked here: not every kernel has
 * fprobe itself.
 */
#define pr_fmt(fmt) fmt

#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/module.h>
#include <linux/vmalloc.h>
#include "many.h"

enum { ON = 20000, BATCH = 1000, PEERS = 20, CALLS = 500, REPS = 15, PATIENCE = 60 /* s */ };

static struct tl_probe *probes, **list, **half; /* list: those that were not refused */
static struct tl_probe hot_probe;
static int *results;
static size_t nlist;

/* --- a hit ------------------------------------------------------------------------- */

static noinline long hot(long x)
{
	barrier();
	return x + 1;
}

static int nothing(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	return 0;
}

static u64 ticks_of_calls(void)
{
	u64 best = U64_MAX, took;

	for (int rep = 0; rep < REPS; rep++) {
		took = get_cycles();
		for (long i = 0; i < CALLS; i++)
			hot(i);
		took = get_cycles() - took;
		best = min(best, took);
	}
	return best / CALLS;
}

static void hit_row(const char *what, size_t n)
{
	pr_info("# many: a call of a probed function, %s, %zu: %llu ticks\n", what, n,
		ticks_of_calls());
}

/* --- ours ---------------------------------------------------------------------------- */

static bool make_room(void)
{
	probes = vmalloc(array_size(nplaces, sizeof(*probes)));
	list = vmalloc(array_size(nplaces, sizeof(*list)));
	half = vmalloc(array_size(ON, sizeof(*half)));
	results = vmalloc(array_size(nplaces, sizeof(*results)));
	return probes && list && half && results;
}

static void give_room(void)
{
	vfree(probes);
	vfree(list);
	vfree(half);
	vfree(results);
}

/* All places, off; who is refused is left out. half: ON of them, from all over the text. */
static void register_all(uint32_t flags)
{
	for (size_t i = 0; i < nplaces; i++) {
		probes[i] = (struct tl_probe){.addr = (void *)places[i],
			.pre = count,
			.flags = flags | TL_PROBE_DISABLED};
		list[i] = &probes[i];
	}
	tl_probes_register_each(list, nplaces, results);
	nlist = 0;
	for (size_t i = 0; i < nplaces; i++)
		if (!results[i])
			list[nlist++] = &probes[i];
	for (size_t i = 0; nlist >= ON && i < ON; i++)
		half[i] = list[i * nlist / ON];
}

static int enable(size_t from, size_t to)
{
	int ret = 0;

	for (; from < to && !ret; from += BATCH) {
		ret = tl_probes_enable(half + from, min_t(size_t, BATCH, to - from), NULL);
		cond_resched();
	}
	return ret;
}

static int disable_all(void)
{
	int ret = 0;

	for (size_t i = 0; i < ON && !ret; i += BATCH)
		ret = tl_probes_disable(half + i, BATCH);
	return ret;
}

static const char *enable_half(const char *what)
{
	u64 t, took = 0;
	long before;

	hit_row(what, 1);
	since(&t);
	CHECK(enable(0, BATCH) == 0);
	took += since(&t);
	hit_row(what, BATCH);
	since(&t);
	CHECK(enable(BATCH, ON) == 0);
	row("20,000 enabled, by 1,000", took + since(&t), ON);
	hit_row(what, ON);
	before = atomic_long_read(&hits);
	msleep(500);
	CHECK(atomic_long_read(&hits) > before);
	since(&t);
	CHECK(disable_all() == 0);
	row("20,000 disabled", since(&t), ON);
	return NULL;
}

static const char *half_of_all(const char *what, uint32_t flags)
{
	const char *why;
	u64 t;

	hot_probe = (struct tl_probe){
		.addr = (void *)hot + behind_entry(hot), .pre = nothing, .flags = flags};
	CHECK(tl_probe_register(&hot_probe) == 0);
	since(&t);
	register_all(flags);
	pr_info("# many: %s\n", what);
	row("registered, off", since(&t), nplaces);
	CHECK(nlist >= ON);
	why = enable_half(what);
	since(&t);
	CHECK(tl_probes_unregister(list, nlist) == 0);
	row("unregistered", since(&t), nlist);
	CHECK(tl_probe_unregister(&hot_probe) == 0);
	return why;
}

static const char *with_room(const char *what, uint32_t flags)
{
	const char *why = make_room() ? half_of_all(what, flags) : "no memory";

	give_room();
	return why;
}

const char *half_of_all_are_enabled(void)
{
	hit_row("bare", 0);
	return with_room("by jumps", 0);
}

const char *half_of_all_are_traps(void)
{
	return with_room("by breakpoints", TL_PROBE_NO_JUMP);
}

/* --- the kernel's own -------------------------------------------------------------------- */

static int peer_hit(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static void peer_behind(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static void peer_at_hot(const char *what, size_t off, kprobe_post_handler_t post)
{
	struct kprobe kp = {
		.addr = (void *)hot + off, .pre_handler = peer_hit, .post_handler = post};
	void (*wait)(void) = find("wait_for_kprobe_optimizer");

	if (register_kprobe(&kp)) {
		pr_info("# many: no %s\n", what);
		return;
	}
	if (wait)
		wait();
	hit_row(what, 1);
	unregister_kprobe(&kp);
}

static struct kprobe peers[PEERS];

static size_t register_peers(void)
{
	size_t step = nplaces / PEERS & ~1ul, n = 0;

	for (size_t i = 0; i < PEERS; i++) {
		peers[n] =
			(struct kprobe){.addr = (void *)places[i * step], .pre_handler = peer_hit};
		if (!register_kprobe(&peers[n]))
			n++;
	}
	return n;
}

/* Beside them: a place of theirs is refused, the others of its batch are armed. */
static const char *ours_beside_them(size_t n)
{
	struct tl_probe ours[PEERS], *refs[PEERS];
	int ret[PEERS];
	size_t kept = 0, refused = 0;

	for (size_t i = 0; i < PEERS; i++) {
		ours[i] = (struct tl_probe){
			.addr = i % 2 && i < n ? peers[i].addr : (void *)places[i], .pre = count};
		refs[i] = &ours[i];
	}
	tl_probes_register_each(refs, PEERS, ret);
	for (size_t i = 0; i < PEERS; i++) {
		refused += ret[i] == -TL_E_RESERVED;
		if (!ret[i])
			refs[kept++] = &ours[i];
	}
	tl_probes_unregister(refs, kept);
	CHECK(kept > PEERS / 3 && refused > PEERS / 3);
	return NULL;
}

#ifdef CONFIG_DYNAMIC_FTRACE
static void ftrace_hit(
	unsigned long ip, unsigned long parent, struct ftrace_ops *ops, struct ftrace_regs *regs)
{
}

static struct ftrace_ops ops = {.func = ftrace_hit, .flags = FTRACE_OPS_FL_SAVE_REGS};

/* ON places of ftrace, hot() first. */
static size_t choose(unsigned long *ips)
{
	unsigned long (*location)(unsigned long ip) = find("ftrace_location");
	size_t n = 0;

	if (location)
		ips[n++] = location((unsigned long)hot + behind_entry(hot) - MCOUNT_INSN_SIZE);
	for (size_t i = 0; location && i < nplaces && n < ON; i++) {
		ips[n] = location(places[i] - MCOUNT_INSN_SIZE);
		n += ips[n] != 0;
	}
	return n;
}

static const char *by_ftrace(unsigned long *ips)
{
	int (*filter)(struct ftrace_ops *, unsigned long *, unsigned int, int, int) =
		find("ftrace_set_filter_ips");
	u64 t;

	CHECK(filter && choose(ips) == ON);
	since(&t);
	CHECK(filter(&ops, ips, ON, 0, 0) == 0);
	row("ftrace: 20,000 functions chosen", since(&t), ON);
	CHECK(register_ftrace_function(&ops) == 0);
	row("ftrace: 20,000 functions enabled", since(&t), ON);
	hit_row("by ftrace", ON);
	since(&t);
	unregister_ftrace_function(&ops);
	row("ftrace: 20,000 functions disabled", since(&t), ON);
	return NULL;
}

/* Says what the value was. */
static int set(const char *name, int value)
{
	int *it = find(name), was = it ? *it : 0;

	if (it)
		*it = value;
	return was;
}

/* ftrace changes 20,000 places without a pause: on a busy host that takes longer than the kernel lets a task go on. */
static const char *ftrace_is_measured(void)
{
	int thresh = set("watchdog_thresh", PATIENCE),
	    suppressed = set("rcu_cpu_stall_suppress", 1);
	unsigned long *ips = vmalloc(array_size(ON, sizeof(*ips)));
	const char *why = ips ? by_ftrace(ips) : "no memory";

	msleep(1); /* the watchdogs see that this task waits, too */
	set("watchdog_thresh", thresh);
	set("rcu_cpu_stall_suppress", suppressed);
	vfree(ips);
	return why;
}
#else
static const char *ftrace_is_measured(void)
{
	return NULL;
}
#endif

const char *the_kernels_own_are_measured(void)
{
	const char *why;
	size_t n;
	u64 t;

	peer_at_hot("by an optimized kprobe", behind_entry(hot), NULL);
	peer_at_hot("by a kprobe with a post handler", behind_entry(hot), peer_behind);
	peer_at_hot("by a kprobe at its entry", 0, NULL);
	since(&t);
	n = register_peers();
	row("kprobes: registered and armed", since(&t), n);
	why = ours_beside_them(n);
	since(&t);
	for (size_t i = 0; i < n; i++)
		unregister_kprobe(&peers[i]);
	row("kprobes: taken away", since(&t), n);
	return why ? why : ftrace_is_measured();
}
