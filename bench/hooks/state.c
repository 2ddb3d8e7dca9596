/* SPDX-License-Identifier: MIT */
/* Who listens to the hooks of table.c, and to the events that they raise. */
#include <string.h>
#include <trapless/hooks.h>
#include <trapless/trace.h>

#include "listen.h"
#include "state.h"

static void on_enter(void *data, long number, const void *caller)
{
	(void)data;
	if (tl_trace_enabled(TL_TRACE_SYS_ENTER)) {
		const struct tl_trace_sys_enter e = {.number = number, .caller = (uintptr_t)caller};

		tl_trace(TL_TRACE_SYS_ENTER, &e, sizeof(e));
	}
}

static void on_leave(void *data, long number, long result)
{
	(void)data;
	if (tl_trace_enabled(TL_TRACE_SYS_EXIT)) {
		const struct tl_trace_sys_exit e = {.number = number, .result = result};

		tl_trace(TL_TRACE_SYS_EXIT, &e, sizeof(e));
	}
}

static void hooks_on(void)
{
	must(tl_hook_listen(bench, enter, on_enter, NULL), "enter");
	must(tl_hook_listen(bench, leave, on_leave, NULL), "leave");
}

/* Nobody reads: the oldest records go. */
static void tracer_on(void)
{
	static const struct tl_trace_ring_config config = {
		.lanes = 4, .records = 1024, .payload = 64, .overwrite = true};
	static struct tl_tracer tracer = {.name = "recorder", .trace = tl_trace_ring_record};
	struct tl_trace_ring *ring;

	must(tl_trace_ring_create(&config, &ring), "ring");
	tracer.data = ring;
	must(tl_tracer_register(&tracer), "tracer");
}

static void callbacks_on(void)
{
	static struct tl_trace_callback callbacks[] = {
		{.event = TL_TRACE_SYS_ENTER, .fn = ignore},
		{.event = TL_TRACE_SYS_EXIT, .fn = ignore},
	};

	for (size_t i = 0; i < sizeof(callbacks) / sizeof(callbacks[0]); i++)
		must(tl_trace_callback_add(&callbacks[i]), "callback");
}

void become(const char *state)
{
	if (strcmp(state, "off"))
		hooks_on();
	if (!strcmp(state, "tracer"))
		tracer_on();
	if (!strcmp(state, "callbacks"))
		callbacks_on();
}
