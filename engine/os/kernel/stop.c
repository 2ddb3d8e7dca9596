/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * All other tasks stopped, and a look at where they stand. Every processor
 * runs its stopper then, a task of its own, so every other task has been
 * switched out and all that it holds lies on its stack: return addresses, and
 * the registers of the interrupt that took it away. There is no telling which
 * words are which, so every word counts, and nobody is moved.
 *
 * Not seen: an NMI that arrives meanwhile.
 */
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include "kernel.h"
#include "machine.h"

struct look {
	const struct task_struct *asker; /* has what it looks for on its own stack */
	bool (*word)(const struct look *look, uintptr_t word); /* false: in the way */
	const struct tl_os_stop *stop;
	uintptr_t lo, hi;
	void (*see)(void *arg, uintptr_t addr);
	void *arg;
};

static bool stack_is_clear(const struct look *look, const struct task_struct *t)
{
	uintptr_t base = (uintptr_t)t->stack, sp = tl_machine_sp(t), end = base + THREAD_SIZE;

	if (!base || !refcount_read(&t->stack_refcount))
		return true;
	/* Above lie the program's registers, which may hold anything. */
	if (!(t->flags & PF_KTHREAD))
		end = (uintptr_t)task_pt_regs(t);
	if (sp < base || sp > end)
		return false;
	for (sp &= ~(sizeof(uintptr_t) - 1); sp < end; sp += sizeof(uintptr_t))
		if (!look->word(look, *(const uintptr_t *)sp))
			return false;
	return true;
}

/*
 * On one processor, while the others spin with interrupts off. Idle tasks are
 * in no list; they are switched out only where they ask for it themselves.
 */
static int look_stopped(void *arg)
{
	const struct look *look = arg;
	struct task_struct *p, *t;

	for_each_process_thread (p, t)
		if (t != look->asker && !t->on_cpu && !stack_is_clear(look, t))
			return -TL_E_BUSY;
	if (look->stop)
		look->stop->done(look->stop->arg);
	return 0;
}

static int run(struct look *look)
{
	look->asker = current;
	if (tl_text_is_open())
		return tl_names.stop_machine_cpuslocked(look_stopped, look, NULL);
	return stop_machine(look_stopped, look, NULL);
}

static bool pc_may_stay(const struct look *look, uintptr_t word)
{
	return look->stop->pc(look->stop->arg, word, true) == word;
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
