/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Scalar globals. `off`: tl_tap_global.offset. Under the global's lock, unless sharded. */
#ifndef TRAPLESS_RUNTIME_SCRIPT_GLOBAL_H
#define TRAPLESS_RUNTIME_SCRIPT_GLOBAL_H

#include "number.h"

static inline int64_t *tl_global_long(const struct tl_run *run, uint32_t off)
{
	return (int64_t *)(run->view->globals + off);
}
/* A string global is read into a local first; its memory is shared. */
void tl_global_str_get(struct tl_run *run, uint32_t off, struct tl_str *dst);
void tl_global_str_set(struct tl_run *run, uint32_t off, const struct tl_str *src);

/*
 * Sharded long: add in the thread's own block, no lock. Reading sums all
 * blocks; setting moves the base (which block 0 holds), so that the sum is v.
 */
static inline void tl_shard_add(
	const struct tl_view *v, struct tl_block *b, uint32_t off, int64_t d)
{
	int64_t *cell = (int64_t *)((char *)b + v->shard_off + off);

	*(volatile int64_t *)cell = tl_add(*cell, d);
}
/* The same in a handler's words. */
static inline void tl_count_add(
	const struct tl_env *env, struct tl_block *b, uint32_t off, int64_t d)
{
	int64_t *cell = (int64_t *)((char *)b + env->shard_off + off);

	*cell = tl_add(*cell, d);
}
int64_t tl_shard_get(struct tl_run *run, uint32_t off);
void tl_shard_set(struct tl_run *run, uint32_t off, int64_t v);

#endif
