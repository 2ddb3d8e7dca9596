/* SPDX-License-Identifier: MIT */
/* What is mapped in the target, as it was when it was last read. */
#ifndef TRAPLESS_RUNNER_IMAGES_H
#define TRAPLESS_RUNNER_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct guardian;

/* A line of /proc/PID/maps. */
struct mapping {
	uint64_t lo, hi, offset, inode, dev;
	int prot;
	const char *path; /* good until the next maps_read() */
};

/* A mapped ELF file. */
struct mapped {
	uint64_t base; /* of its first mapping */
	uint64_t bias;
	uint64_t lo, hi; /* of its executable mappings */
	uint64_t text_lo,
		text_hi; /* where its headers want them: a program may map parts of itself again */
	uint64_t eh, eh_size;
	uint64_t inode, dev;
	uint64_t eh_offset; /* of the unwind table in the file */
	bool eh_there; /* the loader maps a file in steps */
	uint8_t build_id[32];
	uint32_t build_id_len;
	bool interp, vdso, whole, loader;
	bool program; /* the one that runs */
	char path[512];
};

/* maps.c: those of the last maps_read(). */
const struct mapping *mappings(size_t *n);

/* images.c: read maps and images anew; 0 or -1. */
int images_find(struct guardian *g);
/* Those found last. */
const struct mapped *images_found(size_t *n);
const char *base_name(const char *path);

#endif
