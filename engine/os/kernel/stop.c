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
 * Not seen: an NMI that arrives meanwhile.
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
	bool over;
	int ret;
};

static DEFINE_PER_CPU(uintptr_t, stopper_sp); /* while it waits in here */

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

/* On every processor, interrupts off. Who comes last looks, while the others spin. */
static int look_stopped(void *arg)
{
	struct look *look = arg;

	__this_cpu_write(stopper_sp, (uintptr_t)__builtin_frame_address(0));
	if (atomic_inc_return(&look->arrived) == (int)num_online_cpus()) {
		look->ret = look_at_all(look);
		smp_store_release(&look->over, true);
	}
	while (!smp_load_acquire(&look->over))
		cpu_relax();
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
