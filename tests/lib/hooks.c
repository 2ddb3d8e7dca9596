/* SPDX-License-Identifier: MIT */
/*
 * Static hooks from inside: lists, listeners, verdicts, switches; threads that run through while all of it changes. TL_HOOK_FORM
 * says which form the places have.
 *   hooks [long]
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <trapless/hooks.h>

#include "../unit.h"
#include "hooks.h"

/* As `linux` and `unix` are to some compilers. */
#define plain 1
TL_HOOK(plain, plain, (long, n))

/* What the places are in. */
__attribute__((noinline)) static long work(long i)
{
	tl_hook(demo, tick, i, "near");
	return far_tick(i);
}

/* --- lists ------------------------------------------------------------------------ */

struct names {
	unsigned n;
	char names[256];
};

static int note_name(const struct tl_hook_info *info, void *arg)
{
	struct names *names = arg;

	names->n++;
	strcat(strcat(names->names, info->name), " ");
	return 0;
}

static void patterns_choose_hooks(void)
{
	struct names all = {0}, sec = {0}, none = {0};

	CHECK(!tl_hooks_list("*", note_name, &all) && all.n == 6);
	CHECK(strstr(all.names, "demo:kinds ") && strstr(all.names, "sec:best "));
	CHECK(!tl_hooks_list("sec:*", note_name, &sec) && sec.n == 2);
	CHECK(!tl_hooks_list("demo:tic", note_name, &none) && !none.n);
	CHECK(tl_hook_find("demo:tick") == TL_HOOK_OF(demo, tick) && !tl_hook_find("demo:no"));
}

static int stop_at_once(const struct tl_hook_info *info, void *arg)
{
	++*(int *)arg;
	return info->form == TL_HOOK_FORM ? 42 : -1;
}

static void hooks_are_described(void)
{
	struct tl_hook_info info;
	int n = 0;

	CHECK(tl_hooks_list("*", stop_at_once, &n) == 42 && n == 1);
	CHECK(!tl_hook_describe(TL_HOOK_OF(demo, kinds), &info));
	CHECK(!strcmp(info.name, "demo:kinds") && info.nparameters == 6 && !info.nlisteners);
	CHECK(!strcmp(info.parameter[0].type, "unsigned char") && info.parameter[0].size == 1);
	CHECK(!info.parameter[0].is_signed && info.parameter[1].is_signed);
	CHECK(!strcmp(info.parameter[4].name, "at") &&
		info.parameter[4].size == sizeof(struct point));
	CHECK(!tl_hook_describe(TL_HOOK_OF(demo, tick), &info) && !info.on);
	CHECK(TL_HOOK_FORM ? info.nplaces >= 2 : !info.nplaces);
	CHECK(!strcmp(info.parameter[1].type, "const char *"));
	CHECK(tl_hook_describe((struct tl_hook *)&n, &info) == -TL_E_NO_HOOK);
}

/* --- listening ---------------------------------------------------------------------- */

static char order[64];
static long sum;

static void on_tick(void *data, long i, const char *word)
{
	strcat(order, data);
	sum += i * (*word == 'n' ? 1 : 100);
}

static bool come(const char *want, long total)
{
	bool same;

	order[0] = 0;
	sum = 0;
	work(3);
	same = !strcmp(order, want) && sum == total;
	if (!same)
		printf("# came \"%s\", %ld\n", order, sum);
	return same;
}

static void listeners_come_in_order_and_leave_alone(void)
{
	CHECK(!tl_hook_enabled(demo, tick) && come("", 0));
	CHECK(!tl_hook_listen(demo, tick, on_tick, "a"));
	CHECK(tl_hook_enabled(demo, tick) && come("aa", 303));
	CHECK(!tl_hook_listen(demo, tick, on_tick, "b"));
	CHECK(!tl_hook_listen(demo, tick, on_tick, "c") && come("abcabc", 909));
	CHECK(tl_hook_listen(demo, tick, on_tick, "b") == -TL_E_STATE);
	CHECK(!tl_hook_unlisten(demo, tick, on_tick, "b") && come("acac", 606));
	CHECK(tl_hook_unlisten(demo, tick, on_tick, "b") == -TL_E_STATE);
	CHECK(!tl_hook_unlisten(demo, tick, on_tick, "a") && come("cc", 303));
	CHECK(!tl_hook_unlisten(demo, tick, on_tick, "c") && come("", 0));
	CHECK(!tl_hook_enabled(demo, tick));
}

static bool kinds_right;

static void on_kinds(void *data, unsigned char small, short negative, float f, double d,
	struct point at, struct wide w)
{
	(void)data;
	kinds_right = small == 200 && negative == -7 && f == 1.5f && d == 2.25 && at.x == 1 &&
		      at.y == -2 && w.a == 3 && w.b == 4 && w.c == -5;
}

static void any_kinds(void *data, const struct tl_hook_call *call)
{
	const struct tl_hook_demo_kinds_values *v = call->values;

	if (call->hook != TL_HOOK_OF(demo, kinds) || call->size != sizeof(*v))
		return;
	*(bool *)data = v->small == 200 && v->negative == -7 && v->f == 1.5f && v->d == 2.25 &&
			v->at.y == -2 && v->w.c == -5;
}

static void eight(void *data, int a, int b, int c, int d, int e, int f, int g, int h)
{
	*(int *)data = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

static void parameters_of_all_kinds_arrive(void)
{
	const struct point at = {1, -2};
	const struct wide w = {3, 4, -5};
	bool any = false;
	int eights = 0;

	CHECK(!tl_hook_listen(demo, kinds, on_kinds, NULL));
	CHECK(tl_hooks_attach("demo:kinds", any_kinds, &any) == 1);
	tl_hook(demo, kinds, 200, -7, 1.5f, 2.25, at, w);
	CHECK(kinds_right && any);
	CHECK(tl_hooks_detach("demo:*", any_kinds, &any) == 1);
	CHECK(!tl_hook_unlisten(demo, kinds, on_kinds, NULL));
	CHECK(!tl_hook_listen(demo, many, eight, &eights));
	tl_hook(demo, many, 1, 2, 3, 4, 5, 6, 7, 8);
	CHECK(eights == 204);
	CHECK(!tl_hook_unlisten(demo, many, eight, &eights));
}

/* --- verdicts --------------------------------------------------------------------------- */

static int asked;

static int judge(void *data, const char *path, int flags)
{
	asked++;
	return *path == '/' || flags ? 0 : *(int *)data;
}

static void any_judge(void *data, const struct tl_hook_call *call)
{
	(void)data;
	if (call->verdict_size == sizeof(int))
		*(int *)call->verdict = -99;
}

__attribute__((noinline)) static int may_open(const char *path)
{
	return tl_verdict(sec, may_open, path, 0);
}

static void the_first_that_decides_decides(void)
{
	int one = -1, two = -2, none = 0;

	CHECK(may_open("x") == 0);
	CHECK(!tl_hook_listen(sec, may_open, judge, &none));
	CHECK(!tl_hook_listen(sec, may_open, judge, &one));
	CHECK(!tl_hook_listen(sec, may_open, judge, &two));
	asked = 0;
	CHECK(may_open("x") == -1 && asked == 2);
	CHECK(may_open("/x") == 0 && asked == 5);
	CHECK(!tl_hook_unlisten(sec, may_open, judge, &one) && may_open("x") == -2);
	CHECK(tl_hooks_attach("sec:may*", any_judge, NULL) == 1);
	CHECK(may_open("/x") == -99 && may_open("x") == -2);
	CHECK(tl_hooks_detach("sec:may*", any_judge, NULL) == 1);
	CHECK(!tl_hook_unlisten(sec, may_open, judge, &two));
	CHECK(!tl_hook_unlisten(sec, may_open, judge, &none) && may_open("x") == 0);
}

static const char *best(void *data, int n)
{
	return n > 1 ? data : NULL;
}

static void verdicts_may_be_pointers(void)
{
	CHECK(!tl_verdict(sec, best, 5));
	CHECK(!tl_hook_listen(sec, best, best, "gold"));
	CHECK(!tl_verdict(sec, best, 1) && !strcmp(tl_verdict(sec, best, 2), "gold"));
	CHECK(!tl_hook_unlisten(sec, best, best, "gold"));
}

/* --- switches --------------------------------------------------------------------------- */

static unsigned nany;

static void count_any(void *data, const struct tl_hook_call *call)
{
	(void)data;
	(void)call;
	nany++;
}

static void patterns_switch_hooks(void)
{
	CHECK(tl_hooks_switch("demo:t*", TL_HOOKS_ON) == 1 && tl_hook_enabled(demo, tick));
	CHECK(come("", 0) && !tl_hook_enabled(demo, many));
	CHECK(!tl_hook_listen(demo, tick, on_tick, "a") && come("aa", 303));
	CHECK(tl_hooks_switch("*:tick", TL_HOOKS_OFF) == 1 && come("", 0));
	CHECK(tl_hooks_switch("*", TL_HOOKS_AUTO) == 6 && come("aa", 303));
	CHECK(!tl_hook_unlisten(demo, tick, on_tick, "a") && !tl_hook_enabled(demo, tick));
	CHECK(tl_hooks_switch("no:*", TL_HOOKS_ON) == 0);

	CHECK(tl_hooks_attach("demo:*", count_any, NULL) == 3);
	CHECK(tl_hooks_attach("*", count_any, NULL) == 3); /* the others */
	nany = 0;
	work(1);
	tl_hook(demo, many, 1, 2, 3, 4, 5, 6, 7, 8);
	CHECK(nany == 3 && tl_hooks_detach("*", count_any, NULL) == 6);
	work(1);
	CHECK(nany == 3 && !tl_hooks_detach("*", count_any, NULL));
}

/* --- what is refused ---------------------------------------------------------------------- */

static int in_handler[3];

static void try_from_handler(int sig)
{
	(void)sig;
	in_handler[0] = tl_hook_listen(demo, tick, on_tick, "h");
	in_handler[1] = tl_hook_unlisten(demo, tick, on_tick, "h");
	in_handler[2] = tl_hooks_switch("*", TL_HOOKS_ON);
}

static int from_within;

static void leave_from_within(void *data, long i, const char *word)
{
	(void)i;
	(void)word;
	from_within = tl_hook_unlisten(demo, tick, leave_from_within, data);
}

static void come_from_within(void *data, long i, const char *word)
{
	(void)i;
	(void)word;
	from_within = tl_hook_listen(demo, tick, on_tick, data);
}

static void what_cannot_be_is_refused(void)
{
	CHECK(tl_hook_attach(NULL, (tl_hook_fn)on_tick, NULL) == -TL_E_INVAL);
	CHECK(tl_hook_attach(TL_HOOK_OF(demo, tick), NULL, NULL) == -TL_E_INVAL);
	CHECK(tl_hook_attach((struct tl_hook *)&sum, (tl_hook_fn)on_tick, NULL) == -TL_E_NO_HOOK);
	CHECK(tl_hook_detach((struct tl_hook *)order, (tl_hook_fn)on_tick, NULL) == -TL_E_NO_HOOK);
	CHECK(tl_hooks_switch("*", 7) == -TL_E_INVAL);
	signal(SIGUSR1, try_from_handler);
	raise(SIGUSR1);
	signal(SIGUSR1, SIG_DFL);
	for (int i = 0; i < 3; i++)
		CHECK(in_handler[i] == -TL_E_IN_SIGNAL);
	CHECK(come("", 0));
	CHECK(!tl_hook_listen(demo, tick, leave_from_within, NULL));
	CHECK(come("", 0) && from_within == -TL_E_IN_CALLBACK);
	CHECK(!tl_hook_unlisten(demo, tick, leave_from_within, NULL));
	CHECK(!tl_hook_listen(demo, tick, come_from_within, "x"));
	CHECK(come("", 0) && from_within == -TL_E_IN_CALLBACK);
	CHECK(!tl_hook_unlisten(demo, tick, come_from_within, "x") && come("", 0));
}

/* --- threads ------------------------------------------------------------------------------- */

enum { THREADS = 8, LISTENERS = 4 };

static struct listener {
	uint32_t here; /* it may be called */
	uint32_t wrong, refused;
	uint64_t calls;
} listeners[THREADS / 2][LISTENERS];
static bool enough, called;
static long rounds; /* of each thread that changes */

static void on_any_tick(void *data, long i, const char *word)
{
	struct listener *l = data;

	(void)i;
	(void)word;
	if (!__atomic_load_n(&l->here, __ATOMIC_SEQ_CST))
		__atomic_fetch_add(&l->wrong, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&l->calls, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&called, true, __ATOMIC_RELAXED);
}

static void *run_through(void *arg)
{
	/* Not preempted within a listener all the time, where there are fewer processors. */
	for (unsigned n = 0; !__atomic_load_n(&enough, __ATOMIC_RELAXED); n++) {
		work(1);
		if (n % 16 == 0)
			sched_yield();
	}
	return arg;
}

/* Its own listeners come and go; the last one is always there, so that some hook is on or off at random. */
static void *change_all(void *arg)
{
	struct listener *mine = arg;
	unsigned seed = (unsigned)(uintptr_t)mine;

	/* On a busy machine it may take a while until anybody runs through. */
	for (long n = rounds; n > 0 || !__atomic_load_n(&called, __ATOMIC_RELAXED); n--) {
		struct listener *l = &mine[rand_r(&seed) % LISTENERS];

		if (__atomic_exchange_n(&l->here, 1, __ATOMIC_SEQ_CST)) {
			if (tl_hook_unlisten(demo, tick, on_any_tick, l))
				l->refused++;
			__atomic_store_n(&l->here, 0, __ATOMIC_SEQ_CST);
		} else if (tl_hook_listen(demo, tick, on_any_tick, l)) {
			l->refused++;
		}
	}
	for (unsigned i = 0; i < LISTENERS; i++)
		if (mine[i].here && tl_hook_unlisten(demo, tick, on_any_tick, &mine[i]))
			mine[i].refused++;
	return NULL;
}

static void threads_run_through_while_listeners_come_and_go(void)
{
	pthread_t through[THREADS], change[THREADS / 2];
	uint64_t calls = 0;

	memset(listeners, 0, sizeof(listeners));
	enough = called = false;
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&through[i], NULL, run_through, NULL));
	for (unsigned i = 0; i < THREADS / 2; i++)
		CHECK(!pthread_create(&change[i], NULL, change_all, listeners[i]));
	for (unsigned i = 0; i < THREADS / 2; i++)
		pthread_join(change[i], NULL);
	enough = true;
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(through[i], NULL);
	for (unsigned i = 0; i < THREADS / 2; i++) {
		for (unsigned k = 0; k < LISTENERS; k++) {
			const struct listener *l = &listeners[i][k];

			CHECK(!l->wrong);
			CHECK(!l->refused);
			calls += l->calls;
		}
	}
	CHECK(calls);
	CHECK(!tl_hook_enabled(demo, tick) && come("", 0));
}

static void add_up(void *data, long n)
{
	*(long *)data += n;
}

static void names_may_be_macros(void)
{
	long sum = 0;

	CHECK(tl_hook_find("plain:plain") == TL_HOOK_OF(plain, plain) &&
		!tl_hook_enabled(plain, plain));
	CHECK(!tl_hook_listen(plain, plain, add_up, &sum) && tl_hook_enabled(plain, plain));
	tl_hook(plain, plain, 7L);
	CHECK(sum == 7 && !tl_hook_unlisten(plain, plain, add_up, &sum));
}

int main(int argc, char **argv)
{
	rounds = argc > 1 && !strcmp(argv[1], "long") ? 25000 : 500;
	alarm(argc > 1 ? 1200 : 300);
	RUN(patterns_choose_hooks);
	RUN(names_may_be_macros);
	RUN(hooks_are_described);
	RUN(listeners_come_in_order_and_leave_alone);
	RUN(parameters_of_all_kinds_arrive);
	RUN(the_first_that_decides_decides);
	RUN(verdicts_may_be_pointers);
	RUN(patterns_switch_hooks);
	RUN(what_cannot_be_is_refused);
	RUN(threads_run_through_while_listeners_come_and_go);
	return UNIT_RESULT();
}
