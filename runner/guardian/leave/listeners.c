/* SPDX-License-Identifier: MIT */
/*
 * Semaphores of static marks where the agent did not take its count back: it has failed, its guardian was killed, or a
 * child was born with a copy. See home/listen.h.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <unistd.h>

#include "../guardian.h"
#include "../trace/remote.h"
#include "listeners.h"

/* Nobody else of ours counts now. */
static void take_off(int mem, uint64_t addr)
{
	uint16_t count;

	if (pread(mem, &count, sizeof(count), (off_t)addr) != sizeof(count) || !count)
		return;
	count--;
	if (pwrite(mem, &count, sizeof(count), (off_t)addr) != sizeof(count))
		return; /* its page has gone meanwhile */
}

static uint64_t listening(const struct tl_ctl_probe *p)
{
	return __atomic_load_n(&p->listening, __ATOMIC_ACQUIRE);
}

void listeners_leave(struct guardian *g)
{
	struct client *c;
	uint32_t i;

	for (c = g->clients; c; c = c->next) {
		for (i = 0; c->ctl && i < c->tell.nslots; i++) {
			struct tl_ctl_probe *p = tl_ctl_probe(c->ctl, i);

			if (listening(p))
				take_off(g->mem, p->listening);
			p->listening = 0;
		}
	}
}

void listeners_of_child(struct guardian *g, int mem)
{
	const struct client *c;
	uint32_t i;

	for (c = g->clients; c; c = c->next) {
		for (i = 0; c->ctl && i < c->tell.nslots; i++) {
			uint64_t addr = listening(tl_ctl_probe(c->ctl, i));

			if (addr)
				take_off(mem, addr);
		}
	}
}

/* A dead guardian's session: its probes are read a piece at a time. */
static void recover_session(struct guardian *g, uint64_t at)
{
	enum { PIECE = 64 };
	const size_t field = offsetof(struct tl_ctl_probe, listening);
	static struct tl_ctl_probe probes[PIECE];
	struct tl_ctl_session s;
	uint64_t i, n, size;

	if (target_read(g, g->pid, at, &s, sizeof(s)) != sizeof(s))
		return;
	at += sizeof(s);
	for (i = 0; i < s.nprobes; i += n, at += size) {
		n = s.nprobes - i < PIECE ? s.nprobes - i : PIECE;
		size = n * sizeof(*probes);
		if (target_read(g, g->pid, at, probes, size) != size)
			return;
		for (uint64_t k = 0; k < n; k++) {
			const uint64_t none = 0;

			if (!probes[k].listening)
				continue;
			take_off(g->mem, probes[k].listening);
			target_write(
				g, g->pid, at + k * sizeof(*probes) + field, &none, sizeof(none));
		}
	}
}

void listeners_recover(struct guardian *g)
{
	unsigned i;

	for (i = 0; i < TL_CTL_SESSIONS; i++)
		if (g->ctl->arming.sessions[i])
			recover_session(g, g->ctl->arming.sessions[i]);
}
