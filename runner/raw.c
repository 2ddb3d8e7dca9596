/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "raw.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "session.h"

struct raw_stream {
	int fd;
	uint64_t records, lost; /* so far, of all rings */
	struct raw_ring { /* what the stream says of it so far */
		struct tl_record_thread thread;
		uint64_t lost;
		bool known;
	} ring[];
};

static uint64_t now_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int raw_write(const struct raw_stream *stream, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t w = write(stream->fd, at, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return w ? errno : ENOSPC;
		at += w;
		n -= (size_t)w;
	}
	return 0;
}

int raw_start(struct session *s, int fd)
{
	struct tl_raw_header h = {.magic = TL_RAW_MAGIC,
		.version = TL_WIRE_VERSION,
		.module_size = s->mod->size,
		.realtime = now_of(CLOCK_REALTIME),
		.monotonic = now_of(CLOCK_MONOTONIC),
		.boottime = now_of(CLOCK_BOOTTIME)};
	int why;

	s->raw = calloc(1, sizeof(*s->raw) + s->view.nblocks * sizeof(s->raw->ring[0]));
	if (!s->raw)
		return ENOMEM;
	s->raw->fd = fd;
	if (s->view.own) /* else they are processors' */
		s->view.session->wants_names = 1;
	gethostname(h.host, sizeof(h.host) - 1);
	why = raw_write(s->raw, &h, sizeof(h));
	return why ? why : raw_write(s->raw, s->mod->file, s->mod->size);
}

static void put(struct session *s, uint32_t ring, uint64_t what, uint64_t ns, const void *payload,
	size_t size)
{
	const struct {
		struct tl_raw_thread thread;
		struct tl_record record;
	} head = {{ring, 0}, {what, ns}};

	drain_put(s, (const char *)&head, sizeof(head));
	drain_put(s, payload, size);
}

static void put_own(struct session *s, uint32_t ring, unsigned kind, uint64_t ns,
	const void *payload, size_t size)
{
	put(s, ring, tl_record_what((uint32_t)(sizeof(struct tl_record) + size), kind, 0, 0), ns,
		payload, size);
}

static void tell_thread(struct session *s, uint32_t ring, uint64_t ns)
{
	const struct tl_block *b = tl_block_at(&s->view, ring);
	struct raw_ring *r = &s->raw->ring[ring];
	struct tl_record_thread t = {.tid = b->tid, .pid = b->pid, .processor = b->processor};

	if (r->known && (b == s->view.own || (r->thread.tid == t.tid && r->thread.pid == t.pid)))
		return;
	memcpy(t.comm, b->comm, sizeof(t.comm));
	t.comm[sizeof(t.comm) - 1] = 0;
	r->thread = t;
	r->known = true;
	put_own(s, ring, TL_REC_THREAD, ns, &t, sizeof(t));
}

void raw_record(struct session *s, uint32_t ring, const struct tl_record *r, const uint8_t *payload,
	uint32_t size)
{
	uint64_t ns = tl_clock_ns(&s->view, r->time);

	tell_thread(s, ring, ns);
	put(s, ring, r->what, ns, payload, size);
	s->raw->records += tl_record_kind(r->what) != TL_REC_THREAD;
}

static void put_hits(struct session *s)
{
	const uint32_t size = sizeof(struct tl_record) + sizeof(uint64_t);

	for (uint32_t i = 0; i < s->mod->nprobes; i++) {
		const uint64_t hits = tl_session_hits(&s->view, i);

		if (!(s->mod->probes[i].flags & TL_TAP_PROBE_MADE))
			put(s, 0, tl_record_what(size, TL_REC_HITS, 0, i), now_of(CLOCK_REALTIME),
				&hits, sizeof(hits));
	}
}

void raw_losses(struct session *s)
{
	uint32_t used = tl_blocks_used(&s->view);

	for (uint32_t i = 1; i < used; i++) {
		const struct tl_block *b = tl_block_at(&s->view, i);
		struct raw_ring *r = &s->raw->ring[i];
		uint64_t lost = __atomic_load_n(&b->lost, __ATOMIC_RELAXED), now;

		if (lost <= r->lost)
			continue;
		now = now_of(CLOCK_REALTIME);
		tell_thread(s, i, now);
		lost -= r->lost;
		put_own(s, i, TL_REC_LOST, now, &lost, sizeof(lost));
		r->lost += lost;
		s->raw->lost += lost;
	}
}

void raw_end(struct session *s)
{
	struct tl_totals totals;
	struct tl_record_end e;

	put_hits(s);
	tl_session_totals(&s->view, &totals);
	e = (struct tl_record_end){.records = s->raw->records,
		.lost = s->raw->lost,
		.errors = totals.errors,
		.skipped = totals.skipped,
		.missed = s->view.session->missed,
		.no_block = s->view.session->no_block,
		.damaged = s->damaged + s->reader.damaged};
	put_own(s, 0, TL_REC_END, now_of(CLOCK_REALTIME), &e, sizeof(e));
	drain_write(s);
}

void raw_act(struct session *s)
{
	if (s->raw && s->view.own)
		tl_ring_thread(&s->view);
}
