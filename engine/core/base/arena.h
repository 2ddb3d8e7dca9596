/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Objects of which little is touched. */
#ifndef TRAPLESS_ENGINE_CORE_BASE_ARENA_H
#define TRAPLESS_ENGINE_CORE_BASE_ARENA_H

#include <stddef.h>

void *tl_arena_get(size_t size); /* zeroed, NULL: no memory */
void tl_arena_put(void *obj);
void tl_arena_deinit(void); /* whatever is in it */

#endif
