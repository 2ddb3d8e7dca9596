/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What would become of probes, without any: for who counts. All under the lock. */
#ifndef TRAPLESS_ENGINE_CORE_PROBE_FORESEE_H
#define TRAPLESS_ENGINE_CORE_PROBE_FORESEE_H

#include "batch.h"

/* A site that nobody probes; alone: by a jump or not at all. start, size: of its function, as for a probe, or 0. 0 or -TL_E_. */
int tl_foresee_add(struct tl_batch *b, uintptr_t addr, uintptr_t start, uint32_t size, bool alone);
/* rung TL_RUNG_NONE: refused, why. */
typedef void (*tl_foresee_fn)(void *arg, uintptr_t addr, unsigned rung, int why);
/* Of all sites, and of those that came along; the batch is empty then, and its sites are gone. */
void tl_foresee(struct tl_batch *b, tl_foresee_fn tell, void *arg);

#endif
