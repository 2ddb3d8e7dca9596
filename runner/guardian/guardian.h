/* SPDX-License-Identifier: MIT */
/*
 * The guardian: the one process that ptraces a target. It is forked by the
 * runner of the target's first session, lives in a session of its own, and
 * outlives it. The sessions are its clients: when a runner's end of the socket
 * closes its probes go, and with the last one the target is left as it was
 * found.
 *
 * All threads of the target stay seized for the whole session (which disturbs
 * nobody); a thread is stopped only where the work asks for it. One loop
 * (trace/loop.c) takes every event; functions that wait for one thread let it
 * serve all others meanwhile.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_H
#define TRAPLESS_RUNNER_GUARDIAN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

#include "../../home/control.h"
#include "../base/clock.h"
#include "../machine/machine.h"
#include "../base/module.h"
#include "../tell/tell.h"
#include "session/client.h"
#include "trace/concern.h"
#include "trace/thread.h"

/* Signals that code of ours causes in the program. */
enum forced { FORCED_TRAP, FORCED_SEGV, FORCED_BUS, FORCED };

/* Addresses in the agent; 0: it is not there. */
struct handler_places {
	uint64_t ask, peek, peek_end, peek_fault;
};

enum {
	PAGE = 4096,
	THREAD_BUCKETS = 1024,
	HELPER_STACK = 512 * 1024, /* in the agent's region, behind a closed page */
	HELPER_SP =
		0x4c00, /* of a newborn helper without a foothold: no real thread's stack is there */
};

struct guardian {
	pid_t pid; /* the target */
	pid_t eye; /* a live thread of it: the first one may have ended, and shows no memory then */
	const struct concerns *concerns;
	struct client *clients;
	struct client *arming; /* it may lose patience */
	double runs_until; /* some thread is led to its handler's end: see handlerend.c; 0: none, ms */
	double progress_due; /* when it is told how far that is, ms */
	bool unplaced_told; /* ctl->nunplaced is not 0 */
	int mem; /* /proc/PID/mem */
	int sigchld; /* signalfd */
	pid_t turn; /* whose it was last, see loop.c */
	bool hot; /* breakpoints are being hit: see watch() */
	int ctl_fd;
	int door; /* where other sessions ask to be served; -1: nowhere */
	bool door_tried, knocked;
	struct sockaddr_un door_at;
	struct thread *threads, *by_tid[THREAD_BUCKETS];
	uint32_t nthreads;
	struct tl_ctl *ctl;
	size_t ctl_size;
	uint64_t syscall_insn; /* address of a system call instruction in the target */
	/* ... of code that makes a call by what lies on the stack: see foothold.c; 0: not known */
	uint64_t lead;
	uint64_t helper_sp; /* of the helper, while it is born */
	uint64_t stack_top, agent_entry;
	uint64_t agent_call; /* where the helper makes calls for us; 0: nowhere in the agent */
	struct thread *helper;
	int helper_signal; /* by which it asks for us */
	/* the thread whose thread block it shares, by the number it has in its own namespace */
	uint32_t lender;
	pid_t taken; /* another session's guardian has the target */
	bool met; /* it was there, and lived */
	bool refused; /* by what it is, whatever becomes of it */
	bool exits; /* some thread of the program has come to its exit */
	bool gone; /* the target has exited */
	bool execed; /* ... or has become another program */
	bool heir; /* of a guardian that was killed: only to clean up */
	bool fresh; /* it waits before the first instruction of a program */
	pid_t parker; /* the guardian that has brought it there and is about to let go of it; 0: none */
	uint64_t parking; /* the page where the target waits for us; 0: nowhere */
	bool may_park; /* all its signals are blocked, and it is not asleep there yet */
	bool release; /* from there, and no more */
	uint32_t expected, declined; /* sessions that were told of it; those that do not want it */
	struct thread *parked; /* it stands still until they are here; NULL: nobody does */
	bool stopping; /* some stand still, or all, until resume_all() */
	bool leaving;
	bool parting; /* one of several sessions leaves: the main loop goes on */
	bool injected, launched;
	bool debugger, debugger_known; /* the target may trace others: see traceme.c */
	/* for a sanitizer in it, see selftrace.c; a library is one */
	bool program_searched, sanitizer_comes;
	pid_t own_tracer; /* a process of the target's that traces its threads; 0: none does */
	pid_t let_go; /* a child that shares the memory and is the target's to trace */
	bool barred; /* some thread's seccomp filter may not be suspended */
	bool started; /* launched, and past its entry point */
	bool expecting; /* a helper is being born */
	bool audited; /* its loader maps libraries for auditors, and then maybe the same ones again */
	bool mapping; /* the thread at at_map has just mapped a piece of a file, and not cleared its end yet */
	bool armed; /* the first session is */
	uint64_t entry;
	/* stopped there, for the main loop */
	struct thread *at_exec, *at_end, *at_map, *at_entry, *at_dlopen;
	bool watching; /* the main loop is listening */
	bool dl_missed; /* the loader had news, and nobody could be held */
	uint64_t loader; /* its structure for debuggers (r_debug); 0: not to be relied on */
	struct thread *main_held;
	bool looked, one_look, inside_only; /* see quiet_in() */
	bool crashed; /* the agent failed: nothing of it is called again */
	bool restored; /* leaving: the text is as it was */
	bool settled; /* ... and no breakpoint of ours is on its way any more */
	/* the program's for the signals that we cause: see trapmend.c */
	struct signal_action actions[FORCED];
	bool action_watched, action_heard[FORCED];
	bool masks_matter; /* there are breakpoints, or watchpoints: see masks.c */
	bool may_fault, faulted; /* handlers that read memory; one read what is not there */
	bool watch_tried;
	double action_read_ms;
	struct handler_places ask; /* in the agent: see handlers.c */
	bool nested; /* the target is in a pid namespace below ours */
	uint32_t nuntold; /* threads that stand still for a runner's handler */
	struct watchpoint watchpoints[WATCHPOINTS]; /* by debug register */
	int watchpoints_error; /* of the kernel, which has not given a thread its registers; -1: told */
	bool watchpoints_stand, watchpoints_known; /* now; or threads may still be told of hits */
	bool own_traps, own_trapped; /* some SIGTRAPs of the program's wait; it has had some */
	bool data_watched; /* some session wants them */
	uint32_t registers, renewals; /* counts what was to stand, and how often it was spread */
	char name[16]; /* the target's */
	bool over; /* its end has been told */
	uint64_t children, children_unclean; /* ran untraced; could not be cleaned */
	uint64_t traps; /* hits of probes by breakpoints */
	uint64_t silences; /* times that no probe was heard, see traceme.c */
	uint64_t stacks_read; /* bytes, by all looks at who stands where */
	uint64_t stops; /* at any breakpoint of ours */
	uint32_t patching; /* enum tl_patching */
	char error[512]; /* why the last step failed: one message for the user */
};

extern const struct concerns concerns;

/* Nothing of the program that we came to is left. */
static inline bool target_ended(const struct guardian *g)
{
	return g->gone || g->execed;
}

static inline uint64_t pages(uint64_t size)
{
	return (size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

int guardian_run(struct guardian *g, struct client *first);
static inline uint32_t ctl_areas(const struct guardian *g)
{
	return ctl_bounded(&g->ctl->nareas, TL_CTL_AREAS);
}

#endif
