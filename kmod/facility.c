/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The trace facility in a kernel: who is inside stands with preemption off, and is counted on his processor. That does not
 * lean on RCU, which does not watch all places that probes may stand at.
 */
#include <linux/delay.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <trapless/trace.h>

#include "../engine/os/os.h"
#include "../trace/home.h"
#include "events.h"

static DEFINE_MUTEX(lock); /* of all that changes */
static DEFINE_MUTEX(waiting);

DEFINE_PER_CPU(struct tl_trace_inside, tl_trace_inside);
unsigned int tl_trace_turn;

static void wait_for(unsigned int which)
{
	enum { FIRST_US = 20, MOST_US = 2000 };
	int cpu;

	for_each_possible_cpu(cpu) for (unsigned int us = FIRST_US; smp_load_acquire(
						&per_cpu_ptr(&tl_trace_inside, cpu)->in[which]);)
	{
		usleep_range(us, 2 * us);
		us = min_t(unsigned int, 2 * us, MOST_US);
	}
}

/* Who took his count from the turn and was then interrupted may be in either: both have to be seen empty. */
void tl_trace_home_wait(void)
{
	unsigned int now;

	mutex_lock(&waiting);
	/* whoever has entered is seen inside, or sees what was changed before */
	tl_os_sync_memory();
	now = tl_trace_turn & 1;
	wait_for(!now);
	WRITE_ONCE(tl_trace_turn, !now);
	wait_for(now);
	mutex_unlock(&waiting);
}

/* Tasks that are inside cannot be preempted: the count of the processor is this task's. */
static bool is_inside(void)
{
	const struct tl_trace_inside *here = get_cpu_ptr(&tl_trace_inside);
	bool any = here->in[0] || here->in[1];

	put_cpu_ptr(&tl_trace_inside);
	return any;
}

int tl_trace_home_outside(void)
{
	if (is_inside() || tl_os_context())
		return -TL_E_IN_CALLBACK;
	return !in_task() || irqs_disabled() || in_atomic() ? -TL_E_IN_SIGNAL : 0;
}

void tl_trace_home_lock(void)
{
	mutex_lock(&lock);
}

void tl_trace_home_unlock(void)
{
	mutex_unlock(&lock);
}

int tl_trace_home_want(uint32_t event, bool wanted)
{
	return event < TL_TRACE_STANDARD ? event_want(event, wanted) : 0;
}

bool tl_trace_home_word(uintptr_t addr, uintptr_t *word)
{
	return !copy_from_user_nofault(word, (const void __user *)addr, sizeof(*word));
}

void *tl_trace_home_alloc(size_t size)
{
	return vzalloc(size);
}

void tl_trace_home_free(void *mem, size_t size)
{
	vfree(mem);
}
