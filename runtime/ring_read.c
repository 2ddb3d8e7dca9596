/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Reading all rings in order of time. The rings are written by programs that
 * may be broken or hostile: every number is read once, checked, and a record
 * is copied before anybody looks into it.
 *
 * A pass gives out what is older than
 *   - its own start by SETTLE cycles: whatever a writer had begun before that
 *     is visible by now, as `writing` or as a record (stores take nanoseconds
 *     to become visible);
 *   - every `writing`: something that old may still come. A `writing` that
 *     stays for seconds was left by an abandoned handler, and is ignored.
 */
#include "internal.h"
#include "ring.h"

#define SETTLE	      100000u
#define HELD_TOO_LONG (1ull << 33) /* cycles: some seconds */

/* The reader has left it: the writer may have it again. */
static void give_back(struct tl_reader *r, uint32_t block, uintptr_t chunk)
{
	struct tl_block *b = tl_block_at(r->view, block);
	uint32_t owner = block + 1;

	if (chunk < TL_OWN_CHUNKS)
		__atomic_fetch_add(&b->read[chunk], 1, __ATOMIC_RELEASE);
	else if (__atomic_compare_exchange_n(&r->view->owners[chunk - TL_OWN_CHUNKS], &owner, 0,
			 false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		__atomic_fetch_add(&b->given, 1, __ATOMIC_RELAXED);
}

/* All that it has but the chunk where it writes. */
static void give_back_all(struct tl_reader *r, uint32_t block, uintptr_t but)
{
	struct tl_block *b = tl_block_at(r->view, block);
	uint32_t i;

	for (i = 0; i < TL_OWN_CHUNKS; i++)
		__atomic_store_n(&b->read[i], b->left[i], __ATOMIC_RELEASE);
	for (i = 0; i < r->view->nchunks; i++) {
		if (r->view->owners[i] == block + 1 && i + TL_OWN_CHUNKS != but)
			give_back(r, block, i + TL_OWN_CHUNKS);
	}
}

/* The ring makes no sense: go on at its head, where a record may begin. */
static bool skip_damaged(struct tl_reader *r, uint32_t block)
{
	struct tl_cursor *c = &r->cursor[block];

	r->damaged++;
	c->tail = c->head;
	give_back_all(r, block, c->head >> r->view->chunk_shift);
	return false;
}

/* Along a LINK at the tail. A chain that leads round and round is no chain. */
static bool follow(struct tl_reader *r, uint32_t block, uintptr_t from, uint64_t to)
{
	const struct tl_view *v = r->view;
	struct tl_cursor *c = &r->cursor[block];

	if (to >= TL_OWN_CHUNKS + (uint64_t)v->nchunks || ++c->links > v->nchunks + TL_OWN_CHUNKS)
		return false;
	c->tail = tl_chunk_start(v, (uintptr_t)to);
	give_back(r, block, from);
	return true;
}

/* Is there a record at the tail? Goes along links. */
static bool peek(struct tl_reader *r, uint32_t block)
{
	struct tl_cursor *c = &r->cursor[block];
	uint32_t left;
	const uint8_t *p;
	uint64_t what;
	uint32_t size;

	while (c->tail != c->head) {
		p = tl_place_at(r->view, tl_block_at(r->view, block), c->tail, &left);
		if (!p)
			return skip_damaged(r, block);
		if (c->head > c->tail && c->head - c->tail < left)
			left = (uint32_t)(c->head - c->tail);
		what = tl_get64(p); /* once */
		size = tl_record_size(what);
		if (left < sizeof(struct tl_record) || size > left ||
			size < sizeof(struct tl_record))
			return skip_damaged(r, block);
		if (tl_record_kind(what) != TL_REC_LINK) {
			c->at = p;
			c->what = what;
			c->size = size;
			c->time = tl_get64(p + 8);
			return true;
		}
		if (!follow(r, block, c->tail >> r->view->chunk_shift, tl_get64(p + 8)))
			return skip_damaged(r, block);
	}
	return false;
}

/* Heads as they are now; returns the time up to which records may be given out. */
static uint64_t look(struct tl_reader *r, uint64_t now, bool final)
{
	uint64_t limit = final ? UINT64_MAX : now - SETTLE;
	uint32_t i, used_blocks = tl_blocks_used(r->view);

	if (r->used < used_blocks) /* never fewer: the number is shared */
		r->used = used_blocks;
	for (i = 1; i < r->used; i++) {
		struct tl_block *b = tl_block_at(r->view, i);
		struct tl_cursor *c = &r->cursor[i];
		uint64_t writing = tl_time_load(&b->writing); /* before head: see ring.c */
		uint32_t left;

		if (writing != c->held) {
			c->held = writing;
			c->held_since = now;
		}
		if (!final && writing && now - c->held_since < HELD_TOO_LONG && writing - 1 < limit)
			limit = writing - 1;
		c->head = tl_word_load(&b->head);
		c->links = 0;
		if (!tl_place_at(r->view, b, c->head, &left)) {
			c->head = c->tail;
			r->damaged++;
		}
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
	struct tl_record *rec = (struct tl_record *)r->buffer;

	memcpy(r->buffer, c->at, c->size);
	rec->what = c->what; /* as checked */
	rec->time = c->time;
	c->tail += c->size;
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

bool tl_reader_forget(struct tl_reader *r, uint32_t block)
{
	struct tl_block *b = tl_block_at(r->view, block);
	struct tl_cursor *c = &r->cursor[block];

	if (tl_word_load(&b->head) != c->tail)
		return false;
	give_back_all(r, block, 0);
	b->left[0] = b->left[1] = b->read[0] = b->read[1] = b->taken = b->given = 0;
	tl_word_store(&b->head, 0);
	c->tail = c->head = 0;
	return true;
}

const char *tl_record_text(const uint8_t *payload, uint32_t size, uint32_t *len)
{
	while (size && !payload[size - 1])
		size--;
	*len = size;
	return (const char *)payload;
}
