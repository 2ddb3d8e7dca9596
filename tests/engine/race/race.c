/* SPDX-License-Identifier: MIT */
/*
 * The engine held at each of its named points (tl_race_point) while another
 * thread runs through the probed code, and a handler held while its probe is
 * taken away. Built from the sources with TL_TEST: the library has no such
 * points.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "../../../engine/core/base/race.h"
#include "../../../engine/core/detour/site.h"
#include "../../../engine/core/detour/thread.h"
#include "../../../engine/core/text/patch.h"
#include "../../unit.h"

#define HANDLER __attribute__((target("general-regs-only")))

long plain(long a, long b), shorts(long a), odd(long a), shared(long a), chained(long a),
	swallowed(long a);
extern char swallowed_amid[], swallowed_last[];
extern char chained_1[], chained_2[], chained_3[];
extern char odd_mid[], odd_word[], shared_1[], shared_2[], shared_3[], shared_4[], shared_5[];

static volatile bool run_on;
static volatile long rounds, wrong, hits;

static void nap(long us)
{
	struct timespec ts = {0, us * 1000};

	nanosleep(&ts, NULL);
}

static void *runner(void *arg)
{
	long (*volatile p)(long, long) = plain;
	long (*volatile s)(long) = shorts, (*volatile o)(long) = odd, (*volatile h)(long) = shared,
			(*volatile c)(long) = chained;

	(void)arg;
	for (long n = 0; run_on; n++) {
		wrong += p(n, 3) != n + 10;
		wrong += s(n) != 2 * n + 3;
		wrong += o(n) != n + 0x11223344;
		wrong += h(n) != n + 3;
		wrong += c(n & 0xffff) != (n & 0xffff) + 12;
		rounds = rounds + 1;
	}
	return NULL;
}

/* --- the engine held ----------------------------------------------------------------- */

static unsigned visits[RP_COUNT];
static long most[RP_COUNT]; /* rounds that the other thread made in one visit */

/* Where the text has a self-jump, or the handler's gate is ours, nobody may get on: so not for ever. */
static void hold(enum tl_race point)
{
	long from = rounds;

	if (point == RP_TRAPPED) /* that is the other thread */
		return;
	for (int i = 0; i < 40 && rounds - from < 100; i++)
		nap(50);
	visits[point]++;
	if (rounds - from > most[point])
		most[point] = rounds - from;
}

static int HANDLER count(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)regs;
	(void)self;
	hits = hits + 1;
	return 0;
}

enum { PLACES = 8 };

static int arm_and_disarm(unsigned flags)
{
	void *at[PLACES] = {(void *)plain, (void *)shorts, odd_mid, odd_word, shared_1, shared_2,
		shared_4, chained_1};
	struct tl_probe p[PLACES], *all[PLACES];
	int ret;

	for (int i = 0; i < PLACES; i++) {
		p[i] = (struct tl_probe){.addr = at[i], .pre = count, .flags = flags};
		all[i] = &p[i];
	}
	ret = tl_probes_register(all, PLACES, NULL);
	if (ret)
		return ret;
	nap(200);
	ret = tl_probes_unregister(all, PLACES);
	for (int i = 0; i < PLACES; i++)
		if (p[i].nmissed)
			ret = -TL_E_STATE;
	return ret;
}

static void held_at_every_point(unsigned flags)
{
	pthread_t t;
	long after;
	int ret = 0;

	run_on = true;
	hits = wrong = 0;
	memset(visits, 0, sizeof(visits));
	pthread_create(&t, NULL, runner, NULL);
	tl_race_hook = hold;
	for (int i = 0; i < 20 && !ret; i++)
		ret = arm_and_disarm(flags);
	tl_race_hook = NULL;
	after = hits;
	nap(2000);
	run_on = false;
	pthread_join(t, NULL);
	CHECK(ret == 0);
	CHECK(wrong == 0);
	CHECK(after > 0 && hits == after);
	CHECK(visits[RP_PUBLISHED] && visits[RP_TEXT_OPEN] && visits[RP_TRAPS_IN] &&
		visits[RP_TEXT_DONE] && visits[RP_GRACE]);
}

static void jumps_while_the_engine_is_held(void)
{
	held_at_every_point(0);
	CHECK(visits[RP_SPIN_HEAD] &&
		visits[RP_SPIN_TAIL]); /* odd_mid cannot be written by one store */
	CHECK(most[RP_TEXT_OPEN] > 0 && most[RP_TRAPS_IN] > 0 && most[RP_GRACE] > 0);
}

static void traps_while_the_engine_is_held(void)
{
	held_at_every_point(TL_PROBE_NO_JUMP);
	CHECK(!visits[RP_SPIN_HEAD]);
	CHECK(most[RP_TEXT_OPEN] > 0 && most[RP_TRAPS_IN] > 0 && most[RP_GRACE] > 0);
}

/* --- shared bytes ------------------------------------------------------------------------ */

static unsigned rung_of(const struct tl_probe *p)
{
	return p->site->patch->plan->rung;
}

static uint8_t shared_before[64];
static pthread_t in_shared;

/* Another thread runs through the shared bytes. */
static void enter_shared(void)
{
	memcpy(shared_before, (void *)shared, sizeof(shared_before));
	run_on = true;
	hits = wrong = 0;
	pthread_create(&in_shared, NULL, runner, NULL);
}

static void leave_shared(void)
{
	run_on = false;
	pthread_join(in_shared, NULL);
	CHECK(wrong == 0 && hits > 0);
	CHECK(!memcmp(shared_before, (void *)shared, sizeof(shared_before)));
}

/* Over and over, each one alone, while another thread runs through it. */
static void shared_bytes_under_a_running_thread(void)
{
	void *at[] = {shared_1, shared_2, shared_3, shared_4, shared_5};
	unsigned rungs[TL_RUNG_TRAP + 1] = {0};

	enter_shared();
	for (int i = 0; i < 500 && !wrong; i++) {
		struct tl_probe p = {.addr = at[i % 5], .pre = count, .flags = TL_PROBE_NO_TRAP};

		if (tl_probe_register(&p)) {
			wrong = 1;
			break;
		}
		rungs[rung_of(&p)]++;
		for (long from = hits; hits == from;)
			nap(20);
		wrong += tl_probe_unregister(&p) != 0;
	}
	leave_shared();
	CHECK(rungs[TL_RUNG_PUN] >= 100 && rungs[TL_RUNG_EVICT] >= 200);
	CHECK(rungs[TL_RUNG_PUN] + rungs[TL_RUNG_EVICT] == 500);
}

/* No detour can lie where the bytes of `chained` lead. */
static void leave_no_room(void)
{
	enum { PIECE = 1 << 20 };
	static const uint8_t top[] = {0x03, 0x04, 0x0b, 0x0c, 0x11};

	for (unsigned i = 0; i < sizeof(top); i++) {
		uintptr_t at =
			((uintptr_t)chained & ~(uintptr_t)(PIECE - 1)) + ((uintptr_t)top[i] << 24);

		for (uintptr_t end = at + (18 << 20); at < end; at += PIECE)
			mmap((void *)at, PIECE, PROT_NONE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
				-1, 0);
	}
}

static bool two_moved(const struct tl_probe *p)
{
	const struct tl_patch *moved = p->site->patch->moved;

	return moved && moved->mover == p->site->patch && moved->moved &&
	       moved->moved->mover == moved && !moved->moved->moved;
}

/* Two instructions go, one for the other's sake; then a probe comes on one of them. */
static void a_chain_under_a_running_thread(void)
{
	void *near[] = {chained_2, chained_3};
	uint8_t before[64];

	memcpy(before, (void *)chained, sizeof(before));
	enter_shared();
	for (int i = 0; i < 60 && !wrong; i++) {
		struct tl_probe p = {.addr = chained_1, .pre = count, .flags = TL_PROBE_NO_TRAP};
		struct tl_probe q = {.addr = near[i & 1], .pre = count};
		long from = hits;

		wrong += tl_probe_register(&p) || !two_moved(&p);
		while (!wrong && hits == from)
			nap(20);
		wrong += tl_probe_unregister(&p) != 0;
		p.flags = 0;
		wrong += tl_probe_register(&p) || !two_moved(&p) || tl_probe_register(&q);
		nap(20);
		wrong += tl_probe_unregister(&q) != 0;
		while (tl_optimizer_run())
			nap(20);
		wrong += !two_moved(&p);
		wrong += tl_probe_unregister(&p) != 0 || p.nmissed + q.nmissed != 0;
	}
	leave_shared();
	CHECK(!memcmp(before, (void *)chained, sizeof(before)));
}

/* A probe comes and goes on the bytes that another one's jump shares, or whose instruction it moved away. */
static void a_probe_on_shared_bytes(void)
{
	static char *const pairs[][2] = {
		{shared_3, shared_4}, {shared_1, shared_1 + 1}, {shared_2, shared_2 + 2}};

	enter_shared();
	for (int i = 0; i < 300 && !wrong; i++) {
		struct tl_probe p = {.addr = pairs[i % 3][0], .pre = count},
				q = {.addr = pairs[i % 3][1], .pre = count};

		wrong += tl_probe_register(&p) || rung_of(&p) == TL_RUNG_TRAP;
		wrong += tl_probe_register(&q) != 0;
		nap(20);
		wrong += tl_probe_unregister(i & 1 ? &p : &q) != 0;
		while (tl_optimizer_run()) /* the one that stays may do better now */
			nap(20);
		wrong += (rung_of(i & 1 ? &q : &p) == TL_RUNG_TRAP);
		wrong += tl_probe_unregister(i & 1 ? &q : &p) != 0;
		wrong += p.nmissed + q.nmissed != 0;
	}
	leave_shared();
}

/* --- a handler held -------------------------------------------------------------------- */

static volatile bool inside, let_go, came_back;

static int HANDLER wait_inside(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)regs;
	(void)self;
	inside = true;
	while (!let_go)
		;
	return 0;
}

static void *one_call(void *arg)
{
	long (*volatile p)(long, long) = plain;

	(void)arg;
	wrong += p(1, 2) != 10;
	return NULL;
}

static int HANDLER nested(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	long (*volatile s)(long) = shorts;

	(void)p;
	(void)regs;
	(void)self;
	wrong += s(1) != 5;
	return 0;
}

static void *take_away(void *arg)
{
	wrong += tl_probe_unregister(arg) != 0;
	came_back = true;
	return NULL;
}

/* Its probe may not be taken back while the handler runs; others may come and go meanwhile. */
static void a_handler_is_waited_for(void)
{
	struct tl_probe p = {.addr = (void *)plain, .pre = wait_inside};
	pthread_t caller, taker;

	inside = let_go = came_back = false;
	wrong = 0;
	CHECK(tl_probe_register(&p) == 0);
	pthread_create(&caller, NULL, one_call, NULL);
	while (!inside)
		nap(100);
	pthread_create(&taker, NULL, take_away, &p);
	nap(50000);
	CHECK(!came_back);
	let_go = true;
	pthread_join(taker, NULL);
	pthread_join(caller, NULL);
	CHECK(came_back && wrong == 0 && p.state == TL_PROBE_GONE);
}

/* A thread's very first hit goes the slow way; its handler is guarded like any other. */
static void a_first_hit_is_guarded_too(void)
{
	struct tl_probe p = {.addr = (void *)plain, .pre = nested},
			q = {.addr = (void *)shorts, .pre = count};
	struct tl_probe *both[] = {&p, &q};
	pthread_t t;

	hits = wrong = 0;
	CHECK(tl_probes_register(both, 2, NULL) == 0);
	pthread_create(&t, NULL, one_call, NULL);
	pthread_join(t, NULL);
	CHECK(tl_probes_unregister(both, 2) == 0);
	CHECK(wrong == 0 && hits == 0 && q.nmissed == 1);
}

/* --- a thread held that is in an older detour, in front of its handlers ---------------------- */

static volatile unsigned long seen_r12;

static int HANDLER see_r12(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)self;
	seen_r12 = regs->r12;
	return 0;
}

static void hold_first_hit(enum tl_race point)
{
	if (point != RP_CLAIMED)
		return;
	inside = true;
	while (!let_go)
		;
}

static unsigned long call_with_r12(unsigned long r12)
{
	long ret = 1;

	__asm__ volatile(
		"mov %1, %%r12; call plain"
		: "+D"(ret)
		: "r"(r12)
		: "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12", "memory", "cc");
	return seen_r12;
}

static void *one_call_with_r12(void *arg)
{
	(void)arg;
	call_with_r12(0x1212);
	return NULL;
}

/* A probe comes that asks for what that detour has not saved: the thread has come by before it. */
static void an_older_detour_calls_whom_it_serves(unsigned flags, bool alone)
{
	struct tl_probe p = {.addr = (void *)plain, .pre = count, .flags = flags},
			q = {.addr = (void *)plain, .pre = see_r12, .flags = flags | TL_PROBE_REGS};
	pthread_t t;

	inside = let_go = false;
	seen_r12 = hits = 0;
	wrong += tl_probe_register(&p) != 0;
	tl_race_hook = hold_first_hit;
	pthread_create(&t, NULL, one_call_with_r12, NULL);
	while (!inside)
		nap(100);
	tl_race_hook = NULL;
	wrong += tl_probe_register(&q) != 0;
	wrong += alone && tl_probe_unregister(&p) != 0;
	let_go = true;
	pthread_join(t, NULL);
	wrong += seen_r12 != 0 || hits != !alone;
	wrong += call_with_r12(0x3434) != 0x3434 || q.nmissed != 0;
	wrong += tl_probe_unregister(&q) != 0;
	wrong += !alone && tl_probe_unregister(&p) != 0;
}

static void a_probe_that_asks_for_more(void)
{
	wrong = 0;
	an_older_detour_calls_whom_it_serves(0, false);
	an_older_detour_calls_whom_it_serves(0, true);
	an_older_detour_calls_whom_it_serves(TL_PROBE_NO_JUMP, false);
	an_older_detour_calls_whom_it_serves(TL_PROBE_NO_JUMP, true);
	CHECK(wrong == 0);
}

/* --- a thread held that has run into a breakpoint ------------------------------------------ */

static bool nowhere; /* detours cannot be had at a wanted place: that leaves windows */

bool __real_tl_os_code_at_will(void), __wrap_tl_os_code_at_will(void);

bool __wrap_tl_os_code_at_will(void)
{
	return !nowhere && __real_tl_os_code_at_will();
}

static void hold_trapped(enum tl_race point)
{
	if (point != RP_TRAPPED)
		return;
	inside = true;
	while (!let_go)
		;
}

static void *call_swallowed(void *arg)
{
	(void)arg;
	wrong += swallowed(1) != 5;
	return NULL;
}

/* The breakpoint is taken away, and a window comes over its place: the thread must not go on amid the jump. */
static void after_a_breakpoint_at(void *at)
{
	struct tl_probe q = {.addr = at, .pre = count, .flags = TL_PROBE_NO_JUMP},
			p = {.addr = (void *)swallowed, .pre = count};
	pthread_t t;

	inside = let_go = false;
	CHECK(tl_probe_register(&q) == 0);
	pthread_create(&t, NULL, call_swallowed, NULL);
	while (!inside)
		nap(100);
	CHECK(tl_probe_unregister(&q) == 0);
	CHECK(tl_probe_register(&p) == 0 && rung_of(&p) == TL_RUNG_TRAP);
	let_go = true;
	pthread_join(t, NULL);
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(tl_probe_register(&p) == 0 && rung_of(&p) == TL_RUNG_WINDOW);
	CHECK(swallowed(2) == 6 && tl_probe_unregister(&p) == 0);
}

static void no_window_under_a_thread_that_trapped(void)
{
	wrong = 0;
	nowhere = true;
	tl_race_hook = hold_trapped;
	after_a_breakpoint_at(swallowed_amid); /* a byte behind is a boundary of the window, too */
	after_a_breakpoint_at(swallowed_last); /* a byte behind is its end */
	tl_race_hook = NULL;
	nowhere = false;
	CHECK(wrong == 0);
}

int main(void)
{
	leave_no_room();
	RUN(jumps_while_the_engine_is_held);
	RUN(traps_while_the_engine_is_held);
	RUN(shared_bytes_under_a_running_thread);
	RUN(a_probe_on_shared_bytes);
	RUN(a_chain_under_a_running_thread);
	RUN(a_handler_is_waited_for);
	RUN(a_first_hit_is_guarded_too);
	RUN(a_probe_that_asks_for_more);
	RUN(no_window_under_a_thread_that_trapped);
	for (int i = 0; i < RP_COUNT; i++)
		printf("# point %d: %u visits, up to %ld rounds meanwhile\n", i, visits[i],
			most[i]);
	tl_engine_exit();
	return UNIT_RESULT();
}
