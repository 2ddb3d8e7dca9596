/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What runner and preloaded agent share: one piece of memory, this in front,
 * then the control blocks (control.h), the places of the module's images, and
 * the module file. The program inherits it as an open file whose number stands
 * in an environment variable; the agent takes both away.
 *
 * Both sides hold a robust futex here, so the kernel itself tells each that
 * the other has ended. Nobody needs a descriptor for it in the target.
 */
#ifndef TRAPLESS_AGENT_PRELOAD_H
#define TRAPLESS_AGENT_PRELOAD_H

#include <stdint.h>

#define TL_PRELOAD_MAGIC    0x746c7031u /* "tlp1" */
#define TL_PRELOAD_VARIABLE "TRAPLESS_PRELOAD"
/*
 * Set beside it where the user has an LD_PRELOAD of their own, which then stays:
 * the agent always takes two words out of the environment, for which it can
 * leave one empty entry of the auxiliary vector.
 */
#define TL_PRELOAD_USER "TRAPLESS_PRELOAD_USER"

enum {
	/* The robust futexes: the owner's thread id, and these. */
	TL_FUTEX_WAITERS = 0x80000000u,
	TL_FUTEX_DIED = 0x40000000u,
	TL_FUTEX_TID = 0x3fffffffu,
};

enum tl_preload_state {
	TL_PRELOAD_FREE, /* no process has taken the session */
	TL_PRELOAD_STARTS,
	TL_PRELOAD_ARMED, /* `rounds` tells how often: objects may come later */
	TL_PRELOAD_FAILED, /* error: nothing is in place, the program runs on */
	TL_PRELOAD_LEFT, /* the text is what it was; `kept`: some memory is still in use */
};

/* A table of the module file. */
struct tl_preload_table {
	uint64_t at; /* from the start of the file */
	uint64_t count;
};

struct tl_preload_module {
	struct tl_preload_table strings, images, probes, parts, code, data, relocs, imports,
		options, symbols, lines, unwind, rows, frames;
};

struct tl_preload {
	uint32_t magic, version; /* that of the control block */
	uint64_t size; /* of all this memory */
	uint64_t ctl_at, probes_at; /* struct tl_ctl, struct tl_ctl_session */
	uint64_t images_at, module_at, module_size, session_size;
	struct tl_preload_module module;
	int32_t agent_fd, session_fd; /* inherited, too */
	uint32_t traps_only;
	/* runner's */
	uint32_t runner; /* robust futex */
	uint32_t leave;
	uint32_t tune; /* another number: arm anew, as the control block wants it */
	/* agent's */
	uint32_t tuned; /* ... and that was done */
	uint32_t agent; /* robust futex of its helper thread, 0: none yet */
	uint32_t claimed; /* id of the process that took the session */
	uint32_t state; /* enum tl_preload_state */
	int32_t error;
	uint32_t rounds, narmed, pending;
	int32_t unwatched; /* -TL_E_: why objects that come later go unnoticed */
	/* There are objects that were not looked at, or further copies of some */
	uint32_t passed_over;
	uint32_t counted; /* the closing figures stand in the control block */
	uint32_t kept;
	uint32_t broken; /* promises that the engine found broken; the last one: */
	char broken_text[128];
};

static inline int tl_futex_owner_dead(uint32_t word)
{
	return !(word & TL_FUTEX_TID) || word & TL_FUTEX_DIED;
}

#endif
