/* SPDX-License-Identifier: MIT */
/* Which 64 KiB of the address space are meant, or others that end in the same 16 bits. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_TRACE_NEAR_H
#define TRAPLESS_RUNNER_GUARDIAN_TRACE_NEAR_H

#include "../guardian.h"

struct near {
	uint64_t bits[1024];
};
void near_clear(struct near *n);
void near_add(struct near *n, uint64_t lo, uint64_t size);
static inline bool near_has(const struct near *n, uint64_t addr)
{
	return n->bits[addr >> 22 & 1023] >> (addr >> 16 & 63) & 1;
}

#endif
