/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The trace facility: events with typed payloads, raised where they happen, for one tracer, and for callbacks that are added
 * to an event and removed alone. While nobody wants an event it costs one test of a byte.
 *
 *   if (tl_trace_enabled(TL_TRACE_SYS_EXIT)) {
 *           struct tl_trace_sys_exit e = {.number = number, .result = result};
 *           tl_trace(TL_TRACE_SYS_EXIT, &e, sizeof(e));
 *   }
 *
 * In a kernel trapless.ko raises the standard events itself, from tracepoints that it stands on only while they are wanted.
 *
 * "Sleeps" means: takes locks, and may wait for whoever runs a tracer's or a callback's function. So it is refused there, and in
 * handlers of probes, with -TL_E_IN_CALLBACK; and with -TL_E_IN_SIGNAL in signal handlers, or in a kernel's interrupts.
 */
#ifndef TRAPLESS_TRACE_H
#define TRAPLESS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trapless/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- events ----------------------------------------------------------------------- */

/* TL_TRACE_SYS_ENTER and so on; TL_TRACE_OWN is the first of those that are declared. */
enum tl_trace_event {
#define TL_TRACE_EVENT(NUMBER, name, text, fields) TL_TRACE_##NUMBER,
#include <trapless/trace_events.def>
#undef TL_TRACE_EVENT
	TL_TRACE_STANDARD,
	TL_TRACE_OWN = 64,
	TL_TRACE_EVENTS = 256, /* all numbers are below */
};

/* struct tl_trace_sys_enter and so on: their payloads. */
#define TL_TRACE_FIELD(event, type, name)    type name;
#define TL_TRACE_ARRAY(event, type, name, n) type name[n];
#define TL_TRACE_EVENT(NUMBER, name, text, fields)                                                 \
	struct tl_trace_##name {                                                                   \
		fields                                                                             \
	};
#include <trapless/trace_events.def>
#undef TL_TRACE_EVENT
#undef TL_TRACE_ARRAY
#undef TL_TRACE_FIELD

enum tl_trace_kind {
	TL_TRACE_UNSIGNED,
	TL_TRACE_SIGNED,
	TL_TRACE_TEXT, /* bytes up to a zero, or its end */
	TL_TRACE_FLOATING
};

struct tl_trace_field {
	const char *name;
	uint32_t offset, size; /* bytes: in the payload; of one element */
	uint32_t count; /* elements */
	uint32_t kind; /* enum tl_trace_kind */
};

struct tl_trace_type {
	const char *name, *text;
	const struct tl_trace_field *fields;
	uint32_t nfields;
	uint32_t size; /* of the payload, bytes: 1 to TL_TRACE_PAYLOAD */
};
enum { TL_TRACE_PAYLOAD = 4096 };

/*
 * An event of one's own: returns its number. The memory stays the facility's until it is withdrawn. -TL_E_INVAL: a name that
 * there is already, or none, a size or a field that does not fit; -TL_E_LIMIT: there are too many. Sleeps.
 */
int tl_trace_declare(const struct tl_trace_type *type);
/*
 * Nobody raises it from then on, and a number that is used again is another event's. -TL_E_NO_EVENT, also for a standard one;
 * -TL_E_STATE: it has callbacks. Sleeps.
 */
int tl_trace_withdraw(uint32_t event);
/* What an event is, or NULL. One's own: as long as it is not withdrawn. Any context. */
const struct tl_trace_type *tl_trace_describe(uint32_t event);
/* The number of an event by its name, or -TL_E_NO_EVENT. Sleeps. */
int tl_trace_find(const char *name);

/* --- raising them ----------------------------------------------------------------- */

extern uint8_t tl_trace_wanted[TL_TRACE_EVENTS]; /* the facility's: not 0 where somebody listens */

/* Does anybody listen? For what is dear to prepare. Any context. */
static inline bool tl_trace_enabled(uint32_t event)
{
	return event < TL_TRACE_EVENTS &&
	       __atomic_load_n(&tl_trace_wanted[event], __ATOMIC_RELAXED);
}

/*
 * Calls the tracer, if it wants this event, and then the callbacks, in the order in which they were added. 0,
 * -TL_E_NO_EVENT: there is none such, -TL_E_PAYLOAD: `size` is not its payload's, -TL_E_NO_TRACER: nobody listens. Any
 * context: handlers of probes and of signals, a kernel's interrupts and NMIs.
 */
int tl_trace(uint32_t event, const void *payload, size_t size);

/* --- listening -------------------------------------------------------------------- */

/*
 * Called in the thread that raises the event, wherever it is: it must not block, nor leave by a jump, nor raise its own event
 * again. In a process compiled without vector registers, if probes' handlers raise the event; in a kernel preemption is off.
 */
typedef void (*tl_trace_fn)(uint32_t event, const void *payload, size_t size, void *data);

/* The caller's memory, until it is unregistered. */
struct tl_tracer {
	const char *name;
	tl_trace_fn trace;
	void *data; /* the caller's */
	const uint32_t *events; /* that it wants; NULL: all, and those that are declared later */
	size_t nevents;
};

/*
 * There is one at a time. -TL_E_TRACER: there is another one; -TL_E_NO_EVENT: it wants what there is not; -TL_E_INVAL: no
 * function; -TL_E_STATE: it is registered, or not. When it is unregistered nobody runs its function. Both sleep.
 */
int tl_tracer_register(struct tl_tracer *tracer);
int tl_tracer_unregister(struct tl_tracer *tracer);
/* The name of the one that is there, "" if it has none; NULL: there is none. Sleeps. */
const char *tl_tracer_name(void);

/* One of an event's callbacks; the caller's memory, until it is removed. */
struct tl_trace_callback {
	uint32_t event;
	tl_trace_fn fn;
	void *data; /* the caller's */
	struct tl_trace_callback *next; /* the facility's; zero before */
	bool added; /* the same */
};

/*
 * -TL_E_NO_EVENT, -TL_E_INVAL: no function, -TL_E_STATE: it is added, or not. When it is removed nobody runs its function.
 * Both sleep.
 */
int tl_trace_callback_add(struct tl_trace_callback *cb);
int tl_trace_callback_remove(struct tl_trace_callback *cb);

/* --- the caller of a system call --------------------------------------------------- */

/*
 * Where it is looked for: the first address in [low, high) that is where the call was made, or where one of at most `depth`
 * functions around that returns to, as frame pointers lead from one to the next. Where they lead nowhere, `words` words of
 * the stack are looked at. At first: where the call was made.
 */
struct tl_trace_config {
	uintptr_t low, high;
	uint32_t depth; /* at most TL_TRACE_DEPTH */
	uint32_t words; /* at most TL_TRACE_WORDS */
};
enum { TL_TRACE_DEPTH = 256, TL_TRACE_WORDS = 1024 };
/* For all calls from then on; NULL: as at first. -TL_E_INVAL: bounds without room, or too much to look at. Sleeps. */
int tl_trace_configure(const struct tl_trace_config *config);
/* Of a thread of the program whose registers (instruction, stack and frame pointer) are these; 0: it is not found. Any context. */
uintptr_t tl_trace_caller(uintptr_t ip, uintptr_t sp, uintptr_t fp);

/* --- a recorder ---------------------------------------------------------------------- */

/*
 * Keeps events until they are read: of a tracer, or of callbacks, whose function is tl_trace_ring_record() and whose data is
 * the recorder. Each thread, or a kernel's processor, writes to one of its lanes.
 */
struct tl_trace_ring;

struct tl_trace_ring_config {
	uint32_t lanes; /* a power of two, at most 256: about as many as write at once */
	uint32_t records; /* that a lane holds: a power of two, at most 1048576 */
	uint32_t payload; /* bytes that are kept of a payload, at most TL_TRACE_PAYLOAD */
	bool overwrite; /* where a lane is full its oldest record goes; else the new one is not taken */
};

struct tl_trace_record {
	uint64_t
		time; /* of one clock: in a kernel nanoseconds, in a process the processor's ticks */
	uint32_t event, thread;
	uint32_t size, kept; /* bytes of the payload; that were kept */
	const void *payload;
};

/* -TL_E_INVAL: not such numbers; -TL_E_NOMEM. Sleeps. */
int tl_trace_ring_create(const struct tl_trace_ring_config *config, struct tl_trace_ring **ring);
/* Nobody records or reads. NULL: nothing. Sleeps. */
void tl_trace_ring_destroy(struct tl_trace_ring *ring);
/* As such a function, and not otherwise. */
void tl_trace_ring_record(uint32_t event, const void *payload, size_t size, void *ring);
/*
 * Calls fn for what has been recorded and not been read, in the order of time; ends when fn returns nonzero, or nothing is left.
 * How many it was called for. While threads write faster than fn reads, it goes on: fn may end it. One at a time; any context.
 */
size_t tl_trace_ring_read(struct tl_trace_ring *ring,
	int (*fn)(const struct tl_trace_record *record, void *arg), void *arg);
/* Of all its life: records that were not taken; those that were overwritten, as far as reading has come. Any context. */
uint64_t tl_trace_ring_lost(const struct tl_trace_ring *ring);

#ifdef __cplusplus
}
#endif
#endif
