/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A recorder of events, for tracers and callbacks. It has lanes, each of which belongs to a thread, or a kernel's processor: a
 * place in it is had by a compare-and-swap against those who interrupt there. Who finds no lane shares the last one. A record's
 * first word says which one lies there, and whether it is whole.
 */
#include "home.h"
#include "trace.h"

#define PUT(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)
#define GET(p)	  __atomic_load_n(p, __ATOMIC_RELAXED)

enum { LINE = 64, MOST_LANES = 256, MOST_RECORDS = 1 << 20 };

struct lane {
	uintptr_t owner; /* his number + 1; 0: nobody yet */
	uintptr_t head; /* records that were ever begun; one's number is the count before it */
	uintptr_t tail; /* ... that are read, or gone */
	uintptr_t lost;
	uint64_t told; /* the time of the one that was read last */
} __attribute__((aligned(LINE)));

/* In words, so that a record may be read while another one comes to lie over it. */
struct slot {
	uintptr_t mark; /* 2 * number + 1: it is written; + 2: it is whole */
	uintptr_t skipped; /* number + 1 of one that found no place here */
	uint64_t time;
	uint32_t event, size, thread, reserved;
	uintptr_t payload[];
};

struct tl_trace_ring {
	struct tl_trace_ring_config config;
	size_t stride, size; /* of a slot; of all */
	unsigned char *slots;
	uintptr_t *copy; /* of the record that is read */
	struct lane lanes[];
};

/* --- making ------------------------------------------------------------------------------ */

static bool is_power(uint32_t n, uint32_t most)
{
	return n && n <= most && !(n & (n - 1));
}

static bool is_valid(const struct tl_trace_ring_config *c)
{
	return is_power(c->lanes, MOST_LANES) && is_power(c->records, MOST_RECORDS) && c->payload &&
	       c->payload <= TL_TRACE_PAYLOAD;
}

static size_t up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

int tl_trace_ring_create(const struct tl_trace_ring_config *config, struct tl_trace_ring **made)
{
	size_t lanes, room, stride, size;
	struct tl_trace_ring *ring;
	int ret = tl_trace_home_outside();

	if (ret)
		return ret;
	if (!is_valid(config))
		return -TL_E_INVAL;
	room = up(config->payload, sizeof(uint64_t));
	stride = sizeof(struct slot) + room;
	lanes = up(sizeof(*ring) + (config->lanes + 1) * sizeof(ring->lanes[0]) + room, LINE);
	size = lanes + (size_t)(config->lanes + 1) * config->records * stride;
	ring = tl_trace_home_alloc(size);
	if (!ring)
		return -TL_E_NOMEM;
	ring->config = *config;
	ring->stride = stride;
	ring->size = size;
	ring->copy = (uintptr_t *)&ring->lanes[config->lanes + 1];
	ring->slots = (unsigned char *)ring + lanes;
	*made = ring;
	return 0;
}

void tl_trace_ring_destroy(struct tl_trace_ring *ring)
{
	if (ring)
		tl_trace_home_free(ring, ring->size);
}

static struct slot *slot_of(
	const struct tl_trace_ring *ring, const struct lane *l, uintptr_t number)
{
	size_t first = (size_t)(l - ring->lanes) * ring->config.records;

	return (struct slot *)(ring->slots +
			       (first + (number & (ring->config.records - 1))) * ring->stride);
}

/* --- recording --------------------------------------------------------------------------- */

static void lose(struct lane *l, uintptr_t n)
{
	__atomic_fetch_add(&l->lost, n, __ATOMIC_RELAXED);
}

/* The caller's own one, or the one that is shared. */
static struct lane *lane_of(struct tl_trace_ring *ring)
{
	enum { LOOKS = 4 };
	uintptr_t number = tl_trace_home_lane() + 1; /* 0: none */

	for (uintptr_t i = 0; number && i < LOOKS; i++) {
		struct lane *l = &ring->lanes[(number + i) & (ring->config.lanes - 1)];
		uintptr_t owner = GET(&l->owner);

		if (!owner && __atomic_compare_exchange_n(&l->owner, &owner, number, false,
				      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return l;
		if (owner == number)
			return l;
	}
	return &ring->lanes[ring->config.lanes];
}

/* A word of the lane, or of its slots. */
static bool swap_word(const struct lane *l, uintptr_t *word, uintptr_t *old, uintptr_t new)
{
	if (GET(&l->owner))
		return tl_trace_home_swap(word, old, new);
	return __atomic_compare_exchange_n(
		word, old, new, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/*
 * The time is taken between the look at the head and its change: so in a lane later numbers have later times. False: it is
 * full, and nothing may go for it.
 */
static bool begin(
	const struct tl_trace_ring *ring, struct lane *l, uintptr_t *number, uint64_t *time)
{
	uintptr_t head = TL_LOAD(&l->head);

	do {
		if (!ring->config.overwrite && head - TL_LOAD(&l->tail) >= ring->config.records)
			return false;
		*time = tl_trace_home_time();
	} while (!swap_word(l, &l->head, &head, head + 1));
	*number = head;
	return true;
}

/* False: who had this place a round ago writes still, or one a round later was here; only where records are overwritten. */
static bool claim(const struct lane *l, struct slot *s, uintptr_t number)
{
	uintptr_t mark = TL_LOAD(&s->mark);

	return !(mark & 1) && (intptr_t)(mark - (2 * number + 1)) < 0 &&
	       swap_word(l, &s->mark, &mark, 2 * number + 1);
}

static void put_payload(struct slot *s, const unsigned char *from, size_t size)
{
	uintptr_t *to = s->payload, word;

	for (; size >= sizeof(word); size -= sizeof(word), from += sizeof(word)) {
		__builtin_memcpy(&word, from, sizeof(word));
		PUT(to++, word);
	}
	word = 0;
	for (size_t i = 0; i < size; i++)
		((unsigned char *)&word)[i] = from[i];
	if (size)
		PUT(to, word);
}

void tl_trace_ring_record(uint32_t event, const void *payload, size_t size, void *data)
{
	struct tl_trace_ring *ring = data;
	struct lane *l = lane_of(ring);
	uintptr_t number;
	struct slot *s;
	uint64_t time;

	if (!begin(ring, l, &number, &time)) {
		lose(l, 1);
		return;
	}
	s = slot_of(ring, l, number);
	if (!claim(l, s, number)) {
		TL_STORE(&s->skipped, number + 1);
		return;
	}
	__atomic_thread_fence(__ATOMIC_RELEASE);
	PUT(&s->time, time);
	PUT(&s->event, event);
	PUT(&s->size, (uint32_t)size);
	PUT(&s->thread, tl_trace_home_thread());
	put_payload(s, payload, size < ring->config.payload ? size : ring->config.payload);
	TL_STORE(&s->mark, 2 * number + 2);
}

/* --- reading ----------------------------------------------------------------------------- */

static bool is_skipped(const struct tl_trace_ring *ring, const struct lane *l)
{
	return TL_LOAD(&l->head) != l->tail &&
	       TL_LOAD(&slot_of(ring, l, l->tail)->skipped) == l->tail + 1;
}

static void pass(struct lane *l, uintptr_t n)
{
	lose(l, n);
	TL_STORE(&l->tail, l->tail + n);
}

/* What was overwritten before it was read is gone, and what found no place. */
static void skip_lost(const struct tl_trace_ring *ring, struct lane *l)
{
	uintptr_t head = TL_LOAD(&l->head), held = ring->config.records;

	if (ring->config.overwrite && head - l->tail > held)
		pass(l, head - held - l->tail);
	while (is_skipped(ring, l))
		pass(l, 1);
}

static bool is_whole(const struct slot *s, uintptr_t number)
{
	return TL_LOAD(&s->mark) == 2 * number + 2;
}

static bool still_is(const struct slot *s, uintptr_t number)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return GET(&s->mark) == 2 * number + 2;
}

/* A processor may take the time a little earlier than it is told to: later ones of a lane are later all the same. */
static uint64_t time_of(const struct lane *l, const struct slot *s)
{
	uint64_t time = GET(&s->time);

	return time < l->told ? l->told : time;
}

/* The time of the next record there. False: there is none, or it is not whole yet. */
static bool next_time(const struct tl_trace_ring *ring, struct lane *l, uint64_t *time)
{
	const struct slot *s;

	skip_lost(ring, l);
	s = slot_of(ring, l, l->tail);
	if (TL_LOAD(&l->head) == l->tail || !is_whole(s, l->tail))
		return false;
	*time = time_of(l, s);
	return still_is(s, l->tail);
}

static struct lane *earliest(struct tl_trace_ring *ring)
{
	struct lane *found = NULL;
	uint64_t least = 0, time;

	for (uint32_t i = 0; i <= ring->config.lanes; i++)
		if (next_time(ring, &ring->lanes[i], &time) && (!found || time < least)) {
			found = &ring->lanes[i];
			least = time;
		}
	return found;
}

/* False: it was overwritten meanwhile. */
static bool take(struct tl_trace_ring *ring, struct lane *l, struct tl_trace_record *r)
{
	const struct slot *s = slot_of(ring, l, l->tail);
	size_t kept, words;

	if (!is_whole(s, l->tail))
		return false;
	*r = (struct tl_trace_record){
		.time = time_of(l, s),
		.event = GET(&s->event),
		.thread = GET(&s->thread),
		.size = GET(&s->size),
		.payload = ring->copy,
	};
	kept = r->size < ring->config.payload ? r->size : ring->config.payload;
	words = up(kept, sizeof(uintptr_t)) / sizeof(uintptr_t);
	for (size_t i = 0; i < words; i++)
		ring->copy[i] = GET(&s->payload[i]);
	r->kept = (uint32_t)kept;
	if (!still_is(s, l->tail))
		return false;
	l->told = r->time;
	TL_STORE(&l->tail, l->tail + 1);
	return true;
}

size_t tl_trace_ring_read(struct tl_trace_ring *ring,
	int (*fn)(const struct tl_trace_record *r, void *arg), void *arg)
{
	struct tl_trace_record r;
	struct lane *l;
	size_t n = 0;

	while ((l = earliest(ring))) {
		if (!take(ring, l, &r))
			continue;
		n++;
		if (fn(&r, arg))
			break;
	}
	return n;
}

uint64_t tl_trace_ring_lost(const struct tl_trace_ring *ring)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i <= ring->config.lanes; i++)
		n += GET(&ring->lanes[i].lost);
	return n;
}
