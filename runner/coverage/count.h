/* SPDX-License-Identifier: MIT */
/* Which instructions of a mapped file could be probed, and how. */
#ifndef TRAPLESS_RUNNER_COVERAGE_COUNT_H
#define TRAPLESS_RUNNER_COVERAGE_COUNT_H

#include <stdbool.h>
#include <trapless/probe.h>

#include "file.h"

enum cov_class { COV_UNPROVED, COV_FUNCTION, COV_PLT, COV_PADDING, COV_CLASSES };

struct cov_tally {
	unsigned long n, placed; /* placed: without a trap */
	unsigned long rung[TL_RUNG_TRAP + 1];
	unsigned long why[TL_E_COUNT]; /* of those refused */
};

void cov_add(struct cov_tally *t, unsigned rung, int why); /* one more */

/* Instructions, and those of them that are function entries. */
struct cov_figure {
	struct cov_tally insns, entries;
};

struct cov_counts {
	unsigned long bytes[COV_CLASSES];
	unsigned long by_unwind, by_symbol; /* functions */
	struct cov_figure alone; /* each site with no other probe near; no traps */
	struct cov_figure once; /* all sites together; what is left over traps */
	unsigned long lost; /* entries where no instruction begins; among the refused */
	unsigned long group; /* instructions that were planned together */
};

/* Functions that the caller knows beside .eh_frame. size 0: only an entry. ELF addresses. */
struct cov_symbol {
	uint64_t addr, size;
};

struct cov_site {
	uint64_t addr; /* ELF addresses */
	/* TL_RUNG_TRAP: only that fits, and TL_RUNG_NONE: refused; why < 0 says why */
	unsigned rung;
	int why;
	struct cov_symbol function; /* size 0: the engine finds it by itself */
};

struct cov_job {
	const struct cov_file *file;
	struct cov_symbol *symbols; /* sorted by cov_count() */
	size_t nsymbols;
	/* Optional: each instruction planned alone. */
	void (*site)(void *arg, const struct cov_site *site);
	void (*progress)(void *arg, double done); /* 0 to 1, often */
	void *arg;
};

/* 0 or -TL_E_. Once in a process: the engine is started for it. */
int cov_count(const struct cov_job *job, struct cov_counts *counts);

#endif
