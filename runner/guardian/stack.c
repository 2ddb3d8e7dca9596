/* SPDX-License-Identifier: MIT */
/* A thread's stack, read as words. */
#include "guardian.h"

enum { CHUNK = 64 * 1024 };

uint64_t stack_end(struct guardian *g, uint64_t sp)
{
	const struct tl_ctl_map *m = map_at(g, sp);

	return m ? m->hi : 0;
}

void stack_words(struct guardian *g, struct thread *t, uint64_t sp,
	void (*fn)(void *arg, uint64_t at, const uint64_t *words, size_t n), void *arg)
{
	static uint64_t words[CHUNK / 8];
	uint64_t at = sp & ~7ull, end = stack_end(g, sp);

	while (at < end) {
		size_t want = end - at < CHUNK ? end - at : CHUNK,
		       n = target_read(g, t->tgid, at, words, want);

		fn(arg, at, words, n / 8);
		if (n != want)
			return;
		at += n;
	}
}
