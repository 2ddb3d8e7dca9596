/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The trace facility in the own process: the program's hooks and probes raise its events. */
#include "../trace/home.h"

#include "../engine/os/process/process.h"
#include "lock.h"
#include "outside.h"
#include "readers.h"

static struct tl_lock lock;

int tl_trace_home_outside(void)
{
	return tl_lock_mine(&lock) ? -TL_E_IN_SIGNAL : tl_outside();
}

void tl_trace_home_lock(void)
{
	tl_readers_start();
	tl_lock_take(&lock);
}

void tl_trace_home_unlock(void)
{
	tl_lock_release(&lock);
}

void *tl_trace_home_enter(void)
{
	return tl_readers_enter();
}

void tl_trace_home_leave(void *mark)
{
	tl_readers_leave(mark);
}

void tl_trace_home_wait(void)
{
	tl_readers_wait();
}

int tl_trace_home_want(uint32_t event, bool wanted)
{
	return (void)event, (void)wanted, 0;
}

/* By what the engine knows of threads' blocks, or a system call. */
uint32_t tl_trace_home_thread(void)
{
	int32_t off = __atomic_load_n(&tl_tid_offset, __ATOMIC_RELAXED);

	return off ? tl_tcb_tid(tl_machine_thread(), off) : tl_gettid();
}

uint64_t tl_trace_home_time(void)
{
	return tl_machine_ticks();
}

size_t tl_trace_home_lane(void)
{
	const struct tl_reader *r = tl_reader_known(tl_machine_thread());

	return r ? (size_t)(r - tl_readers.slots) : TL_TRACE_NO_LANE;
}

bool tl_trace_home_swap(uintptr_t *word, uintptr_t *old, uintptr_t new)
{
	return tl_machine_swap(word, old, new);
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
