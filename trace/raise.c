/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* An event happens. */
#include "home.h"
#include "trace.h"

uint8_t tl_trace_wanted[TL_TRACE_EVENTS];

static void tell(const struct tl_trace_entry *e, uint32_t event, const void *payload, size_t size)
{
	const struct tl_tracer *tracer = TL_LOAD(&e->tracer);

	if (tracer)
		tracer->trace(event, payload, size, tracer->data);
	for (struct tl_trace_callback *cb = TL_LOAD(&e->first); cb; cb = TL_LOAD(&cb->next))
		cb->fn(event, payload, size, cb->data);
}

/* An own event may be withdrawn meanwhile: its type is looked at inside. */
int tl_trace(uint32_t event, const void *payload, size_t size)
{
	void *mark;
	const struct tl_trace_type *type;
	int ret = 0;

	if (event >= TL_TRACE_EVENTS)
		return -TL_E_NO_EVENT;
	mark = tl_trace_home_enter();
	type = TL_LOAD(&tl_trace_entries[event].type);
	if (!type)
		ret = -TL_E_NO_EVENT;
	else if (type->size != size)
		ret = -TL_E_PAYLOAD;
	else if (!tl_trace_enabled(event))
		ret = -TL_E_NO_TRACER;
	else
		tell(&tl_trace_entries[event], event, payload, size);
	tl_trace_home_leave(mark);
	return ret;
}
