/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Sites that may stand better than they do. */
#ifndef TRAPLESS_ENGINE_CORE_PROBE_OPTIMIZER_H
#define TRAPLESS_ENGINE_CORE_PROBE_OPTIMIZER_H

#include "../text/patch.h"

/* queue.c: where they wait. All of it is greedy: no probe needs it to work. Engine lock held. */
void tl_optimizer_add(struct tl_site *s);
struct tl_site *tl_optimizer_take(void); /* NULL: nobody waits */
size_t tl_optimizer_waiting(void); /* how many do */
bool tl_site_was_busy(const struct tl_site *s); /* somebody stood in the way of its window */
void tl_optimizer_left(const struct tl_patch *p); /* a patch has gone: its neighbours */
void tl_optimizer_changed(
	const struct tl_batch *b); /* a batch has been carried out: its own sites */
void tl_optimizer_all(void); /* whatever stands on the trap rung and need not */
void tl_optimizer_forget(void); /* empties it */

/* optimizer.c: at the end of an operation, no batch under way: has the queue worked off, later or now. */
void tl_optimizer_kick(void);
void tl_optimizer_deinit(void);

#endif
