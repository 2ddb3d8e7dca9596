/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Writing records into the own thread's ring. One writer, one reader, no lock.
 * A run of a handler does with its records:
 *
 *   writing = time of the previous run        (some time not later than ours)
 *   take the time, that of all its records
 *   fill a record; head += size               (release: now the reader sees it), any number of times
 *   writing = 0
 *
 * The reader gives out no record later than any `writing`, so that all rings
 * together come out in order of time, and what one run has written together.
 *
 * A full chunk ends with a LINK to the next one: that of the block's own two
 * which has been read, else the first of the pool that nobody has.
 */
#include "internal.h"
#include "ring.h"

#define NO_CHUNK UINTPTR_MAX

static uintptr_t own_chunk(struct tl_block *b, uintptr_t except)
{
	uintptr_t i;

	for (i = 0; i < TL_OWN_CHUNKS; i++) {
		if (i != except && b->left[i] == __atomic_load_n(&b->read[i], __ATOMIC_ACQUIRE))
			return i;
	}
	return NO_CHUNK;
}

static uintptr_t large_chunk(const struct tl_view *v, struct tl_block *b)
{
	uint32_t i, nobody;

	if (b->taken - __atomic_load_n(&b->given, __ATOMIC_RELAXED) >= v->chunks_most)
		return NO_CHUNK;
	for (i = 0; i < v->nchunks; i++) {
		nobody = 0;
		if (!*(volatile uint32_t *)&v->owners[i] &&
			__atomic_compare_exchange_n(&v->owners[i], &nobody, b->owner, false,
				__ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
			b->taken++;
			return TL_OWN_CHUNKS + i;
		}
	}
	return NO_CHUNK;
}

/* Go on in another chunk that has room for `size`, as every large one has. NULL: none is free. */
static uint8_t *next_chunk(const struct tl_view *v, struct tl_block *b, uint32_t size)
{
	uintptr_t head = tl_word_load(&b->head), chunk = head >> v->chunk_shift;
	uintptr_t next = NO_CHUNK;
	uint32_t left;
	struct tl_record *link = (struct tl_record *)tl_place_at(v, b, head, &left);

	if (size + TL_LINK <= v->own_size)
		next = own_chunk(b, chunk);
	if (next == NO_CHUNK)
		next = large_chunk(v, b);
	if (next == NO_CHUNK)
		return NULL;
	if (link) {
		link->what = tl_record_what(TL_LINK, TL_REC_LINK, 0, 0);
		link->time = next;
		if (chunk < TL_OWN_CHUNKS)
			b->left[chunk]++;
	}
	head = tl_chunk_start(v, next);
	tl_word_store(&b->head, head);
	return tl_place_at(v, b, head, &left);
}

/* Only the runner reads its own ring: in the targets this costs no stack. */
static __attribute__((__noinline__, cold)) uint8_t *once_read(
	struct tl_view *v, struct tl_block *b, uint32_t size)
{
	return v->ops->make_room(v) ? next_chunk(v, b, size) : NULL;
}

static __attribute__((__noinline__)) uint8_t *elsewhere(
	struct tl_view *v, struct tl_block *b, uint32_t size)
{
	bool fits = size + TL_LINK <= v->chunk_size && size <= TL_RECORD_MAX;
	uint8_t *p = fits ? next_chunk(v, b, size) : NULL;

	if (!p && fits && v->ops && v->ops->make_room)
		p = once_read(v, b, size);
	if (!p)
		b->lost++;
	return p;
}

bool tl_ring_begin(
	struct tl_run *run, struct tl_slot *s, unsigned kind, unsigned id, uint32_t payload)
{
	/* what is longer than any chunk stays so, however long */
	uint32_t size = (uint32_t)sizeof(struct tl_record) + ((payload + 7) & ~7u), left;
	struct tl_block *b = run->block;
	struct tl_record *r;

	if (tl_unlikely(payload > INT32_MAX))
		size = INT32_MAX;
	r = (struct tl_record *)tl_place_at(run->view, b, tl_word_load(&b->head), &left);
	if (tl_unlikely(!r || size + TL_LINK > left)) {
		r = (struct tl_record *)elsewhere(run->view, b, size);
		if (!r)
			return false;
	}
	if (!run->time) {
		tl_time_store(&b->writing, tl_block_own(b)->last_time | 1);
		b->holding = 1; /* who leaves the handler by siglongjmp is cleaned up after */
		TL_BARRIER();
		run->time = tl_cycles();
	}
	r->what = tl_record_what(size, kind, id, run->env->number);
	r->time = run->time;
	if (payload & 7)
		*(uint64_t *)((uint8_t *)r + size - 8) = 0;
	s->data = (uint8_t *)(r + 1);
	s->size = size;
	return true;
}

void tl_run_printed(struct tl_run *run)
{
	tl_block_own(run->block)->last_time = run->time;
	*(volatile uint32_t *)&run->block->holding = 0;
	tl_time_store(&run->block->writing, 0);
}

/* Pieces are cut at multiples of 8: only the last one is padded. */
void tl_ring_text(struct tl_run *run, unsigned kind, unsigned id, const char *text, uint32_t n)
{
	const struct tl_view *v = run->view;
	uint32_t most = ((v->chunks_most ? v->chunk_size / 4 : v->own_size / 2)) & ~7u;
	struct tl_slot s;

	do {
		uint32_t piece = n < most ? n : most;

		if (!tl_ring_begin(run, &s, kind, n > piece ? id | TL_TEXT_MORE : id, piece))
			return;
		memcpy(s.data, text, piece);
		tl_ring_end(run, &s);
		text += piece;
		n -= piece;
	} while (n);
}

/* It stands between what was printed before and what is printed from now on. */
void tl_ring_thread(struct tl_view *v)
{
	static const struct tl_env nobody;
	struct tl_block *b = v->own;
	struct tl_run run = {.view = v, .block = b, .env = &nobody};
	struct tl_record_thread t = {.tid = b->tid, .pid = b->pid};
	struct tl_slot s;

	memcpy(t.comm, b->comm, sizeof(t.comm));
	if (!tl_ring_begin(&run, &s, TL_REC_THREAD, 0, sizeof(t)))
		return;
	memcpy(s.data, &t, sizeof(t));
	tl_ring_end(&run, &s);
	tl_run_printed(&run);
}
