/* SPDX-License-Identifier: MIT */
/* A thread of the target, as the guardian knows it. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_TRACE_THREAD_H
#define TRAPLESS_RUNNER_GUARDIAN_TRACE_THREAD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A sleeping call that was issued again with less time: what to put back when it ends. */
struct reissue {
	bool on;
	bool inside; /* between its entry and its exit stop */
	uint8_t arg; /* which argument was changed */
	uint64_t value; /* what it was */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
};

/* As ptrace(2) tells it, and takes it. */
struct dispatch {
	uint64_t mode, selector, offset, len;
};

/* A signal that the thread gets a little later: see signals.c. */
struct kept {
	int sig; /* 0: none */
	unsigned steps;
	double since_ms;
	bool pushes; /* the step pushes the flags */
	bool asked; /* a SIGTRAP, only to have it stop where it can be told of one */
	bool runs; /* until the end of a handler, which a debug register tells: see handlerend.c */
	bool ran; /* ... it did: the SIGTRAP of that may be on its way */
	siginfo_t info;
	uint64_t mask; /* its signals blocked, but for us */
};

struct thread {
	struct thread *next, *same_hash;
	pid_t tid, tgid;
	uint64_t pointer; /* its thread pointer, as last seen; 0: not known */
	uint64_t shares; /* a thread block, see sharing.c; 0: it has its own */
	uint32_t number; /* its id as it sees it itself, once published: see handlers.c */
	bool stopped, dead;
	/* its next clean stop belongs to somebody who waits for it: by thread_hold(), or loop.c */
	bool held;
	bool asked; /* ... with many others, and nobody waits for it yet: it may go */
	bool interrupted; /* PTRACE_INTERRUPT sent, its stop not seen yet */
	bool helper;
	bool newborn; /* its first stop has not come yet */
	bool cloning; /* it may be making somebody that is not ours: see cloning.c */
	pid_t awaited; /* the child that it stands still for */
	bool applies; /* it is to be its parent's to trace, and waits for that: see traceme.c */
	bool parts; /* somebody else is to trace it: its next stop is the last */
	bool vforked; /* its parent waits for it */
	bool exits; /* it is on its way out, or out: its memory may be gone */
	pid_t parent; /* the thread that has made it, once that is known */
	pid_t vfork_child; /* the last one that it has made, and waited for */
	bool pinned; /* it stands, with all others, in the call in which it waits for that one */
	uint32_t look; /* the last look at all threads that it was in */
	bool inside; /* our code, when it was last looked at */
	bool suspended; /* its seccomp filter is: see seccomp.c */
	struct dispatch dispatch; /* switched off, to be put back: see dispatch.c */
	bool calling; /* in a remote call: the next syscall stops belong to it */
	bool follow; /* its system calls are watched (launch, traceme) */
	bool steps; /* into the handler of a signal: see masks.c */
	bool mask_known;
	uint64_t calls_at; /* a `syscall` in the program that it has become; 0: as for the others */
	uint64_t calls_sp; /* its stack there: see foothold.c; 0: its own */
	uint64_t mask; /* its signals blocked, as last seen whole */
	uint64_t mask_below; /* ... and when the present handler will have ended; 0: no matter */
	bool owes; /* a signal of somebody's, sent again: as it was */
	siginfo_t owed;
	struct kept kept;
	double rest_ms; /* until then its signals are not kept */
	bool own_trap; /* a SIGTRAP of the program's waits: see owntraps.c */
	bool into_handler; /* it is stepped there by its next signal */
	bool stepping; /* it goes on for one instruction */
	/* it makes, or has made, one access with alignment checking off: see alignment.c */
	bool unaligned, realigned;
	bool windowed; /* the signal that it is about to get comes from a window's instruction */
	/* of such a signal, 0: none; and the alternate stack then */
	uint64_t frame, alternate, alternate_size;
	int status; /* of the present stop */
	int late_stop; /* a SIGSTOP that came during a remote call */
	uint64_t switches, slept; /* see sleep_so_far() */
	uint64_t go_block; /* its thread pointer, where it is one of Go's; 0: not known yet */
	uint64_t go_machine; /* ... its runtime.m then, 0: not known either */
	uint64_t still_since, still, still_longest; /* held by us, ns: now from, in all, at once */
	struct reissue again;
	char name[16]; /* for those who want its end, when it can no longer be read */
	bool over; /* its end has been told */
	uint32_t untold; /* it stands still for these sessions' handlers, by slot: see events.c */
	double untold_ms; /* since then */
	struct sample {
		uint32_t slot, probe;
	} samples[4]; /* its next stop is also for these sessions' timers */
	unsigned nsamples;
	uint32_t registers, tried; /* its debug registers are as of then: see watchpoints.c */
};

/* Its stops are ours to deal with, not the loop's. Was it held before? That is what the holder puts back. */
static inline bool thread_hold(struct thread *t)
{
	bool before = t->held;

	t->held = true;
	return before;
}

static inline void thread_unhold(struct thread *t, bool before)
{
	t->held = before;
}

/* Of the program, not of ours; and it has begun. */
static inline bool thread_is_theirs(const struct thread *t)
{
	return !t->helper && !t->dead && !t->newborn;
}

#endif
