/* SPDX-License-Identifier: MIT */
/*
 * ELF images, read where they are mapped in the target: it may have changed its files since. Maps and images anew,
 * into the control block.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_TRACE_IMAGES_H
#define TRAPLESS_RUNNER_GUARDIAN_TRACE_IMAGES_H

#include "../guardian.h"

/* A piece of an image, as its headers want it; whole pages. */
struct segment {
	uint64_t at, offset; /* in memory, in the file */
	bool text; /* executable */
};

/* A mapped ELF file. */
struct mapped {
	uint64_t base; /* of its first mapping */
	uint64_t bias;
	uint64_t lo, hi; /* of its executable mappings */
	uint64_t end; /* of all that its headers want loaded */
	/* where its headers want them: a program may map parts of itself again */
	uint64_t text_lo, text_hi;
	struct segment segments[16];
	uint32_t nsegments;
	/* data that no file holds: the loader clears it when the rest is mapped */
	uint64_t clear_lo, clear_hi;
	uint64_t text_shift; /* from a place in the file to where it has that of its text */
	uint64_t eh, eh_size;
	uint64_t inode, dev;
	uint64_t eh_offset; /* of the unwind table in the file */
	bool bare_frames; /* eh: of .eh_frame, there is no search table */
	bool eh_there; /* the loader maps a file in steps */
	uint8_t build_id[32];
	uint32_t build_id_len;
	bool interp, vdso, whole, loader;
	bool hidden; /* it was text, but nothing of it is executable: it may be about to be loaded anew */
	bool go; /* made by Go's compiler */
	bool program; /* the one that runs */
	uint64_t engine; /* libtrapless is in it, and has a word here; 0: it is not */
	char path[512];
};

int images_read(struct guardian *g);
/* Those of the last maps_read(). */
/* Read maps and images anew; 0 or -1. */
int images_find(struct guardian *g);
/* Those found last. */
const struct mapped *images_found(size_t *n);
/* Is it where the headers of one of those want its text? */
bool in_files_text(uint64_t addr);
const char *base_name(const char *path);
/* Are all its segments mapped? Only as long as its loader is at work: later a program may map what it likes. */
bool image_is_whole(const struct mapped *m);
/* Can a word of its data be written, and will the loader not clear it any more? cleared: it has. */
bool image_is_ready(const struct mapped *m, uint64_t addr, bool cleared);
/* The one with an engine that runs, of those found last; NULL: none. */
const struct mapped *image_with_engine(struct guardian *g);

#endif
