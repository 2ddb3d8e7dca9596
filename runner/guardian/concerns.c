/* SPDX-License-Identifier: MIT */
/* Who has a word when a thread stops or goes on, in this order. */
#include "guardian.h"
#include "family/children.h"
#include "family/launch.h"
#include "family/programs.h"
#include "family/selftrace.h"
#include "family/sharing.h"
#include "family/traceme.h"
#include "family/vforked.h"
#include "leave/leave.h"
#include "mend/alignment.h"
#include "mend/faults.h"
#include "mend/handlers.h"
#include "mend/handlerstart.h"
#include "mend/masks.h"
#include "mend/owntraps.h"
#include "mend/resent.h"
#include "mend/signals.h"
#include "mend/trapmend.h"
#include "mend/trapsvc.h"
#include "session/events.h"
#include "session/hear.h"
#include "session/samples.h"
#include "session/watchpoints.h"
#include "trace/concern.h"
#include "trace/dispatch.h"
#include "trace/restart.h"

const struct concerns concerns = {
	.while_arming = arming_waits,

	.keeps = {event_keeps, own_trap_keeps, traceme_keeps},
	.wants_syscalls = {again_wants_syscalls, dispatch_wants_syscalls, fault_is_followed,
		mask_is_followed},
	.on_resume = {signal_at_resume},
	.wants_step = {mask_changes_by, fault_wants_step, own_trap_wants_step},
	.before_step = {signal_before_step},

	.on_stop = {alignment_at_stop, event_at_stop, dispatch_at_stop, watchpoints_at_stop,
		traceme_at_stop},
	.on_trap = {watchpoint_at_trap, signal_at_trap, alignment_at_trap, handler_start_at_trap,
		trap_at_trap},
	.on_signal = {alignment_at_signal, handler_at_signal, dispatch_at_signal, call_at_signal,
		resent_at_signal, own_trap_at_signal},
	.on_helper_signal = {helper_at_signal},
	.on_delivery = {action_at_delivery, fault_at_delivery, signal_at_delivery},
	.on_call = {again_at_call, mask_at_call, fault_at_call, traceme_at_call, launch_at_call},
	.on_interrupt = {sample_at_interrupt},

	.on_birth = {child_at_birth},
	.on_born = {child_at_first_stop},
	.on_vfork_done = {vfork_done, traceme_at_vfork_done},
	.on_exec = {program_at_exec},
	.on_exit = {leave_at_exit, thread_exits, selftrace_over, sharing_ends},
	.on_over = {thread_over},
	.on_dead = {selftrace_over, sharing_ends, child_dead},
	.on_drop = {sharing_ends, events_forget},
};
