/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The trace facility in the own process: the program's hooks and probes raise its events. */
#include "../trace/home.h"

#include "../engine/os/process/process.h"
#include "hook_events.h"
#include "outside.h"
#include "readers.h"

static struct tl_lock lock;

int tl_trace_home_outside(void)
{
	return tl_outside(&lock);
}

void tl_trace_home_lock(void)
{
	tl_readers_start();
	tl_lock_take(&lock, tl_machine_thread());
}

void tl_trace_home_unlock(void)
{
	tl_lock_release(&lock);
}

void tl_trace_home_wait(void)
{
	tl_readers_wait();
}

int tl_trace_home_want(uint32_t event, bool wanted)
{
	return hook_event_want(event, wanted);
}

/* Where nobody has started the engine yet. */
void *tl_trace_home_alloc(size_t size)
{
	if (!__atomic_load_n(&tl_tid_offset, __ATOMIC_RELAXED))
		tl_tcb_init();
	return tl_os_alloc(size);
}

void tl_trace_home_free(void *mem, size_t size)
{
	tl_os_free(mem, size);
}

/* A frame pointer may lead anywhere. */
bool tl_trace_home_word(uintptr_t addr, uintptr_t *word)
{
	if (!tl_word_readable(addr))
		return false;
	*word = __atomic_load_n((const uintptr_t *)addr, __ATOMIC_RELAXED);
	return true;
}
