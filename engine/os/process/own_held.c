/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Own process: how long each thread was held by our stops. Engine lock held. */
#include <trapless/probe.h>

#include "own.h"

enum { HELD_MAX = 1024 };

static struct {
	struct tl_held held;
	uint32_t round; /* the last in which it was */
} threads[HELD_MAX];
static unsigned nthreads, next; /* each round has them in the same order */

static unsigned oldest(void)
{
	unsigned old = 0;

	for (unsigned i = 1; i < nthreads; i++)
		if (threads[i].round < threads[old].round)
			old = i;
	return old;
}

static unsigned place_of(uint32_t tid)
{
	unsigned i;

	for (unsigned n = 0; n < nthreads; n++) {
		i = (next + n) % nthreads;
		if (threads[i].held.tid == tid)
			return i;
	}
	i = nthreads < HELD_MAX ? nthreads++ : oldest();
	threads[i].held = (struct tl_held){.tid = tid};
	return i;
}

void tl_own_note_held(uint32_t tid, uint64_t ns, uint32_t round)
{
	unsigned i = place_of(tid);
	struct tl_held *h = &threads[i].held;

	h->stops++;
	h->all_ns += ns;
	if (ns > h->longest_ns)
		h->longest_ns = ns;
	threads[i].round = round;
	next = i + 1;
}

int tl_threads_held(int (*fn)(const struct tl_held *held, void *arg), void *arg)
{
	int ret = 0;

	tl_os_lock();
	for (unsigned i = 0; i < nthreads && !ret; i++)
		ret = fn(&threads[i].held, arg);
	tl_os_unlock();
	return ret;
}
