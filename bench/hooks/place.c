/* SPDX-License-Identifier: MIT */
/*
 * What one place costs: TSC ticks over a bare call of the same function, the lowest of all rounds.
 *
 *     build/bench/hooks/place ROUNDS
 *
 * One line a figure, columns separated by tabs: name, form ("-": it has none), ticks. The first line has how many ticks a
 * nanosecond is, the second one the bare call.
 */
#include <stdlib.h>
#include <string.h>

#include <sys/sdt.h>
#include <trapless/hook.h>
#include <trapless/hooks.h>
#include <trapless/trace.h>

#include "../ticks.h"
#include "listen.h"
#include "place.h"

enum { CALLS = 100000, REPETITIONS = 5, RECORDS = 4096, LANES = 4 };

__asm__(".text\n" FUNCTION(bare, LEA_RET));
long bare(long a, long b);

/* --- the functions ------------------------------------------------------------------ */

/* A function, and how long its calls take, made directly. */
#define TIMED(name, inside)                                                                        \
	PLACED long name(long a, long b)                                                           \
	{                                                                                          \
		inside;                                                                            \
		return a + b + 7;                                                                  \
	}                                                                                          \
	static double time_##name(void)                                                            \
	{                                                                                          \
		return ticks(name, CALLS, REPETITIONS);                                            \
	}
#define HOOKED(form, name)                                                                         \
	TL_HOOK_FORMED(form, bench, name, (long, a), (long, b), (long, c))                         \
	TIMED(with_##name, tl_hook(bench, name, a, b, 7))

HOOKED(TL_HOOK_FLAG, flag)
HOOKED(TL_HOOK_NOP, nop)
HOOKED(TL_HOOK_JUMP, jump)

struct three {
	uint64_t a, b, c;
};
static uint32_t event, raised; /* our own; that which the function raises */

static inline void raise_event(long a, long b, long c)
{
	if (tl_trace_enabled(event)) {
		const struct three e = {(uint64_t)a, (uint64_t)b, (uint64_t)c};

		tl_trace(event, &e, sizeof(e));
	}
}

TIMED(raising, raise_event(a, b, 7))
TIMED(marked, DTRACE_PROBE3(bench, marked, a, b, 7L))
TIMED(clocked, __asm__ volatile("" ::"r"(__rdtsc())))

static double time_marked_if_wanted(void)
{
	return ticks(marked_if_wanted, CALLS, REPETITIONS);
}

static double time_bare(void)
{
	return ticks(bare, CALLS, REPETITIONS);
}

/* --- who listens -------------------------------------------------------------------- */

static void hear(void *data, long a, long b, long c)
{
	__asm__ volatile("" ::"r"(data), "r"(a), "r"(b), "r"(c));
}

static void hear_and_raise(void *data, long a, long b, long c)
{
	(void)data;
	raise_event(a, b, c);
}

static struct tl_trace_ring *ring;
static struct tl_tracer empty = {.name = "empty", .trace = ignore};
static struct tl_tracer recorder = {.name = "recorder", .trace = tl_trace_ring_record};
static struct tl_trace_callback callback = {.fn = ignore};

/* Of an event: a tracer, or a callback, or nobody. */
struct want {
	const char *name;
	struct tl_tracer *tracer;
	struct tl_trace_callback *callback;
};
static const struct want nobody = {"nobody wants it", NULL, NULL};
static const struct want by_tracer = {"an empty tracer", &empty, NULL};
static const struct want by_callback = {"an empty callback", NULL, &callback};
static const struct want by_recorder = {"recorded in a ring", &recorder, NULL};
static const struct want *const wants[] = {&nobody, &by_tracer, &by_callback, &by_recorder};

static int look(const struct tl_trace_record *r, void *arg)
{
	const struct three *e = r->payload;

	*(bool *)arg &= r->event == raised && r->kept == sizeof(*e) && e->c == 7;
	return 0;
}

/* The last ones are there, and what they should be. */
static void read_out(void)
{
	bool right = true;

	if (tl_trace_ring_read(ring, look, &right) != RECORDS || !right)
		fputs("bench/hooks: the recorder has other events than were raised\n", stderr);
}

static void want_begin(const struct want *w)
{
	if (w->tracer)
		must(tl_tracer_register(w->tracer), "tracer");
	if (w->callback) {
		w->callback->event = raised;
		must(tl_trace_callback_add(w->callback), "callback");
	}
}

static void want_end(const struct want *w)
{
	if (w->tracer)
		must(tl_tracer_unregister(w->tracer), "tracer");
	if (w->callback)
		must(tl_trace_callback_remove(w->callback), "callback");
	if (w->tracer == &recorder)
		read_out();
}

/* --- rows ---------------------------------------------------------------------------- */

/* Those of all rounds, in the order of the first. */
static struct row {
	char name[64];
	const char *form;
	double ticks;
} rows[64];
static size_t nrows;

static void row(const char *name, const char *more, const char *form, double lowest)
{
	struct row new = {.form = form, .ticks = lowest};

	snprintf(new.name, sizeof(new.name), "%s%s", name, more);
	for (size_t i = 0; i < nrows; i++) {
		if (strcmp(rows[i].name, new.name) || strcmp(rows[i].form, form))
			continue;
		rows[i].ticks = least(rows[i].ticks, lowest);
		return;
	}
	if (nrows < sizeof(rows) / sizeof(rows[0]))
		rows[nrows++] = new;
}

static const struct form {
	const char *name, *hook;
	struct tl_hook *word;
	double (*time)(void);
} forms[] = {
	{"flag", "bench:flag", TL_HOOK_OF(bench, flag), time_with_flag},
	{"nop", "bench:nop", TL_HOOK_OF(bench, nop), time_with_nop},
	{"jump", "bench:jump", TL_HOOK_OF(bench, jump), time_with_jump},
};

static const struct state {
	const char *name;
	enum tl_hooks_switch how;
	int listeners;
	const struct want *want; /* NULL: they raise nothing */
	bool traced; /* by tl_hooks_trace() */
} states[] = {
	{"off", TL_HOOKS_AUTO, 0, NULL, false},
	{"on, nobody listens", TL_HOOKS_ON, 0, NULL, false},
	{"on, one listener", TL_HOOKS_AUTO, 1, NULL, false},
	{"on, two listeners", TL_HOOKS_AUTO, 2, NULL, false},
	{"it raises an event: ", TL_HOOKS_AUTO, 1, &nobody, false},
	{"it raises an event: ", TL_HOOKS_AUTO, 1, &by_tracer, false},
	{"it raises an event: ", TL_HOOKS_AUTO, 1, &by_callback, false},
	{"it raises an event: ", TL_HOOKS_AUTO, 1, &by_recorder, false},
	{"by tl_hooks_trace(): ", TL_HOOKS_AUTO, 0, &nobody, true},
	{"by tl_hooks_trace(): ", TL_HOOKS_AUTO, 0, &by_tracer, true},
	{"by tl_hooks_trace(): ", TL_HOOKS_AUTO, 0, &by_callback, true},
	{"by tl_hooks_trace(): ", TL_HOOKS_AUTO, 0, &by_recorder, true},
};

static char listeners[2]; /* one address each */

static void state_begin(const struct form *f, const struct state *s, tl_hook_fn fn)
{
	must(tl_hooks_switch(f->hook, s->how), "switch");
	for (int i = 0; i < s->listeners; i++)
		must(tl_hook_attach(f->word, fn, &listeners[i]), "attach");
	if (!s->traced)
		return;
	must(tl_hooks_trace(f->hook), "trace");
	raised = (uint32_t)tl_trace_find(f->hook);
}

static void state_end(const struct form *f, const struct state *s, tl_hook_fn fn)
{
	if (s->traced)
		must(tl_hooks_untrace(f->hook), "untrace");
	raised = event;
	for (int i = 0; i < s->listeners; i++)
		must(tl_hook_detach(f->word, fn, &listeners[i]), "detach");
	must(tl_hooks_switch(f->hook, TL_HOOKS_AUTO), "switch");
}

static void in_state(const struct form *f, const struct state *s)
{
	tl_hook_fn fn = s->want ? (tl_hook_fn)hear_and_raise : (tl_hook_fn)hear;
	const struct want *w = s->want ? s->want : &nobody;

	state_begin(f, s, fn);
	want_begin(w);
	row(s->name, s->want ? w->name : "", f->name, f->time());
	want_end(w);
	state_end(f, s, fn);
}

static void directly(const struct want *w)
{
	want_begin(w);
	row("event without a hook: ", w->name, "-", time_raising());
	want_end(w);
}

#define COUNT(array) (sizeof(array) / sizeof(array[0]))

static void one_round(void)
{
	row("bare call", "", "-", time_bare());
	for (size_t s = 0; s < COUNT(states); s++)
		for (size_t f = 0; f < COUNT(forms); f++)
			in_state(&forms[f], &states[s]);
	for (size_t w = 0; w < COUNT(wants); w++)
		directly(wants[w]);
	row("reading the clock alone", "", "-", time_clocked());
	row("mark of <sys/sdt.h>, off", "", "-", time_marked());
	row("mark with a semaphore, off", "", "-", time_marked_if_wanted());
}

static void begin(void)
{
	static const struct tl_trace_type type = {
		"bench_three", "three words", NULL, 0, sizeof(struct three)};
	const struct tl_trace_ring_config config = {LANES, RECORDS, sizeof(struct three), true};
	int number = tl_trace_declare(&type);

	must(number, "event");
	must(tl_trace_ring_create(&config, &ring), "ring");
	event = raised = (uint32_t)number;
	recorder.data = ring;
}

int main(int argc, char **argv)
{
	begin();
	for (int i = argc > 1 ? atoi(argv[1]) : 5; i > 0; i--)
		one_round();
	printf("ticks a nanosecond\t-\t%.4f\n", ticks_a_nanosecond());
	for (size_t i = 0; i < nrows; i++)
		printf("%s\t%s\t%.3f\n", rows[i].name, rows[i].form,
			rows[i].ticks - (i ? rows[0].ticks : 0));
	return 0;
}
