/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What scripts have printed, merged by time for who reads the device; and the
 * blocks of tasks that have ended, for those to come.
 */
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>
#include <trapless/error.h>

#include "../engine/core/detour/threads.h"
#include "../engine/os/os.h"
#include "script.h"

enum { SWEEP_EVERY = 64 }; /* blocks that have come since */

int script_read_start(struct script *s)
{
	s->reader.view = &s->outside;
	s->reader.cursor = vzalloc(array_size(s->outside.nblocks, sizeof(*s->reader.cursor)));
	s->reader.buffer = vmalloc(s->outside.chunk_size);
	s->out = vmalloc(TL_DEVICE_READ);
	return s->reader.cursor && s->reader.buffer && s->out ? 0 : -TL_E_NOMEM;
}

static void put(struct script *s, const void *bytes, size_t n)
{
	memcpy(s->out + s->nout, bytes, n);
	s->nout += n;
}

/* Nonzero where another one may not fit. */
static int put_record(
	void *arg, uint32_t block, const struct tl_record *r, const uint8_t *payload, uint32_t size)
{
	const struct tl_raw_thread t = {block, 0};
	struct script *s = arg;

	put(s, &t, sizeof(t));
	put(s, r, sizeof(*r));
	put(s, payload, size);
	return s->nout + sizeof(t) + s->outside.chunk_size > TL_DEVICE_READ;
}

static bool is_gone(const struct tl_block *b)
{
	bool gone;

	rcu_read_lock();
	gone = !pid_task(find_pid_ns((int)b->tid, &init_pid_ns), PIDTYPE_PID);
	rcu_read_unlock();
	return gone;
}

/* Idle tasks have no number that anybody knows. */
static bool may_end(const struct script *s, const struct tl_block *b)
{
	return b != s->outside.own && b->state == TL_BLOCK_USED && (int)b->tid > 0;
}

static void sweep(struct script *s)
{
	uint32_t used = tl_blocks_used(&s->outside), i;

	if (used < s->swept + SWEEP_EVERY && used < s->outside.nblocks)
		return;
	tl_os_lock();
	tl_threads_sweep();
	tl_os_unlock();
	for (i = 1; i < used; i++) {
		struct tl_block *b = tl_block_at(&s->outside, i);

		if (may_end(s, b) && is_gone(b))
			tl_block_dead(&s->outside, i);
		if (b->state == TL_BLOCK_DEAD && tl_reader_forget(&s->reader, i))
			tl_block_recycle(&s->outside, i);
	}
	s->swept = tl_blocks_used(&s->outside);
}

size_t script_read(struct script *s)
{
	s->nout = 0;
	tl_reader_pass(&s->reader, put_record, s, s->final);
	sweep(s);
	return s->nout;
}
