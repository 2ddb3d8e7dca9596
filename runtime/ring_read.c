/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Reading all rings in order of time. The rings are written by programs that
 * may be broken or hostile: every number is read once, checked, and a record
 * is copied before anybody looks into it.
 *
 * A pass gives out what is older than
 *   - the start of an earlier pass, SETTLE cycles back or more: whatever a
 *     writer had begun before that is visible by now, as `writing` or as a
 *     record (stores take nanoseconds to become visible);
 *   - every `writing`: something that old may still come. A `writing` that
 *     stays for seconds was left by an abandoned handler, and is ignored.
 */
#include "internal.h"

#define SETTLE	      100000u
#define HELD_TOO_LONG (1ull << 33) /* cycles: some seconds */

static uint8_t *ring_of(const struct tl_reader *r, uint32_t block)
{
	return (uint8_t *)tl_block_at(r->view, block) + r->view->ring_off;
}

/* The ring makes no sense: go on at its head, where a record may begin. */
static bool skip_damaged(struct tl_reader *r, uint32_t block)
{
	struct tl_cursor *c = &r->cursor[block];

	r->damaged++;
	c->tail = c->head &= ~7ull;
	tl_word_store(&tl_block_at(r->view, block)->tail, (uintptr_t)c->tail);
	return false;
}

/* Is there a record at the tail? Skips padding. */
static bool peek(struct tl_reader *r, uint32_t block)
{
	struct tl_cursor *c = &r->cursor[block];
	uint32_t ring = r->view->ring_size, at, left, size;
	struct {
		uint32_t size;
		uint16_t kind, id;
	} first;
	uint64_t word;
	const uint8_t *p;

	for (;;) {
		left = (uint32_t)(c->head - c->tail);
		if (!left)
			return false;
		at = (uint32_t)c->tail & (ring - 1);
		p = ring_of(r, block) + at;
		word = tl_get64(p); /* once */
		memcpy(&first, &word, sizeof(first));
		size = first.size;
		if (size < 8 || size & 7 || size > left || size > ring - at)
			return skip_damaged(r, block);
		if (first.kind != TL_REC_PAD)
			break;
		c->tail += size;
	}
	if (size < sizeof(struct tl_record) || size > ring / 2)
		return skip_damaged(r, block);
	c->size = size;
	c->time = tl_get64(p + 8);
	return true;
}

/* Heads as they are now; returns the time up to which records may be given out. */
static uint64_t look(struct tl_reader *r, uint64_t now, bool final)
{
	uint64_t limit;
	uint32_t i, used_blocks = tl_blocks_used(r->view);

	if (now - r->sample > SETTLE) {
		r->settled = r->sample;
		r->sample = now;
	}
	limit = final ? UINT64_MAX : r->settled;
	if (r->used < used_blocks) /* never fewer: the number is shared */
		r->used = used_blocks;
	for (i = 1; i < r->used; i++) {
		struct tl_block *b = tl_block_at(r->view, i);
		struct tl_cursor *c = &r->cursor[i];
		uint64_t writing = tl_time_load(&b->writing); /* before head: see ring.c */
		uintptr_t used;

		if (writing != c->held) {
			c->held = writing;
			c->held_since = now;
		}
		if (!final && writing && now - c->held_since < HELD_TOO_LONG && writing - 1 < limit)
			limit = writing - 1;
		used = tl_word_load(&b->head) - (uintptr_t)c->tail;
		c->head = c->tail + used;
		if (used & 7 || used > r->view->ring_size)
			skip_damaged(r, i);
	}
	return limit;
}

static bool before(const struct tl_reader *r, uint32_t a, uint32_t b)
{
	const struct tl_cursor *x = &r->cursor[a], *y = &r->cursor[b];

	return x->time != y->time ? x->time < y->time : a < b;
}

static void sift_down(struct tl_reader *r, uint32_t i, uint32_t n)
{
	struct tl_cursor *c = r->cursor;

	for (;;) {
		uint32_t kid = 2 * i + 1, t;

		if (kid >= n)
			return;
		if (kid + 1 < n && before(r, c[kid + 1].heap, c[kid].heap))
			kid++;
		if (!before(r, c[kid].heap, c[i].heap))
			return;
		t = c[kid].heap;
		c[kid].heap = c[i].heap;
		c[i].heap = t;
		i = kid;
	}
}

static int give(struct tl_reader *r, uint32_t block, tl_record_fn fn, void *arg)
{
	struct tl_cursor *c = &r->cursor[block];
	const uint8_t *p = ring_of(r, block) + ((uint32_t)c->tail & (r->view->ring_size - 1));
	struct tl_record *rec = (struct tl_record *)r->buffer;

	memcpy(r->buffer, p, c->size);
	rec->size = c->size; /* as checked */
	rec->time = c->time;
	c->tail += c->size;
	tl_word_store(&tl_block_at(r->view, block)->tail, (uintptr_t)c->tail);
	return fn(arg, block, rec, r->buffer + sizeof(*rec), c->size - (uint32_t)sizeof(*rec));
}

uint64_t tl_reader_pass(struct tl_reader *r, tl_record_fn fn, void *arg, bool final)
{
	uint64_t now = tl_cycles(), limit = look(r, now, final), count = 0;
	uint32_t i, n = 0;

	for (i = 1; i < r->used; i++)
		if (peek(r, i))
			r->cursor[n++].heap = i;
	for (i = n / 2; i-- > 0;)
		sift_down(r, i, n);
	while (n && r->cursor[r->cursor[0].heap].time <= limit) {
		uint32_t block = r->cursor[0].heap;

		count++;
		if (give(r, block, fn, arg))
			break;
		if (!peek(r, block))
			r->cursor[0].heap = r->cursor[--n].heap;
		sift_down(r, 0, n);
	}
	return count;
}

uint64_t tl_reader_block(struct tl_reader *r, uint32_t block, tl_record_fn fn, void *arg)
{
	uint64_t count = 0;

	look(r, tl_cycles(), false);
	while (peek(r, block)) {
		count++;
		if (give(r, block, fn, arg))
			break;
	}
	return count;
}

bool tl_reader_waits(struct tl_reader *r, uint32_t block)
{
	look(r, tl_cycles(), false);
	return peek(r, block);
}

const char *tl_record_text(const uint8_t *payload, uint32_t size, uint32_t *len)
{
	while (size && !payload[size - 1])
		size--;
	*len = size;
	return (const char *)payload;
}
