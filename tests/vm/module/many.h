/* SPDX-License-Identifier: MIT */
/* Places behind the entries of all functions of the kernel, and rows of what was measured there. */
#ifndef TRAPLESS_TESTS_MANY_H
#define TRAPLESS_TESTS_MANY_H

#include "vm.h"

enum { PLACES_MAX = 65536 };

/* places.c */
extern uintptr_t *places; /* sorted */
extern size_t nplaces;
extern atomic_long_t hits;

test_fn functions_are_listed;
int count(struct tl_probe *p, struct tl_regs *regs,
	struct tl_thread *self); /* a handler: one hit more */
u64 since(u64 *from); /* ns; *from is now */
void row(const char *what, u64 ns, size_t n); /* microseconds a probe */

/* massive.c: 20,000 of 37,000 probes, and the kernel's own */
test_fn half_of_all_are_enabled, half_of_all_are_traps, the_kernels_own_are_measured;

#endif
