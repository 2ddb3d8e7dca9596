/* SPDX-License-Identifier: MIT */
/*
 * Probes on the real process that registers them. With the argument `traps`
 * the same without jump optimization; with `long` the stress tests take their
 * full number of rounds.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <trapless/probe.h>

#include "../../unit.h"
#include "start.h"

#define HANDLER __attribute__((target("general-regs-only")))

long plain(long a, long b), shorts(long a), red_zone(long a), flags(long a, long b), keeper(long a);
long caller(long a), loop(long n), fact(long n), thrower(void (*f)(void));
typedef const char *park_fn(
	int unused, const void *from, int unused2, size_t n); /* in rsi and rcx */
park_fn park_1, park_2, park_3, park_4;
extern char red_zone_mid[], flags_mid[], keeper_mid[], caller_call[], loop_top[], many_begin[],
	many_end[];

extern char __executable_start[];

static bool traps, take_time;

static int HANDLER count(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)regs;
	(void)self;
	__atomic_fetch_add((long *)p->data, 1, __ATOMIC_RELAXED);
	return 0;
}

static long hits;

static struct tl_probe counting(void *addr)
{
	return (struct tl_probe){.addr = addr, .pre = count, .data = &hits};
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void nap(long ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&ts, &ts))
		;
}

/* Hides from the compiler which function is called. */
#define CALL(fn)                                                                                   \
	({                                                                                         \
		__typeof__(&fn) f_ = &fn;                                                          \
		__asm__("" : "+r"(f_));                                                            \
		f_;                                                                                \
	})

/* --- one probe ------------------------------------------------------------------- */

static void every_call_is_counted_and_the_text_comes_back(void)
{
	struct tl_probe p = counting((void *)plain);
	uint8_t before[16];
	long i;

	memcpy(before, (void *)plain, sizeof(before));
	hits = 0;
	CHECK(!tl_probe_register(&p));
	CHECK(memcmp(before, (void *)plain, sizeof(before)));
	for (i = 0; i < 1000; i++)
		CHECK(CALL(plain)(i, 2 * i) == 3 * i + 7);
	CHECK(hits == 1000);
	CHECK(!tl_probe_unregister(&p));
	CHECK(!memcmp(before, (void *)plain, sizeof(before)));
	CHECK(CALL(plain)(1, 2) == 10);
	CHECK(hits == 1000);
	CHECK(p.nmissed == 0);
}

static void every_shape_gives_the_same_results(void)
{
	struct tl_probe p[] = {counting((void *)shorts), counting(red_zone_mid),
		counting(flags_mid), counting(keeper_mid), counting(caller_call),
		counting(loop_top), counting((void *)fact)};
	struct tl_probe *all[sizeof(p) / sizeof(p[0])];
	const size_t n = sizeof(p) / sizeof(p[0]);
	size_t i;
	long a;

	for (i = 0; i < n; i++)
		all[i] = &p[i];
	hits = 0;
	CHECK(!tl_probes_register(all, n, NULL));
	for (a = 1; a <= 100; a++) {
		CHECK(CALL(shorts)(a) == 2 * a + 3);
		CHECK(CALL(red_zone)(a) == 2 * a + 1);
		CHECK(CALL(flags)(a, 50) == (a < 50));
		CHECK(CALL(keeper)(a) == a + 101);
		CHECK(CALL(caller)(a) == a + 8);
	}
	CHECK(hits == 500);
	CHECK(CALL(loop)(1000) == 1000);
	CHECK(hits == 1500);
	CHECK(CALL(fact)(10) == 3628800);
	CHECK(hits == 1510);
	CHECK(!tl_probes_unregister(all, n));
	CHECK(CALL(fact)(10) == 3628800);
	CHECK(hits == 1510);
}

static struct tl_regs seen;

static int HANDLER look(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)self;
	seen.di = regs->di;
	seen.si = regs->si;
	seen.bx = regs->bx;
	seen.ip = regs->ip;
	seen.sp = regs->sp;
	return 0;
}

static void HANDLER look_after(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)self;
	seen.ax = regs->ax;
}

static void handlers_see_the_registers(void)
{
	struct tl_probe p = {.addr = (void *)plain, .pre = look, .post = look_after};
	struct tl_probe k = {.addr = keeper_mid, .pre = look, .flags = TL_PROBE_REGS};
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	CHECK(!tl_probe_register(&p));
	memset(&seen, 0, sizeof(seen));
	CHECK(CALL(plain)(1234, 4321) == 1234 + 4321 + 7);
	CHECK(seen.di == 1234 && seen.si == 4321 && seen.ip == (uintptr_t)plain);
	CHECK(seen.sp < here && seen.sp > here - 4096);
	CHECK(seen.ax == 1234 + 4321 + 7);
	CHECK(!tl_probe_unregister(&p));
	CHECK(!tl_probe_register(&k));
	CHECK(CALL(keeper)(5) == 106);
	CHECK(seen.bx == 6);
	CHECK(!tl_probe_unregister(&k));
}

static int HANDLER change(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)self;
	if (p->flags & TL_PROBE_REGS)
		regs->bx += 1000;
	else
		regs->di += 1000;
	return 0;
}

static int HANDLER go_elsewhere(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)self;
	regs->ip = (uintptr_t)p->data;
	return 1;
}

static void HANDLER change_result(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)self;
	regs->ax = 99;
}

static void handlers_change_registers(void)
{
	struct tl_probe p = {.addr = (void *)plain, .pre = change};
	struct tl_probe k = {.addr = keeper_mid, .pre = change, .flags = TL_PROBE_REGS};
	struct tl_probe r = {.addr = (void *)plain, .post = change_result};

	CHECK(!tl_probe_register(&p));
	CHECK(CALL(plain)(1, 2) == 1010);
	CHECK(!tl_probe_unregister(&p));
	CHECK(!tl_probe_register(&k));
	CHECK(CALL(keeper)(5) == 1106);
	CHECK(!tl_probe_unregister(&k));
	CHECK(!tl_probe_register(&r));
	CHECK(CALL(plain)(1, 2) == 99);
	CHECK(!tl_probe_unregister(&r));
	CHECK(CALL(plain)(1, 2) == 10);
}

static void handlers_change_where_it_goes_on(void)
{
	struct tl_probe p = {.addr = (void *)plain, .pre = go_elsewhere, .data = (void *)shorts};

	CHECK(!tl_probe_register(&p));
	CHECK(CALL(plain)(20, 2) == 43);
	CHECK(!tl_probe_unregister(&p));
	CHECK(CALL(plain)(20, 2) == 29);
}

static int HANDLER deep(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	volatile char room[20000];
	size_t i;

	(void)regs;
	(void)self;
	for (i = 0; i < sizeof(room); i += 512)
		room[i] = 1;
	*(long *)p->data += room[512];
	return 0;
}

static void a_big_handler_runs_on_its_own_stack(void)
{
	struct tl_probe p = {
		.addr = (void *)plain, .pre = deep, .data = &hits, .flags = TL_PROBE_BIG_STACK};

	hits = 0;
	CHECK(!tl_probe_register(&p));
	CHECK(CALL(plain)(1, 2) == 10);
	CHECK(CALL(plain)(1, 3) == 11);
	CHECK(hits == 2);
	CHECK(!tl_probe_unregister(&p));
}

static void *one_call(void *arg)
{
	return CALL(plain)(1, 2) == 10 ? arg : NULL;
}

/* The detour that ran its handler has stayed; other threads come to it for the first time. */
static void a_big_handler_leaves_another_behind(void)
{
	struct tl_probe p = {.addr = (void *)plain,
				.pre = deep,
				.data = &hits,
				.flags = TL_PROBE_BIG_STACK},
			q = counting((void *)plain);
	pthread_t t;
	void *right;

	hits = 0;
	CHECK(!tl_probe_register(&p) && !tl_probe_register(&q));
	CHECK(!tl_probe_unregister(&p));
	for (long i = 1; i <= 50; i++) {
		pthread_create(&t, NULL, one_call, &p);
		pthread_join(t, &right);
		CHECK(right == &p && hits == i);
	}
	CHECK(!tl_probe_unregister(&q));
}

static int HANDLER run_into_probe(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)regs;
	(void)self;
	*(long *)p->data += CALL(plain)(0, 0) == 7;
	return 0;
}

static void a_probe_inside_a_handler_is_skipped_and_counted(void)
{
	struct tl_probe out = {.addr = (void *)shorts, .pre = run_into_probe};
	struct tl_probe in = counting((void *)plain);
	long right = 0;

	out.data = &right;
	hits = 0;
	CHECK(!tl_probe_register(&in));
	CHECK(!tl_probe_register(&out));
	CHECK(CALL(shorts)(1) == 5);
	CHECK(right == 1);
	CHECK(hits == 0);
	CHECK(!tl_probe_unregister(&out));
	CHECK(CALL(plain)(0, 0) == 7);
	CHECK(hits == 1);
	CHECK(!tl_probe_unregister(&in));
	CHECK(in.nmissed == 1);
}

/* --- several ------------------------------------------------------------------------- */

static long order, order_of[3];

static int HANDLER note_order(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)regs;
	(void)self;
	*(long *)p->data = ++order;
	return 0;
}

static void probes_at_one_place_all_run_oldest_first(void)
{
	struct tl_probe p[3];
	int i;

	for (i = 0; i < 3; i++) {
		p[i] = (struct tl_probe){
			.addr = (void *)plain, .pre = note_order, .data = &order_of[i]};
		CHECK(!tl_probe_register(&p[i]));
	}
	order = 0;
	CHECK(CALL(plain)(1, 2) == 10);
	CHECK(order_of[0] == 1 && order_of[1] == 2 && order_of[2] == 3);
	CHECK(!tl_probe_unregister(&p[1]));
	CHECK(CALL(plain)(1, 2) == 10);
	CHECK(order_of[0] == 4 && order_of[1] == 2 && order_of[2] == 5);
	CHECK(!tl_probe_disable(&p[0]));
	CHECK(CALL(plain)(1, 2) == 10);
	CHECK(order_of[0] == 4 && order_of[2] == 6);
	CHECK(!tl_probe_unregister(&p[0]));
	CHECK(!tl_probe_unregister(&p[2]));
	CHECK(CALL(plain)(1, 2) == 10);
	CHECK(order == 6);
}

static void probes_switch_on_and_off(void)
{
	struct tl_probe p = counting((void *)plain);

	p.flags = TL_PROBE_DISABLED;
	hits = 0;
	CHECK(!tl_probe_register(&p));
	CALL(plain)(1, 2);
	CHECK(hits == 0);
	CHECK(!tl_probe_enable(&p));
	CALL(plain)(1, 2);
	CHECK(hits == 1);
	tl_probes_silence(true);
	CHECK(CALL(plain)(1, 2) == 10);
	CHECK(hits == 1);
	tl_probes_silence(false);
	CALL(plain)(1, 2);
	CHECK(hits == 2);
	CHECK(!tl_probe_disable(&p));
	CALL(plain)(1, 2);
	CHECK(hits == 2);
	CHECK(!tl_probe_unregister(&p));
}

static void many_are_all_or_nothing(void)
{
	struct tl_probe a = counting((void *)plain), b = counting((char *)plain + 1),
			c = counting((void *)shorts);
	struct tl_probe *all[] = {&a, &c, &b};
	uint8_t before[16];
	size_t failed = 77;

	memcpy(before, (void *)plain, sizeof(before));
	CHECK(tl_probes_register(all, 3, &failed) == -TL_E_NOT_BOUNDARY);
	CHECK(failed == 2);
	CHECK(!memcmp(before, (void *)plain, sizeof(before)));
	hits = 0;
	CHECK(CALL(plain)(1, 2) == 10 && CALL(shorts)(1) == 5);
	CHECK(hits == 0);
	CHECK(!tl_probes_register(all, 2, NULL));
	CHECK(CALL(plain)(1, 2) == 10 && CALL(shorts)(1) == 5);
	CHECK(hits == 2);
	CHECK(!tl_probes_unregister(all, 2));
}

struct listing {
	int n, stop_at;
	struct tl_probe_info info[4];
};

static int take(const struct tl_probe_info *info, void *arg)
{
	struct listing *l = arg;

	if (l->n < 4)
		l->info[l->n] = *info;
	return ++l->n == l->stop_at;
}

static void the_list_says_where_and_how(void)
{
	struct tl_probe a = counting((void *)shorts), b = counting((void *)plain);
	struct listing l = {0};
	bool plain_first = (uintptr_t)plain < (uintptr_t)shorts;

	CHECK(!tl_probe_register(&a) && !tl_probe_register(&b));
	tl_probes_list(take, &l);
	CHECK(l.n == 2);
	CHECK(l.info[0].probe == (plain_first ? &b : &a) &&
		l.info[1].probe == (plain_first ? &a : &b));
	CHECK(l.info[0].state == TL_PROBE_ARMED);
	CHECK(l.info[0].rung == (traps ? TL_RUNG_TRAP : TL_RUNG_WHOLE));
	CHECK(l.info[1].rung == (traps ? TL_RUNG_TRAP : TL_RUNG_WINDOW));
	CHECK(l.info[0].addr == (uintptr_t)l.info[0].probe->addr);
	l = (struct listing){.stop_at = 1};
	tl_probes_list(take, &l);
	CHECK(l.n == 1);
	CHECK(!tl_probe_unregister(&a) && !tl_probe_unregister(&b));
	l = (struct listing){0};
	tl_probes_list(take, &l);
	CHECK(l.n == 0);
}

static int refusal(void *addr)
{
	struct tl_probe p = counting(addr);
	int ret = tl_probe_register(&p);

	if (!ret)
		tl_probe_unregister(&p);
	return ret;
}

/* As the C library's unwind table says of __restore_rt: the byte in front is the last of an instruction. */
static void a_function_begins_at_an_instruction(void)
{
	uintptr_t at = (uintptr_t)shorts - 1;
	struct tl_probe p = {.addr = (void *)at, .pre = count, .func_start = at, .func_size = 4};
	int ret = tl_probe_register(&p);

	if (!ret)
		tl_probe_unregister(&p);
	CHECK(ret == -TL_E_NOT_PROVEN);
}

/* Code, but of no file: with bounds, too. */
static void code_made_at_run_time_is_refused(void)
{
	char *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct tl_probe p = {.addr = made, .pre = count, .func_size = 8};

	p.func_start = (uintptr_t)made;
	CHECK(made != MAP_FAILED);
	memcpy(made, "\x48\x8d\x04\x37\x48\x01\xc0\xc3", 8);
	CHECK(!mprotect(made, 4096, PROT_READ | PROT_EXEC));
	CHECK(tl_probe_register(&p) == -TL_E_NOT_TEXT);
	CHECK(!munmap(made, 4096));
}

static void refusals_are_precise(void)
{
	char *vdso = (char *)getauxval(AT_SYSINFO_EHDR);
	static char data[64];

	CHECK(refusal((char *)plain + 2) == -TL_E_NOT_BOUNDARY);
	CHECK(refusal(data) == -TL_E_NOT_TEXT);
	CHECK(refusal(NULL) < 0);
	CHECK(refusal((void *)tl_probe_register) == -TL_E_SELF);
	if (vdso)
		CHECK(refusal(vdso + 0x800) == -TL_E_VDSO);
	CHECK(tl_probe_unregister(&(struct tl_probe){.addr = data}) < 0);
}

static int HANDLER skip_with_55(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)self;
	regs->ax = 55;
	regs->ip = (uintptr_t)p->data;
	return 1;
}

static int HANDLER add_1000(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)self;
	regs->di += 1000;
	return 0;
}

static void HANDLER count_after(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)regs;
	(void)self;
	hits++;
}

static long call_plain(long a)
{
	return CALL(plain)(a, 1);
}

static long call_shorts(long a)
{
	return CALL(shorts)(a);
}

static long call_caller(long a)
{
	return CALL(caller)(a);
}

static const struct place {
	uint32_t rung;
	void *at;
	size_t len; /* where it goes on: behind what a jump covers */
	long (*call)(long a);
	long usual, more,
		skipped; /* results for 5: as it is, with 1000 more, gone on behind with 55 */
} places[] = {
	{TL_RUNG_RETARGET, caller_call, 5, call_caller, 13, 1013, 55},
	{TL_RUNG_WHOLE, (void *)plain, 5, call_plain, 13, 1013, 55},
	{TL_RUNG_WINDOW, (void *)shorts, 10, call_shorts, 13, 2013, 55},
};

static const char *handlers_at(const struct place *pl, uint32_t flags)
{
	struct tl_probe p = {.addr = pl->at, .pre = add_1000, .flags = flags};
	struct tl_probe q = {.addr = pl->at, .post = count_after, .flags = flags};
	struct tl_probe r = {.addr = pl->at,
		.pre = skip_with_55,
		.data = (char *)pl->at + pl->len,
		.flags = flags};
	struct listing l = {0};

	if (tl_probe_register(&p))
		return "changing registers: refused";
	tl_probes_list(take, &l);
	if (l.info[0].rung != (traps || (flags & TL_PROBE_NO_JUMP) ? TL_RUNG_TRAP : pl->rung))
		return "another rung than expected";
	if (pl->call(5) != pl->more || tl_probe_unregister(&p) || pl->call(5) != pl->usual)
		return "changed registers";
	hits = 0;
	if (tl_probe_register(&q))
		return "post handler: refused";
	if (pl->call(5) != pl->usual || hits != 1 || tl_probe_unregister(&q))
		return "post handler";
	if (tl_probe_register(&r) || pl->call(5) != pl->skipped || tl_probe_unregister(&r))
		return "going on elsewhere";
	return pl->call(5) == pl->usual ? NULL : "not as before";
}

/* Registers, post handlers, going on elsewhere; each with few and with all registers saved. */
static void handlers_do_all_they_may_on_every_rung(void)
{
	static const uint32_t flags[] = {0, TL_PROBE_REGS, TL_PROBE_NO_JUMP,
		TL_PROBE_NO_JUMP | TL_PROBE_REGS, TL_PROBE_REGS | TL_PROBE_BIG_STACK};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		for (size_t k = 0; k < sizeof(flags) / sizeof(flags[0]) && !unit_why; k++)
			unit_why = handlers_at(&places[i], flags[k]);
}

static void optimizing_can_be_switched_while_armed(void)
{
	struct tl_probe p = counting((void *)plain), q = counting((void *)shorts);
	int i;

	hits = 0;
	CHECK(!tl_probe_register(&p) && !tl_probe_register(&q));
	for (i = 0; i < 10; i++) {
		CHECK(!tl_probes_optimize(i & 1));
		CHECK(CALL(plain)(1, 2) == 10 && CALL(shorts)(1) == 5);
	}
	CHECK(hits == 20);
	CHECK(!tl_probes_optimize(!traps));
	CHECK(!tl_probe_unregister(&p) && !tl_probe_unregister(&q));
}

static int take_detour(const struct tl_probe_info *info, void *arg)
{
	*(uintptr_t *)arg = info->detour;
	return 1;
}

static uintptr_t first_detour(void)
{
	uintptr_t at = 0;

	tl_probes_list(take_detour, &at);
	return at;
}

/* Without its post handler the place is given a smaller detour, by and by; not where the knob is off. */
static void the_optimizer_works_in_the_background(void)
{
	struct tl_probe p = counting((void *)plain),
			q = {.addr = (void *)plain, .post = count_after};
	long n = 0, wrong_ones = 0;
	uintptr_t with_post;

	CHECK(!tl_probe_register(&p) && !tl_probe_register(&q));
	with_post = first_detour();
	CHECK(!tl_probe_disable(&q));
	hits = 0;
	for (; n < (traps ? 50 : 5000) && first_detour() == with_post; n++) {
		wrong_ones += CALL(plain)(n, 2) != n + 9;
		nap(1);
	}
	CHECK((first_detour() == with_post) == traps && hits == n && !wrong_ones);
	CHECK(!tl_probe_enable(&q));
	CHECK(CALL(plain)(1, 2) == 10 && hits == n + 2);
	CHECK(!tl_probe_unregister(&q) && !tl_probe_unregister(&p));
}

/* --- threads ----------------------------------------------------------------------------- */

enum { THREADS = 8 };
static volatile int run_on;
static long calls, wrong;

static void *hammer(void *arg)
{
	long n = 0, bad = 0, max = (long)arg;

	while (max ? n < max : run_on) {
		bad += CALL(plain)(n, 3) != n + 10;
		bad += CALL(shorts)(n) != 2 * n + 3;
		n++;
	}
	__atomic_fetch_add(&calls, n, __ATOMIC_RELAXED);
	__atomic_fetch_add(&wrong, bad, __ATOMIC_RELAXED);
	return NULL;
}

static void start(pthread_t *t, long each)
{
	calls = wrong = 0;
	run_on = true;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, hammer, (void *)each);
}

static void join(pthread_t *t)
{
	run_on = false;
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static void eight_threads_are_counted_exactly(void)
{
	struct tl_probe p = counting((void *)plain), q = counting((void *)shorts);
	const long each = traps ? 20000 : 500000;
	pthread_t t[THREADS];

	hits = 0;
	CHECK(!tl_probe_register(&p) && !tl_probe_register(&q));
	start(t, each);
	join(t);
	CHECK(!tl_probe_unregister(&p) && !tl_probe_unregister(&q));
	CHECK(!wrong);
	CHECK(hits + (long)p.nmissed + (long)q.nmissed == 2 * THREADS * each);
	CHECK(p.nmissed == 0 && q.nmissed == 0);
}

/* No longer than the machine allows. */
static void arming_and_disarming_under_eight_threads(void)
{
	const int rounds = take_time ? 10000 : 250;
	const double limit = take_time ? 60000 : 8000;
	pthread_t t[THREADS];
	double begin = now_ms();
	int i, ret = 0;
	long during;

	hits = 0;
	start(t, 0);
	for (i = 0; i < rounds && !ret && now_ms() - begin < limit; i++) {
		struct tl_probe p = counting((void *)plain), q = counting((void *)shorts);

		ret = tl_probe_register(&p);
		if (!ret)
			ret = i % 50 ? 0 : tl_probe_register(&q); /* the one that stops everybody */
		if (!ret)
			ret = tl_probe_unregister(&p);
		if (!ret && i % 50 == 0)
			ret = tl_probe_unregister(&q);
	}
	during = hits;
	nap(20);
	join(t);
	printf("# %d rounds in %.0f ms, %ld calls, %ld hits\n", i, now_ms() - begin, calls, during);
	CHECK(!ret);
	CHECK(!wrong);
	CHECK(during > 0);
	CHECK(hits == during);
	if (i < rounds)
		SKIP(unit_told("out of time after %ld of %ld rounds", i, rounds));
}

/* --- somebody stands inside ---------------------------------------------------------------- */

static park_fn *const park[] = {park_1, park_2, park_3, park_4};
static const size_t much = 768ul << 20;
static char *zeros;
static volatile int in_handler, leave_handler;

struct parked {
	park_fn *fn;
	pthread_t thread;
	const char *end;
	volatile int there, done;
};

static void *go_park(void *arg)
{
	struct parked *p = arg;

	p->there = true;
	p->end = p->fn(0, zeros, 0, much);
	p->done = true;
	return NULL;
}

static void spin_in_handler(int sig)
{
	(void)sig;
	in_handler = true;
	while (!leave_handler)
		;
}

/* Does the jump of the probe that take() sees overwrite the boundary? */
static bool jump_covers(uintptr_t boundary)
{
	struct listing l = {0};

	tl_probes_list(take, &l);
	return l.n == 1 &&
	       (traps || (l.info[0].rung == TL_RUNG_WINDOW && l.info[0].patch < boundary &&
				 boundary < l.info[0].patch + l.info[0].patch_len));
}

static const char *park_and_probe(park_fn *fn, size_t boundary, bool handler)
{
	struct parked p = {.fn = fn};
	struct tl_probe probe = counting((void *)fn);
	const char *why = NULL;
	int ret;

	hits = 0;
	in_handler = leave_handler = false;
	pthread_create(&p.thread, NULL, go_park, &p);
	while (!p.there)
		nap(1);
	nap(20);
	if (handler) {
		pthread_kill(p.thread, SIGUSR1);
		while (!in_handler)
			nap(1);
	}
	ret = tl_probe_register(&probe);
	if (p.done)
		why = "the thread did not wait: make `much` more";
	else if (ret)
		why = tl_error_name(ret);
	else if (!jump_covers((uintptr_t)fn + boundary))
		why = "no jump over the boundary";
	leave_handler = true;
	if (!why) {
		if (fn(0, zeros, 0, 5) != zeros + 6)
			why = "wrong result of a fresh call";
		if (hits != 1)
			why = "a fresh call was not counted once";
		if (tl_probe_unregister(&probe))
			why = "cannot be unregistered";
		if (fn(0, zeros, 0, 5) != zeros + 6 || hits != 1)
			why = "wrong after it was taken away";
	}
	pthread_join(p.thread, NULL);
	if (p.end != zeros + much + 1)
		why = "wrong result of the parked thread";
	return why;
}

static void on_every_boundary(bool handler)
{
	struct sigaction sa = {.sa_handler = spin_in_handler};

	sigaction(SIGUSR1, &sa, NULL);
	zeros = mmap(NULL, much, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(zeros != MAP_FAILED);
	for (size_t i = 0; i < sizeof(park) / sizeof(park[0]) && !unit_why; i++)
		unit_why = park_and_probe(park[i], i + 1, handler);
	munmap(zeros, much);
}

static void a_thread_parked_on_each_inner_boundary(void)
{
	on_every_boundary(false);
}

static void a_signal_handler_parked_on_each_inner_boundary(void)
{
	on_every_boundary(true);
}

/* --- the rest of a program's life ------------------------------------------------------------- */

static void a_fork_child_is_silent(void)
{
	struct tl_probe p = counting((void *)plain);
	int st;
	pid_t pid;

	hits = 0;
	CHECK(!tl_probe_register(&p));
	CHECK(CALL(plain)(1, 2) == 10);
	pid = fork();
	if (!pid)
		_exit(CALL(plain)(1, 2) != 10 ? 2 : hits != 1);
	CHECK(waitpid(pid, &st, 0) == pid);
	CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 0);
	CHECK(CALL(plain)(1, 2) == 10);
	CHECK(hits == 2);
	CHECK(!tl_probe_unregister(&p));
}

/* glibc blocks every signal while it spawns, and the child borrows our memory. */
static void children_are_spawned_through_probes(void)
{
	static char *const argv[] = {"/bin/true", NULL};
	void *at[] = {(void *)CALL(malloc), (void *)CALL(free), (void *)CALL(calloc),
		(void *)CALL(sigaction), (void *)CALL(execve), (void *)CALL(sigprocmask)};
	struct tl_probe p[6], *all[6];
	int i, st, bad = 0;

	if (traps)
		SKIP("in the own process a breakpoint kills a thread that blocks SIGTRAP");
	for (i = 0; i < 6; i++) {
		p[i] = counting(at[i]);
		p[i].flags = TL_PROBE_NO_TRAP;
		all[i] = &p[i];
	}
	hits = 0;
	CHECK(!tl_probes_register(all, 6, NULL));
	for (i = 0; i < 50; i++) {
		pid_t pid;

		bad |= posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) ||
		       waitpid(pid, &st, 0) != pid || st;
		bad |= system("exit 7") != 7 << 8;
	}
	CHECK(!tl_probes_unregister(all, 6));
	CHECK(!bad);
	CHECK(hits > 0);
}

static volatile int program_traps;

static void program_handler(int sig)
{
	(void)sig;
	program_traps++;
}

static void the_programs_own_trap_handler_works_on(void)
{
	struct sigaction sa = {.sa_handler = program_handler}, was;
	struct tl_probe p = counting((void *)plain);

	sigaction(SIGTRAP, &sa, &was);
	p.flags = TL_PROBE_NO_JUMP;
	hits = program_traps = 0;
	CHECK(!tl_probe_register(&p));
	CHECK(CALL(plain)(1, 2) == 10);
	__asm__ volatile("int3");
	raise(SIGTRAP);
	CHECK(CALL(plain)(1, 2) == 10);
	CHECK(hits == 2);
	CHECK(program_traps == 2);
	CHECK(!tl_probe_unregister(&p));
	__asm__ volatile("int3");
	CHECK(program_traps == 3);
}

/* Somebody probes this program by the kernel's means, elsewhere. -1: not allowed, or not known here. */
static int uprobe(uint64_t offset)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .config1 = (uintptr_t) "/proc/self/exe", .config2 = offset};
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	bool known = f && fscanf(f, "%u", &attr.type) == 1;

	if (f)
		fclose(f);
	return known ? (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) : -1;
}

static sigjmp_buf after_fault;
static void *volatile nowhere = (void *)8;

static void leave_fault(int sig)
{
	(void)sig;
	siglongjmp(after_fault, 1);
}

/* A trap of another number. */
static void fault(void)
{
	struct sigaction sa = {.sa_handler = leave_fault}, was;

	sigaction(SIGSEGV, &sa, &was);
	if (!sigsetjmp(after_fault, 1))
		*(volatile char *)nowhere = 0;
	sigaction(SIGSEGV, &was, NULL);
}

/* Then the kernel says of a breakpoint that it was the trap before. */
static void breakpoints_beside_a_uprobe(void)
{
	struct tl_probe p = counting((void *)plain);
	int fd = uprobe((uintptr_t)shorts - (uintptr_t)__executable_start);

	if (fd < 0)
		SKIP("no uprobes here");
	p.flags = TL_PROBE_NO_JUMP;
	hits = 0;
	CHECK(!tl_probe_register(&p));
	fault();
	CHECK(CALL(shorts)(1) == 5 && CALL(plain)(1, 2) == 10);
	CHECK(hits == 1);
	close(fd);
	CHECK(CALL(plain)(1, 2) == 10 && hits == 2);
	CHECK(!tl_probe_unregister(&p));
}

static void *libc_work(void *arg)
{
	char text[200], copy[200];
	long bad = 0;
	int i;

	(void)arg;
	for (i = 0; i < (traps ? 500 : 20000); i++) {
		size_t n = 1 + (size_t)i % 180;
		char *m = CALL(malloc)(n);

		memset(text, 'x', n);
		text[n] = 0;
		CALL(memcpy)(copy, text, n + 1);
		bad += CALL(strlen)(copy) != n || !m;
		CALL(free)(m);
	}
	__atomic_fetch_add(&wrong, bad, __ATOMIC_RELAXED);
	return NULL;
}

static void libc_functions_under_work(void)
{
	void *at[] = {(void *)CALL(malloc), (void *)CALL(free), (void *)CALL(memcpy),
		(void *)CALL(strlen)};
	long n[4] = {0}, rounds = traps ? 500 : 20000;
	struct tl_probe p[4], *all[4];
	pthread_t t[4];
	int i;

	for (i = 0; i < 4; i++) {
		p[i] = counting(at[i]);
		p[i].data = &n[i];
		all[i] = &p[i];
	}
	wrong = 0;
	CHECK(!tl_probes_register(all, 4, NULL));
	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, libc_work, NULL);
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	CHECK(!tl_probes_unregister(all, 4));
	CHECK(!wrong);
	for (i = 0; i < 4; i++)
		CHECK(n[i] >= 4 * rounds);
}

static int again_and_again(size_t n, struct tl_probe *p, struct tl_probe **all)
{
	double a, b, c;
	size_t i;
	int ret;

	for (i = 0; i < n; i++) {
		p[i] = counting(many_begin + 32 * i);
		all[i] = &p[i];
	}
	a = now_ms();
	ret = tl_probes_register(all, n, NULL);
	if (ret)
		return ret;
	b = now_ms();
	hits = 0;
	for (i = 0; i < n; i++) {
		if (((long (*)(long))(uintptr_t)p[i].addr)((long)i) != (long)i + 1)
			return -1000;
	}
	if (hits != (long)n)
		return -1001;
	c = now_ms();
	ret = tl_probes_unregister(all, n);
	printf("# %zu probes: registered in %.1f ms, unregistered in %.1f ms\n", n, b - a,
		now_ms() - c);
	return ret;
}

static void twenty_thousand_probes(void)
{
	const size_t n = 20000;
	struct tl_probe *p = calloc(n, sizeof(*p)), **all = calloc(n, sizeof(*all));
	size_t size = (size_t)(many_end - many_begin);
	char *before = malloc(size);
	int ret;

	memcpy(before, many_begin, size);
	ret = again_and_again(n, p, all);
	if (!ret)
		ret = again_and_again(n, p, all);
	CHECK(ret == 0);
	CHECK(!memcmp(before, many_begin, size));
	free(before);
	free(all);
	free(p);
}

static long executable_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	long n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, "r-xp") != NULL || strstr(line, "rwxp") != NULL;
	if (f)
		fclose(f);
	return n;
}

static void probes_one_by_one_take_few_mappings(void)
{
	const size_t n = 2000;
	struct tl_probe *p = calloc(n, sizeof(*p));
	long before = executable_mappings(), more;
	size_t i;
	int ret = 0;

	for (i = 0; i < n && !ret; i++) {
		p[i] = counting(many_begin + 32 * i);
		ret = tl_probe_register(&p[i]);
	}
	more = executable_mappings() - before;
	printf("# %zu probes one by one: %ld executable mappings more\n", n, more);
	while (i--)
		ret |= tl_probe_unregister(&p[i]);
	CHECK(!ret);
	CHECK(more < (long)n / 10);
	free(p);
}

static void *few_calls(void *arg)
{
	long bad = 0;

	for (long i = 0; i < 10; i++)
		bad += CALL(plain)(i, 3) != i + 10;
	__atomic_fetch_add(&wrong, bad, __ATOMIC_RELAXED);
	return arg;
}

/* The C library gives a dead thread's block, and so its thread pointer, to the next one. */
static void threads_that_come_and_go_are_counted(void)
{
	struct tl_probe p = counting((void *)plain);
	pthread_t t[4];
	int i, k;

	hits = wrong = 0;
	CHECK(!tl_probe_register(&p));
	for (i = 0; i < 300; i++) {
		for (k = 0; k < 4; k++)
			pthread_create(&t[k], NULL, few_calls, NULL);
		for (k = 0; k < 4; k++)
			pthread_join(t[k], NULL);
	}
	CHECK(!tl_probe_unregister(&p));
	CHECK(!wrong);
	CHECK(hits == 300 * 4 * 10);
	CHECK(p.nmissed == 0);
}

/* Opened again it lies at the same place, as a rule: nothing may be written back there. */
static void a_closed_library_takes_its_probes_along(void)
{
	struct tl_probe p = {0};
	uint8_t pristine[64];
	void *last = NULL;
	int same = 0;

	hits = 0;
	for (int i = 0; i < 10; i++) {
		void *lib = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
		double (*fn)(double);

		if (!lib)
			SKIP("no libm.so.6 that can be opened");
		*(void **)&fn = dlsym(lib, "sinh");
		CHECK(fn);
		if (!i)
			memcpy(pristine, *(void **)&fn, sizeof(pristine));
		CHECK(!memcmp(pristine, *(void **)&fn, sizeof(pristine)));
		same += *(void **)&fn == last;
		last = *(void **)&fn;
		if (i) {
			CHECK(!tl_probe_unregister(&p) && p.state == TL_PROBE_GONE);
			CHECK(!memcmp(pristine, last, sizeof(pristine)));
		}
		p = counting(last);
		CHECK(!tl_probe_register(&p));
		CHECK(fn(0.0) == 0.0);
		CHECK(hits == i + 1);
		dlclose(lib);
	}
	printf("# mapped at the same place %d times of 9\n", same);
	CHECK(!tl_probe_unregister(&p));
}

static void the_engine_leaves_and_comes_back(void)
{
	struct tl_probe p = counting((void *)plain);
	long before;

	tl_engine_exit();
	before = executable_mappings();
	hits = 0;
	CHECK(!tl_engine_init());
	CHECK(!tl_probes_optimize(!traps));
	CHECK(!tl_probe_register(&p));
	CALL(plain)(1, 2);
	CHECK(hits == 1);
	tl_engine_exit();
	CHECK(CALL(plain)(1, 2) == 10);
	CHECK(hits == 1);
	CHECK(executable_mappings() == before);
	CHECK(!tl_engine_init());
	CHECK(!tl_probes_optimize(!traps));
}

/* --- return probes ---------------------------------------------------------------------------------- */

static long entries, returns, last_result, depth_seen;

static int HANDLER on_entry(struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self)
{
	(void)self;
	*(uint64_t *)c->data = regs->di;
	entries++;
	return 0;
}

static void HANDLER on_return(struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self)
{
	(void)self;
	returns++;
	last_result = (long)regs->ax;
	depth_seen += *(long *)c->data;
}

static struct tl_retprobe returning(void *fn)
{
	entries = returns = depth_seen = 0;
	return (struct tl_retprobe){
		.entry = fn, .on_entry = on_entry, .on_return = on_return, .data_size = 8};
}

static void returns_pair_with_their_entries(void)
{
	struct tl_retprobe r = returning((void *)fact);

	CHECK(!tl_retprobe_register(&r));
	CHECK(CALL(fact)(10) == 3628800);
	CHECK(entries == 10 && returns == 10);
	CHECK(last_result == 3628800);
	CHECK(depth_seen == 55);
	CHECK(!tl_retprobe_unregister(&r));
	CHECK(CALL(fact)(5) == 120);
	CHECK(returns == 10 && r.nmissed == 0 && r.nabandoned == 0);
}

static jmp_buf back;

static void leave(void)
{
	longjmp(back, 1);
}

static void stay(void)
{
}

static void calls_left_by_longjmp_are_counted_as_such(void)
{
	struct tl_retprobe r = returning((void *)thrower);
	volatile int i;

	CHECK(!tl_retprobe_register(&r));
	for (i = 0; i < 1000; i++) {
		if (!setjmp(back))
			CALL(thrower)(leave);
	}
	CHECK(CALL(thrower)(stay) == 5);
	CHECK(!tl_retprobe_unregister(&r));
	CHECK(entries == 1001 && returns == 1);
	CHECK(r.nabandoned == 1000);
}

static void arguments_are_checked(void)
{
	struct tl_probe p = {.addr = (void *)plain, .pre = count, .flags = TL_PROBE_FLAGS + 1};
	struct tl_retprobe r = {.entry = (void *)plain, .on_return = on_return};

	CHECK(tl_probe_register(&p) == -TL_E_INVAL);
	p.flags = TL_PROBE_NO_JUMP | TL_PROBE_NO_TRAP;
	CHECK(tl_probe_register(&p) == -TL_E_INVAL);
	p.flags = 0;
	p.func_start = (uintptr_t)plain + 1;
	p.func_size = 8;
	CHECK(tl_probe_register(&p) == -TL_E_INVAL);
	p.func_start = (uintptr_t)plain - 8;
	CHECK(tl_probe_register(&p) == -TL_E_INVAL);
	r.maxactive = (1 << 20) + 1;
	CHECK(tl_retprobe_register(&r) == -TL_E_INVAL);
	r.maxactive = 0;
	r.flags = TL_PROBE_FLAGS + 1;
	CHECK(tl_retprobe_register(&r) == -TL_E_INVAL);
}

int main(int argc, char **argv)
{
	(void)argc;
	traps = has_argument(argv, "traps");
	take_time = has_argument(argv, "long");
	if (!engine_started(traps))
		return 1;
	RUN(every_call_is_counted_and_the_text_comes_back);
	RUN(every_shape_gives_the_same_results);
	RUN(handlers_see_the_registers);
	RUN(handlers_change_registers);
	RUN(handlers_change_where_it_goes_on);
	RUN(a_big_handler_runs_on_its_own_stack);
	RUN(a_big_handler_leaves_another_behind);
	RUN(a_probe_inside_a_handler_is_skipped_and_counted);
	RUN(probes_at_one_place_all_run_oldest_first);
	RUN(probes_switch_on_and_off);
	RUN(many_are_all_or_nothing);
	RUN(the_list_says_where_and_how);
	RUN(refusals_are_precise);
	RUN(arguments_are_checked);
	RUN(code_made_at_run_time_is_refused);
	RUN(a_function_begins_at_an_instruction);
	RUN(handlers_do_all_they_may_on_every_rung);
	RUN(optimizing_can_be_switched_while_armed);
	RUN(the_optimizer_works_in_the_background);
	RUN(eight_threads_are_counted_exactly);
	RUN(arming_and_disarming_under_eight_threads);
	RUN(a_thread_parked_on_each_inner_boundary);
	RUN(a_signal_handler_parked_on_each_inner_boundary);
	RUN(a_fork_child_is_silent);
	RUN(children_are_spawned_through_probes);
	RUN(the_programs_own_trap_handler_works_on);
	RUN(breakpoints_beside_a_uprobe);
	RUN(libc_functions_under_work);
	RUN(twenty_thousand_probes);
	RUN(probes_one_by_one_take_few_mappings);
	RUN(threads_that_come_and_go_are_counted);
	RUN(a_closed_library_takes_its_probes_along);
	RUN(the_engine_leaves_and_comes_back);
	RUN(returns_pair_with_their_entries);
	RUN(calls_left_by_longjmp_are_counted_as_such);
	tl_engine_exit();
	return UNIT_RESULT();
}
