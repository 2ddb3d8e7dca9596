/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * All other tasks stopped, and a look at where they stand. Every processor
 * runs its stopper then, a task of its own, so every other task has been
 * switched out and all that it holds lies on its stack: return addresses, and
 * the registers of the interrupt that took it away. There is no telling which
 * words are which, so every word counts, and nobody is moved.
 *
 * The stoppers themselves wait in here, in our own code, and tell where their
 * stacks begin: what the kernel has its processors run while it stops them may
 * be probed like anything else.
 *
 * An NMI that arrives meanwhile is not seen. So whoever changes text asks for
 * each processor in turn to be here, not in an NMI (tl_os_stop_sync()).
 */
#include <linux/percpu.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <asm/sync_core.h>
#include "kernel.h"
#include "machine.h"

struct look {
	const struct task_struct *asker; /* has what it looks for on its own stack */
	bool (*word)(const struct look *look, uintptr_t word); /* false: in the way */
	const struct tl_os_stop *stop;
	uintptr_t lo, hi;
	void (*see)(void *arg, uintptr_t addr);
	void *arg;
	atomic_t arrived; /* processors */
	atomic_t synced; /* of these, in this step */
	unsigned step;
	bool over;
	int ret;
};

static DEFINE_PER_CPU(uintptr_t, stopper_sp); /* while it waits in here */
static struct look *stopped; /* by who looks, while all others wait */

/* To the end, so that all who are in the way are known at once. */
static bool stack_is_clear(const struct look *look, const struct task_struct *t, uintptr_t sp)
{
	uintptr_t base = (uintptr_t)t->stack, end = base + THREAD_SIZE;
	bool clear = true;

	/* Above lie the program's registers, which may hold anything. */
	if (!(t->flags & PF_KTHREAD))
		end = (uintptr_t)task_pt_regs(t);
	if (sp < base || sp > end)
		return false;
	for (sp &= ~(sizeof(uintptr_t) - 1); sp < end; sp += sizeof(uintptr_t))
		clear &= look->word(look, *(const uintptr_t *)sp);
	return clear;
}

static bool task_is_clear(const struct look *look, const struct task_struct *t)
{
	if (t == look->asker || !t->stack || !refcount_read(&t->stack_refcount))
		return true;
	return stack_is_clear(
		look, t, t->on_cpu ? per_cpu(stopper_sp, task_cpu(t)) : tl_machine_sp(t));
}

/* Idle tasks are in no list; they are switched out only where they ask for it themselves. */
static int look_at_all(const struct look *look)
{
	struct task_struct *p, *t;
	bool clear = true;

	for_each_process_thread (p, t)
		clear &= task_is_clear(look, t);
	if (!clear)
		return -TL_E_BUSY;
	if (look->stop)
		look->stop->done(look->stop->arg);
	return 0;
}

/* Here, and so in no NMI. */
static void wait_till_over(struct look *look)
{
	unsigned seen = 0;

	while (!smp_load_acquire(&look->over)) {
		unsigned step = smp_load_acquire(&look->step);

		if (step != seen) {
			seen = step;
			sync_core();
			atomic_inc(&look->synced);
		}
		cpu_relax();
	}
}

/* On every processor, interrupts off. Who comes last looks, while the others spin. */
static int look_stopped(void *arg)
{
	struct look *look = arg;

	__this_cpu_write(stopper_sp, (uintptr_t)__builtin_frame_address(0));
	if (atomic_inc_return(&look->arrived) == (int)num_online_cpus()) {
		stopped = look;
		look->ret = look_at_all(look);
		stopped = NULL;
		smp_store_release(&look->over, true);
	}
	wait_till_over(look);
	sync_core(); /* what we go back to may have been changed */
	return 0;
}

static int run(struct look *look)
{
	int ret;

	look->asker = current;
	if (tl_text_is_open())
		ret = tl_names.stop_machine_cpuslocked(look_stopped, look, cpu_online_mask);
	else
		ret = stop_machine(look_stopped, look, cpu_online_mask);
	return ret ? -TL_E_BUSY : look->ret;
}

static bool pc_may_stay(const struct look *look, uintptr_t word)
{
	if (look->stop->pc(look->stop->arg, word, true) == word)
		return true;
	look->stop->stuck(look->stop->arg, word);
	return false;
}

int tl_os_stop_all(const struct tl_os_stop *stop)
{
	struct look look = {.word = pc_may_stay, .stop = stop};

	return run(&look);
}

bool tl_os_stop_sync(void)
{
	struct look *look = stopped;

	if (!look)
		return true;
	atomic_set(&look->synced, 1);
	smp_store_release(&look->step, look->step + 1);
	while (atomic_read(&look->synced) != (int)num_online_cpus())
		cpu_relax();
	sync_core();
	return true;
}

static bool see_word(const struct look *look, uintptr_t word)
{
	if (word >= look->lo && word < look->hi)
		look->see(look->arg, word);
	return true;
}

int tl_os_seen(uintptr_t lo, uintptr_t hi, void (*see)(void *arg, uintptr_t addr), void *arg)
{
	struct look look = {.word = see_word, .lo = lo, .hi = hi, .see = see, .arg = arg};

	return run(&look);
}

/* Nothing throws there. */
int tl_os_stacks(void (*see)(void *arg, const struct tl_os_stack *s), void *arg)
{
	return -TL_E_LIMIT;
}

int tl_os_quiet(uintptr_t lo, uintptr_t hi)
{
	return tl_os_quiet_by_seen(lo, hi);
}
