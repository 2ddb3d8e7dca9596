/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Time as handlers see it: the processor's counter, and what makes nanoseconds of it. */
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/timekeeping.h>
#include <linux/timex.h>

#include "script.h"

enum { CALIBRATE_MS = 2 };

/* Interrupts are off: nothing comes in between. */
static struct clocks look(void)
{
	return (struct clocks){
		.cycles = get_cycles(), .steady = ktime_get_ns(), .real = ktime_get_real_ns()};
}

/* ns per cycle, times 2^32. */
static uint64_t rate(const struct clocks *from, const struct clocks *to)
{
	uint64_t cycles = to->cycles - from->cycles, ns = to->steady - from->steady;

	for (; ns >> 32; ns >>= 1)
		cycles >>= 1;
	return cycles ? div64_u64(ns << 32, cycles) : 1ull << 32;
}

/* The longer ago it began, the sharper is the rate. */
void script_clock_mend(struct script *s)
{
	struct clocks now;
	unsigned long flags;

	local_irq_save(flags); /* a handler that came in between would wait for us in vain */
	now = look();
	tl_clock_set(&s->outside, now.cycles, now.real, rate(&s->began, &now));
	local_irq_restore(flags);
}

void script_clock_start(struct script *s)
{
	unsigned long flags;

	local_irq_save(flags);
	s->began = look();
	local_irq_restore(flags);
	usleep_range(CALIBRATE_MS * 1000, CALIBRATE_MS * 1500);
	script_clock_mend(s);
}
