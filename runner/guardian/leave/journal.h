/* SPDX-License-Identifier: MIT */
/* The engine's journal, as it lies in a process: what is patched there, and taking it out. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_LEAVE_JOURNAL_H
#define TRAPLESS_RUNNER_GUARDIAN_LEAVE_JOURNAL_H

#include "../guardian.h"

bool journal_gone(struct guardian *g);
bool journal_holds(struct guardian *g, pid_t pid); /* anything, or nobody knows what */
int journal_restore(struct guardian *g, pid_t pid, int mem);
/* Read from the target */
void journal_undo(struct guardian *g, uint64_t lo, uint8_t *text, size_t size);

/* Those of [lo, hi) by `shift` further on; mem < 0: are there *any? 0, or -1: some may stand. */
int journal_restore_moved(
	struct guardian *g, int mem, uint64_t lo, uint64_t hi, uint64_t shift, bool *any);
/* What a dead or failed agent had open for writing: as it was */
void text_shut(struct guardian *g);
int breakpoints_out(struct guardian *g);
void breakpoints_in(struct guardian *g);

#endif
