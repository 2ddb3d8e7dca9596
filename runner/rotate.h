/* SPDX-License-Identifier: MIT */
#ifndef TRAPLESS_RUNNER_ROTATE_H
#define TRAPLESS_RUNNER_ROTATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct rotation {
	const char *file;
	int64_t size; /* bytes of one; 0: all goes to one file */
	unsigned keep, number; /* how many are kept, 0: all; of the present one */
};

/* `MIB[,N]`; false: it is not that. */
bool rotation_parse(struct rotation *r, const char *file, const char *words);
FILE *rotation_start(struct rotation *r); /* NULL with errno */
bool rotation_due(const struct rotation *r, FILE *out,
	size_t more); /* the present file is full, with so many bytes more */
/* Go on in the next file, in the same where that cannot be opened; what was written is flushed before. */
void rotation_next(struct rotation *r, FILE **out);

#endif
