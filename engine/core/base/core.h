/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the whole engine goes by. */
#ifndef TRAPLESS_ENGINE_CORE_BASE_CORE_H
#define TRAPLESS_ENGINE_CORE_BASE_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../../arch/arch.h"

struct tl_core {
	bool ready;
	bool optimize;
	bool foreseeing; /* no detour will be used: none is written */
	bool stop_always; /* TL_PATCHING_STOP */
	struct tl_gate *gate;
	struct tl_detour_env env;
	struct tl_thread *contexts; /* the processors' records, or NULL: they are threads' */
	unsigned ncontexts;
	size_t nprobes;
	unsigned nthreads; /* the home's, where it counts them */
	size_t ntraps; /* patches in the text that stand on the trap rung */
	bool images_asked; /* in this operation: all images are known */
	bool leftovers; /* some patch could not be taken away yet */
	bool unsettled; /* ... some handler not be awaited */
	unsigned patience; /* how many looks a grace period takes at most; 0: any number */
};
extern struct tl_core tl_core;

#endif
