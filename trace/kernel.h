/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What raising an event takes, in a kernel: home.h says what each does. */
#ifndef TRAPLESS_TRACE_KERNEL_H
#define TRAPLESS_TRACE_KERNEL_H

#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>

/* By turns one of them takes those who come, while the other one runs empty. */
struct tl_trace_inside {
	unsigned int in[2];
};
DECLARE_PER_CPU(struct tl_trace_inside, tl_trace_inside);
extern unsigned int tl_trace_turn;

static inline void *tl_trace_home_enter(void)
{
	unsigned int *in;

	preempt_disable_notrace();
	in = &raw_cpu_ptr(&tl_trace_inside)->in[READ_ONCE(tl_trace_turn) & 1];
	/* an interrupt, or an NMI, leaves it as it found it */
	WRITE_ONCE(*in, READ_ONCE(*in) + 1);
	barrier();
	return in;
}

static inline void tl_trace_home_leave(void *mark)
{
	unsigned int *in = mark;

	smp_store_release(in, *in - 1);
	preempt_enable_notrace();
}

static inline uint64_t tl_trace_home_time(void)
{
	return ktime_get_mono_fast_ns();
}

static inline uint32_t tl_trace_home_thread(void)
{
	return (u32)current->pid;
}

static inline size_t tl_trace_home_lane(void)
{
	return raw_smp_processor_id();
}

static inline bool tl_trace_home_swap(uintptr_t *word, uintptr_t *old, uintptr_t new)
{
	uintptr_t seen = cmpxchg_local(word, *old, new);
	bool done = seen == *old;

	*old = seen;
	return done;
}

#endif
