/* SPDX-License-Identifier: MIT */
/* What became of the module's probes: armed or refused and why, and the closing figures. */
#define _GNU_SOURCE
#include <stdio.h>

#include <trapless/error.h>
#include <trapless/probe.h>

#include "../../engine/core/unpaired.h"
#include "tell.h"

/* One that may be missing ('?') is not missed. */
static bool is_refused(const struct teller *t, uint32_t i)
{
	const struct tl_ctl_probe *p = tl_ctl_probe(t->probes, i);

	return p->result && !p->armed && !(t->mod->probes[i].flags & TL_TAP_PROBE_OPTIONAL);
}

static bool refusal_is_news(const struct teller *t, uint32_t i)
{
	return is_refused(t, i) && !(t->told[i] & TOLD_REFUSAL);
}

/* Those that a wildcard matched are told together, a line for each reason. */
static uint32_t tell_as_one(const struct teller *t, uint32_t i)
{
	const struct tl_ctl_probe *p = tl_ctl_probe(t->probes, i), *q;
	const struct tl_tap_probe *from = &t->mod->probes[i];
	uint32_t k, n = 1;

	t->told[i] |= TOLD_REFUSAL;
	for (k = i + 1; from->flags & TL_TAP_PROBE_MATCHED && k < t->mod->nprobes; k++) {
		q = tl_ctl_probe(t->probes, k);
		if (t->mod->probes[k].script != from->script || q->result != p->result ||
			q->reason != p->reason || !refusal_is_news(t, k))
			continue;
		t->told[k] |= TOLD_REFUSAL;
		n++;
	}
	return n;
}

/* A wildcard may lose some of its places, but not all. */
static bool refusal_is_error(const struct teller *t, uint32_t i)
{
	const struct tl_tap_probe *from = &t->mod->probes[i];
	uint32_t k;

	for (k = 0; from->flags & TL_TAP_PROBE_MATCHED && k < t->mod->nprobes; k++) {
		const struct tl_ctl_probe *p = tl_ctl_probe(t->probes, k);

		if (t->mod->probes[k].script == from->script && (p->armed || !p->result))
			return false;
	}
	return true;
}

static void tell_refusals(const struct teller *t)
{
	char text[700], more[32];
	const char *reason;
	uint32_t i, n;

	for (i = 0; i < t->mod->nprobes; i++) {
		const struct tl_ctl_probe *p = tl_ctl_probe(t->probes, i);

		if (!refusal_is_news(t, i))
			continue;
		n = tell_as_one(t, i);
		snprintf(more, sizeof(more), " and %u more", n - 1);
		reason = tl_ret_reason(p->reason);
		snprintf(text, sizeof(text), "%s%s: probe%s refused [%s]: %s%s%s%s%s",
			module_string(t->mod, t->mod->probes[i].point), n > 1 ? more : "",
			n > 1 ? "s" : "", tl_error_name(p->result), tl_error_text(p->result),
			reason ? ": " : "", reason ? reason : "",
			*tl_error_next(p->result) ? "; " : "", tl_error_next(p->result));
		tell(t, MSG_WARN, refusal_is_error(t, i), text);
	}
}

static void note_states(const struct teller *t)
{
	uint32_t i;

	for (i = 0; i < t->mod->nprobes; i++) {
		const struct tl_ctl_probe *p = tl_ctl_probe(t->probes, i);

		if (p->armed)
			t->states[i] = PROBE_ARMED;
		else if (p->result && t->states[i] != PROBE_ARMED)
			t->states[i] = PROBE_REFUSED;
		else if (t->probes->cut_short && t->states[i] == PROBE_NEVER_ARMED)
			t->states[i] = PROBE_LEFT_OUT;
	}
}

void tell_probes(const struct teller *t)
{
	note_states(t);
	tell_refusals(t);
	explain(t);
}

/* --- the end ---------------------------------------------------------------------------- */

/* Returns that nobody has seen: which, why, and what to do about it. */
static void tell_tails(const struct teller *t, uint32_t i)
{
	const struct tl_ctl_probe *p = tl_ctl_probe(t->probes, i);
	const char *point = module_string(t->mod, t->mod->probes[i].point);
	bool result = t->mod->probes[i].flags & TL_TAP_PROBE_RESULT;
	char text[700], from[96] = "", to[96];

	if (p->tail) {
		explain_place(t, p->tail, from, sizeof(from));
		explain_place(t, p->tail_to, to, sizeof(to));
	}
	snprintf(text, sizeof(text),
		"TAIL_CALL: %.300s: %llu call%s left by a jump to another function%s%s%s%s%s; the "
		"handler %s; "
		"next: probe the return of the function it jumps to",
		point, (unsigned long long)p->ntails, p->ntails == 1 ? "" : "s",
		p->tail ? " (" : "", from, p->tail ? " to " : "", p->tail ? to : "",
		p->tail ? ")" : "",
		result ? "needs the result and was not run" : "ran at the jump");
	tell(t, MSG_WARN, 0, text);
}

void tell_counts(const struct teller *t, struct message *m)
{
	uint32_t i;

	m->kind = MSG_COUNTS;
	for (i = 0; i < t->mod->nprobes; i++) {
		const struct tl_ctl_probe *p = tl_ctl_probe(t->probes, i);

		m->missed += p->nmissed;
		m->abandoned += p->nabandoned;
		m->tails += p->ntails;
		if (p->ntails)
			tell_tails(t, i);
		m->refused += is_refused(t, i);
	}
	tell_send(t, m);
}
