/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* An ordered index by address, whose nodes lie inside the objects. */
#ifndef TRAPLESS_ENGINE_CORE_BASE_INDEX_H
#define TRAPLESS_ENGINE_CORE_BASE_INDEX_H

#include <stdint.h>

struct tl_node {
	uintptr_t key;
	struct tl_node *left, *right;
};
struct tl_index {
	struct tl_node *root;
};
void tl_index_insert(struct tl_index *ix, struct tl_node *n, uintptr_t key);
void tl_index_remove(struct tl_index *ix, struct tl_node *n);
struct tl_node *tl_index_find(const struct tl_index *ix, uintptr_t key);
struct tl_node *tl_index_floor(const struct tl_index *ix, uintptr_t key); /* greatest key <= key */
struct tl_node *tl_index_ceil(const struct tl_index *ix, uintptr_t key); /* least key >= key */

uint32_t tl_index_priority(uintptr_t key);

#endif
