/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Ordered index by address: a treap whose priorities are a hash of the key, so
 * its shape depends on the set alone and its depth stays near log2(n).
 * Nodes live inside the objects; nothing is allocated, nothing fails.
 */
#include "broken.h"
#include "index.h"

uint32_t tl_index_priority(uintptr_t key)
{
	uint64_t x = (uint64_t)key * 0x9e3779b97f4a7c15ull;

	x ^= x >> 29;
	return (uint32_t)((x * 0xbf58476d1ce4e5b9ull) >> 32);
}

/* Below all of higher priority; what was there is split in two. */
void tl_index_insert(struct tl_index *ix, struct tl_node *n, uintptr_t key)
{
	struct tl_node **link = &ix->root, **left = &n->left, **right = &n->right, *rest;
	uint32_t mine = tl_index_priority(key);

	n->key = key;
	while (*link && tl_index_priority((*link)->key) >= mine) {
		TL_ASSERT((*link)->key != key);
		link = key < (*link)->key ? &(*link)->left : &(*link)->right;
	}
	for (rest = *link, *link = n; rest; rest = key < rest->key ? rest->left : rest->right) {
		struct tl_node ***side = key < rest->key ? &right : &left;

		TL_ASSERT(rest->key != key);
		**side = rest;
		*side = key < rest->key ? &rest->left : &rest->right;
	}
	*left = *right = NULL;
}

static struct tl_node *join(struct tl_node *a, struct tl_node *b)
{
	if (!a || !b)
		return a ? a : b;
	if (tl_index_priority(a->key) > tl_index_priority(b->key)) {
		a->right = join(a->right, b);
		return a;
	}
	b->left = join(a, b->left);
	return b;
}

void tl_index_remove(struct tl_index *ix, struct tl_node *n)
{
	struct tl_node **link = &ix->root;

	while (*link && *link != n)
		link = n->key < (*link)->key ? &(*link)->left : &(*link)->right;
	TL_ASSERT(*link == n);
	if (*link == n)
		*link = join(n->left, n->right);
	n->left = n->right = NULL;
}

struct tl_node *tl_index_find(const struct tl_index *ix, uintptr_t key)
{
	struct tl_node *n = ix->root;

	while (n && n->key != key)
		n = key < n->key ? n->left : n->right;
	return n;
}

struct tl_node *tl_index_floor(const struct tl_index *ix, uintptr_t key)
{
	struct tl_node *n = ix->root, *best = NULL;

	while (n) {
		if (n->key <= key)
			best = n;
		n = n->key <= key ? n->right : n->left;
	}
	return best;
}

struct tl_node *tl_index_ceil(const struct tl_index *ix, uintptr_t key)
{
	struct tl_node *n = ix->root, *best = NULL;

	while (n) {
		if (n->key >= key)
			best = n;
		n = n->key >= key ? n->left : n->right;
	}
	return best;
}
