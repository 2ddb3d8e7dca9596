/* SPDX-License-Identifier: MIT */
/* The recorder of events, full and not, read while threads write. Built with libtrapless, and for ThreadSanitizer. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <trapless/trace.h>
#include <unistd.h>

#include "../unit.h"

struct seen {
	int n;
	uint64_t latest;
	bool disordered;
	struct tl_trace_record last;
	struct tl_trace_timer first_timer, timer;
};

static int see(const struct tl_trace_record *r, void *arg)
{
	struct seen *s = arg;

	s->disordered |= s->n && r->time < s->latest;
	s->latest = r->time;
	s->last = *r;
	memcpy(&s->timer, r->payload, r->kept < sizeof(s->timer) ? r->kept : sizeof(s->timer));
	if (!s->n++)
		s->first_timer = s->timer;
	return 0;
}

static struct tl_trace_ring *make(
	uint32_t lanes, uint32_t records, uint32_t payload, bool overwrite)
{
	const struct tl_trace_ring_config c = {lanes, records, payload, overwrite};
	struct tl_trace_ring *ring;

	return tl_trace_ring_create(&c, &ring) ? NULL : ring;
}

static int record(struct tl_trace_ring *ring, int n)
{
	struct tl_trace_callback cb = {
		.event = TL_TRACE_TIMER, .fn = tl_trace_ring_record, .data = ring};
	int ret = tl_trace_callback_add(&cb);

	for (int i = 0; i < n; i++) {
		const struct tl_trace_timer e = {.timer = (uint64_t)i, .function = 7};

		ret |= tl_trace(TL_TRACE_TIMER, &e, sizeof(e));
	}
	return ret | tl_trace_callback_remove(&cb);
}

static void records_come_in_order(void)
{
	struct tl_trace_ring *ring = make(4, 64, 16, false);
	struct seen s = {0};

	CHECK(ring);
	CHECK(!record(ring, 10));
	CHECK(tl_trace_ring_read(ring, see, &s) == 10 && s.n == 10 && !s.disordered);
	CHECK(s.last.event == TL_TRACE_TIMER && s.last.size == 16 && s.last.kept == 16);
	CHECK(s.last.thread == (uint32_t)gettid());
	CHECK(s.timer.timer == 9 && s.timer.function == 7 && s.first_timer.timer == 0);
	CHECK(!tl_trace_ring_read(ring, see, &s) && !tl_trace_ring_lost(ring));
	CHECK(!record(ring, 1));
	CHECK(tl_trace_ring_read(ring, see, &s) == 1);
	tl_trace_ring_destroy(ring);
	tl_trace_ring_destroy(NULL);
}

static void a_full_one_takes_nothing(void)
{
	struct tl_trace_ring *ring = make(1, 8, 16, false);
	struct seen s = {0};

	CHECK(!record(ring, 11));
	CHECK(tl_trace_ring_lost(ring) == 3);
	CHECK(tl_trace_ring_read(ring, see, &s) == 8 && s.first_timer.timer == 0 &&
		s.timer.timer == 7);
	CHECK(!record(ring, 8));
	CHECK(tl_trace_ring_lost(ring) == 3 && tl_trace_ring_read(ring, see, &s) == 8);
	tl_trace_ring_destroy(ring);
}

static void or_the_oldest_go(void)
{
	struct tl_trace_ring *ring = make(1, 8, 16, true);
	struct seen s = {0};

	CHECK(!record(ring, 30));
	CHECK(tl_trace_ring_read(ring, see, &s) == 8 && s.first_timer.timer == 22);
	CHECK(s.timer.timer == 29 && tl_trace_ring_lost(ring) == 22 && !s.disordered);
	tl_trace_ring_destroy(ring);
}

static void long_payloads_are_cut(void)
{
	struct tl_trace_ring *ring = make(1, 8, 11, false);
	struct seen s = {0};

	CHECK(!record(ring, 2));
	CHECK(tl_trace_ring_read(ring, see, &s) == 2 && s.last.size == 16 && s.last.kept == 11);
	CHECK(s.timer.timer == 1 && s.timer.function == 7);
	tl_trace_ring_destroy(ring);
}

static void bad_ones_are_refused(void)
{
	CHECK(!make(0, 8, 8, false) && !make(3, 8, 8, false) && !make(512, 8, 8, false));
	CHECK(!make(1, 0, 8, false) && !make(1, 7, 8, false) && !make(1, 1u << 21, 8, false));
	CHECK(!make(1, 8, 0, false) && !make(1, 8, TL_TRACE_PAYLOAD + 1, false));
}

/* --- many threads ------------------------------------------------------------------------ */

enum { THREADS = 8, EACH = 20000 };
static struct tl_trace_ring *ring;
static int running;

static void *raise_on(void *arg)
{
	struct tl_trace_timer e = {.function = (uintptr_t)arg};

	for (int i = 1; i <= EACH; i++) {
		e.timer = (uint64_t)i;
		tl_trace(TL_TRACE_TIMER, &e, sizeof(e));
		if (i % 100 == 0)
			sched_yield();
	}
	__atomic_fetch_sub(&running, 1, __ATOMIC_RELEASE);
	return NULL;
}

static uint64_t latest[THREADS], times[THREADS];
static size_t nseen;
static bool wrong;

/* Of each thread later ones come later, whole. */
static int check(const struct tl_trace_record *r, void *arg)
{
	const struct tl_trace_timer *e = r->payload;

	(void)arg;
	nseen++;
	if (r->event != TL_TRACE_TIMER || r->kept != sizeof(*e) || e->function >= THREADS ||
		e->timer <= latest[e->function] || r->time < times[e->function]) {
		wrong = true;
		return 1;
	}
	latest[e->function] = e->timer;
	times[e->function] = r->time;
	return 0;
}

static void read_under_threads(bool overwrite)
{
	struct tl_tracer t = {.name = "ring", .trace = tl_trace_ring_record};
	pthread_t threads[THREADS];

	memset(latest, 0, sizeof(latest));
	memset(times, 0, sizeof(times));
	nseen = 0;
	running = THREADS;
	t.data = ring = make(4, 256, sizeof(struct tl_trace_timer), overwrite);
	CHECK(ring && !tl_tracer_register(&t));
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, raise_on, (void *)i);
	while (__atomic_load_n(&running, __ATOMIC_ACQUIRE)) {
		tl_trace_ring_read(ring, check, NULL);
		sched_yield();
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK(!tl_tracer_unregister(&t));
	tl_trace_ring_read(ring, check, NULL);
	CHECK(!wrong && nseen && nseen + tl_trace_ring_lost(ring) == THREADS * EACH);
	tl_trace_ring_destroy(ring);
}

static void all_are_read_or_counted(void)
{
	read_under_threads(false);
}

static void all_are_read_or_overwritten(void)
{
	read_under_threads(true);
}

int main(void)
{
	RUN(records_come_in_order);
	RUN(a_full_one_takes_nothing);
	RUN(or_the_oldest_go);
	RUN(long_payloads_are_cut);
	RUN(bad_ones_are_refused);
	RUN(all_are_read_or_counted);
	RUN(all_are_read_or_overwritten);
	return UNIT_RESULT();
}
