/* SPDX-License-Identifier: MIT */
/* A thread that was stepped into a signal's handler stands at its first instruction. */
#define _GNU_SOURCE
#include <signal.h>

#include "../guardian.h"
#include "../trace/concern.h"
#include "../trace/traps.h"
#include "faults.h"
#include "handlerstart.h"
#include "masks.h"
#include "trapmend.h"

/* Behind that step. */
enum claim handler_start_at_trap(struct guardian *g, struct thread *t)
{
	bool stepped = t->steps, windowed = t->windowed;
	int code;

	t->steps = t->windowed = false;
	code = stepped ? signal_code(t) : 0;
	if (trap_by_step(code)) /* somebody took the handler away meanwhile */
		signal_mend(g, t, FORCED_TRAP);
	else if (code != SIGTRAP) /* the kernel's word for the start of a handler */
		return NOT_MINE;
	else if (g->masks_matter)
		mask_look(t);
	if (windowed && code == SIGTRAP)
		fault_at_handler(g, t);
	return MINE;
}
