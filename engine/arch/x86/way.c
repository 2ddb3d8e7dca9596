/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Going on elsewhere where the processor has a shadow stack, which a `ret`
 * would not match. No other instruction takes the frame away and jumps to what
 * lies in it, and below the stack pointer a signal may overwrite it at any
 * time. So each place that a handler ever leads to gets a way of its own, two
 * instructions and a word that never changes again: any thread may be on it,
 * and be interrupted there.
 */
#include "../../core/base/mem.h"
#include "x86.h"

#ifndef __KERNEL__ /* which has no shadow stack */
#define WAYS	 512
#define WAY_SIZE 16

#define TEXT_OF(n) #n
#define TEXT(n)	   TEXT_OF(n)

_Static_assert(X86_BELOW == sizeof(struct tl_regs) + X86_RED_ZONE, "what a way takes away");
_Static_assert(X86_SAVED_IP == offsetof(struct tl_regs, ip), "where the last way finds its end");

extern const uint8_t x86_ways[] __attribute__((visibility("hidden")));
uintptr_t x86_ways_to[WAYS] __attribute__((visibility("hidden"), used));

/* clang-format off */
/* The last is for all that are too many: a signal between its two instructions would lose the place. */
__asm__(".pushsection .text\n"
	".balign " TEXT(WAY_SIZE) "\n"
	".hidden x86_ways\n"
	"x86_ways:\n"
	".set .Lway, 0\n"
	".rept " TEXT(WAYS) " - 1\n"
	"lea " TEXT(X86_BELOW) "(%rsp), %rsp\n"
	"notrack jmp *x86_ways_to + 8 * .Lway(%rip)\n"
	".balign " TEXT(WAY_SIZE) "\n"
	".set .Lway, .Lway + 1\n"
	".endr\n"
	"lea " TEXT(X86_BELOW) "(%rsp), %rsp\n"
	"notrack jmp *" TEXT(X86_SAVED_IP) " - " TEXT(X86_BELOW) "(%rsp)\n"
	".popsection\n");
/* clang-format on */

/* Any context: called by detours. */
uintptr_t x86_way(uintptr_t ip)
{
	uintptr_t i, there;

	for (i = 0; i < WAYS - 1; i++) {
		there = TL_LOAD(&x86_ways_to[i]);
		if (!there && __atomic_compare_exchange_n(&x86_ways_to[i], &there, ip, false,
				      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			break;
		if (there == ip)
			break;
	}
	return (uintptr_t)x86_ways + i * WAY_SIZE;
}
#else
uintptr_t x86_way(uintptr_t ip)
{
	return ip;
}
#endif
