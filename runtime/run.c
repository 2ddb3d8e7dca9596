/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* One run of a handler: the cold halves of script/run.h, and locks. */
#include "internal.h"

struct tl_block *tl_run_join(struct tl_view *v, struct tl_thread *self)
{
	struct tl_block *b = v->ops && v->ops->join ? v->ops->join(v, self) : NULL;

	if (b)
		*(struct tl_block **)((char *)self + v->local_off) = b;
	return b;
}

int tl_count_again(
	struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self, tl_pre_fn handler)
{
	return tl_count_enter(p->data, self) ? handler(p, regs, self) : 0;
}

bool tl_run_enter_slow(
	struct tl_run *run, const struct tl_env *env, struct tl_regs *regs, struct tl_thread *self)
{
	return tl_run_enter(run, env, regs, self);
}

void tl_run_leave_slow(struct tl_run *run)
{
	tl_run_leave(run);
}

#define LATE 16 /* how much shorter the wait for an owner known to be late is */

/* A waiter that lost the processor itself has not waited all that time. */
#define PREEMPTED 100000u

/* --- locks --------------------------------------------------------------------------- */

static void lock_drop(const struct tl_view *v, uint32_t i, uint32_t me)
{
	struct tl_lock *l = tl_lock_at(v, i);

	/* the runner may have broken it, and somebody else taken it */
	if (__atomic_load_n(&l->owner, __ATOMIC_RELAXED) == me) {
		l->turns++;
		__atomic_store_n(&l->owner, 0, __ATOMIC_RELEASE);
	}
}

/*
 * A thread that takes a lock again at once would always win against those that
 * wait on other processors: give them a moment. Once: if nobody came, whoever
 * waits does not run, and says so again when it does.
 */
__attribute__((cold)) void tl_run_yield(struct tl_lock *l)
{
	uint64_t start = tl_cycles();

	while (!__atomic_load_n(&l->owner, __ATOMIC_RELAXED) && tl_cycles() - start < 2000)
		tl_pause();
	__atomic_store_n(&l->wanted, 0, __ATOMIC_RELAXED);
}

/* An earlier handler of this thread never came to its end (siglongjmp). */
__attribute__((cold)) void tl_run_recover(struct tl_view *v, struct tl_block *b)
{
	uint32_t i, me = b->owner;

	for (i = 0; i < v->nlocks; i++)
		lock_drop(v, i, me);
	b->holding = 0;
	tl_time_store(&b->writing, 0);
}

static bool lock_try(struct tl_lock *l, uint32_t me, uint32_t *owner)
{
	*owner = 0;
	return __atomic_compare_exchange_n(
		&l->owner, owner, me, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Has this handler interrupted the owner? Then waiting is in vain. */
static bool has_interrupted(const struct tl_view *v, uint32_t me, uint32_t owner)
{
	uint32_t processor = tl_block_at(v, me - 1)->processor;

	return processor && owner && tl_block_at(v, owner - 1)->processor == processor;
}

/*
 * Wait for a lock, long enough for an owner that lost its processor. An owner
 * that does nothing in all that time gets a mark, so that one that never comes
 * back costs the program one such wait, not one a hit.
 */
static __attribute__((cold)) bool lock_wait(
	struct tl_view *v, struct tl_lock *l, uint32_t me, uint32_t owner)
{
	uint64_t last = tl_cycles(), spent = 0, now;
	uint32_t spins = 0, turns = __atomic_load_n(&l->turns, __ATOMIC_RELAXED);

	do {
		if (owner == me) /* left over by a handler of this thread */
			return true;
		if (has_interrupted(v, me, owner))
			return false;
		__atomic_store_n(&l->wanted, 1, __ATOMIC_RELAXED);
		tl_pause();
		if (++spins % 64 == 0) {
			bool stuck = __atomic_load_n(&l->turns, __ATOMIC_RELAXED) == turns;

			now = tl_cycles();
			spent += now - last < PREEMPTED ? now - last : PREEMPTED;
			last = now;
			if (spent > (stuck && owner && l->late == owner ? v->lock_cycles / LATE
									: v->lock_cycles)) {
				if (stuck)
					l->late = owner;
				return false;
			}
			if (v->ops && v->ops->relax)
				v->ops->relax(v);
		}
		owner = __atomic_load_n(&l->owner, __ATOMIC_RELAXED);
	} while (owner || !lock_try(l, me, &owner));
	l->late = 0;
	return true;
}

static bool lock_take(struct tl_view *v, uint32_t i, uint32_t me)
{
	struct tl_lock *l = tl_lock_at(v, i);
	uint32_t owner;

	return tl_likely(lock_try(l, me, &owner)) || lock_wait(v, l, me, owner);
}

bool tl_run_lock_slow(struct tl_run *run, const uint16_t *locks, uint32_t n)
{
	struct tl_view *v = run->view;
	struct tl_block *b = run->block;
	uint32_t i, me = b->owner;

	*(volatile uint32_t *)&b->holding = me;
	TL_BARRIER();
	for (i = 0; i < n; i++)
		if (tl_unlikely(locks[i] >= v->nlocks || !lock_take(v, locks[i], me)))
			break;
	run->locks = locks;
	run->nlocks = i;
	if (tl_likely(i == n))
		return true;
	tl_run_unlock(run);
	b->skipped++;
	__atomic_fetch_add(tl_low_word(&v->session->skipped), 1, __ATOMIC_RELAXED);
	return false;
}

void tl_run_unlock(struct tl_run *run)
{
	uint32_t i, me = run->block->owner;

	for (i = run->nlocks; i-- > 0;)
		lock_drop(run->view, run->locks[i], me);
	TL_BARRIER();
	*(volatile uint32_t *)&run->block->holding = 0;
	for (i = 0; i < run->nlocks; i++) {
		struct tl_lock *l = tl_lock_at(run->view, run->locks[i]);

		if (tl_unlikely(__atomic_load_n(&l->wanted, __ATOMIC_RELAXED)))
			tl_run_yield(l);
	}
	run->nlocks = 0;
}
