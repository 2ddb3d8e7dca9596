/* SPDX-License-Identifier: MIT */
/*
 * Memory that a session's runner shares with its guardians, beside that of the
 * handlers. By descriptors: a guardian may be another session's child.
 */
#ifndef TRAPLESS_RUNNER_BOARD_H
#define TRAPLESS_RUNNER_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../home/symbols.h"
#include "../base/module.h"

/* Why a probe is not in its place. */
enum off_by { OFF_BY_USER = 1, OFF_BY_CONDITION = 2 };

/* What is wanted of the probes, while the session runs. */
struct tuning {
	bool unoptimized; /* every probe on the trap rung */
	uint8_t off[]; /* by probe: enum off_by */
};

struct board {
	int fd;
	struct tl_symbol_image *images; /* where the module's images are */
	uint8_t *states; /* enum probe_state by probe */
	struct tuning *tuning;
};

/* 0, or -1 with errno. */
int board_make(struct board *b, const struct tl_tap *mod);
int board_open(struct board *b, const struct tl_tap *mod, int fd); /* it is the board's then */
void board_close(struct board *b, const struct tl_tap *mod);

/* How the probes of one target stand. NULL with errno. */
struct standing;
struct standing *standing_make(const struct tl_tap *mod, int *fd);
struct standing *standing_open(const struct tl_tap *mod, int fd);
void standing_close(struct standing *st, const struct tl_tap *mod);

/* A piece of memory of its own; NULL with errno. A file that is too small is -EINVAL's. */
void *memory_make(size_t size, int *fd);
void *memory_open(size_t size, int fd);

#endif
