/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Free places by address and size: a treap as in index.c, in which each knows
 * the largest below it. So the next place that is large enough is found in one
 * descent, however much that is taken lies before it.
 */
#include "broken.h"
#include "gaps.h"
#include "index.h"

static size_t most(const struct tl_gap *g)
{
	return g ? g->most : 0;
}

static void sum_up(struct tl_gap *g)
{
	size_t left = most(g->left), right = most(g->right);
	size_t below = left > right ? left : right;

	g->most = g->room > below ? g->room : below;
}

static void split(struct tl_gap *g, uintptr_t key, struct tl_gap **left, struct tl_gap **right)
{
	if (!g) {
		*left = *right = NULL;
		return;
	}
	TL_ASSERT(g->key != key);
	if (key < g->key) {
		split(g->left, key, left, &g->left);
		*right = g;
	} else {
		split(g->right, key, &g->right, right);
		*left = g;
	}
	sum_up(g);
}

static struct tl_gap *join(struct tl_gap *a, struct tl_gap *b)
{
	struct tl_gap *top;

	if (!a || !b)
		return a ? a : b;
	if (tl_index_priority(a->key) > tl_index_priority(b->key)) {
		a->right = join(a->right, b);
		top = a;
	} else {
		b->left = join(a, b->left);
		top = b;
	}
	sum_up(top);
	return top;
}

static struct tl_gap *with(struct tl_gap *top, struct tl_gap *g)
{
	if (!top || tl_index_priority(g->key) > tl_index_priority(top->key)) {
		split(top, g->key, &g->left, &g->right);
		top = g;
	} else if (g->key < top->key) {
		top->left = with(top->left, g);
	} else {
		top->right = with(top->right, g);
	}
	sum_up(top);
	return top;
}

static struct tl_gap *without(struct tl_gap *top, struct tl_gap *g)
{
	TL_ASSERT(top);
	if (!top)
		return NULL;
	if (top == g)
		return join(g->left, g->right);
	if (g->key < top->key)
		top->left = without(top->left, g);
	else
		top->right = without(top->right, g);
	sum_up(top);
	return top;
}

void tl_gap_add(struct tl_gaps *all, struct tl_gap *g)
{
	all->root = with(all->root, g);
}

void tl_gap_remove(struct tl_gaps *all, struct tl_gap *g)
{
	all->root = without(all->root, g);
	g->left = g->right = NULL;
}

static void sum_up_to(struct tl_gap *top, const struct tl_gap *g)
{
	if (top != g)
		sum_up_to(g->key < top->key ? top->left : top->right, g);
	sum_up(top);
}

void tl_gap_resize(struct tl_gaps *all, struct tl_gap *g, size_t room)
{
	g->room = room;
	sum_up_to(all->root, g);
}

struct tl_gap *tl_gap_floor(const struct tl_gaps *all, uintptr_t key)
{
	struct tl_gap *g = all->root, *best = NULL;

	while (g) {
		if (g->key <= key)
			best = g;
		g = g->key <= key ? g->right : g->left;
	}
	return best;
}

/* The lowest one that ends behind `at`, of this size. */
static struct tl_gap *lowest(struct tl_gap *g, uintptr_t at, size_t size)
{
	struct tl_gap *got;

	if (most(g) < size)
		return NULL;
	if (g->from + g->room <= at)
		return lowest(g->right, at, size);
	got = lowest(g->left, at, size);
	if (got)
		return got;
	return g->room >= size ? g : lowest(g->right, at, size);
}

#ifdef TL_TEST
size_t tl_gap_looks;
#endif

struct tl_gap *tl_gap_next(const struct tl_gaps *all, uintptr_t at, size_t size)
{
#ifdef TL_TEST
	tl_gap_looks++;
#endif
	return lowest(all->root, at, size);
}
