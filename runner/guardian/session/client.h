/* SPDX-License-Identifier: MIT */
/* A session on the target, as its guardian knows it. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_SESSION_CLIENT_H
#define TRAPLESS_RUNNER_GUARDIAN_SESSION_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "../../../home/control.h"
#include "../../base/module.h"
#include "../../tell/tell.h"

/* A session on the target: what its runner wants, and what of it lies there. */
struct client {
	struct client *next;
	struct teller tell; /* to its runner */
	const struct tl_tap *mod;
	struct tl_tap own_mod; /* that, of one that joined */
	struct board board;
	uint32_t slot; /* in the control block */
	struct tl_ctl_session *ctl;
	uint64_t ctl_size, memory_size;
	int ctl_fd, memory_fd;
	struct tl_session *session; /* our view of its memory */
	uint64_t self, memory; /* both in the target; 0: not there */
	uint64_t module_at, module_size, strings_at, symbol_images; /* there, too */
	struct slot *slots; /* see copies.c; NULL: no image was mapped twice */
	uint32_t parts_used; /* of the control block, with slots */
	uint32_t crowded; /* probes in copies of images for which no slot is left */
	uint32_t deaf; /* marks whose semaphores cannot be written yet */
	uint32_t told_crowded, told_deaf; /* the most that the runner has been told of */
	uint32_t pending; /* images, and probes in them, that are not mapped yet; and deaf ones */
	uint32_t narmed;
	bool traps_only;
	bool follow; /* its children, too */
	double child_ms; /* since then it has not taken the news of one */
	bool closable; /* some stand in an object that may be closed, or mapped once more */
	bool tune; /* the user wants something, or wants to know */
	bool leave; /* runner gone, or it said so */
	bool orphaned; /* the runner is gone */
	struct message before; /* the target's figures as it came */
	struct event_probe {
		bool wanted; /* it is of our target */
		uint64_t began_ns, looked_ns; /* the last look of a timer.profile, see samples.c */
		uint64_t addr,
			size; /* of a watched variable; size 0: not there: see watchpoints.c */
		bool reads;
		bool placed; /* and told of */
	} * events; /* by probe; NULL: not wanted, or not yet */
	uint64_t answered_ns; /* when its runner last had run a handler that a thread waited for */
	uint64_t inside; /* samples in our own code */
	bool slow; /* did not answer: no thread waits for it until it does */
	bool entered; /* the agent knows it */
	bool told; /* its runner has had its last word */
	/* since when it is on its way out, and when that was last tried */
	double parted_ms, tried_ms;
};

#endif
