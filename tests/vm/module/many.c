/* SPDX-License-Identifier: MIT */
/*
 * All functions of the kernel while it runs: behind each one's entry a probe
 * is armed, thousands at a time, under whatever load there is. Prints rows of
 * microseconds a probe, those of the kernel's own kprobes among them.
 */
#define pr_fmt(fmt) fmt

#include <linux/delay.h>
#include <linux/kallsyms.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/vmalloc.h>
#include "vm.h"

enum { PLACES_MAX = 65536, CHUNK = 4000, TOGETHER = 8000, PEERS = 20, REASONS = 128 };

static uintptr_t *places; /* sorted */
static size_t nplaces;
static struct tl_probe *probes, **list;
static int *results;
static atomic_long_t hits;

static int count(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	atomic_long_inc(&hits);
	return 0;
}

/* --- which ----------------------------------------------------------------------- */

static const char *functions_are_listed(void)
{
	unsigned long (*lookup)(const char *name) = find("kallsyms_lookup_name");
	int (*bounds)(unsigned long at, unsigned long *size, unsigned long *offset) =
		find("kallsyms_lookup_size_offset");
	unsigned long at, end, size, offset;

	CHECK(lookup && bounds);
	at = lookup("_stext");
	end = lookup("_etext");
	for (; at < end && nplaces < PLACES_MAX; at += size) {
		size_t off = behind_entry((void *)at);

		if (!bounds(at, &size, &offset) || size <= offset)
			return "kallsyms has a gap";
		size -= offset;
		if (off && off < size)
			places[nplaces++] = at + off;
	}
	CHECK(nplaces > 10000);
	return NULL;
}

/* --- counted by rung ---------------------------------------------------------------- */

static const char *const rungs[] = {"none", "retarget", "whole", "pun", "evict", "window", "trap"};
static size_t by_rung[ARRAY_SIZE(rungs)], refused[REASONS], no_window[REASONS];

static int tally(const struct tl_probe_info *info, void *arg)
{
	if (info->rung >= ARRAY_SIZE(rungs) || info->state != TL_PROBE_ARMED)
		return 0;
	by_rung[info->rung]++;
	if (info->rung == TL_RUNG_TRAP)
		no_window[-info->why[TL_RUNG_WINDOW] % REASONS]++;
	return 0;
}

static void print_reasons(const char *what, const size_t *n)
{
	for (int i = 0; i < REASONS; i++)
		if (n[i])
			pr_info("# many: %s by %s: %zu\n", what, tl_error_name(-i), n[i]);
}

static size_t share(size_t part, size_t whole)
{
	return whole ? part * 1000 / whole : 0;
}

static size_t print_counts(void)
{
	size_t jumps = 0;

	for (size_t i = 1; i < ARRAY_SIZE(rungs); i++) {
		pr_info("# many: %s %zu\n", rungs[i], by_rung[i]);
		jumps += i == TL_RUNG_TRAP ? 0 : by_rung[i];
	}
	print_reasons("refused", refused);
	print_reasons("trap, no window", no_window);
	pr_info("# many: %zu functions, %zu.%zu %% by a jump\n", nplaces,
		share(jumps, nplaces) / 10, share(jumps, nplaces) % 10);
	return jumps;
}

/* --- arming ------------------------------------------------------------------------------ */

/* Those that were not refused, in list[0..n). */
static size_t register_some(size_t first, size_t n, size_t step)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		probes[i] = (struct tl_probe){.addr = (void *)places[first + i * step],
			.pre = count,
			.flags = TL_PROBE_COUNT};
		list[i] = &probes[i];
	}
	tl_probes_register_each(list, n, results);
	for (size_t i = 0; i < n; i++)
		if (!results[i])
			list[kept++] = &probes[i];
		else
			refused[-results[i] % REASONS]++;
	return kept;
}

static u64 since(u64 *from)
{
	u64 now = ktime_get_ns(), took = now - *from;

	*from = now;
	return took;
}

static void row(const char *what, u64 ns, size_t n)
{
	pr_info("# many: %s: %llu us a probe (%zu in %llu ms)\n", what, ns / 1000 / (n ? n : 1), n,
		ns / 1000000);
}

static const char *every_function_is_probed_once(void)
{
	u64 in = 0, out = 0, t = ktime_get_ns();
	size_t n, armed = 0, jumps;

	for (size_t first = 0; first < nplaces; first += n) {
		size_t kept;

		n = min_t(size_t, CHUNK, nplaces - first);
		kept = register_some(first, n, 1);
		in += since(&t);
		tl_probes_list(tally, NULL);
		since(&t);
		if (tl_probes_unregister(list, kept))
			return "they cannot be taken away";
		out += since(&t);
		armed += kept;
		cond_resched();
	}
	row("registered and armed by chunks", in, nplaces);
	row("taken away by chunks", out, armed);
	jumps = print_counts();
	CHECK(atomic_long_read(&hits) > 0);
	CHECK(jumps * 100 >= nplaces * 98);
	return NULL;
}

static const char *thousands_stand_together(void)
{
	size_t step = nplaces / TOGETHER, kept;
	u64 t = ktime_get_ns();
	long before;

	kept = register_some(0, TOGETHER, step);
	row("together: registered and armed", since(&t), TOGETHER);
	CHECK(kept > TOGETHER / 2);
	before = atomic_long_read(&hits);
	msleep(500);
	pr_info("# many: together: %ld hits in half a second\n", atomic_long_read(&hits) - before);
	CHECK(atomic_long_read(&hits) > before);
	since(&t);
	CHECK(tl_probes_disable(list, kept) == 0);
	row("together: disabled", since(&t), kept);
	CHECK(tl_probes_enable(list, kept, NULL) == 0);
	row("together: enabled", since(&t), kept);
	CHECK(tl_probes_unregister(list, kept) == 0);
	row("together: taken away", since(&t), kept);
	return NULL;
}

/* --- the kernel's own, at the same places ---------------------------------------------------- */

static struct kprobe peers[PEERS];

static int peer_hit(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static const char *the_kernels_own_are_measured(void)
{
	size_t step = nplaces / PEERS & ~1ul, n = 0, kept;
	u64 t = ktime_get_ns(), took;

	for (size_t i = 0; i < PEERS; i++) {
		peers[n] =
			(struct kprobe){.addr = (void *)places[i * step], .pre_handler = peer_hit};
		if (!register_kprobe(&peers[n]))
			n++;
	}
	row("kprobes: registered and armed", since(&t), n);
	/* Beside them: a place of theirs is refused, the others of its batch are armed. */
	kept = register_some(0, PEERS, step / 2);
	took = since(&t);
	row("ours beside them", took, PEERS);
	tl_probes_unregister(list, kept);
	since(&t);
	for (size_t i = 0; i < n; i++)
		unregister_kprobe(&peers[i]);
	row("kprobes: taken away", since(&t), n);
	CHECK(kept > PEERS / 3 && refused[TL_E_RESERVED] > PEERS / 3);
	memset(refused, 0, sizeof(refused));
	return NULL;
}

#define TEST(fn) #fn, fn

static const struct {
	const char *name;
	test_fn *fn;
} tests[] = {
	{TEST(functions_are_listed)},
	{TEST(the_kernels_own_are_measured)},
	{TEST(every_function_is_probed_once)},
	{TEST(thousands_stand_together)},
};

static int __init many_init(void)
{
	places = vmalloc(PLACES_MAX * sizeof(*places));
	probes = vmalloc(TOGETHER * sizeof(*probes));
	list = vmalloc(TOGETHER * sizeof(*list));
	results = vmalloc(TOGETHER * sizeof(*results));
	if (!places || !probes || !list || !results)
		return -ENOMEM; /* of a machine that is about to end */
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		say(tests[i].name, tests[i].fn());
	return 0;
}

static void __exit many_exit(void)
{
	vfree(places);
	vfree(probes);
	vfree(list);
	vfree(results);
}

module_init(many_init);
module_exit(many_exit);
MODULE_DESCRIPTION("trapless: all functions of the kernel");
MODULE_LICENSE("Dual MIT/GPL");
