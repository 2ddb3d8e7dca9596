/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What scripts have printed, merged by time for who reads the device. */
#include <linux/jiffies.h>
#include <linux/vmalloc.h>
#include <trapless/error.h>

#include "../engine/core/detour/threads.h"
#include "../engine/os/os.h"
#include "script.h"

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

/* Tasks that have ended give their place in the engine's table to others. */
static void sweep(void)
{
	static unsigned long next;

	if (!time_after(jiffies, READ_ONCE(next)))
		return;
	WRITE_ONCE(next, jiffies + HZ);
	tl_os_lock();
	tl_threads_sweep();
	tl_os_unlock();
}

size_t script_read(struct script *s)
{
	s->nout = 0;
	tl_reader_pass(&s->reader, put_record, s, s->final);
	sweep();
	return s->nout;
}
