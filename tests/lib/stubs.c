/* SPDX-License-Identifier: MIT */
/* What the trace facility takes of the engine, for a program of its sources alone. */
#include <stdlib.h>
#include <trapless/error.h>

#include "../../engine/os/process/process.h"
#include "../../lib/hook_events.h"
#include "../../lib/outside.h"
#include "../../lib/readers.h"

int tl_outside(const struct tl_lock *wanted)
{
	if (tl_lock_is_of(wanted, tl_machine_thread()))
		return -TL_E_IN_SIGNAL;
	if (tl_readers_inside())
		return -TL_E_IN_CALLBACK;
	return tl_in_signal_handler() ? -TL_E_IN_SIGNAL : 0;
}

bool tl_in_signal_handler(void)
{
	return false;
}

bool tl_word_readable(uintptr_t addr)
{
	return addr > TL_PAGE;
}

int hook_event_want(uint32_t event, bool wanted)
{
	return (void)event, (void)wanted, 0;
}

int32_t tl_tid_offset;

void tl_tcb_init(void)
{
}

uint32_t tl_gettid(void)
{
	return (uint32_t)tl_syscall3(TL_NR_gettid, 0, 0, 0);
}

void *tl_os_alloc(size_t size)
{
	return calloc(1, size);
}

void tl_os_free(void *mem, size_t size)
{
	(void)size;
	free(mem);
}
