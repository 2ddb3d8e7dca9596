/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Inside the trace facility. */
#ifndef TRAPLESS_TRACE_TRACE_H
#define TRAPLESS_TRACE_TRACE_H

#include <trapless/trace.h>

#define TL_LOAD(p)     __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define TL_STORE(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)

/* As wait-free readers see it: what is stored is whole before it is seen. */
struct tl_trace_entry {
	const struct tl_trace_type *type; /* NULL: there is no such event */
	const struct tl_tracer *tracer; /* NULL: it does not want this one */
	struct tl_trace_callback *first;
};
extern struct tl_trace_entry tl_trace_entries[TL_TRACE_EVENTS];

/* Its row: of own ones where they were declared. NULL: no such event. Any context. */
static inline struct tl_trace_entry *tl_trace_entry_of(uint32_t event)
{
	return event < TL_TRACE_EVENTS && TL_LOAD(&tl_trace_entries[event].type)
		       ? &tl_trace_entries[event]
		       : NULL;
}

/* listen.c: an own event is there now, or will not be: for a tracer that wants all. The lock is held. 0, or -TL_E_: not raised. */
int tl_trace_declared(uint32_t event);
void tl_trace_withdrawn(uint32_t event);

#endif
