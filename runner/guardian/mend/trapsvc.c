/* SPDX-License-Identifier: MIT */
/*
 * The trap rung in a foreign process: a thread that runs into one of our
 * breakpoints stops here, is led to the site's detour, and goes on. No signal
 * is ever delivered, so neither the program's SIGTRAP handler nor a blocked
 * SIGTRAP matters. Every system call here is paid for with each hit: most take
 * five (wait, program counter, mask, program counter, go on).
 */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "../../base/proc.h"
#include "../guardian.h"
#include "../family/launch.h"
#include "../session/clients.h"
#include "../trace/concern.h"
#include "../trace/loop.h"
#include "../trace/remote.h"
#include "../trace/traps.h"
#include "handlers.h"
#include "masks.h"
#include "owntraps.h"
#include "resent.h"
#include "trapmend.h"
#include "trapsvc.h"

/* Until the main loop has looked; what we are at now is done with the text as it is. */
static void hold_for_news(struct guardian *g, struct thread *t)
{
	if (!clients_watch_loader(g))
		return;
	if (g->at_dlopen || (g->leaving && !g->helper)) {
		g->dl_missed = true;
		return;
	}
	thread_hold(t);
	g->at_dlopen = t;
}

/* A place where we ourselves want to be told. true: it is no probe of the user's. *next: where t goes on. */
static bool is_watched(struct guardian *g, struct thread *t, uint64_t addr, uint64_t *next)
{
	int i;

	for (i = 0; i < TL_CTL_WATCHED; i++) {
		if (addr == g->ctl->watched_at[i]) {
			if (call_coming(g, t))
				*next = addr + machine.syscall.size;
			return true;
		}
	}
	if (addr != g->ctl->dl_state)
		return false;
	if (t->tgid == g->pid)
		hold_for_news(g, t);
	return true;
}

/*
 * A thread that blocks SIGTRAP may have one waiting, and then the kernel takes
 * a breakpoint's for the same: the stop shows the one that waited.
 */
static bool stands_for_both(struct guardian *g, struct thread *t)
{
	uint64_t mask;

	return g->masks_matter && t->mask_known && mask_has_trap(t->mask) &&
	       !trap_is_breakpoint(t) && !mask_get(t->tid, &mask) && !mask_has_trap(mask);
}

static bool breakpoint_at(struct guardian *g, pid_t pid, uint64_t addr)
{
	const struct machine_insn *b = &machine.breakpoint;
	uint8_t code[INSN_BYTES];

	return target_read(g, pid, addr, code, b->size) == b->size &&
	       !memcmp(code, b->bytes, b->size);
}

/* true: it was one of ours, and the thread stands where it is to go on. */
static bool is_hit(struct guardian *g, struct thread *t)
{
	const struct tl_ctl_trap *trap;
	uint64_t pc, at, detour;
	bool both;

	if (launch_entry(g, t))
		return true;
	if (!g->ctl || !thread_pc(t, &pc))
		return false;
	at = breakpoint_before(pc);
	trap = trap_find(g, at);
	if (!trap)
		return handler_asks(g, t, pc);
	detour = __atomic_load_n(&trap->detour, __ATOMIC_ACQUIRE);
	both = stands_for_both(g, t);
	if ((!trap->sure || !detour) && !both && !trap_is_breakpoint(t))
		return false;
	if (!detour) { /* taken away a moment ago: what stands there now counts */
		if (breakpoint_at(g, t->tgid, at))
			return false;
		detour = at;
	}
	signal_mend(g, t, FORCED_TRAP);
	if (t->dead)
		return true;
	if (both)
		signal_again(t, SIGTRAP);
	g->traps += !is_watched(g, t, at, &detour);
	g->stops++;
	thread_pc_set(t, detour);
	return true;
}

enum claim trap_at_trap(struct guardian *g, struct thread *t)
{
	return is_hit(g, t) ? MINE : NOT_MINE;
}

static bool trap_waits(struct guardian *g)
{
	struct thread *t;
	uint64_t pending;

	for (t = g->threads; t; t = t->next) {
		pending = 0;
		if (!t->dead && (t->steps || t->kept.sig ||
					(!proc_status(t->tid, "SigPnd", 16, &pending) &&
						pending >> (SIGTRAP - 1) & 1)))
			return true;
	}
	return false;
}

/*
 * The breakpoints are gone from the text, but a thread may have run into one a
 * moment before: without us its SIGTRAP would be delivered.
 */
void traps_settle(struct guardian *g)
{
	double end = now_ms() + 2000;
	int calm = 0;

	g->masks_matter &= !g->restored;
	while (calm < 3 && !target_ended(g) && now_ms() < end) {
		uint64_t stops = g->stops;
		bool busy = trap_waits(g);

		while (loop_event(g, false) && now_ms() < end)
			;
		own_traps_deliver(g);
		calm = busy || g->stops != stops ? 0 : calm + 1;
		usleep(500);
	}
}
