/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Thread by thread, the return probes with calls that wait for a function they
 * have jumped to. So that function is watched once, whoever follows it, and a hit
 * there costs as many looks as the thread has such probes: few, where thousands
 * follow free().
 *
 * Only the thread itself adds and drops, inside a handler; whoever takes a return
 * probe away clears its entries, which stay where they are, and lets a grace
 * period pass.
 */
#include "../../os/os.h"
#include "../base/mem.h"
#include "ret.h"

/* By the threads' numbers; a bit for each that has been: the others' memory stays untouched. */
static struct tl_sparse table;
static void *memory;
enum { PLACES = TL_RET_THREADS + 32 };
static uint32_t used[PLACES / 32];

int tl_ret_waiting_init(void)
{
	if (memory)
		return 0;
	memory = tl_os_alloc_sparse(tl_sparse_size(sizeof(struct tl_ret_waiting), PLACES));
	if (!memory)
		return -TL_E_NOMEM;
	tl_sparse_init(&table, memory, sizeof(struct tl_ret_waiting), PLACES);
	if (tl_sparse_at(&table, 0))
		return 0;
	tl_ret_waiting_deinit();
	return -TL_E_NOMEM;
}

void tl_ret_waiting_deinit(void)
{
	tl_sparse_deinit(&table);
	if (memory)
		tl_os_free(memory, tl_sparse_size(sizeof(struct tl_ret_waiting), PLACES));
	memory = NULL;
	tl_fill(used, 0, sizeof(used));
}

static size_t number_of(const struct tl_thread *self)
{
	return self->ret_at / TL_RET_STEP;
}

const struct tl_ret_waiting *tl_ret_waiting_of(const struct tl_thread *self)
{
	const struct tl_ret_waiting *w = tl_sparse_at(&table, number_of(self));

	return w ? w : tl_sparse_at(&table, 0);
}

/* The record is used for the first time, or by another thread now. */
static void start(struct tl_ret_waiting *w, size_t t, uint32_t tid)
{
	__atomic_fetch_or(&used[t / 32], 1u << t % 32, __ATOMIC_RELEASE);
	while (w->n)
		TL_STORE(&w->at[--w->n], NULL);
	w->tid = tid;
}

/* The first entry that is `st`, or w->n. */
static uint32_t find(const struct tl_ret_waiting *w, const struct tl_ret_state *st)
{
	uint32_t i = 0;

	while (i < w->n && TL_LOAD(&w->at[i]) != st)
		i++;
	return i;
}

bool tl_ret_waiting_room(const struct tl_thread *self)
{
	const struct tl_ret_waiting *w = tl_sparse_make(&table, number_of(self));

	return w && (w->tid != self->tid || find(w, NULL) < TL_RET_WAITING);
}

void tl_ret_waiting_add(const struct tl_thread *self, struct tl_ret_state *st)
{
	struct tl_ret_waiting *w = tl_sparse_make(&table, number_of(self));
	uint32_t i;

	if (!w)
		return;
	if (w->tid != self->tid)
		start(w, number_of(self), self->tid);
	i = find(w, NULL);
	if (i == TL_RET_WAITING)
		return;
	TL_STORE(&w->at[i], st);
	if (i == w->n)
		w->n++;
}

void tl_ret_waiting_drop(const struct tl_thread *self, const struct tl_ret_state *st)
{
	struct tl_ret_waiting *w = tl_sparse_at(&table, number_of(self));
	uint32_t i;

	if (!w)
		return;
	i = find(w, st);

	if (i < w->n)
		TL_STORE(&w->at[i], NULL);
	while (w->n && !TL_LOAD(&w->at[w->n - 1]))
		w->n--;
}

static void clear(struct tl_ret_waiting *w)
{
	for (uint32_t i = 0; i < TL_RET_WAITING; i++) {
		struct tl_ret_state *st = TL_LOAD(&w->at[i]);

		/* The thread may have put another one there meanwhile. */
		if (st && st->leaving)
			TL_CAS(&w->at[i], &st, NULL);
	}
}

void tl_ret_waiting_clear(void)
{
	for (unsigned t = 0; t < PLACES; t++)
		if (TL_LOAD(&used[t / 32]) >> t % 32 & 1)
			clear(tl_sparse_at(&table, t));
}
