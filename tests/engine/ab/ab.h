/* SPDX-License-Identifier: MIT */
/* What the A/B proof's written cases (ab.c) and its generated ones (rows.c) share. */
#ifndef TRAPLESS_TESTS_AB_H
#define TRAPLESS_TESTS_AB_H

#include <stdint.h>
#include "../../../engine/arch/arch.h"
#include "../../../engine/core/detour/site.h"
#include "../../../engine/core/detour/thread.h"
#include "../../../engine/insn/x86/insn.h"

#define STACK  (64 * 1024)
#define DATA   8192
#define XSAVE  4096
#define RED    128
#define STATUS 0x8d5 /* CF PF AF ZF SF OF */

/* Of the xsave area: mask registers, upper halves, upper registers. */
#define AB_AVX512      0xe0
#define AB_AVX512_AT   1088
#define AB_AVX512_SIZE (2688 - 1088)

struct state {
	uint64_t r[16]; /* in the processor's order: ax cx dx bx sp bp si di r8-r15 */
	uint64_t flags, target;
	uint8_t pad[192 - 18 * 8];
	uint8_t xsave[XSAVE];
} __attribute__((aligned(64)));

struct test_case {
	const char *name;
	uint8_t *start, *body_end, *end;
};

extern uint8_t ab_data[DATA];
extern uint64_t ab_xmask;
void ab_exit(void);

/* A chosen state in place of random ones. */
extern struct ab_given {
	const struct state *state; /* NULL: random */
	uint64_t seed; /* of what is in memory */
	bool image; /* memory holds the state's own xsave area */
	bool varies; /* its results are not the same each time: they are not compared */
} ab_given;

extern const char *ab_rows_file;
extern volatile int ab_fault; /* the signal that ended a bare run */

void ab_random(struct state *s, const struct test_case *c);
/* What differs between two bare runs from s; NULL: nothing, or a fault (ab_fault). */
const char *ab_bare_twice(struct state *s);
/* May its first instruction not be probed? */
bool ab_refused(const struct test_case *c);
/* Bare and through detours on every rung from the given state; how often it was run so. */
unsigned ab_try_rungs(const struct test_case *c);
void ab_each_case(void (*fn)(const struct tl_insn *i));

/* features.c: what an instruction of features.txt takes that is not to be had here; NULL: nothing. */
const char *ab_lacking(const uint8_t *bytes, size_t n);

/* rows.c: NULL, or what is wrong. */
const char *ab_rows(void);

#endif
