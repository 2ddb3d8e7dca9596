/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "outside.h"

#include <trapless/error.h>
#include <unwind.h>

#include "../engine/core/base/mem.h"
#include "../engine/core/detour/threads.h"
#include "../engine/os/process/process.h"
#include "readers.h"

/* A frame that was left before its instruction, not behind a call, was interrupted. */
static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *arg)
{
	int before = 0;

	_Unwind_GetIPInfo(context, &before);
	*(bool *)arg = before;
	return before ? _URC_END_OF_STACK : _URC_NO_REASON;
}

bool tl_in_signal_handler(void)
{
	bool found = false;

	if (tl_on_signal_stack())
		return true;
	_Unwind_Backtrace(look, &found);
	return found;
}

/* Its guard is the stack pointer where the handler was entered; one that was left by a jump stays, above us. */
static bool in_probe_handler(void)
{
	const struct tl_thread *t = tl_thread_known();
	uintptr_t guard = t ? TL_RELAXED(&t->guard) : 0;

	return guard > (uintptr_t)__builtin_frame_address(0);
}

int tl_outside(const struct tl_lock *wanted)
{
	if (tl_lock_is_of(wanted, tl_machine_thread()))
		return -TL_E_IN_SIGNAL;
	if (tl_readers_inside() || in_probe_handler())
		return -TL_E_IN_CALLBACK;
	return tl_in_signal_handler() ? -TL_E_IN_SIGNAL : 0;
}
