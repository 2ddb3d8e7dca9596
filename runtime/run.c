/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* One run of a handler: the cold halves of script.h, locks and errors. */
#include "internal.h"
#include <stdarg.h>

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

/* --- errors ---------------------------------------------------------------------------- */

struct text {
	char *b;
	uint32_t n, room;
};

static void text_add(struct text *t, const char *s, uint32_t n)
{
	while (n-- && t->n + 1 < t->room)
		t->b[t->n++] = *s++;
	t->b[t->n] = 0;
}

static void text_format(struct text *t, const char *fmt, va_list args)
{
	char buf[24];
	const char *s;

	for (; *fmt; fmt++) {
		if (*fmt != '%' || !fmt[1]) {
			text_add(t, fmt, 1);
			continue;
		}
		switch (*++fmt) {
		case 's':
			s = va_arg(args, const char *);
			text_add(t, s, tl_cstr_len(s));
			break;
		case 'd':
			text_add(t, buf, tl_text_dec(buf, va_arg(args, int64_t)));
			break;
		case 'p':
			text_add(t, buf, tl_text_hex(buf, va_arg(args, uint64_t)));
			break;
		default:
			text_add(t, fmt, 1);
		}
	}
}

__attribute__((cold)) void tl_run_error(struct tl_run *run, const char *fmt, ...)
{
	struct text t = {run->text, 0, sizeof(run->text)};
	va_list args;

	if (run->error)
		return;
	va_start(args, fmt);
	text_format(&t, fmt, args);
	va_end(args);
	if (t.n + 1 == t.room)
		run->block->truncated++;
	run->error = run->text;
}

void tl_run_spent(struct tl_run *run)
{
	tl_run_error(run, "MAXACTION exceeded");
}
void tl_run_nested(struct tl_run *run)
{
	tl_run_error(run, "MAXNESTING exceeded");
}
void tl_run_div0(struct tl_run *run)
{
	tl_run_error(run, "division by 0");
}

const char tl_aborted[] = "aborted";

void tl_run_catch(struct tl_run *run, struct tl_str *msg)
{
	if (run->error == tl_aborted)
		return;
	if (msg)
		tl_str_set_c(run, msg, run->error ? run->error : "");
	run->error = NULL;
}

/* "message near place" as one record, without a buffer for it. */
static void error_record(struct tl_run *run)
{
	uint32_t n = tl_cstr_len(run->error), np = run->place ? tl_cstr_len(run->place) : 0;
	uint32_t all = np ? n + 6 + np : n;
	struct tl_slot s;

	if (!tl_ring_begin(run, &s, TL_REC_ERROR, run->env->number, all))
		return;
	memcpy(s.data, run->error, n);
	if (np) {
		memcpy(s.data + n, " near ", 6);
		memcpy(s.data + 6 + n, run->place, np);
	}
	tl_ring_end(run, &s);
}

/* The error ends this handler, and the session when it is one too many. */
__attribute__((cold)) void tl_time_add(struct tl_run *run, uint32_t times, int64_t began)
{
	int64_t passed = (int64_t)(tl_cycles() - (uint64_t)began);
	uint64_t took = passed > 0 ? (uint64_t)passed : 0; /* processors may differ a little */
	struct tl_time *t = (struct tl_time *)((char *)run->block + run->view->shard_off + times) +
			    run->env->number;

	if (!t->runs || took < t->least)
		t->least = took;
	if (took > t->most)
		t->most = took;
	t->sum += took;
	t->runs++;
}

void tl_run_report(struct tl_run *run)
{
	struct tl_session *s = run->view->session;

	if (run->error == tl_aborted)
		return;
	error_record(run);
	run->block->errors++;
	if (__atomic_add_fetch(&s->errors, 1, __ATOMIC_RELAXED) > run->view->max_errors)
		tl_exit(run);
}

/* --- numbers ------------------------------------------------------------------------------ */

int64_t tl_div_any(int64_t a, int64_t b)
{
	uint64_t rem, q;

	q = tl_udiv(
		a < 0 ? 0 - (uint64_t)a : (uint64_t)a, b < 0 ? 0 - (uint64_t)b : (uint64_t)b, &rem);
	return (int64_t)((a < 0) != (b < 0) ? 0 - q : q);
}

int64_t tl_mod_any(int64_t a, int64_t b)
{
	uint64_t rem;

	tl_udiv(a < 0 ? 0 - (uint64_t)a : (uint64_t)a, b < 0 ? 0 - (uint64_t)b : (uint64_t)b, &rem);
	return (int64_t)(a < 0 ? 0 - rem : rem);
}
