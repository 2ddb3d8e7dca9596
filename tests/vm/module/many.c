/* SPDX-License-Identifier: MIT */
/*
 * All functions of the kernel while it runs: behind each one's entry a probe
 * is armed, thousands at a time, under whatever load there is.
 */
#define pr_fmt(fmt) fmt

#include <linux/module.h>
#include <linux/vmalloc.h>
#include "many.h"

enum { CHUNK = 4000, REASONS = 128 };

static struct tl_probe *probes, **list;
static int *results;

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
static size_t register_some(size_t first, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		probes[i] = (struct tl_probe){
			.addr = (void *)places[first + i], .pre = count, .flags = TL_PROBE_COUNT};
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

static const char *every_function_is_probed_once(void)
{
	u64 in = 0, out = 0, t = ktime_get_ns();
	size_t n, armed = 0, jumps;

	for (size_t first = 0; first < nplaces; first += n) {
		size_t kept;

		n = min_t(size_t, CHUNK, nplaces - first);
		kept = register_some(first, n);
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

static const struct test tests[] = {
	{TEST(functions_are_listed)},
	{TEST(every_function_is_probed_once)},
	{TEST(half_of_all_are_enabled)},
	{TEST(half_of_all_are_traps)},
	{TEST(the_kernels_own_are_measured)},
};

static int __init many_init(void)
{
	places = vmalloc(PLACES_MAX * sizeof(*places));
	probes = vmalloc(CHUNK * sizeof(*probes));
	list = vmalloc(CHUNK * sizeof(*list));
	results = vmalloc(CHUNK * sizeof(*results));
	if (!places || !probes || !list || !results)
		return -ENOMEM; /* of a machine that is about to end */
	run_all(tests, ARRAY_SIZE(tests));
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
