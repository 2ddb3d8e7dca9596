/* SPDX-License-Identifier: MIT */
/*
 * The target's mappings: /proc/PID/maps, read in one go for all who ask. The mappings anew, into the control block
 * too.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_TRACE_MAPS_H
#define TRAPLESS_RUNNER_GUARDIAN_TRACE_MAPS_H

#include "../guardian.h"

/* A line of /proc/PID/maps. */
struct mapping {
	uint64_t lo, hi, offset, inode, dev;
	int prot;
	bool shared;
	const char *path; /* good until the next maps_read() */
};
int maps_read(struct guardian *g);
int maps_look(struct guardian *g); /* and leave the agent those that it knows */
bool maps_have(uint64_t addr);
/* In the control block, as it was last read; NULL: nothing is mapped there. */
const struct tl_ctl_map *map_at(const struct guardian *g, uint64_t addr);
const struct mapping *mappings(size_t *n);
/* A line of /proc/PID/maps, which is changed. false: it is none. */
bool mapping_parse(char *line, struct mapping *m);
bool is_text(const struct mapping *m); /* of a file's */

#endif
