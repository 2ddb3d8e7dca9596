/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "rows.h"

#include "base/clock.h"
#include "options.h"

static double every, next; /* ms; 0: never */

void rows_start(struct session *s, const char *seconds)
{
	every = s->raw && seconds ? 1000.0 * options_seconds(seconds) : 0;
	next = now_ms() + every;
}

/* One global at a time: what was printed of it is taken before the next one's needs the room. */
void rows_print(struct session *s)
{
	for (uint32_t i = 0; s->raw && i < s->mod->nprobes; i++) {
		if (s->mod->probes[i].kind != TL_TAP_SHOW)
			continue;
		session_run_one(s, i, NULL);
		drain(s, false);
	}
}

void rows_serve(struct session *s)
{
	if (!every || now_ms() < next)
		return;
	rows_print(s);
	next = now_ms() + every;
}
