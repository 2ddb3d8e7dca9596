/* SPDX-License-Identifier: MIT */
/* A thread's stacks, read as words. */
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

/* Once each: frames may lie there that lead in a circle. */
void stacks_add(struct guardian *g, struct stacks *s, uint64_t sp)
{
	uint64_t end = stack_end(g, sp);
	unsigned i;

	for (i = 0; i < s->n; i++) {
		if (sp >= s->sp[i] && end == stack_end(g, s->sp[i]))
			return;
	}
	if (end && s->n < sizeof(s->sp) / sizeof(*s->sp))
		s->sp[s->n++] = sp;
}
