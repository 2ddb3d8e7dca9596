/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The registers of the probed program as a handler sees them.
 *
 * A light probe (no TL_PROBE_REGS) gets only what its detour must save anyway:
 * the call-clobbered registers, flags, ip and sp. The others hold garbage.
 */
#ifndef TRAPLESS_REGS_H
#define TRAPLESS_REGS_H

#include <stdint.h>

#if defined(__x86_64__)
struct tl_regs {
	/* call-preserved: valid only with TL_PROBE_REGS */
	uint64_t r15, r14, r13, r12, bp, bx;
	/* call-clobbered: always valid */
	uint64_t r11, r10, r9, r8, ax, cx, dx, si, di;
	uint64_t flags; /* status flags CF PF AF ZF SF OF; the others as at the last full save */
	uint64_t ip;	/* address of the probed instruction */
	uint64_t sp;	/* as at the probed instruction */
};
#define TL_REGS_IP(r) ((r)->ip)
#define TL_REGS_SP(r) ((r)->sp)
/* At a function's entry, and where it returns: where to. Other machines may have it in a register. */
#define TL_REGS_RET_IP(r) (*(const uintptr_t *)(uintptr_t)(r)->sp)
#else
/* Ports to come give theirs; unit tests on other machines use this one. */
struct tl_regs {
	uintptr_t gpr[32];
	uintptr_t ip, sp;
};
#define TL_REGS_IP(r) ((r)->ip)
#define TL_REGS_SP(r) ((r)->sp)
/* The test machine keeps the stack as an array of words that sp points into. */
#define TL_REGS_RET_IP(r) (*(const uintptr_t *)(r)->sp)
#endif

#endif
