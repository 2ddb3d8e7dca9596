/* SPDX-License-Identifier: MIT */
/* --explain: for each probe where it stands, on which rung, and why on no better one. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include <trapless/error.h>
#include <trapless/probe.h>

#include "../../engine/core/image/unpaired.h"
#include "tell.h"

enum { A_FEW = 12 }; /* lines that -v shows without --explain */

static const char *const names[] = {"none", "retarget", "whole", "pun", "evict", "window", "trap"};

const char *rung_name(uint32_t rung)
{
	return rung <= TL_RUNG_TRAP ? names[rung] : "?";
}

bool explain_place(const struct teller *t, uint64_t addr, char *buf, size_t room)
{
	uint32_t i;

	if (t->name && t->name(t, addr, buf, room))
		return true;
	for (i = 0; i < ctl_bounded(&t->ctl->nimages, TL_CTL_IMAGES); i++) {
		const struct tl_ctl_image *m = &t->ctl->images[i];

		if (addr - m->lo < m->hi - m->lo) {
			snprintf(buf, room, "%.59s+0x%llx", m->name,
				(unsigned long long)(addr - m->bias));
			return true;
		}
	}
	snprintf(buf, room, "0x%llx", (unsigned long long)addr);
	return false;
}

static uint32_t rung_of(const struct tl_ctl_probe *p)
{
	return ctl_bounded(&p->rung, TL_RUNG_TRAP);
}

/* The rungs tried before it, each with the reason's name. That most instructions are no calls goes without saying. */
static void reasons(const struct tl_ctl_probe *p, char *buf, size_t room)
{
	uint32_t r;
	size_t n = 0;

	*buf = 0;
	for (r = TL_RUNG_RETARGET; r < TL_RUNG_TRAP && n < room; r++) {
		if (r != rung_of(p) && p->why[r] && p->why[r] != -TL_E_NOT_CALL)
			n += (size_t)snprintf(buf + n, room - n, "%s%s: %s", n ? ", " : "; not ",
				names[r], tl_error_name(p->why[r]));
	}
}

/* "; exits: 2 by jump, 0 by trap, 1 function watched behind a tail call" */
static void exits_text(const struct teller *t, const struct tl_ctl_probe *p, char *buf, size_t room)
{
	char at[96];
	int n = snprintf(
		buf, room, "; exits: %u by jump, %u by trap", p->nexits - p->ntrapped, p->ntrapped);

	if (p->nfollowed)
		n += snprintf(buf + n, room - (size_t)n,
			", %u function%s watched behind tail calls", p->nfollowed,
			p->nfollowed > 1 ? "s" : "");
	if (!p->tail)
		return;
	explain_place(t, p->tail, at, sizeof(at));
	snprintf(buf + n, room - (size_t)n, ", tail call at %.60s not: %s", at,
		tl_error_name(p->tail_why));
}

static void one_line(const struct teller *t, uint32_t i)
{
	const struct tl_ctl_probe *p = tl_ctl_probe(t->probes, i);
	const char *point = tl_tap_string(t->mod, slot_from(t, i)->point);
	const char *reason = tl_ret_reason(p->reason);
	char text[760], at[96], why[200], exits[160] = "";

	explain_place(t, p->addr, at, sizeof(at));
	if (!p->armed) {
		snprintf(text, sizeof(text), "%-8s %s  %.400s  [%s]%s%s", "refused", at, point,
			tl_error_name(p->result), reason ? ": " : "", reason ? reason : "");
	} else {
		reasons(p, why, sizeof(why));
		if (p->kind == TL_TAP_RETURN)
			exits_text(t, p, exits, sizeof(exits));
		snprintf(text, sizeof(text), "%-8s %s  %.290s%s%s", names[rung_of(p)], at, point,
			why, exits);
	}
	tell(t, t->explain ? MSG_EXPLAIN : MSG_NOTE, 0, text);
}

static void details(const struct teller *t, uint32_t i)
{
	const struct tl_ctl_probe *p = tl_ctl_probe(t->probes, i);
	char text[400];
	uint32_t r;

	snprintf(text, sizeof(text),
		"           at 0x%llx: %u bytes changed at 0x%llx, detour 0x%llx",
		(unsigned long long)p->addr, p->patch_len, (unsigned long long)p->patch,
		(unsigned long long)p->detour);
	tell(t, MSG_EXPLAIN, 0, text);
	for (r = TL_RUNG_RETARGET; r < TL_RUNG_TRAP; r++) {
		if (r == rung_of(p) || !p->why[r])
			continue;
		snprintf(text, sizeof(text), "           %s is not possible: %s", names[r],
			tl_error_text(p->why[r]));
		tell(t, MSG_NOTE, 0, text);
	}
}

static bool is_news(const struct teller *t, uint32_t i)
{
	const struct tl_ctl_probe *p = tl_ctl_probe(t->probes, i);

	if (!p->addr || (!p->armed && !p->result) || t->told[i] & TOLD_RUNG)
		return false;
	t->told[i] |= TOLD_RUNG;
	return true;
}

/* Stood somewhere the last time, and has no place now. */
static bool is_gone(const struct teller *t, uint32_t i)
{
	if (!(t->told[i] & TOLD_RUNG) || tl_ctl_probe(t->probes, i)->addr)
		return false;
	t->told[i] &= ~TOLD_RUNG;
	return t->states[slot_probe(t, i)] == PROBE_ARMED;
}

/* Those in one object go together. */
static void explain_gone(const struct teller *t)
{
	uint32_t i, k, image, n;
	char text[600];

	for (i = 0; i < t->nslots; i++) {
		if (!is_gone(t, i))
			continue;
		image = slot_from(t, i)->image;
		for (n = 1, k = i + 1; k < t->nslots; k++)
			n += slot_from(t, k)->image == image && is_gone(t, k);
		snprintf(text, sizeof(text), "%-8s %.400s was unloaded with %u probe%s", "gone",
			tl_tap_string(t->mod, t->mod->images[image].path), n, n > 1 ? "s" : "");
		tell(t, t->explain ? MSG_EXPLAIN : MSG_NOTE, 0, text);
	}
}

/* Of what was armed since the last time. With -v alone only the first few. */
void explain(const struct teller *t)
{
	uint32_t i, n = 0;
	char text[80];

	if (!t->explain && !t->verbose)
		return;
	explain_gone(t);
	for (i = 0; i < t->nslots; i++) {
		if (!is_news(t, i))
			continue;
		if (!t->explain && ++n > A_FEW)
			continue;
		one_line(t, i);
		if (t->explain && t->verbose && tl_ctl_probe(t->probes, i)->armed)
			details(t, i);
	}
	if (n > A_FEW) {
		snprintf(text, sizeof(text), "and %u more: --explain shows all", n - A_FEW);
		tell(t, MSG_NOTE, 0, text);
	}
}
