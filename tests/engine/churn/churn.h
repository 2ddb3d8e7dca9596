/* SPDX-License-Identifier: MIT */
/* Random programs (code.c), and what they do by themselves (oracle.c), for churn.c. */
#ifndef TRAPLESS_TESTS_CHURN_H
#define TRAPLESS_TESTS_CHURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FUNCS = 40,
	ITEMS = 48, /* instructions of one function, at most */
	SITES = FUNCS * ITEMS,
	WORDS = 16, /* of memory that a program works on */
	TEXT_SIZE = 1 << 16,
};

/* What a probe's handler does besides counting. */
enum act {
	ACT_NONE,
	ACT_TWIST, /* changes rax */
	ACT_SKIP, /* goes on behind the instruction */
	ACT_LEAVE, /* at an entry: goes back to the caller */
};
#define TWIST 0x5555aaaa3333ccccu

/* One instruction of the text. */
struct item {
	uint16_t off; /* in churn_text */
	uint8_t len, func;
	bool plain; /* goes on behind itself, and touches no stack */
};

struct program {
	struct item item[SITES];
	unsigned nitems;
	uint16_t first[FUNCS + 1]; /* items of each function; the last one's end */
	bool leaves[FUNCS]; /* by a jump to another function */
};

/* Registers that a program works on, and memory. */
struct world {
	uint64_t ax, cx, dx, si, r8, r9, r10, flags;
	uint64_t words[WORDS];
};

/* What a run is asked for and has shown; shared with the oracle. */
struct run {
	unsigned func;
	struct world w;
	uint8_t act[SITES];
	uint32_t count[SITES]; /* how often each instruction was come by */
};

extern uint8_t churn_text[TEXT_SIZE];
/* code.S: calls the function with this world. */
void churn_call(const void *func, struct world *w);

uint32_t churn_random(uint32_t below);
void churn_seed(uint64_t seed);

/* Writes a new program into churn_text. */
void churn_write(struct program *p);
void churn_world(struct world *w, uint64_t input);
static inline void *churn_at(const struct item *i)
{
	return churn_text + i->off;
}

/* A process of its own that runs the text, never probed, one instruction at a time. NULL: it cannot be had. */
struct run *oracle_start(const struct program *p);
bool oracle_run(void);
void oracle_end(void);

#endif
