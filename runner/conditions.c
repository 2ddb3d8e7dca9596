/* SPDX-License-Identifier: MIT */
/*
 * probe ... if (EXPR): whoever changes a global that a condition names says so in session memory, and the condition,
 * a handler of its own, is asked here. A probe whose condition is false is taken out; its handler's own test holds
 * until it is, and again as soon as it is back.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "base/clock.h"
#include "session.h"

enum { SETTLE_MS = 100 }; /* a probe is back at once, but not taken out more often than this */

static bool has_condition(const struct session *s, uint32_t i)
{
	return s->mod->probes[i].condition != TL_NONE;
}

struct news {
	uint8_t *off; /* by probe */
	bool come, go;
};

static void ask(struct session *s, struct news *n)
{
	uint32_t i, asked = TL_NONE;
	bool off = false;

	for (i = 0; i < s->mod->nprobes; i++) {
		bool was = s->board.tuning->off[i] & OFF_BY_CONDITION;

		if (!has_condition(s, i))
			continue;
		if (s->mod->probes[i].condition !=
			asked) /* those of a wildcard have one together */
			off = !s->backend->condition(s, i);
		asked = s->mod->probes[i].condition;
		n->off[i] = off;
		n->come |= was && !off;
		n->go |= off && !was;
	}
}

static bool any_condition(const struct session *s)
{
	for (uint32_t i = 0; i < s->mod->nprobes; i++)
		if (has_condition(s, i))
			return true;
	return false;
}

bool conditions_look(struct session *s)
{
	static double next; /* when probes may be taken out again */
	static bool again = true; /* the first time, whoever has changed what */
	struct news n = {0};
	uint32_t i;

	if (!any_condition(s))
		return false;
	again |= s->backend->moved(s);
	if (!again)
		return false;
	again = false;
	n.off = calloc(s->mod->nprobes + 1, 1);
	if (n.off)
		ask(s, &n);
	if (!n.come && n.go && now_ms() < next) {
		again = true;
		n.go = false;
	}
	for (i = 0; (n.come || n.go) && i < s->mod->nprobes; i++)
		if (has_condition(s, i))
			probe_switch(s, i, OFF_BY_CONDITION, n.off[i]);
	if (n.come || n.go)
		next = now_ms() + SETTLE_MS;
	free(n.off);
	return n.come || n.go;
}
