/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The kernel's side of signals, for the own process: what a signal leaves on a
 * stack, and how a breakpoint comes back. A machine's frame.h gives:
 *
 * TL_SIGTRAP, TL_SIG_FIRST_RT, TL_SIG_LAST, TL_SA_*, TL_SIG_DFL, TL_SIG_IGN,
 *	TL_SI_QUEUE, and the kernel's struct tl_sigaction (handler, flags, mask),
 *	tl_siginfo (signo, code) and tl_ucontext;
 * TL_RED_ZONE: bytes below the stack pointer that a function may use;
 * TL_BREAKPOINT_STEP: where a breakpoint leaves the program counter, less where it is.
 *
 * What reads stacks reads what the compiler considers other functions' business.
 */
#ifndef TRAPLESS_ENGINE_OS_PROCESS_FRAME_H
#define TRAPLESS_ENGINE_OS_PROCESS_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define READS_STACKS __attribute__((no_sanitize("address")))

/* A signal frame on a stack. */
struct tl_frame {
	struct tl_ucontext *uc;
	const struct tl_siginfo *info;
};

#if defined(__x86_64__)
#include "x86_64/frame.h"
#else
#include "unported/frame.h"
#endif

/* How the kernel comes back from a handler: to be set before it is given one. */
void tl_sigaction_finish(struct tl_sigaction *sa);

/* A signal to be queued by rt_tgsigqueueinfo, with a value; and that of one that has come. */
void tl_siginfo_queue(struct tl_siginfo *info, int sig, int32_t pid, uint64_t value);
uint64_t tl_siginfo_value(const struct tl_siginfo *info);

/* The registers saved in a frame. set_ip: one store. */
uintptr_t tl_context_ip(const struct tl_ucontext *uc);
uintptr_t tl_context_sp(const struct tl_ucontext *uc);
void tl_context_set_ip(struct tl_ucontext *uc, uintptr_t to);
/* All that may hold an address, program counter included: their number. */
size_t tl_context_words(const struct tl_ucontext *uc, const uintptr_t **words);

/* Is the word at `at` of a stack, which goes up to `end`, the saved program counter of a signal frame? Then that frame: asked of every word. */
bool tl_frame_at(uintptr_t *at, const uintptr_t *end, struct tl_frame *f);

/*
 * Is this of the frame of a thread that has run into a breakpoint, and that our handler has not led on yet?
 * A program's own breakpoint looks the same until its handler has returned.
 */
bool tl_own_trapped(const struct tl_siginfo *info);
/* A breakpoint that was there when the thread ran into it, and has been taken away since. */
bool tl_breakpoint_gone(uintptr_t at);

#endif
