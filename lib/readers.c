/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "readers.h"

enum { WINDOW = 64 /* slots looked at from the one that the hash names */ };

struct tl_readers tl_readers;
bool tl_readers_fenced;

/* --- slots --------------------------------------------------------------------------- */

/* It is looked at before it has a key: a signal handler may find that, and enter, at once. */
static bool claim(struct tl_reader *r, uintptr_t key)
{
	size_t i = (size_t)(r - tl_readers.slots);
	uintptr_t seen = 0;

	__atomic_fetch_or(&tl_readers.used[i / 32], 1u << i % 32, __ATOMIC_RELAXED);
	return __atomic_compare_exchange_n(
		       &r->key, &seen, key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
	       seen == key;
}

/* The thread's slot, or NULL. */
static struct tl_reader *find(uintptr_t key, bool make)
{
	size_t first = (size_t)(tl_reader_first(key) - tl_readers.slots);

	for (size_t i = 0; i < WINDOW; i++) {
		struct tl_reader *r = &tl_readers.slots[(first + i) % TL_READERS];
		uintptr_t has = __atomic_load_n(&r->key, __ATOMIC_RELAXED);

		if (has == key || (!has && make && claim(r, key)))
			return r;
		if (!has && !make)
			return NULL;
	}
	return NULL;
}

uint32_t *tl_readers_enter_slow(uintptr_t key)
{
	struct tl_reader *r = find(key, true);
	uint32_t *in;

	if (r)
		return tl_reader_enter(r);
	in = &tl_readers.shared.in[__atomic_load_n(&tl_readers.turn, __ATOMIC_RELAXED) & 1];
	__atomic_fetch_add(in, 1, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return in;
}

void tl_readers_leave_shared(uint32_t *in)
{
	uint32_t n = __atomic_load_n(in, __ATOMIC_RELAXED);

	while (n && !__atomic_compare_exchange_n(
			    in, &n, n - 1, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

struct tl_reader *tl_reader_find(uintptr_t key)
{
	return find(key, false);
}

bool tl_readers_inside(void)
{
	const struct tl_reader *r = tl_reader_known(tl_machine_thread());

	if (!r)
		r = &tl_readers.shared;
	return __atomic_load_n(&r->in[0], __ATOMIC_RELAXED) ||
	       __atomic_load_n(&r->in[1], __ATOMIC_RELAXED);
}

/* --- waiting ------------------------------------------------------------------------- */

static bool membarrier(long cmd)
{
	return !tl_syscall3(TL_NR_membarrier, cmd, 0, 0);
}

void tl_readers_start(void)
{
	static bool started;

	tl_lock_take(&tl_readers.lock, tl_machine_thread());
	if (!started) {
		tl_readers_fenced = !membarrier(TL_MEMBARRIER_REGISTER_PRIVATE);
		tl_syscall3(
			TL_NR_madvise, (long)&tl_readers, sizeof(tl_readers), TL_MADV_WIPEONFORK);
		started = true;
	}
	tl_lock_release(&tl_readers.lock);
}

static void pause_for(long us)
{
	struct tl_timespec ts = {0, us * 1000};

	tl_syscall3(TL_NR_nanosleep, (long)&ts, 0, 0);
}

/*
 * Whoever has entered is seen inside, or sees what was changed before. Where membarrier() was forbidden after the start,
 * each enters with a fence from now on; of those who just did without, the processors have long written what they keep back.
 */
static void order(void)
{
	enum { LONG_US = 10000 };

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&tl_readers_fenced, __ATOMIC_RELAXED) ||
		membarrier(TL_MEMBARRIER_PRIVATE))
		return;
	__atomic_store_n(&tl_readers_fenced, true, __ATOMIC_SEQ_CST);
	pause_for(LONG_US);
}

static void wait_for_one(const struct tl_reader *r, unsigned turn)
{
	enum { FIRST_US = 10, MOST_US = 1000 };
	long us = FIRST_US;

	while (__atomic_load_n(&r->in[turn], __ATOMIC_ACQUIRE)) {
		pause_for(us);
		us = us < MOST_US ? 2 * us : MOST_US;
	}
}

static void wait_for(unsigned turn)
{
	for (size_t i = 0; i < TL_READERS; i += 32) {
		uint32_t used = __atomic_load_n(&tl_readers.used[i / 32], __ATOMIC_RELAXED);

		for (size_t at = i; used; used >>= 1, at++)
			if (used & 1)
				wait_for_one(&tl_readers.slots[at], turn);
	}
	wait_for_one(&tl_readers.shared, turn);
}

/*
 * Who took his count from `turn` and was then held up may be in either. So both have to be seen empty; each while those who come
 * are sent to the other one, or it would never be.
 */
void tl_readers_wait(void)
{
	unsigned turn;

	tl_lock_take(&tl_readers.lock, tl_machine_thread());
	order();
	turn = tl_readers.turn & 1;
	wait_for(!turn);
	__atomic_store_n(&tl_readers.turn, !turn, __ATOMIC_SEQ_CST);
	wait_for(turn);
	tl_lock_release(&tl_readers.lock);
}
