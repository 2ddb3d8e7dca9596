/* SPDX-License-Identifier: MIT */
/*
 * What the runtime costs, without a detour: cycles a handler run, the lowest
 * of 15 repetitions, minus an empty call.
 *
 *   compile with all of runtime/ (see tests/runtime/build-and-run for the flags)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../runtime/internal.h"

#if !defined(__x86_64__)
#error "the runtime's bench counts x86 cycles"
#endif

#define REPEAT 15
#define INNER  2000

static struct tl_view view;
static struct tl_env env = {.view = &view, .kind = TL_TAP_SITE, .point = "bench", .func = "bench"};
static struct tl_probe probe = {.data = &env};
static const uint16_t lock0[] = {0};
static void *thread[16]; /* stands for struct tl_thread: the block pointer is in it */

static struct tl_map longs = {.name = "a",
	.offset = 4096,
	.capacity = 2048,
	.mask = 2047,
	.most = 2047,
	.entries = 32 + 4 * 2048,
	.stride = 32,
	.value_off = 24,
	.nkeys = 1,
	.value = TL_VALUE_LONG,
	.one_long = 1,
	.key_types = {TL_VALUE_LONG},
	.key_off = {16}};
static struct tl_map stats = {.name = "s",
	.offset = 1 << 17,
	.capacity = 2048,
	.mask = 2047,
	.most = 2047,
	.entries = 32 + 4 * 2048,
	.stride = 88,
	.value_off = 24,
	.nkeys = 1,
	.value = TL_VALUE_STATS,
	.one_long = 1,
	.key_types = {TL_VALUE_LONG},
	.key_off = {16}};
static struct tl_map strings = {.name = "n",
	.offset = 1 << 19,
	.capacity = 2048,
	.mask = 2047,
	.most = 2047,
	.entries = 32 + 4 * 2048,
	.stride = 24 + TL_STR_SIZE(TL_MAXSTRING),
	.value_off = 16 + TL_STR_SIZE(TL_MAXSTRING),
	.nkeys = 1,
	.value = TL_VALUE_LONG,
	.key_types = {TL_VALUE_STRING},
	.key_off = {16}};

typedef int (*handler)(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self);

static int nothing(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p, (void)regs, (void)self;
	return 0;
}

static int count(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	struct tl_block *b = tl_count_enter(p->data, self);

	(void)regs;
	if (b)
		tl_shard_add(((struct tl_env *)p->data)->view, b, 0, 1);
	return 0;
}

static int count_run(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	struct tl_run run;

	if (!tl_run_enter(&run, p->data, regs, self))
		return 0;
	tl_shard_add(run.view, run.block, 0, 1);
	tl_run_leave(&run);
	return 0;
}

static int locked(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	struct tl_run run;

	if (!tl_run_enter(&run, p->data, regs, self))
		return 0;
	if (tl_run_lock(&run, lock0, 1))
		++*tl_global_long(&run, 0);
	tl_run_leave(&run);
	return 0;
}

static int map_add(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	struct tl_run run;

	if (!tl_run_enter(&run, p->data, regs, self))
		return 0;
	if (tl_run_lock(&run, lock0, 1))
		tl_map_add1(&run, &longs, tl_tid(&run), 1);
	tl_run_leave(&run);
	return 0;
}

static int stat_add(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	struct tl_run run;

	if (!tl_run_enter(&run, p->data, regs, self))
		return 0;
	if (tl_run_lock(&run, lock0, 1))
		tl_map_stat_add1(&run, &stats, tl_tid(&run), 42);
	tl_run_leave(&run);
	return 0;
}

static int shard_stat(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	static const struct tl_hist none;
	struct tl_block *b = tl_count_enter(p->data, self);

	(void)regs;
	if (b)
		tl_shard_stat_add(((struct tl_env *)p->data)->view, b, 64, &none, 42);
	return 0;
}

TL_STR_CONST(name, "libcrypto.so.3");
static int string_key(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	struct tl_run run;

	if (!tl_run_enter(&run, p->data, regs, self))
		return 0;
	if (tl_run_lock(&run, lock0, 1)) {
		struct tl_value key[] = {TL_STR(&name)};

		tl_map_add(&run, &strings, key, 1);
	}
	tl_run_leave(&run);
	return 0;
}

static int printf3(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	struct tl_run run;

	if (!tl_run_enter(&run, p->data, regs, self))
		return 0;
	int64_t args[] = {1, 2, 3};

	tl_printf_longs(&run, 0, args, 3);
	tl_run_leave(&run);
	return 0;
}

static uint64_t once(handler volatile *fn)
{
	struct tl_thread *self = (struct tl_thread *)thread;
	struct tl_block *b = thread[0];
	uint64_t start;
	int i;

	tl_word_store(&b->head, 0); /* the reader has read it all */
	memset(b->left, 0, sizeof(b->left));
	memset(view.owners, 0, view.nchunks * sizeof(*view.owners));
	b->taken = 0;
	__asm__ volatile("lfence");
	start = tl_cycles();
	for (i = 0; i < INNER; i++)
		(*fn)(&probe, NULL, self);
	__asm__ volatile("lfence");
	return tl_cycles() - start;
}

static double cycles(handler fn)
{
	uint64_t best = UINT64_MAX, t;
	handler volatile f = fn;
	int i;

	for (i = 0; i < REPEAT; i++) {
		t = once(&f);
		if (t < best)
			best = t;
	}
	return (double)best / INNER;
}

/* A floating-point result cannot be returned with -mgeneral-regs-only: tenths. */
int main(void)
{
	static const struct {
		const char *what;
		handler fn;
	} rows[] = {{"n++, sharded", count}, {"n++, sharded, full run", count_run},
		{"n++, locked", locked}, {"a[tid()]++", map_add}, {"a[tid()] <<< x", stat_add},
		{"s <<< x, sharded", shard_stat}, {"a[\"libcrypto.so.3\"]++", string_key},
		{"printf of 3 numbers", printf3}};
	struct tl_tap_options o = {.globals_size = 4 << 20,
		.shard_size = 4096,
		.nlocks = 4,
		.max_string = TL_MAXSTRING,
		.ring_pool = 1};
	struct tl_session s;
	double bare;
	unsigned i;
	void *memory;

	if (tl_session_layout(&o, 4, &s) || !(memory = aligned_alloc(4096, s.size)))
		return 1;
	memset(memory, 0, s.size);
	tl_session_init(memory, &s);
	if (tl_view_attach(&view, memory, s.size, &o))
		return 1;
	view.session->live = 1;
	thread[0] = tl_block_claim(&view, 1234, 1234, "bench");
	bare = cycles(nothing);
	printf("%-28s %6s\n", "handler", "cycles");
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		printf("%-28s %6.1f\n", rows[i].what, cycles(rows[i].fn) - bare);
	return 0;
}
