/* SPDX-License-Identifier: MIT */
/* Events of the trace facility that hooks raise. TL_HOOK_FORM says which form their places have. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <trapless/hooks.h>
#include <trapless/trace.h>
#include <unistd.h>

#include "../unit.h"
#include "hooks.h"

TL_HOOK(event, mixed, (char, c), (double, d), (short, s), (long double, wide), (const char *, text),
	(_Bool, last))

struct mixed {
	char c;
	double d;
	short s;
	long double wide;
	const char *text;
	_Bool last;
};

__attribute__((noinline)) static void reach(int i)
{
	tl_hook(event, mixed, (char)-i, i * 0.5, (short)(i + 1), i * 2.0L, "text", i & 1);
}

__attribute__((noinline)) static int ask(int flags)
{
	return tl_verdict(sec, may_open, "path", flags);
}

/* --- one who listens ----------------------------------------------------------------- */

struct told {
	unsigned long n;
	uint32_t event;
	size_t size;
	struct mixed mixed;
};

static void tell(uint32_t event, const void *payload, size_t size, void *data)
{
	struct told *t = data;

	__atomic_fetch_add(&t->n, 1, __ATOMIC_RELAXED);
	t->event = event;
	t->size = size;
	if (size == sizeof(t->mixed))
		memcpy(&t->mixed, payload, size);
}

static bool field_is(const struct tl_trace_type *type, uint32_t i, const char *name, size_t offset,
	size_t size, uint32_t kind)
{
	const struct tl_trace_field *f = &type->fields[i];

	return !strcmp(f->name, name) && f->offset == offset && f->size == size && f->count == 1 &&
	       f->kind == kind;
}

#define FIELD_IS(type, i, name, kind)                                                              \
	field_is(type, i, #name, offsetof(struct mixed, name), sizeof(((struct mixed *)0)->name),  \
		kind)

static void parameters_are_fields(void)
{
	const struct tl_trace_type *type;
	int event;

	CHECK(tl_hooks_trace("event:*") == 1 && tl_hooks_trace("event:mixed") == 1);
	event = tl_trace_find("event:mixed");
	CHECK(event >= TL_TRACE_OWN && (type = tl_trace_describe((uint32_t)event)));
	CHECK(type->nfields == 6 && type->size == sizeof(struct mixed));
	CHECK(FIELD_IS(type, 0, c, TL_TRACE_SIGNED));
	CHECK(FIELD_IS(type, 1, d, TL_TRACE_FLOATING));
	CHECK(FIELD_IS(type, 2, s, TL_TRACE_SIGNED));
	CHECK(FIELD_IS(type, 3, wide, TL_TRACE_FLOATING));
	CHECK(FIELD_IS(type, 4, text, TL_TRACE_UNSIGNED));
	CHECK(FIELD_IS(type, 5, last, TL_TRACE_UNSIGNED));
	CHECK(tl_hooks_untrace("event:*") == 1 && tl_trace_find("event:mixed") < 0);
}

static void places_are_on_while_the_event_is_wanted(void)
{
	struct told told = {0};
	struct tl_tracer tracer = {.trace = tell, .data = &told};

	CHECK(tl_hooks_trace("event:*") == 1 && !tl_hook_enabled(event, mixed));
	CHECK(!tl_tracer_register(&tracer) && tl_hook_enabled(event, mixed));
	reach(7);
	CHECK(told.n == 1 && told.event == (uint32_t)tl_trace_find("event:mixed"));
	CHECK(told.mixed.c == -7 && told.mixed.d == 3.5 && told.mixed.s == 8);
	CHECK(told.mixed.wide == 14 && !strcmp(told.mixed.text, "text") && told.mixed.last);
	CHECK(!tl_tracer_unregister(&tracer) && !tl_hook_enabled(event, mixed));
	reach(8);
	CHECK(told.n == 1 && tl_hooks_untrace("event:*") == 1);
}

/* The tracer wants all: those, too, that are traced while it is there. */
static void a_tracer_hears_of_later_ones(void)
{
	struct told told = {0};
	struct tl_tracer tracer = {.trace = tell, .data = &told};

	CHECK(!tl_tracer_register(&tracer));
	reach(1);
	CHECK(!told.n && tl_hooks_trace("event:*") == 1 && tl_hook_enabled(event, mixed));
	reach(2);
	CHECK(told.n == 1 && tl_hooks_untrace("*") == 1 && !tl_hook_enabled(event, mixed));
	reach(3);
	CHECK(told.n == 1 && !tl_tracer_unregister(&tracer));
}

static void a_callback_keeps_its_event(void)
{
	struct told told = {0};
	struct tl_trace_callback cb = {.fn = tell, .data = &told};

	CHECK(tl_hooks_trace("event:*") == 1);
	cb.event = (uint32_t)tl_trace_find("event:mixed");
	CHECK(!tl_trace_callback_add(&cb) && tl_hooks_untrace("event:*") == -TL_E_STATE);
	reach(1);
	CHECK(told.n == 1 && !tl_trace_callback_remove(&cb));
	CHECK(!tl_hook_enabled(event, mixed) && tl_hooks_untrace("event:*") == 1);
}

static void verdicts_stay_what_they_are(void)
{
	struct told told = {0};
	struct tl_tracer tracer = {.trace = tell, .data = &told};

	CHECK(tl_hooks_trace("sec:*") == 2 && !tl_tracer_register(&tracer));
	CHECK(!ask(3) && told.n == 1 && told.size == 16);
	CHECK(!tl_tracer_unregister(&tracer) && tl_hooks_untrace("sec:*") == 2);
}

/* --- what is refused -------------------------------------------------------------------- */

static void structures_are_refused(void)
{
	CHECK(tl_hooks_trace("demo:kinds") == -TL_E_PAYLOAD);
	CHECK(tl_hooks_trace("*") == -TL_E_PAYLOAD && tl_trace_find("event:mixed") < 0);
	CHECK(tl_hooks_trace("no:*") == 0 && tl_hooks_trace(NULL) == -TL_E_INVAL);
}

/* One event too many: none of the pattern's has come. */
static void all_or_none_are_traced(void)
{
	enum { OWN = TL_TRACE_EVENTS - TL_TRACE_OWN };
	static struct tl_trace_type types[OWN];
	static char names[OWN][8];
	int event[OWN];

	for (int i = 0; i < OWN - 1; i++) {
		snprintf(names[i], sizeof(names[i]), "e%d", i);
		types[i] = (struct tl_trace_type){.name = names[i], .size = 1};
		CHECK((event[i] = tl_trace_declare(&types[i])) >= 0);
	}
	CHECK(tl_hooks_trace("sec:*") == -TL_E_LIMIT);
	CHECK(tl_trace_find("sec:best") < 0 && tl_trace_find("sec:may_open") < 0);
	for (int i = 0; i < OWN - 1; i++)
		CHECK(!tl_trace_withdraw((uint32_t)event[i]));
	CHECK(tl_hooks_trace("sec:*") == 2 && tl_hooks_untrace("sec:*") == 2);
}

static int told_inside[2];

static void change_inside(uint32_t event, const void *payload, size_t size, void *data)
{
	(void)event, (void)payload, (void)size, (void)data;
	told_inside[0] = tl_hooks_trace("sec:*");
	told_inside[1] = tl_hooks_untrace("*");
}

static void nothing_changes_from_within(void)
{
	struct tl_tracer tracer = {.trace = change_inside};

	CHECK(tl_hooks_trace("event:*") == 1 && !tl_tracer_register(&tracer));
	reach(1);
	CHECK(told_inside[0] == -TL_E_IN_CALLBACK && told_inside[1] == -TL_E_IN_CALLBACK);
	CHECK(!tl_tracer_unregister(&tracer) && tl_hooks_untrace("*") == 1);
}

/* --- while threads run through -------------------------------------------------------------- */

static bool enough;

static void *run_through(void *arg)
{
	(void)arg;
	for (int i = 0; !__atomic_load_n(&enough, __ATOMIC_RELAXED); i++) {
		reach(i);
		if (i % 64 == 0)
			sched_yield();
	}
	return NULL;
}

static void all_changes_while_threads_run(void)
{
	enum { THREADS = 4, ROUNDS = 300 };
	pthread_t threads[THREADS];
	struct told told = {0};

	enough = false;
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, run_through, NULL));
	for (int i = 0; i < ROUNDS; i++) {
		struct tl_tracer tracer = {.trace = tell, .data = &told};

		CHECK(tl_hooks_trace("event:*") == 1 && !tl_tracer_register(&tracer));
		reach(i);
		if (i & 1)
			CHECK(tl_hooks_untrace("event:*") == 1 && !tl_tracer_unregister(&tracer));
		else
			CHECK(!tl_tracer_unregister(&tracer) && tl_hooks_untrace("event:*") == 1);
		CHECK(!tl_hook_enabled(event, mixed));
	}
	enough = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK(told.n >= ROUNDS);
}

int main(void)
{
	alarm(300);
	RUN(parameters_are_fields);
	RUN(places_are_on_while_the_event_is_wanted);
	RUN(a_tracer_hears_of_later_ones);
	RUN(a_callback_keeps_its_event);
	RUN(verdicts_stay_what_they_are);
	RUN(structures_are_refused);
	RUN(all_or_none_are_traced);
	RUN(nothing_changes_from_within);
	RUN(all_changes_while_threads_run);
	return UNIT_RESULT();
}
