/* SPDX-License-Identifier: MIT */
/*
 * The trap rung in a foreign process: a thread that runs into one of our
 * breakpoints stops here, is led to the site's detour, and goes on. No signal
 * is ever delivered, so neither the program's SIGTRAP handler nor a blocked
 * SIGTRAP matters. Only the kernel's own bookkeeping must be mended: a forced
 * signal that was blocked gets unblocked and loses its handler.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guardian.h"

enum { TRAP_BIT = 1 << (SIGTRAP - 1), LOOK_EVERY_MS = 5 };

/* The detour for a breakpoint at addr, 0: not ours (any more). */
static uint64_t trap_find(struct guardian *g, uint64_t addr, bool *known)
{
	uint32_t i = tl_ctl_trap_hash(addr), n;

	*known = false;
	for (n = 0; n < TL_CTL_TRAPS; n++, i = (i + 1) & (TL_CTL_TRAPS - 1)) {
		const struct tl_ctl_trap *t = &g->ctl->traps[i];
		uint64_t at = __atomic_load_n(&t->addr, __ATOMIC_ACQUIRE);

		if (!at)
			return 0;
		if (at == addr) {
			*known = true;
			return __atomic_load_n(&t->detour, __ATOMIC_ACQUIRE);
		}
	}
	return 0;
}

/*
 * Was SIGTRAP blocked when the breakpoint forced it? The kernel has unblocked
 * it since. The C libraries block everything at once, so the neighbours tell;
 * whoever had it blocked when last seen for sure is believed too.
 */
static bool was_blocked(struct thread *t, uint64_t *mask)
{
	const uint64_t faults = 1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) |
				1ull << (SIGILL - 1) | 1ull << (SIGFPE - 1) | 1ull << (SIGSYS - 1);

	if (mask_get(t->tid, mask) || *mask & TRAP_BIT)
		return false;
	return t->blocks_trap || (*mask & faults) == faults;
}

/* Read or write the program's disposition of SIGTRAP, by a call of the stopped thread. */
static bool disposition(struct guardian *g, struct thread *t, bool set)
{
	struct user_regs_struct saved;
	uint64_t mask, at, keep[4], now[4];
	bool ok;

	if (regs_get(t->tid, &saved) || mask_get(t->tid, &mask))
		return false;
	at = (saved.rsp - 128 - 256) & ~15ull;
	if (target_read(g, t->tgid, at, keep, sizeof(keep)) != sizeof(keep))
		return false;
	mask_set(t->tid, ~0ull);
	t->held = true;
	if (set) {
		ok = !target_write(g, t->tgid, at, &g->trap_action, sizeof(g->trap_action)) &&
		     !remote_call(g, t, SYS_rt_sigaction, SIGTRAP, at, 0, 8, 0, 0);
	} else {
		ok = !remote_call(g, t, SYS_rt_sigaction, SIGTRAP, 0, at, 8, 0, 0) &&
		     target_read(g, t->tgid, at, now, sizeof(now)) == sizeof(now) && now[0];
		if (ok) /* not SIG_DFL: another thread's trap may have come in between */
			memcpy(&g->trap_action, now, sizeof(now));
	}
	t->held = false;
	if (t->dead)
		return false;
	target_write(g, t->tgid, at, keep, sizeof(keep));
	regs_set(t->tid, &saved);
	mask_set(t->tid, mask);
	return ok;
}

/* What the process ignores and catches, by one look. */
static void actions(pid_t tid, uint64_t *ignored, uint64_t *caught)
{
	char path[64], text[2048], *at;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	if ((at = strstr(text, "\nSigIgn:")))
		*ignored = strtoull(at + 8, NULL, 16);
	if ((at = strstr(text, "\nSigCgt:")))
		*caught = strtoull(at + 8, NULL, 16);
}

/* Keep the program's own handler known while it is there, and put it back when a trap has reset it. */
static void mend(struct guardian *g, struct thread *t)
{
	uint64_t caught = 0, ignored = 0, mask;
	bool blocked = was_blocked(t, &mask);
	double now = now_ms();

	if (t->tgid !=
		g->pid) /* a vfork child: its dispositions are its own, and end with its exec */
		goto mask;
	/* Every time: a handler may be installed just before a trap resets it. */
	actions(t->tid, &ignored, &caught);
	if ((caught | ignored) & TRAP_BIT) {
		if (!g->trap_known || now - g->trap_read_ms > LOOK_EVERY_MS) {
			g->trap_known |= disposition(g, t, false);
			g->trap_read_ms = now;
		}
	} else if (g->trap_known &&
		   (blocked || g->trap_action.handler == (uint64_t)(uintptr_t)SIG_IGN)) {
		disposition(g, t, true);
	} /* else another thread's trap has reset it a moment ago: that one mends it */
mask:
	if (blocked && !t->dead)
		mask_set(t->tid, mask | TRAP_BIT);
}

static void hold_for_news(struct guardian *g, struct thread *t)
{
	g->traps--; /* no probe of the user's */
	if (!g->pending)
		return;
	if (!g->watching || g->at_dlopen) {
		g->dl_missed = true;
		return;
	}
	t->held = true;
	g->at_dlopen = t;
}

bool trap_hit(struct guardian *g, struct thread *t)
{
	struct user_regs_struct regs;
	uint64_t detour;
	siginfo_t info;
	uint8_t byte;
	bool known, loader_news;

	if (launch_entry(g, t))
		return true;
	if (!g->ctl || ptrace(PTRACE_GETSIGINFO, t->tid, 0, &info) || info.si_code != SI_KERNEL ||
		regs_get(t->tid, &regs))
		return false;
	detour = trap_find(g, regs.rip - 1, &known);
	if (!known) {
		/* The program's own. Another thread's trap may have reset the handler it is for: that one first. */
		t->held = true;
		while (g->trap_known && pump(g, false))
			;
		t->held = false;
		return false;
	}
	if (!detour) { /* taken away a moment ago: what stands there now counts */
		if (target_read(g, t->tgid, regs.rip - 1, &byte, 1) == 1 && byte == 0xcc)
			return false;
		detour = regs.rip - 1;
	}
	g->traps++;
	loader_news = regs.rip - 1 == g->ctl->dl_state && t->tgid == g->pid;
	mend(g, t);
	if (t->dead || regs_get(t->tid, &regs))
		return true;
	regs.rip = detour;
	regs.orig_rax = (uint64_t)-1;
	regs_set(t->tid, &regs);
	if (loader_news)
		hold_for_news(g, t);
	return true;
}

static bool trap_waits(struct guardian *g)
{
	struct thread *t;
	uint64_t pending;

	for (t = g->threads; t; t = t->next) {
		pending = 0;
		if (!t->dead && !status_number(t->tid, "SigPnd", 16, &pending) &&
			pending & TRAP_BIT)
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

	while (calm < 3 && !g->gone && !g->execed && now_ms() < end) {
		bool busy = trap_waits(g);

		while (pump(g, false))
			busy = true;
		calm = busy ? 0 : calm + 1;
		usleep(500);
	}
}
