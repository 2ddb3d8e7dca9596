/* SPDX-License-Identifier: MIT */
/* Who is inside, and who waits for them. Built with a slot for every thread, with next to none, and for ThreadSanitizer. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/readers.h"
#include "../unit.h"

static int step; /* what threads wait for */

static void reach(int n)
{
	__atomic_store_n(&step, n, __ATOMIC_RELEASE);
}

static void await(int n)
{
	while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) < n)
		sched_yield();
}

static bool all_have_left(void)
{
	for (size_t i = 0; i < TL_READERS; i++)
		if (tl_readers.slots[i].in[0] || tl_readers.slots[i].in[1])
			return false;
	return !tl_readers.shared.in[0] && !tl_readers.shared.in[1];
}

static void nobody_is_waited_for(void)
{
	tl_readers_wait();
	tl_readers_wait();
	CHECK(!tl_readers_inside());
}

static void nested(void)
{
	uint32_t *outer = tl_readers_enter(), *inner;

	CHECK(tl_readers_inside());
	inner = tl_readers_enter();
	tl_readers_leave(inner);
	CHECK(tl_readers_inside());
	tl_readers_leave(outer);
	CHECK(!tl_readers_inside());
	CHECK(all_have_left());
}

static bool waited;

static void *wait_for_all(void *arg)
{
	reach(1);
	tl_readers_wait();
	__atomic_store_n(&waited, true, __ATOMIC_RELEASE);
	return arg;
}

/* Inside before and while the other one waits, once more in the middle: that one goes to the other count. */
static void one_that_blocks_is_waited_for(void)
{
	uint32_t *in = tl_readers_enter(), *later;
	pthread_t waiter;

	reach(0);
	pthread_create(&waiter, NULL, wait_for_all, NULL);
	await(1);
	for (int i = 0; i < 100; i++) {
		later = tl_readers_enter();
		sched_yield();
		tl_readers_leave(later);
	}
	usleep(1000);
	CHECK(!__atomic_load_n(&waited, __ATOMIC_ACQUIRE));
	tl_readers_leave(in);
	pthread_join(waiter, NULL);
	CHECK(waited && all_have_left());
}

/* --- many threads, and one that changes what they read ---------------------------- */

enum { THREADS = 8, GOOD = 0x600d, BAD = 0xbad };
static int values[2] = {GOOD, BAD};
static int *shown = &values[0];
static int seen_bad, stop;

static void read_once(void)
{
	uint32_t *in = tl_readers_enter();
	const int *v = __atomic_load_n(&shown, __ATOMIC_ACQUIRE);

	for (int i = 0; i < 20; i++)
		if (*(const volatile int *)v != GOOD)
			__atomic_store_n(&seen_bad, 1, __ATOMIC_RELAXED);
	tl_readers_leave(in);
}

/* Who is preempted is mostly outside then: else each round would take the machine's other work a turn. */
static void *read_on(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		for (int i = 0; i < 50; i++)
			read_once();
		sched_yield();
	}
	return arg;
}

static void change(int rounds)
{
	for (int i = 1; i <= rounds; i++) {
		int *next = &values[i & 1], *before = &values[!(i & 1)];

		*next = GOOD;
		__atomic_store_n(&shown, next, __ATOMIC_RELEASE);
		tl_readers_wait();
		*before = BAD;
	}
}

static void what_they_read_is_never_freed(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, read_on, NULL);
	change(300);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK(!seen_bad && all_have_left());
}

static void *come_and_go(void *arg)
{
	uint32_t *in = tl_readers_enter();

	tl_readers_leave(in);
	return arg;
}

/* Their thread pointers are used again. */
static void threads_come_and_go(void)
{
	for (int i = 0; i < 200; i++) {
		pthread_t t;

		pthread_create(&t, NULL, come_and_go, NULL);
		tl_readers_wait();
		pthread_join(t, NULL);
	}
	CHECK(all_have_left());
}

/* --- signals ----------------------------------------------------------------------- */

enum { SIGNALS = 300 };
static int nsignals;

static bool more_signals(void)
{
	return __atomic_load_n(&nsignals, __ATOMIC_RELAXED) < SIGNALS;
}

static void on_signal(int sig)
{
	uint32_t *in = tl_readers_enter();

	(void)sig;
	__atomic_fetch_add(&nsignals, 1, __ATOMIC_RELAXED);
	tl_readers_leave(in);
}

static void *be_interrupted(void *arg)
{
	while (more_signals())
		come_and_go(NULL);
	return arg;
}

static void handlers_enter_between_any_two_steps(void)
{
	static const struct itimerval often = {{0, 100}, {0, 100}}, never;
	pthread_t t;

	signal(SIGALRM, on_signal);
	setitimer(ITIMER_REAL, &often, NULL);
	pthread_create(&t, NULL, be_interrupted, NULL);
	while (more_signals())
		tl_readers_wait();
	pthread_join(t, NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_IGN);
	CHECK(all_have_left());
}

/* --- children ------------------------------------------------------------------------ */

static void *stay_inside(void *arg)
{
	uint32_t *in = tl_readers_enter();

	reach(1);
	await(2);
	tl_readers_leave(in);
	return arg;
}

static bool child_is_well(uint32_t *in)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (in)
			tl_readers_leave(in);
		come_and_go(NULL);
		tl_readers_wait();
		_exit(tl_readers_inside() || !all_have_left());
	}
	return waitpid(pid, &status, 0) == pid && !status;
}

/* Those who were inside are not in the child. */
static void a_child_waits_for_nobody(void)
{
	pthread_t t;
	uint32_t *in;
	bool well;

	reach(0);
	pthread_create(&t, NULL, stay_inside, NULL);
	await(1);
	well = child_is_well(NULL);
	reach(2);
	pthread_join(t, NULL);
	CHECK(well);
	in = tl_readers_enter();
	well = child_is_well(in);
	tl_readers_leave(in);
	CHECK(well && all_have_left());
}

int main(int argc, char **argv)
{
	tl_readers_start();
	if (argc > 1 && !strcmp(argv[1], "fenced"))
		tl_readers_fenced = true;
	RUN(nobody_is_waited_for);
	RUN(nested);
	RUN(one_that_blocks_is_waited_for);
	RUN(what_they_read_is_never_freed);
	RUN(threads_come_and_go);
	RUN(handlers_enter_between_any_two_steps);
	RUN(a_child_waits_for_nobody);
	return UNIT_RESULT();
}
