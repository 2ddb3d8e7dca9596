/* SPDX-License-Identifier: MIT */
/*
 * A thread's stacks, read as words: to the end of the mapping that they lie in.
 * Goroutines have theirs in the heap, which goes on behind them for gigabytes;
 * there the runtime itself tells how far each one goes.
 */
#include "../../../engine/core/image/image.h"
#include "../guardian.h"
#include "maps.h"
#include "remote.h"
#include "stack.h"

enum { CHUNK = 64 * 1024, GO_STACK_MAX = 1 << 30 };

static uint64_t mapping_end(struct guardian *g, uint64_t sp)
{
	const struct tl_ctl_map *m = map_at(g, sp);

	return m ? m->hi : 0;
}

static bool is_of_go(const struct guardian *g)
{
	uint32_t n = ctl_bounded(&g->ctl->nimages, TL_CTL_IMAGES), i;

	for (i = 0; i < n && !(g->ctl->images[i].flags & TL_IMAGE_SMALL_STACKS); i++)
		;
	return i < n;
}

static bool has_c(const struct guardian *g)
{
	uint32_t n = ctl_bounded(&g->ctl->nimages, TL_CTL_IMAGES), i;

	for (i = 0; i < n && g->ctl->images[i].flags & (TL_IMAGE_NO_RED_ZONE | TL_IMAGE_VDSO); i++)
		;
	return i < n;
}

/* runtime.g, as it has begun since Go 1.4. */
struct goroutine {
	uint64_t lo, hi, guards[2], panic, defer, m;
};

/* Of runtime.m as much as tells of its goroutines: its own, the one for signals, and the user's. */
enum { M_WORDS = 32 };

/* At its end nothing is on it yet. */
static uint64_t end_in(const struct goroutine *r, uint64_t sp)
{
	return r->hi - r->lo <= GO_STACK_MAX && sp - r->lo <= r->hi - r->lo ? r->hi : 0;
}

static bool goroutine_read(
	struct guardian *g, const struct thread *t, uint64_t at, struct goroutine *r)
{
	return at >= PAGE && target_read(g, t->tgid, at, r, sizeof(*r)) == sizeof(*r);
}

/* By the goroutines of a runtime.m. A thread of C's has its own stack for the runtime (m[0]), of which that knows a part. */
static uint64_t end_in_machine(
	struct guardian *g, const struct thread *t, uint64_t machine, uint64_t sp)
{
	uint64_t m[M_WORDS], end = 0;
	struct goroutine r;
	size_t i;

	if (machine < PAGE || target_read(g, t->tgid, machine, m, sizeof(m)) != sizeof(m))
		return 0;
	for (i = has_c(g); i < M_WORDS && !end; i++) {
		if (goroutine_read(g, t, m[i], &r) && r.m == machine)
			end = end_in(&r, sp);
	}
	return end;
}

/*
 * Below the thread pointer lies the address of the goroutine that runs. Where sp is not of its stack, which it changes
 * when signals come, too, the thread's others are asked. 0: of none, or all this is something else.
 */
static uint64_t end_by_block(
	struct guardian *g, const struct thread *t, uint64_t block, uint64_t sp)
{
	struct goroutine runs;
	uint64_t at = 0, own = 0, end = 0;

	if (!block || target_read(g, t->tgid, block - sizeof(at), &at, sizeof(at)) != sizeof(at) ||
		!goroutine_read(g, t, at, &runs) ||
		target_read(g, t->tgid, runs.m, &own, sizeof(own)) != sizeof(own))
		return 0;
	if (!has_c(g) || own != at)
		end = end_in(&runs, sp);
	return end ? end : end_in_machine(g, t, runs.m, sp);
}

static uint64_t goroutine_end(struct guardian *g, const struct thread *t, uint64_t sp)
{
	uint64_t end = end_by_block(g, t, t->go_block, sp);

	if (!end)
		end = end_in_machine(g, t, t->go_machine, sp);
	return end <= mapping_end(g, sp) ? end : 0;
}

/* A newborn may have its parent's thread pointer yet, and what is to be its own runtime.m in some register. */
static uint64_t machine_in(
	struct guardian *g, const struct thread *t, const struct machine_regs *regs)
{
	uint64_t general[GENERAL_MAX];
	size_t n = regs_general(regs, general), i;

	for (i = 0; i < n; i++) {
		if (end_in_machine(g, t, general[i], regs_sp(regs)))
			return general[i];
	}
	return 0;
}

void stack_learn(struct guardian *g, struct thread *t, const struct machine_regs *regs)
{
	if (!is_of_go(g))
		return;
	t->go_block = end_by_block(g, t, regs_thread(regs), regs_sp(regs)) ? regs_thread(regs) : 0;
	t->go_machine = t->go_block ? 0 : machine_in(g, t, regs);
}

bool stack_is_known(const struct guardian *g, const struct thread *t)
{
	return t->go_block || !is_of_go(g);
}

/* Once each: frames may lie there that lead in a circle. */
void stacks_add(struct guardian *g, struct stacks *s, const struct thread *t, uint64_t sp)
{
	uint64_t end = goroutine_end(g, t, sp);
	unsigned i;

	if (!end)
		end = mapping_end(g, sp);
	for (i = 0; i < s->n; i++) {
		if (sp >= s->sp[i] && end == s->end[i])
			return;
	}
	if (!end || s->n == sizeof(s->sp) / sizeof(*s->sp))
		return;
	s->sp[s->n] = sp;
	s->end[s->n++] = end;
}

bool stacks_begin(struct guardian *g, struct stacks *s, const struct thread *t, uint64_t sp)
{
	s->n = 0;
	stacks_add(g, s, t, sp);
	return s->n;
}

void stacks_words(struct guardian *g, const struct stacks *s, unsigned i, const struct thread *t,
	void (*fn)(void *arg, uint64_t at, const uint64_t *words, size_t n), void *arg)
{
	static uint64_t words[CHUNK / 8];
	uint64_t at = s->sp[i] & ~7ull, end = s->end[i];

	while (at < end) {
		size_t want = end - at < CHUNK ? end - at : CHUNK,
		       n = target_read(g, t->tgid, at, words, want);

		g->stacks_read += n;
		fn(arg, at, words, n / 8);
		if (n != want)
			return;
		at += n;
	}
}
