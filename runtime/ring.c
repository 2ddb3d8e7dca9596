/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Writing records into the own thread's ring. One writer, one reader, no lock:
 *
 *   writing = time of the previous record     (some time not later than ours)
 *   take the time, fill the record
 *   head += size                              (release: now the reader sees it)
 *   writing = 0
 *
 * The reader gives out no record later than any `writing`, so that all rings
 * together come out in order of time.
 */
#include "internal.h"

static bool has_room(const struct tl_view *v, struct tl_block *b, uintptr_t head, uint32_t size)
{
	uintptr_t used = head - tl_word_load(&b->tail); /* shared: anything */

	return used <= v->ring_size && v->ring_size - used >= size;
}

/* Only the runner reads its own ring: in the targets this costs no stack. */
static __attribute__((noinline, cold)) bool begin_again(struct tl_view *v, struct tl_block *b,
	struct tl_slot *s, unsigned kind, unsigned id, uint32_t payload, uint64_t time)
{
	uintptr_t head = tl_word_load(&b->head) & ~(uintptr_t)7;

	if (v->ops->make_room(v) && has_room(v, b, head, v->ring_size))
		return tl_ring_begin(v, b, s, kind, id, payload, time);
	b->lost++;
	return false;
}

bool tl_ring_begin(struct tl_view *v, struct tl_block *b, struct tl_slot *s, unsigned kind,
	unsigned id, uint32_t payload, uint64_t time)
{
	uint32_t size = (uint32_t)sizeof(struct tl_record) + ((payload + 7) & ~7u);
	uintptr_t head = tl_word_load(&b->head) & ~(uintptr_t)7; /* shared: anything */
	uint32_t at = (uint32_t)head & (v->ring_size - 1), to_end = v->ring_size - at, pad = 0;
	uint8_t *ring = (uint8_t *)b + v->ring_off;
	bool fits = payload <= v->ring_size / 2 - sizeof(struct tl_record);
	struct tl_record *r;

	if (size > to_end)
		pad = to_end;
	if (tl_unlikely(!fits || !has_room(v, b, head, size + pad))) {
		if (fits && v->ops && v->ops->make_room)
			return begin_again(v, b, s, kind, id, payload, time);
		b->lost++;
		return false;
	}
	tl_time_store(&b->writing, tl_block_own(b)->last_time | 1);
	TL_BARRIER();
	s->time = time ? time : tl_cycles();
	if (tl_unlikely(pad)) {
		r = (struct tl_record *)(ring + at); /* may be only half a header long */
		r->size = pad;
		r->kind = TL_REC_PAD;
		r->id = 0;
		at = 0;
	}
	r = (struct tl_record *)(ring + at);
	r->size = size;
	r->kind = (uint16_t)kind;
	r->id = (uint16_t)id;
	r->time = s->time;
	if (payload & 7)
		*(uint64_t *)((uint8_t *)r + size - 8) = 0;
	s->data = (uint8_t *)(r + 1);
	s->head = head + pad + size;
	return true;
}

/* Pieces are cut at multiples of 8: only the last one is padded. */
void tl_ring_text(struct tl_view *v, struct tl_block *b, unsigned kind, unsigned id,
	const char *text, uint32_t n)
{
	uint32_t most = (v->ring_size / 4) & ~7u;
	uint64_t time = 0;
	struct tl_slot s;

	do {
		uint32_t piece = n < most ? n : most;

		if (!tl_ring_begin(v, b, &s, kind, id, piece, time))
			return;
		memcpy(s.data, text, piece);
		tl_ring_end(b, &s);
		time = s.time;
		text += piece;
		n -= piece;
	} while (n);
}
