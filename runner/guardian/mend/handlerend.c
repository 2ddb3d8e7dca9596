/* SPDX-License-Identifier: MIT */
/*
 * A thread that a signal has met in a handler runs on to the handler's end, and stops there: hundreds of single steps
 * would hold it, and all who wait for its locks, for as many times that it and we are given the processor. The end
 * is where the detour clears the guard in the thread's record (engine/core/detour/thread.h): a debug register tells of that.
 * But not for long: a handler may wait for what the signal's own does.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/ptrace.h>

#include "../../../engine/core/detour/thread.h"
#include "../guardian.h"
#include "../family/sharing.h"
#include "../trace/ours.h"
#include "../trace/remote.h"
#include "handlerend.h"

enum { LAST = WATCHPOINTS - 1, RUNS_MS = 100 };

/* Where it is; 0: no handler runs that is to end. */
static uint64_t guard_of(struct guardian *g, uint64_t pointer)
{
	uint64_t entry = record_of(g, pointer, pointer), guard = 0;

	if (!entry)
		return 0;
	entry += offsetof(struct tl_thread, guard);
	target_read(g, g->pid, entry, &guard, sizeof(guard));
	return guard ? entry : 0;
}

/* Before t goes on. true: without a step, it will stop behind its handler's end. */
bool handler_run(struct guardian *g, struct thread *t)
{
	struct watchpoint ends[WATCHPOINTS] = {0};
	struct machine_regs regs;
	uint64_t at;

	if (g->watchpoints_known || g->entry || now_ms() > t->kept.since_ms + RUNS_MS ||
		regs_get(t->tid, &regs) || !in_handler(g, regs_pc(&regs)) ||
		!(at = guard_of(g, regs_thread(&regs))))
		return false;
	ends[LAST] = (struct watchpoint){at, sizeof(at), WATCH_WRITES};
	t->kept.runs = t->kept.ran = !watch_set(t->tid, ends);
	if (t->kept.runs && !g->runs_until)
		g->runs_until = t->kept.since_ms + RUNS_MS;
	return t->kept.runs;
}

int handler_runs_ms(const struct guardian *g)
{
	return g->runs_until > 0 ? RUNS_MS : -1;
}

/* Who has run for too long stops, and goes on by steps. */
void handler_runs_check(struct guardian *g)
{
	struct thread *t;

	if (!(g->runs_until > 0) || now_ms() < g->runs_until)
		return;
	g->runs_until = 0;
	for (t = g->threads; t; t = t->next) {
		if (!t->kept.runs || t->stopped || t->dead)
			continue;
		if (now_ms() < t->kept.since_ms + RUNS_MS)
			g->runs_until = now_ms() + RUNS_MS;
		else if (!t->interrupted)
			t->interrupted = !ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
	}
}

/* At each stop. */
void handler_run_over(struct thread *t)
{
	if (!t->kept.runs)
		return;
	t->kept.runs = false;
	watch_off(t->tid);
	watch_hits_forget(t->tid);
}
