/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A batch is planned, built and written as a whole, or nothing changes. */
#ifndef TRAPLESS_ENGINE_CORE_PROBE_BATCH_H
#define TRAPLESS_ENGINE_CORE_PROBE_BATCH_H

#include "../text/patch.h"

/* 0, or -TL_E_NOMEM, which is never for TL_BATCH_FEW: these can always be taken away. */
int tl_batch_init(struct tl_batch *b, size_t expect);
int tl_batch_add(struct tl_batch *b, struct tl_site *s);
int tl_batch_commit(struct tl_batch *b);
/*
 * Plans every wanted site of a batch, tells what became of it (plan NULL: refused, why), and takes it all
 * back: no text is written. The function looked at last stays in tl_func_now, for the next call.
 */
void tl_batch_foresee(struct tl_batch *b,
	void (*tell)(void *arg, const struct tl_site *s, const struct tl_plan *plan, int why),
	void *arg);
void tl_batch_deinit(struct tl_batch *b);

/* place.c: a plan and a detour for every wanted site that has none yet. 0, or -TL_E_ and b->bad. */
int tl_place_all(struct tl_batch *b);
void tl_batch_unmake(struct tl_batch *b); /* takes the first fresh patch back */
/* The same for b->sites[i], and those behind it that share its window. */
int tl_place_site(struct tl_batch *b, size_t i);
int tl_site_check(struct tl_site *s); /* may it be probed at all? 0 or -TL_E_ */
uintptr_t tl_site_insn_end(const struct tl_site *s); /* of the instruction, as far as it is known */

#endif
