/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Regular expressions. Whether a text matches is read off a table; where the
 * groups are is found only when somebody asks, by following all ways through
 * the pattern's program side by side. A way that is preferred stands before
 * the others, so what an op was reached by first is what counts there.
 */
#include "internal.h"

#define UNSET UINT32_MAX

int64_t tl_regex_match(struct tl_run *run, const struct tl_regex *regex, const struct tl_str *s)
{
	uint32_t i, n = s->len, state = regex->start;

	for (i = 0; i < n && state < TL_REGEX_MATCHED; i++)
		state = regex->next[state * regex->width + regex->classes[(uint8_t)s->b[i]]];
	if (state < TL_REGEX_MATCHED)
		state = regex->next[state * regex->width + regex->width - 1];
	if (run->match) {
		run->match->regex = state == TL_REGEX_MATCHED ? regex : NULL;
		run->match->found = false;
		if (run->match->regex)
			tl_str_set(run, run->match->text, s);
	}
	return state == TL_REGEX_MATCHED;
}

/* Ways that wait for the byte at one place, and the slots of each. */
struct ways {
	uint32_t n;
	uint32_t *op, *slots;
};

struct search {
	const struct tl_regex *regex;
	uint32_t length, nslots;
	struct ways now, then;
	uint32_t *best; /* slots of the match so far; best[0] UNSET: none */
	uint32_t *slots; /* of the way that is followed */
	uint32_t *stack; /* pairs: an op, or a slot to be put back and its value */
	uint32_t depth;
	uint32_t *seen; /* by op: 1 + the place at which it was reached last */
};

#define PUT_BACK 0x80000000u

static void push(struct search *s, uint32_t what, uint32_t value)
{
	s->stack[2 * s->depth] = what;
	s->stack[2 * s->depth + 1] = value;
	s->depth++;
}

static void copy(uint32_t *to, const uint32_t *from, uint32_t n)
{
	while (n--)
		*to++ = *from++;
}

/* One op, at a place where no byte was taken yet; what it leads to is pushed. */
static void follow_one(struct search *s, struct ways *to, uint32_t op, uint32_t at)
{
	const struct tl_regex_op *o = &s->regex->ops[op];

	switch (o->code) {
	case TL_REGEX_RANGE:
	case TL_REGEX_MATCH:
		to->op[to->n] = op;
		copy(to->slots + to->n * s->nslots, s->slots, s->nslots);
		to->n++;
		break;
	case TL_REGEX_SPLIT:
		push(s, o->other, 0);
		push(s, o->next, 0);
		break;
	case TL_REGEX_SLOT:
		push(s, o->other | PUT_BACK, s->slots[o->other]);
		s->slots[o->other] = at;
		push(s, o->next, 0);
		break;
	case TL_REGEX_START:
		if (!at)
			push(s, o->next, 0);
		break;
	case TL_REGEX_END:
		if (at == s->length)
			push(s, o->next, 0);
		break;
	default:
		break;
	}
}

/*
 * All ways on from `op` that take no byte, into `to`. An op is followed once a
 * place, and pushes two at most, so a stack of nops + 1 pairs holds.
 */
static void follow(struct search *s, struct ways *to, uint32_t op, uint32_t at)
{
	push(s, op, 0);
	while (s->depth) {
		uint32_t what = s->stack[2 * --s->depth];

		if (what & PUT_BACK) {
			s->slots[what & ~PUT_BACK] = s->stack[2 * s->depth + 1];
		} else if (s->seen[what] != at + 1) {
			s->seen[what] = at + 1;
			follow_one(s, to, what, at);
		}
	}
}

/* Where the byte leads from a chain of ranges; nops: nowhere. */
static uint32_t step(const struct tl_regex *regex, uint32_t op, uint8_t byte)
{
	const struct tl_regex_op *o = &regex->ops[op];

	for (; o->code == TL_REGEX_RANGE; o = &regex->ops[o->other])
		if (byte >= o->low && byte <= o->high)
			return o->next;
	return regex->nops;
}

/* A way has arrived: the leftmost one counts, of these the longest, of these the first. */
static void arrive(struct search *s, const uint32_t *slots)
{
	bool longer = slots[0] == s->best[0] && slots[1] > s->best[1];

	if (s->best[0] == UNSET || slots[0] < s->best[0] || longer)
		copy(s->best, slots, s->nslots);
}

/* All ways at `at`, over its byte. */
static void advance(struct search *s, const struct tl_str *text, uint32_t at)
{
	uint32_t i;

	s->then.n = 0;
	for (i = 0; i < s->now.n; i++) {
		const uint32_t *slots = s->now.slots + i * s->nslots;
		uint32_t to;

		if (s->regex->ops[s->now.op[i]].code == TL_REGEX_MATCH) {
			arrive(s, slots);
			continue;
		}
		if (at == s->length || slots[0] > s->best[0])
			continue;
		to = step(s->regex, s->now.op[i], (uint8_t)text->b[at]);
		if (to < s->regex->nops) {
			copy(s->slots, slots, s->nslots);
			follow(s, &s->then, to, at + 1);
		}
	}
}

static void search(struct search *s, const struct tl_str *text)
{
	struct ways swap;
	uint32_t at, i;

	for (i = 0; i < s->nslots; i++)
		s->best[i] = UNSET;
	for (i = 0; i < s->regex->nops; i++)
		s->seen[i] = 0;
	s->depth = 0;
	s->now.n = 0;
	for (at = 0; at <= s->length; at++) {
		if (s->best[0] == UNSET) { /* a match may begin here, if none began before */
			for (i = 0; i < s->nslots; i++)
				s->slots[i] = UNSET;
			follow(s, &s->now, s->regex->first, at);
		}
		advance(s, text, at);
		if (!s->then.n && s->best[0] != UNSET)
			return;
		swap = s->now;
		s->now = s->then;
		s->then = swap;
	}
}

/* The slots of the latest match. */
static const uint32_t *find(struct tl_match *m)
{
	const struct tl_regex *regex = m->regex;
	uint32_t nslots = 2u * regex->groups, *room = m->room;
	struct search s = {.regex = regex, .length = m->text->len, .nslots = nslots};

	if (m->found)
		return m->room;
	s.best = room;
	s.slots = (room += nslots);
	s.now.slots = (room += nslots);
	s.then.slots = (room += regex->waits * nslots);
	s.now.op = (room += regex->waits * nslots);
	s.then.op = (room += regex->waits);
	s.seen = (room += regex->waits);
	s.stack = room + regex->nops;
	search(&s, m->text);
	m->found = true;
	return m->room;
}

void tl_matched(struct tl_run *run, struct tl_str *dst, int64_t n)
{
	struct tl_match *m = run->match;
	const uint32_t *slots;

	if (!m || !m->regex) {
		tl_run_error(run, "Attempted to get subexpression %d from failed match", n);
		return;
	}
	if (n < 0 || n >= m->regex->groups) {
		tl_run_error(run, "Attempted to get nonexistent subexpression %d", n);
		return;
	}
	slots = find(m) + 2 * n;
	if (slots[0] == UNSET || slots[1] == UNSET)
		tl_str_put(run, dst, "", 0);
	else
		tl_str_put(run, dst, m->text->b + slots[0], slots[1] - slots[0]);
}

int64_t tl_ngroups(struct tl_run *run)
{
	if (run->match && run->match->regex)
		return run->match->regex->groups;
	tl_run_error(run, "Attempted to get subexpression count from failed match");
	return 0;
}
