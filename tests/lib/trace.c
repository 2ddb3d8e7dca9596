/* SPDX-License-Identifier: MIT */
/* The trace facility in the own process. Built with all of libtrapless, and for ThreadSanitizer with its sources alone. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <trapless/probe.h>
#include <trapless/trace.h>

#include "../unit.h"

static int calls[TL_TRACE_EVENTS], order[8], norder;

static void count(uint32_t event, const void *payload, size_t size, void *data)
{
	(void)payload, (void)size, (void)data;
	__atomic_fetch_add(&calls[event], 1, __ATOMIC_RELAXED);
}

static void note(uint32_t event, const void *payload, size_t size, void *data)
{
	(void)event, (void)payload, (void)size;
	order[norder++ % 8] = *(int *)data;
}

static const struct tl_trace_sys_exit sys_exit_event = {.number = 39, .result = -1};

static int raise_exit(void)
{
	return tl_trace(TL_TRACE_SYS_EXIT, &sys_exit_event, sizeof(sys_exit_event));
}

static void one_tracer_at_a_time(void)
{
	struct tl_tracer first = {.name = "first", .trace = count}, second = {.trace = count};
	struct tl_tracer none = {.name = "none"};

	CHECK(!tl_tracer_name() && !tl_trace_enabled(TL_TRACE_SYS_EXIT));
	CHECK(raise_exit() == -TL_E_NO_TRACER);
	CHECK(tl_tracer_register(&none) == -TL_E_INVAL);
	CHECK(!tl_tracer_register(&first));
	CHECK(tl_tracer_register(&second) == -TL_E_TRACER);
	CHECK(tl_tracer_register(&first) == -TL_E_STATE);
	CHECK(tl_tracer_unregister(&second) == -TL_E_STATE);
	CHECK(!strcmp(tl_tracer_name(), "first"));
	CHECK(tl_trace_enabled(TL_TRACE_SYS_EXIT) && !raise_exit());
	CHECK(calls[TL_TRACE_SYS_EXIT] == 1);
	CHECK(!tl_tracer_unregister(&first));
	CHECK(!tl_trace_enabled(TL_TRACE_SYS_EXIT) && raise_exit() == -TL_E_NO_TRACER);
	CHECK(!tl_tracer_register(&second) && !strcmp(tl_tracer_name(), ""));
	CHECK(!tl_tracer_unregister(&second));
}

static void a_tracer_gets_what_it_wants(void)
{
	static const uint32_t wanted[] = {TL_TRACE_TIMER}, unknown[] = {TL_TRACE_TIMER, 200};
	const struct tl_trace_timer timer = {1, 2};
	struct tl_tracer t = {.trace = count, .events = wanted, .nevents = 1};
	struct tl_tracer bad = {.trace = count, .events = unknown, .nevents = 2};

	CHECK(tl_tracer_register(&bad) == -TL_E_NO_EVENT && !tl_trace_enabled(TL_TRACE_TIMER));
	CHECK(!tl_tracer_register(&t));
	CHECK(raise_exit() == -TL_E_NO_TRACER);
	CHECK(!tl_trace(TL_TRACE_TIMER, &timer, sizeof(timer)) && calls[TL_TRACE_TIMER] == 1);
	CHECK(!tl_tracer_unregister(&t));
}

static void bad_events_and_payloads_are_refused(void)
{
	struct tl_trace_callback cb = {.event = TL_TRACE_STANDARD, .fn = count};
	char byte = 0;

	CHECK(tl_trace(TL_TRACE_STANDARD, &byte, 1) == -TL_E_NO_EVENT);
	CHECK(tl_trace(TL_TRACE_EVENTS, &byte, 1) == -TL_E_NO_EVENT);
	CHECK(tl_trace(UINT32_MAX, &byte, 1) == -TL_E_NO_EVENT);
	CHECK(tl_trace(TL_TRACE_SYS_EXIT, &byte, 1) == -TL_E_PAYLOAD);
	CHECK(tl_trace_callback_add(&cb) == -TL_E_NO_EVENT);
	cb = (struct tl_trace_callback){.event = TL_TRACE_SYS_EXIT};
	CHECK(tl_trace_callback_add(&cb) == -TL_E_INVAL);
	CHECK(tl_trace_callback_remove(&cb) == -TL_E_STATE);
	CHECK(!tl_trace_enabled(TL_TRACE_EVENTS) && !tl_trace_describe(TL_TRACE_EVENTS));
}

static void callbacks_run_in_order(void)
{
	int values[] = {1, 2, 3};
	struct tl_trace_callback cbs[3] = {0};
	struct tl_trace_callback other = {.event = TL_TRACE_TIMER, .fn = count};

	for (int i = 0; i < 3; i++) {
		cbs[i].event = TL_TRACE_SYS_EXIT;
		cbs[i].fn = note;
		cbs[i].data = &values[i];
		CHECK(!tl_trace_callback_add(&cbs[i]));
	}
	CHECK(tl_trace_callback_add(&cbs[0]) == -TL_E_STATE);
	CHECK(!tl_trace_callback_add(&other));
	CHECK(!raise_exit());
	CHECK(!tl_trace_callback_remove(&cbs[1]));
	CHECK(!raise_exit());
	CHECK(!tl_trace_callback_add(&cbs[1]));
	CHECK(!raise_exit());
	CHECK(norder == 8 && order[0] == 1 && order[1] == 2 && order[2] == 3 && order[3] == 1 &&
		order[4] == 3 && order[5] == 1 && order[6] == 3 && order[7] == 2);
	for (int i = 0; i < 3; i++)
		CHECK(!tl_trace_callback_remove(&cbs[i]));
	CHECK(!tl_trace_callback_remove(&other));
	CHECK(raise_exit() == -TL_E_NO_TRACER);
}

/* --- one's own --------------------------------------------------------------------- */

struct own {
	uint64_t value;
	char text[16];
};
static const struct tl_trace_field own_fields[] = {
	{"value", offsetof(struct own, value), 8, 1, TL_TRACE_UNSIGNED},
	{"text", offsetof(struct own, text), 1, 16, TL_TRACE_TEXT},
};
static const struct tl_trace_type own_type = {"own", "an event", own_fields, 2, sizeof(struct own)};

static void own_events_are_declared_and_withdrawn(void)
{
	struct tl_tracer all = {.trace = count};
	struct tl_trace_callback cb = {.fn = count};
	const struct own own = {5, "five"};
	int event;

	CHECK(!tl_tracer_register(&all));
	event = tl_trace_declare(&own_type);
	CHECK(event >= TL_TRACE_OWN && tl_trace_find("own") == event);
	CHECK(tl_trace_describe((uint32_t)event) == &own_type);
	CHECK(tl_trace_declare(&own_type) == -TL_E_INVAL);
	CHECK(!tl_trace((uint32_t)event, &own, sizeof(own)) && calls[event] == 1);
	CHECK(!tl_tracer_unregister(&all));
	cb.event = (uint32_t)event;
	CHECK(!tl_trace_callback_add(&cb));
	CHECK(!tl_trace((uint32_t)event, &own, sizeof(own)) && calls[event] == 2);
	CHECK(tl_trace_withdraw((uint32_t)event) == -TL_E_STATE);
	CHECK(!tl_trace_callback_remove(&cb) && !tl_trace_withdraw((uint32_t)event));
	CHECK(tl_trace((uint32_t)event, &own, sizeof(own)) == -TL_E_NO_EVENT);
	CHECK(tl_trace_withdraw((uint32_t)event) == -TL_E_NO_EVENT);
	CHECK(tl_trace_withdraw(TL_TRACE_TIMER) == -TL_E_NO_EVENT);
	CHECK(tl_trace_find("own") == -TL_E_NO_EVENT);
	CHECK(tl_trace_find("sys_exit") == TL_TRACE_SYS_EXIT);
}

static void bad_types_are_refused(void)
{
	struct tl_trace_field f[1] = {own_fields[0]};
	struct tl_trace_type bad[6] = {own_type, own_type, own_type, own_type, own_type, own_type};

	bad[0].name = NULL;
	bad[1].size = 0;
	bad[2].size = TL_TRACE_PAYLOAD + 1;
	bad[3].name = "sys_enter";
	bad[4].size = 8;
	f[0].count = UINT32_MAX;
	bad[5].fields = f;
	for (int i = 0; i < 6; i++)
		CHECK(tl_trace_declare(&bad[i]) == -TL_E_INVAL);
}

static void nothing_is_no_argument(void)
{
	CHECK(tl_trace_declare(NULL) == -TL_E_INVAL && tl_trace_find(NULL) == -TL_E_INVAL);
	CHECK(tl_tracer_register(NULL) == -TL_E_INVAL && tl_tracer_unregister(NULL) == -TL_E_STATE);
	CHECK(tl_trace_callback_add(NULL) == -TL_E_INVAL &&
		tl_trace_callback_remove(NULL) == -TL_E_INVAL);
}

static void there_are_so_many_own_events(void)
{
	enum { OWN = TL_TRACE_EVENTS - TL_TRACE_OWN };
	static struct tl_trace_type types[OWN + 1];
	static char names[OWN + 1][8];
	int event[OWN + 1];

	for (int i = 0; i <= OWN; i++) {
		snprintf(names[i], sizeof(names[i]), "e%d", i);
		types[i] = (struct tl_trace_type){.name = names[i], .size = 1};
		event[i] = tl_trace_declare(&types[i]);
	}
	for (int i = 0; i < OWN; i++)
		CHECK(event[i] >= TL_TRACE_OWN && !tl_trace_withdraw((uint32_t)event[i]));
	CHECK(event[OWN] == -TL_E_LIMIT);
}

/* The standard ones are described, each byte of a payload by one field. */
static void standard_events_are_described(void)
{
	for (uint32_t i = 0; i < TL_TRACE_STANDARD; i++) {
		const struct tl_trace_type *t = tl_trace_describe(i);
		uint32_t at = 0;

		CHECK(t && t->name && t->text && tl_trace_find(t->name) == (int)i);
		for (uint32_t k = 0; k < t->nfields; k++) {
			CHECK(t->fields[k].offset == at);
			at += t->fields[k].size * t->fields[k].count;
		}
		CHECK(at == t->size);
	}
	CHECK(tl_trace_describe(TL_TRACE_SYS_EXIT)->fields[1].kind == TL_TRACE_SIGNED);
	CHECK(tl_trace_describe(TL_TRACE_SYS_ENTER)->fields[1].kind == TL_TRACE_UNSIGNED);
}

/* --- who may not --------------------------------------------------------------------- */

static int refused[6];

static void ask_all(struct tl_trace_callback *cb)
{
	struct tl_tracer t = {.trace = count};

	refused[0] = tl_trace_callback_remove(cb);
	refused[1] = tl_trace_callback_add(cb);
	refused[2] = tl_tracer_register(&t);
	refused[3] = tl_trace_declare(&own_type);
	refused[4] = tl_trace_configure(NULL);
	refused[5] = tl_trace_withdraw(TL_TRACE_OWN);
}

static int all_are(int ret)
{
	for (int i = 0; i < 6; i++)
		if (refused[i] != ret)
			return 0;
	return 1;
}

static void ask(uint32_t event, const void *payload, size_t size, void *data)
{
	(void)event, (void)payload, (void)size;
	ask_all(data);
}

static void callbacks_change_nothing(void)
{
	struct tl_trace_callback cb = {.event = TL_TRACE_SYS_EXIT, .fn = ask, .data = &cb};

	CHECK(!tl_trace_callback_add(&cb) && !raise_exit());
	CHECK(all_are(-TL_E_IN_CALLBACK));
	CHECK(!tl_trace_callback_remove(&cb));
}

#ifndef NO_ENGINE
static struct tl_trace_callback of_signal;

static void on_signal(int sig)
{
	(void)sig;
	ask_all(&of_signal);
	refused[0] = tl_trace_callback_remove(&of_signal);
	raise_exit();
}

/* They raise events all the same. */
static void signal_handlers_change_nothing(void)
{
	int before = calls[TL_TRACE_SYS_EXIT];

	of_signal = (struct tl_trace_callback){.event = TL_TRACE_SYS_EXIT, .fn = count};
	CHECK(!tl_trace_callback_add(&of_signal));
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	CHECK(all_are(-TL_E_IN_SIGNAL) && calls[TL_TRACE_SYS_EXIT] == before + 1);
	CHECK(!tl_trace_callback_remove(&of_signal));
}
#endif

/* --- from a probe's handler ------------------------------------------------------------ */

#ifndef NO_ENGINE
#define HANDLER __attribute__((target("general-regs-only")))

static struct tl_trace_callback of_probe;

HANDLER static void count_plainly(uint32_t event, const void *payload, size_t size, void *data)
{
	(void)payload, (void)size, (void)data;
	calls[event]++;
}

HANDLER static int on_probe(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	const struct tl_trace_timer e = {1, 2};

	(void)p, (void)regs, (void)self;
	refused[0] = tl_trace_callback_remove(&of_probe);
	refused[1] = tl_trace(TL_TRACE_TIMER, &e, sizeof(e));
	return 0;
}

static __attribute__((noinline)) int probed(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static void probes_handlers_raise_them_and_change_nothing(void)
{
	struct tl_probe p = {.addr = (void *)probed, .pre = on_probe};
	int before = calls[TL_TRACE_TIMER];

	of_probe = (struct tl_trace_callback){.event = TL_TRACE_TIMER, .fn = count_plainly};
	CHECK(!tl_trace_callback_add(&of_probe) && !tl_probe_register(&p));
	CHECK(probed(1) == 2);
	CHECK(!tl_probe_unregister(&p) && !tl_trace_callback_remove(&of_probe));
	CHECK(refused[0] == -TL_E_IN_CALLBACK && !refused[1]);
	CHECK(calls[TL_TRACE_TIMER] == before + 1);
}
#endif

/* --- the caller ------------------------------------------------------------------------ */

static void the_caller_is_looked_for(void)
{
	/* two frames, the second of which returns to 0x5000, and behind them a word of the program's */
	uintptr_t stack[8] = {0, 0, 0, 0x4000, 0, 0x5000, 0x6000, 0};
	uintptr_t sp = (uintptr_t)stack, fp = (uintptr_t)&stack[2];
	struct tl_trace_config c = {.low = 0x5000, .high = 0x5001, .depth = 2};
	const struct tl_trace_config deep = {.high = 1, .depth = TL_TRACE_DEPTH + 1};
	const struct tl_trace_config long_one = {.high = 1, .words = TL_TRACE_WORDS + 1};

	stack[2] = (uintptr_t)&stack[4];
	CHECK(tl_trace_caller(0x4004, sp, fp) == 0x4004);
	CHECK(!tl_trace_configure(&c));
	CHECK(tl_trace_caller(0x5000, sp, fp) == 0x5000 &&
		tl_trace_caller(0x4004, sp, fp) == 0x5000);
	c.depth = 1;
	CHECK(!tl_trace_configure(&c) && !tl_trace_caller(0x4004, sp, fp));
	c.words = 5;
	CHECK(!tl_trace_configure(&c) && !tl_trace_caller(0x4004, sp, 1));
	c.words = 6;
	CHECK(!tl_trace_configure(&c) && tl_trace_caller(0x4004, sp, 1) == 0x5000);
	CHECK(!tl_trace_caller(0x4004, 0x1000, 8)); /* nothing is mapped there */
	CHECK(tl_trace_configure(&deep) == -TL_E_INVAL);
	CHECK(tl_trace_configure(&long_one) == -TL_E_INVAL && !tl_trace_configure(NULL));
	CHECK(tl_trace_caller(0x4004, sp, fp) == 0x4004);
}

/* --- many threads ----------------------------------------------------------------------- */

enum { THREADS = 8, GOOD = 0x600d, BAD = 0xbad };
static int stop, seen_bad, seen_good;

static void be_good(uint32_t event, const void *payload, size_t size, void *data)
{
	(void)event, (void)payload, (void)size;
	if (*(const volatile int *)data != GOOD)
		__atomic_store_n(&seen_bad, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&seen_good, 1, __ATOMIC_RELAXED);
}

static void *raise_on(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		for (int i = 0; i < 50; i++)
			raise_exit();
		sched_yield();
	}
	return arg;
}

struct changed {
	struct tl_trace_callback cb[2];
	int good[2];
};

static int add_and_remove(void)
{
	struct changed *c = calloc(1, sizeof(*c));
	int ret = 0;

	for (int i = 0; i < 2; i++) {
		c->good[i] = GOOD;
		c->cb[i] = (struct tl_trace_callback){
			.event = TL_TRACE_SYS_EXIT, .fn = be_good, .data = &c->good[i]};
		ret |= tl_trace_callback_add(&c->cb[i]);
	}
	for (int i = 0; i < 2; i++) {
		ret |= tl_trace_callback_remove(&c->cb[i]);
		c->good[i] = BAD;
	}
	free(c);
	return ret;
}

#ifndef CHANGES
#define CHANGES 100000
#endif

/* So many, and until the others have met them often. */
static bool is_enough(int n)
{
	enum { OFTEN = 1000 };

	return n >= CHANGES && __atomic_load_n(&seen_good, __ATOMIC_RELAXED) >= OFTEN;
}

/* One of two, who change the lists at once. */
static void *change(void *arg)
{
	enum { EACH = 2 * 4 };

	for (int n = 0; !is_enough(n); n += EACH)
		if (add_and_remove())
			__atomic_store_n(&seen_bad, 2, __ATOMIC_RELAXED);
	return arg;
}

static void callbacks_come_and_go_under_many_threads(void)
{
	pthread_t threads[THREADS], other;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, raise_on, NULL);
	pthread_create(&other, NULL, change, NULL);
	change(NULL);
	pthread_join(other, NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK(!seen_bad && raise_exit() == -TL_E_NO_TRACER);
}

int main(void)
{
	RUN(one_tracer_at_a_time);
	RUN(a_tracer_gets_what_it_wants);
	RUN(bad_events_and_payloads_are_refused);
	RUN(callbacks_run_in_order);
	RUN(own_events_are_declared_and_withdrawn);
	RUN(bad_types_are_refused);
	RUN(nothing_is_no_argument);
	RUN(there_are_so_many_own_events);
	RUN(standard_events_are_described);
	RUN(callbacks_change_nothing);
#ifndef NO_ENGINE
	RUN(signal_handlers_change_nothing);
#endif
#ifndef NO_ENGINE
	RUN(probes_handlers_raise_them_and_change_nothing);
#endif
	RUN(the_caller_is_looked_for);
	RUN(callbacks_come_and_go_under_many_threads);
	return UNIT_RESULT();
}
