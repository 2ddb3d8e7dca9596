/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Own process: stopping all other threads, by a real-time signal whose handler
 * parks them. A thread that does not come (it blocks the signal, or waits for
 * a vfork child) makes the stop fail; nothing is assumed about it.
 *
 * One round at a time, under the engine lock. A slot's state holds the number
 * of its round, so that a signal that arrives after its round was given up
 * finds nothing to do. Slots are never freed for the same reason.
 */
#include "own.h"

enum slot_state { ASKED = 1, CLAIMED, PARKED, ASLEEP, GONE };

struct slot {
	uint64_t state; /* round << 32 | enum slot_state */
	uint32_t tid;
	uint64_t asked_ns; /* when it was told to come */
	struct tl_ucontext *uc; /* PARKED */
	uintptr_t key;
};

enum {
	PATIENCE_MS = 500, /* for a busy machine */
	SLEEPER_MS = 20, /* asleep that long after the signal: it will not come */
	SLEEPER_TRIES = 4,
	FIRST_SLOTS = 256,
};

static struct slot *slots;
static uint32_t nslots, max_slots;
static uint32_t round_now; /* 0: none */
static uint32_t round_last; /* numbers, never reused */
static uint32_t released; /* futex: the last round that is over */
static uint32_t arrivals; /* futex: threads that parked */
static int signal_used;
static int signals_unusable; /* the highest ones, which cannot be sent */
/*
 * The last round failed. Signals that a thread blocks queue up: from then on
 * look first, until a round succeeds.
 */
static bool cautious;

static uint64_t state_word(uint32_t round, enum slot_state s)
{
	return (uint64_t)round << 32 | s;
}

static enum slot_state state_of(const struct slot *s)
{
	return (enum slot_state)(uint32_t)__atomic_load_n(&s->state, __ATOMIC_ACQUIRE);
}

static bool state_change(struct slot *s, enum slot_state from, enum slot_state to, uint32_t round)
{
	uint64_t old = state_word(round, from);

	return __atomic_compare_exchange_n(
		&s->state, &old, state_word(round, to), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static void wait_for_change(uint32_t *word, uint32_t seen, long milliseconds)
{
	struct tl_timespec ts = {0, milliseconds * 1000000};

	tl_syscall4(TL_NR_futex, (long)word, TL_FUTEX_WAIT_PRIVATE, (long)seen,
		milliseconds ? (long)&ts : 0);
}

static void wake(uint32_t *word)
{
	const long everybody = 0x7fffffff;

	tl_syscall3(TL_NR_futex, (long)word, TL_FUTEX_WAKE_PRIVATE, everybody);
}

/* --- the parked thread's side ---------------------------------------------- */

static void on_stop(int sig, struct tl_siginfo *info, struct tl_ucontext *uc)
{
	uint64_t value = tl_siginfo_value(info);
	uint32_t round = (uint32_t)(value >> 32), i = (uint32_t)value, seen;
	struct slot *s;

	(void)sig;
	if (info->code != TL_SI_QUEUE || !round ||
		round != __atomic_load_n(&round_now, __ATOMIC_ACQUIRE) || i >= max_slots)
		return;
	s = &slots[i];
	if (!state_change(s, ASKED, CLAIMED, round))
		return;
	s->uc = uc;
	s->key = tl_os_thread_key(true);
	__atomic_store_n(&s->state, state_word(round, PARKED), __ATOMIC_RELEASE);
	__atomic_fetch_add(&arrivals, 1, __ATOMIC_RELEASE);
	wake(&arrivals);
	while ((int32_t)((seen = __atomic_load_n(&released, __ATOMIC_ACQUIRE)) - round) < 0)
		wait_for_change(&released, seen, 0);
}

/* The highest real-time signal that the program leaves alone. */
static bool own_signal(void)
{
	const unsigned long flags = TL_SA_SIGINFO | TL_SA_ONSTACK | TL_SA_RESTART;
	const uint64_t all = ~0ull;
	struct tl_sigaction now;
	int sig;

	if (signal_used && !tl_sigaction_get(signal_used, &now) &&
		now.handler == (uintptr_t)on_stop)
		return true;
	for (sig = TL_SIG_LAST - signals_unusable; sig >= TL_SIG_FIRST_RT; sig--) {
		if (tl_sigaction_get(sig, &now) || now.handler != TL_SIG_DFL)
			continue;
		signal_used = sig;
		return !tl_sigaction_set(sig, (uintptr_t)on_stop, flags, all, NULL);
	}
	return false;
}

/* Emulators accept a handler for signals that they cannot send: the next round takes another one. */
static void signal_unusable(void)
{
	tl_sigaction_set(signal_used, TL_SIG_DFL, 0, 0, NULL);
	signals_unusable = TL_SIG_LAST - signal_used + 1;
	signal_used = 0;
}

/* Ignoring it throws away what still waits for a thread that blocks it. */
void tl_own_stop_exit(void)
{
	struct tl_sigaction now;

	if (!signal_used || tl_sigaction_get(signal_used, &now) ||
		now.handler != (uintptr_t)on_stop)
		return;
	tl_sigaction_set(signal_used, TL_SIG_IGN, 0, 0, NULL);
	tl_sigaction_set(signal_used, TL_SIG_DFL, 0, 0, NULL);
	signal_used = 0;
}

/* --- bringing them to a stop ------------------------------------------------ */

struct roundup {
	uint32_t self, round;
	bool let_sleep; /* threads asleep in the kernel need not come */
	bool more; /* found threads that were not known */
};

static int enough_slots(void)
{
	uint32_t want = max_slots ? 2 * max_slots : FIRST_SLOTS, i;
	struct slot *fresh;

	if (nslots < max_slots)
		return 0;
	fresh = tl_os_alloc(want * sizeof(*fresh));
	if (!fresh)
		return -TL_E_NOMEM;
	for (i = 0; i < nslots; i++)
		fresh[i] = slots[i];
	slots = fresh;
	max_slots = want;
	return 0;
}

static bool known(uint32_t tid)
{
	uint32_t i;

	for (i = 0; i < nslots; i++) {
		if (slots[i].tid == tid)
			return true;
	}
	return false;
}

static long send_to(uint32_t tid, uint32_t round, uint32_t index)
{
	long pid = tl_syscall3(TL_NR_getpid, 0, 0, 0);
	struct tl_siginfo info;

	tl_siginfo_queue(&info, signal_used, (int32_t)pid, (uint64_t)round << 32 | index);
	return tl_syscall4(TL_NR_rt_tgsigqueueinfo, pid, (long)tid, signal_used, (long)&info);
}

static uint64_t now_ns(void)
{
	struct tl_timespec ts = {0, 0};

	tl_syscall3(TL_NR_clock_gettime, TL_CLOCK_MONOTONIC, (long)&ts, 0);
	return (uint64_t)ts.sec * 1000000000 + (uint64_t)ts.nsec;
}

/* It has been found in this round, and is to come. */
static int call_in(struct slot *s, uint32_t round)
{
	long ret;

	if (cautious && tl_own_blocks(s->tid, signal_used))
		return -TL_E_BUSY;
	s->asked_ns = now_ns();
	__atomic_store_n(&s->state, state_word(round, ASKED), __ATOMIC_RELEASE);
	ret = send_to(s->tid, round, (uint32_t)(s - slots));
	if (ret == -TL_ESRCH)
		__atomic_store_n(&s->state, state_word(round, GONE), __ATOMIC_RELEASE);
	else if (ret == -TL_EINVAL)
		signal_unusable();
	return ret && ret != -TL_ESRCH ? -TL_E_BUSY : 0;
}

/* A grown slot table must not move under threads of this round: then the round ends, see stop_all(). */
static int ask(void *arg, uint32_t tid)
{
	struct roundup *r = arg;
	struct tl_own_sleep sleep;
	struct slot *s;
	int ret;

	if (tid == r->self || known(tid))
		return 0;
	if (nslots == max_slots)
		return -TL_E_LIMIT;
	s = &slots[nslots];
	*s = (struct slot){.tid = tid, .state = state_word(r->round, ASLEEP)};
	if (!r->let_sleep || !tl_home_asleep(tid, &sleep)) {
		r->more = true;
		ret = call_in(s, r->round);
		if (ret)
			return ret;
	}
	nslots++;
	return 0;
}

/* Is there hope for the threads that have not come? Writes off the dead. */
static int look_at_missing(uint32_t round, long waited)
{
	struct tl_own_sleep sleep;
	uint32_t i;

	for (i = 0; i < nslots; i++) {
		struct slot *s = &slots[i];

		if (state_of(s) != ASKED)
			continue;
		if (tl_own_zombie(s->tid))
			state_change(s, ASKED, GONE, round);
		else if (waited >= SLEEPER_MS && tl_home_asleep(s->tid, &sleep) &&
			 state_of(s) == ASKED)
			return -TL_E_BUSY;
	}
	return waited >= PATIENCE_MS ? -TL_E_BUSY : 0;
}

static bool all_there(void)
{
	uint32_t i;

	for (i = 0; i < nslots; i++) {
		enum slot_state s = state_of(&slots[i]);

		if (s == ASKED || s == CLAIMED)
			return false;
	}
	return true;
}

static int wait_for_all(uint32_t round)
{
	const uint64_t begin = now_ns();
	long waited = 0;

	for (;;) {
		uint32_t seen = __atomic_load_n(&arrivals, __ATOMIC_ACQUIRE);
		int ret;

		if (all_there())
			return 0;
		ret = waited > 2 ? look_at_missing(round, waited) : 0;
		if (ret)
			return ret;
		wait_for_change(&arrivals, seen, 2);
		waited = (long)((now_ns() - begin) / 1000000);
	}
}

/* From when they were told to come: at least as long as they stood. */
static void note_held(uint32_t round, uint64_t now)
{
	for (uint32_t i = 0; i < nslots; i++)
		if (state_of(&slots[i]) == PARKED)
			tl_own_note_held(slots[i].tid, now - slots[i].asked_ns, round);
}

/* Ends the round: whoever has parked goes on, whoever has not will not. */
static void release(uint32_t round)
{
	uint64_t now;
	uint32_t i;

	for (i = 0; i < nslots; i++) {
		state_change(&slots[i], ASKED, GONE, round);
		while (state_of(&slots[i]) == CLAIMED)
			tl_os_pause(100);
	}
	now = now_ns(); /* they run before we do again */
	__atomic_store_n(&round_now, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&released, round, __ATOMIC_RELEASE);
	wake(&released);
	note_held(round, now);
	nslots = 0;
}

/* One try; lists again until no unknown thread turns up, as running ones may make others. */
static int gather(bool let_sleep, uint32_t *round)
{
	struct roundup r = {.self = tl_gettid(), .let_sleep = let_sleep};
	int ret;

	if (!own_signal())
		return -TL_E_BUSY;
	nslots = 0;
	r.round = *round = ++round_last;
	__atomic_store_n(&round_now, r.round, __ATOMIC_RELEASE);
	do {
		r.more = false;
		ret = tl_home_threads(ask, &r);
		if (!ret)
			ret = wait_for_all(r.round);
	} while (!ret && r.more);
	cautious = ret == -TL_E_BUSY;
	if (ret)
		release(r.round);
	return ret;
}

/* Everyone is there, and where their stacks lie is known. */
static int stop_all(bool let_sleep, uint32_t *round)
{
	int ret = slots ? gather(let_sleep, round) : -TL_E_LIMIT;

	while (ret == -TL_E_LIMIT) {
		nslots = max_slots;
		ret = enough_slots();
		if (!ret)
			ret = gather(let_sleep, round);
	}
	if (ret)
		return ret;
	ret = tl_own_maps_keep();
	if (ret)
		release(*round);
	return ret;
}

/* --- what their stacks say --------------------------------------------------- */

enum { STRANDS = 8 }; /* stacks that one thread may be on at once: its own, alternate, private */

/*
 * One walk over a thread's stacks. Words of a signal frame lead from an
 * alternate stack to the interrupted one.
 */
struct walk {
	bool (*word)(struct walk *w, const uintptr_t *at); /* false: enough seen */
	bool (*frame)(struct walk *w, const struct tl_frame *f);
	void *arg;
	/* Thread pointer, 0: unknown. A stack that the C library made ends below it. */
	uintptr_t key;
	bool bad;
	uintptr_t todo[STRANDS];
	unsigned ntodo, ndone;
};

static void walk_later(struct walk *w, uintptr_t sp)
{
	if (sp && w->ntodo < STRANDS)
		w->todo[w->ntodo++] = sp;
}

/* A stack is read from the red zone to the end of its mapping. false: cannot be known. */
READS_STACKS static bool walk_strand(struct walk *w, uintptr_t sp)
{
	const uintptr_t word = sizeof(uintptr_t);
	struct tl_mapping m;
	struct tl_frame f;
	uintptr_t *p, *end;

	if (!tl_own_kept_map(sp, &m) || sp < m.lo || !(m.prot & TL_PROT_READ))
		return false;
	p = (uintptr_t *)(sp & ~(word - 1));
	p = (uintptr_t)p - m.lo < TL_RED_ZONE ? (uintptr_t *)m.lo : p - TL_RED_ZONE / word;
	end = (uintptr_t *)(w->key > sp && w->key < m.hi ? w->key & ~(word - 1) : m.hi);
	for (; p < end && !w->bad; p++) {
		w->bad = w->word && !w->word(w, p);
		if (tl_frame_at(p, end, &f)) {
			uintptr_t to = tl_context_sp(f.uc);

			w->bad |= w->frame && !w->frame(w, &f);
			if (to < sp || to >= m.hi)
				walk_later(w, to);
		}
	}
	return true;
}

/* false: something forbidden was seen, or cannot be excluded. */
static bool walk_thread(struct walk *w, uintptr_t sp, uintptr_t guard)
{
	w->ntodo = 0;
	walk_later(w, sp);
	walk_later(w, guard);
	for (w->ndone = 0; w->ndone < w->ntodo && !w->bad; w->ndone++) {
		if (!walk_strand(w, w->todo[w->ndone]))
			return false;
	}
	return !w->bad;
}

/* --- stop everyone ------------------------------------------------------------- */

/* Two rounds over the same frames: ask, then tell. */
struct moves {
	const struct tl_os_stop *stop;
	bool write;
};

static bool move(const struct moves *mv, struct tl_ucontext *uc, bool saved)
{
	uintptr_t ip = tl_context_ip(uc), to = mv->stop->pc(mv->stop->arg, ip, saved);

	if (to && mv->write && to != ip)
		tl_context_set_ip(uc, to);
	return to || !ip; /* who has called NULL stands nowhere */
}

/* It has run into a breakpoint, and our handler is to lead it on: both from here and from the breakpoint itself. */
static bool may_stay(const struct moves *mv, uintptr_t ip)
{
	const struct tl_os_stop *stop = mv->stop;
	uintptr_t at = ip - TL_BREAKPOINT_STEP;

	return stop->pc(stop->arg, ip, true) == ip && stop->pc(stop->arg, at, true) == at;
}

static bool move_frame(struct walk *w, const struct tl_frame *f)
{
	if (tl_own_trapped(f->info))
		return may_stay(w->arg, tl_context_ip(f->uc));
	return move(w->arg, f->uc, true);
}

static bool move_all(const struct tl_os_stop *st, bool write)
{
	struct moves mv = {st, write};
	uint32_t i;

	for (i = 0; i < nslots; i++) {
		struct slot *s = &slots[i];
		struct walk w = {.frame = move_frame, .arg = &mv, .key = s->key};

		if (state_of(s) != PARKED)
			continue;
		if (!move(&mv, s->uc, false) ||
			!walk_thread(&w, tl_context_sp(s->uc), tl_own_guard(s->key)))
			return false;
	}
	return true;
}

int tl_os_stop_all(const struct tl_os_stop *st)
{
	uint32_t round;
	int ret;

	if (tl_home_alone()) {
		st->done(st->arg);
		return 0;
	}
	ret = stop_all(false, &round);
	if (ret)
		return ret;
	if (move_all(st, false)) {
		move_all(st, true);
		st->done(st->arg);
	} else {
		ret = -TL_E_BUSY;
	}
	release(round);
	return ret;
}

/* --- is anybody there? ------------------------------------------------------------ */

struct look {
	uintptr_t lo, hi;
	void (*see)(void *arg, uintptr_t addr);
	void *arg;
};

static void see(const struct look *l, uintptr_t v)
{
	if (v >= l->lo && v < l->hi)
		l->see(l->arg, v);
}

READS_STACKS static bool see_word(struct walk *w, const uintptr_t *at)
{
	see(w->arg, *at);
	return true;
}

static bool look_at_parked(const struct slot *s, struct look *l)
{
	struct walk w = {.word = see_word, .arg = l, .key = s->key};
	const uintptr_t *words;
	size_t n = tl_context_words(s->uc, &words);

	for (size_t i = 0; i < n; i++)
		see(l, words[i]);
	return walk_thread(&w, tl_context_sp(s->uc), tl_own_guard(s->key));
}

/* Asleep, and not once more since then: it has not run. */
static bool sleeps_on(uint32_t tid, uint64_t times)
{
	struct tl_own_sleep now;

	return tl_home_asleep(tid, &now) && tl_own_sleeps(tid) == times;
}

/* true: it slept all the while. One that wakes may take along what was not read yet. */
static bool look_asleep(const struct slot *s, struct look *l)
{
	struct walk w = {.word = see_word, .arg = l};
	uint64_t sleeps = tl_own_sleeps(s->tid);
	struct tl_own_sleep sleep;

	if (!sleeps || !tl_home_asleep(s->tid, &sleep))
		return false;
	see(l, sleep.pc);
	return walk_thread(&w, sleep.sp, 0) && sleeps_on(s->tid, sleeps);
}

/* Threads asleep in the kernel are left alone; those that do not stay so are to come after all. */
static int look_at_sleepers(uint32_t round, struct look *l)
{
	int ret = 0;

	for (struct slot *s = slots; !ret && s < slots + nslots; s++) {
		unsigned tries = 0;

		if (state_of(s) != ASLEEP)
			continue;
		while (tries < SLEEPER_TRIES && !look_asleep(s, l))
			tries++;
		if (tries == SLEEPER_TRIES)
			ret = call_in(s, round);
	}
	return ret ? ret : wait_for_all(round);
}

int tl_os_seen(uintptr_t lo, uintptr_t hi, void (*fn)(void *arg, uintptr_t addr), void *arg)
{
	struct look l = {lo, hi, fn, arg};
	uint32_t round, i;
	int ret;

	if (tl_home_alone())
		return 0;
	ret = stop_all(true, &round);
	if (ret)
		return ret;
	ret = look_at_sleepers(round, &l);
	for (i = 0; !ret && i < nslots; i++) {
		if (state_of(&slots[i]) == PARKED && !look_at_parked(&slots[i], &l))
			ret = -TL_E_BUSY;
	}
	release(round);
	return ret;
}

int tl_os_quiet(uintptr_t lo, uintptr_t hi)
{
	return tl_os_quiet_by_seen(lo, hi);
}

/* --- where their stacks end --------------------------------------------------------- */

struct stacks {
	void (*see)(void *arg, const struct tl_os_stack *s);
	void *arg;
};

static void tell_stack(const struct stacks *st, uint32_t tid, uintptr_t sp)
{
	struct tl_mapping m;

	if (tl_own_kept_map(sp, &m) && sp >= m.lo)
		st->see(st->arg, &(struct tl_os_stack){tid, sp, m.lo, m.hi});
}

static void tell_sleeper(const struct stacks *st, uint32_t tid)
{
	uint64_t sleeps = tl_own_sleeps(tid);
	struct tl_own_sleep s;

	if (!sleeps || !tl_home_asleep(tid, &s))
		return;
	tell_stack(st, tid, s.sp);
	if (!sleeps_on(tid, sleeps))
		st->see(st->arg, &(struct tl_os_stack){.tid = tid});
}

int tl_os_stacks(void (*fn)(void *arg, const struct tl_os_stack *s), void *arg)
{
	const struct stacks st = {fn, arg};
	uint32_t round, i;
	int ret;

	ret = stop_all(true, &round);
	if (ret)
		return ret;
	tell_stack(&st, tl_gettid(), (uintptr_t)__builtin_frame_address(0));
	for (i = 0; i < nslots; i++) {
		const struct slot *s = &slots[i];

		if (state_of(s) == PARKED)
			tell_stack(&st, s->tid, tl_context_sp(s->uc));
		else if (state_of(s) == ASLEEP)
			tell_sleeper(&st, s->tid);
	}
	release(round);
	return 0;
}
