/* SPDX-License-Identifier: MIT */
/* What became of the module's probes: armed or refused and why, and the closing figures. */
#define _GNU_SOURCE
#include <stdio.h>

#include <trapless/error.h>
#include <trapless/probe.h>

#include "../../engine/core/image/unpaired.h"
#include "tell.h"

/* Bytes that only look like an instruction. */
static bool is_nothing(int result)
{
	return result == -TL_E_NOT_BOUNDARY || result == -TL_E_NOT_PROVEN;
}

/* One that may be missing ('?') is not missed. */
static bool is_refused(const struct teller *t, uint32_t i)
{
	const struct tl_ctl_probe *p = tl_ctl_probe(t->probes, i);
	uint32_t flags = slot_from(t, i)->flags;

	return p->result && !p->armed && !(flags & TL_TAP_PROBE_OPTIONAL) &&
	       !(flags & TL_TAP_PROBE_BYTES && is_nothing(p->result));
}

static bool refusal_is_news(const struct teller *t, uint32_t i)
{
	return is_refused(t, i) && !(t->told[i] & TOLD_REFUSAL);
}

/* Those that one wildcard matched, which may have a '?', are told together, a line for each reason: the next behind k. */
static uint32_t next_alike(const struct teller *t, uint32_t i, uint32_t k,
	bool (*alike)(const struct teller *t, uint32_t i, uint32_t k))
{
	const struct tl_tap_probe *from = slot_from(t, i);

	if (!(from->flags & (TL_TAP_PROBE_MATCHED | TL_TAP_PROBE_OPTIONAL)))
		return t->nslots;
	while (++k < t->nslots)
		if (slot_from(t, k)->script == from->script && alike(t, i, k))
			break;
	return k;
}

static bool refused_alike(const struct teller *t, uint32_t i, uint32_t k)
{
	const struct tl_ctl_probe *p = tl_ctl_probe(t->probes, i), *q = tl_ctl_probe(t->probes, k);

	return refusal_is_news(t, k) && q->result == p->result && q->reason == p->reason;
}

static uint32_t refused_as_one(const struct teller *t, uint32_t i)
{
	uint32_t k, n = 0;

	for (k = i; k < t->nslots; k = next_alike(t, i, k, refused_alike), n++)
		t->told[k] |= TOLD_REFUSAL;
	return n;
}

static const char *and_more(uint32_t n, char *buf, size_t room)
{
	snprintf(buf, room, " and %u more", n - 1);
	return n > 1 ? buf : "";
}

/* A wildcard may lose some of its places, but not all. */
static bool refusal_is_error(const struct teller *t, uint32_t i)
{
	const struct tl_tap_probe *from = slot_from(t, i);
	uint32_t k;

	for (k = 0; from->flags & TL_TAP_PROBE_MATCHED && k < t->nslots; k++) {
		const struct tl_ctl_probe *p = tl_ctl_probe(t->probes, k);

		if (slot_from(t, k)->script == from->script && (p->armed || !p->result))
			return false;
	}
	return true;
}

/* --- what a wildcard has not got ------------------------------------------------------ */

enum { REASONS = 8 };

struct tally {
	uint32_t tried, refused, nreasons;
	struct {
		int result;
		uint32_t n;
	} reason[REASONS]; /* the most frequent come first */
};

static void tally_add(struct tally *y, int result)
{
	uint32_t k = 0;

	y->refused++;
	while (k < y->nreasons && y->reason[k].result != result)
		k++;
	if (k == REASONS)
		return;
	if (k == y->nreasons)
		y->reason[y->nreasons++].n = 0;
	y->reason[k].result = result;
	y->reason[k].n++;
	for (; k && y->reason[k].n > y->reason[k - 1].n; k--) {
		__typeof__(y->reason[0]) low = y->reason[k - 1];

		y->reason[k - 1] = y->reason[k];
		y->reason[k] = low;
	}
}

static bool is_matched_return(const struct teller *t, uint32_t i)
{
	return slot_from(t, i)->kind == TL_TAP_RETURN &&
	       slot_from(t, i)->flags & TL_TAP_PROBE_MATCHED;
}

/* All that the wildcard of probe i has matched in this process, which is told now. */
static struct tally tally_of(const struct teller *t, uint32_t i)
{
	struct tally y = {0};

	for (uint32_t k = 0; k < t->nslots; k++) {
		const struct tl_ctl_probe *p = tl_ctl_probe(t->probes, k);

		if (!is_matched_return(t, k) || slot_from(t, k)->script != slot_from(t, i)->script)
			continue;
		t->told[k] &= ~TOLD_GROWN;
		y.tried += p->armed || is_refused(t, k);
		if (is_refused(t, k))
			tally_add(&y, p->result);
	}
	return y;
}

/* One line with the whole of it, where there are several; the reasons have been told in full. */
static void tell_tally(const struct teller *t, uint32_t i)
{
	struct tally y = tally_of(t, i);
	char text[500];
	size_t n;

	if (y.refused < 2)
		return;
	n = (size_t)snprintf(text, sizeof(text),
		"%.200s: %u of the %u functions that the wildcard matches have no return probe:",
		tl_tap_string(t->mod, slot_from(t, i)->script), y.refused, y.tried);
	for (uint32_t k = 0; k < y.nreasons; k++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s %u %s", k ? "," : "",
			y.reason[k].n, tl_error_name(y.reason[k].result));
	tell(t, MSG_WARN, 0, text);
}

static void tell_refusals(const struct teller *t)
{
	char text[700], more[32];
	const char *reason;
	uint32_t i, n;

	for (i = 0; i < t->nslots; i++) {
		const struct tl_ctl_probe *p = tl_ctl_probe(t->probes, i);

		if (!refusal_is_news(t, i))
			continue;
		n = refused_as_one(t, i);
		reason = tl_ret_reason(p->reason);
		snprintf(text, sizeof(text), "%s%s: probe%s refused [%s]: %s%s%s%s%s",
			tl_tap_string(t->mod, slot_from(t, i)->point),
			and_more(n, more, sizeof(more)), n > 1 ? "s" : "", tl_error_name(p->result),
			tl_error_text(p->result), reason ? ": " : "", reason ? reason : "",
			*tl_error_next(p->result) ? "; " : "", tl_error_next(p->result));
		tell(t, MSG_WARN, refusal_is_error(t, i), text);
		if (is_matched_return(t, i))
			t->told[i] |= TOLD_GROWN;
	}
	for (i = 0; i < t->nslots; i++)
		if (t->told[i] & TOLD_GROWN)
			tell_tally(t, i);
}

/* --- system calls ------------------------------------------------------------------- */

static bool is_unseen(const struct teller *t, uint32_t i)
{
	const struct tl_ctl_probe *p = tl_ctl_probe(t->probes, i);

	return p->unseen && p->result && !p->armed && !(t->told[i] & TOLD_REFUSAL);
}

/* Several probes may be for one call: entry and return. */
static bool is_first_there(const struct teller *t, uint32_t i)
{
	uint32_t k = 0;

	while (k < i &&
		!(tl_ctl_probe(t->probes, k)->unseen &&
			tl_ctl_probe(t->probes, k)->addr == tl_ctl_probe(t->probes, i)->addr))
		k++;
	return k == i;
}

/* Instructions that make some and are taken for bytes that only look so: in one line. */
static void tell_unseen(const struct teller *t)
{
	enum { NAMED = 8 };
	char text[700], at[96];
	size_t len = (size_t)snprintf(text, sizeof(text), "system calls that are not seen:");
	uint32_t i, n = 0;

	for (i = 0; i < t->mod->nprobes; i++) {
		const struct tl_ctl_probe *p = tl_ctl_probe(t->probes, i);

		if (!is_unseen(t, i))
			continue;
		t->told[i] |= TOLD_REFUSAL;
		if (!is_first_there(t, i) || n++ >= NAMED)
			continue;
		explain_place(t, p->addr, at, sizeof(at));
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s number %u at %.60s",
			n > 1 ? "," : "", p->unseen - 1, at);
	}
	if (!n)
		return;
	if (n > NAMED)
		len += (size_t)snprintf(text + len, sizeof(text) - len, ", and %u more", n - NAMED);
	snprintf(text + len, sizeof(text) - len,
		"; nothing proves that these bytes are code; next: install that file's debug "
		"information");
	tell(t, MSG_WARN, 0, text);
}

static void note_states(const struct teller *t)
{
	uint32_t i;

	for (i = 0; i < t->nslots; i++) {
		const struct tl_ctl_probe *p = tl_ctl_probe(t->probes, i);
		uint8_t *state = &t->states[slot_probe(t, i)];

		if (p->armed)
			*state = PROBE_ARMED;
		else if (p->result && *state != PROBE_ARMED)
			*state = PROBE_REFUSED;
		else if (t->probes->cut_short && *state == PROBE_NEVER_ARMED)
			*state = PROBE_LEFT_OUT;
	}
}

void tell_probes(const struct teller *t)
{
	note_states(t);
	tell_refusals(t);
	tell_unseen(t);
	explain(t);
}

/* --- the end ---------------------------------------------------------------------------- */

static bool needs_result(const struct teller *t, uint32_t i)
{
	return slot_from(t, i)->flags & TL_TAP_PROBE_RESULT;
}

/* Threads that still run may have counted the part before the whole. */
static uint64_t less(uint64_t whole, uint64_t part)
{
	return whole > part ? whole - part : 0;
}

/* Calls left by jumps to functions that are not watched, for that reason alone. */
static uint64_t tails_of(const struct teller *t, uint32_t i)
{
	const struct tl_ctl_probe *p = tl_ctl_probe(t->probes, i);

	return less(p->ntails, p->ncrowded);
}

static bool tails_are_news(const struct teller *t, uint32_t i)
{
	return tails_of(t, i) && !(t->told[i] & TOLD_TAILS);
}

static bool tails_alike(const struct teller *t, uint32_t i, uint32_t k)
{
	return tails_are_news(t, k) && needs_result(t, k) == needs_result(t, i);
}

/* Returns that nobody has seen: which, why, and what to do about it. */
static void tell_tails(const struct teller *t, uint32_t i)
{
	const struct tl_ctl_probe *p = tl_ctl_probe(t->probes, i);
	const char *point = tl_tap_string(t->mod, slot_from(t, i)->point);
	char text[700], from[96] = "", to[96], more[32];
	uint64_t calls = 0;
	uint32_t k, n = 0;

	for (k = i; k < t->nslots; k = next_alike(t, i, k, tails_alike), n++) {
		t->told[k] |= TOLD_TAILS;
		calls += tails_of(t, k);
	}
	if (p->tail) {
		explain_place(t, p->tail, from, sizeof(from));
		/* A pointer that the loader had not filled in yet says nothing. */
		if (!explain_place(t, p->tail_to, to, sizeof(to)))
			snprintf(to, sizeof(to), "where a pointer in memory leads");
	}
	snprintf(text, sizeof(text),
		"TAIL_CALL: %.300s%s: %llu call%s left by a jump to another function%s%s%s%s%s%s; "
		"the handler %s; "
		"next: probe the return of the function it jumps to",
		point, and_more(n, more, sizeof(more)), (unsigned long long)calls,
		calls == 1 ? "" : "s", p->tail ? " (" : "", p->tail && n > 1 ? "the first: " : "",
		from, p->tail ? " to " : "", p->tail ? to : "", p->tail ? ")" : "",
		needs_result(t, i) ? "needs the result and was not run" : "ran at the jump");
	tell(t, MSG_WARN, 0, text);
}

/* Together. */
static uint64_t missed_by_kind(const struct tl_ctl_probe *p, uint64_t *kinds)
{
	uint64_t all = 0;
	int why;

	for (why = 0; why < TL_MISSED_KINDS; why++) {
		kinds[why] += p->missed[why];
		all += p->missed[why];
	}
	return all;
}

void tell_counts(const struct teller *t, struct message *m)
{
	uint32_t i;

	m->kind = MSG_COUNTS;
	for (i = 0; i < t->nslots; i++) {
		const struct tl_ctl_probe *p = tl_ctl_probe(t->probes, i);

		m->missed += less(p->nmissed, p->nunpaired + missed_by_kind(p, m->kinds));
		m->unpaired += p->nunpaired;
		m->abandoned += p->nabandoned;
		m->tails += tails_of(t, i);
		m->crowded += p->ncrowded;
		m->replaced += p->replaced != 0;
		if (tails_are_news(t, i))
			tell_tails(t, i);
		m->refused += is_refused(t, i);
	}
	tell_send(t, m);
}
