/* SPDX-License-Identifier: MIT */
/* Memory of ours in the target, but for the agent's own and the control block: putting it in order, and giving it back. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../machine/calls.h"
#include "../guardian.h"
#include "areas.h"
#include "helper.h"
#include "inject.h"

static int by_address(const void *a, const void *b)
{
	const struct tl_ctl_area *x = a, *y = b;

	return (x->lo > y->lo) - (x->lo < y->lo);
}

void areas_sort(struct tl_ctl_area *a, size_t n)
{
	qsort(a, n, sizeof(*a), by_address);
}

size_t areas_run(const struct tl_ctl_area *a, size_t n, size_t first)
{
	size_t i = first + 1;

	while (i < n && a[i - 1].lo + a[i - 1].size == a[i].lo)
		i++;
	return i;
}

/* What lies in one piece of memory is marked where something else is mapped before the next one. */
static void mark_taken(struct tl_ctl_area *a, size_t n, uint64_t lo, uint64_t hi, size_t *from)
{
	size_t i;

	while (*from + 1 < n && a[*from + 1].lo <= lo)
		++*from;
	for (i = *from; i + 1 < n && a[i].lo + a[i].size < hi; i++)
		a[i].shared |= lo < a[i + 1].lo;
}

void areas_join(pid_t pid, struct tl_ctl_area *a, size_t n)
{
	uint64_t lo, hi;
	size_t i, from = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = n ? fopen(path, "re") : NULL;
	if (!f)
		return;
	while (fscanf(f, "%" SCNx64 "-%" SCNx64 "%*[^\n]", &lo, &hi) == 2)
		mark_taken(a, n, lo, hi, &from);
	for (i = 0; i + 1 < n && feof(f); i++) {
		if (!a[i].shared)
			a[i].size = a[i + 1].lo - a[i].lo;
	}
	fclose(f);
}

static bool belongs(const struct tl_ctl_area *a, const struct client *c)
{
	return a->size && (!c || a->lo == c->module_at || a->lo == c->memory || a->lo == c->self);
}

/* By address; their numbers in the list instead of who shares them. */
static size_t areas_of(const struct guardian *g, const struct client *c, struct tl_ctl_area *list)
{
	uint32_t i;
	size_t n = 0;

	for (i = 0; i < ctl_areas(g); i++) {
		if (belongs(&g->ctl->areas[i], c))
			list[n++] = (struct tl_ctl_area){.lo = g->ctl->areas[i].lo,
				.size = g->ctl->areas[i].size,
				.shared = i};
	}
	areas_sort(list, n);
	return n;
}

/* What a dead session left, or one that has not come further: there is no agent to ask. */
static int unmap_by_calls(struct guardian *g, const struct tl_ctl_area *list, size_t n)
{
	size_t i, end;

	for (i = 0; i < n && g->helper; i = end) {
		uint64_t lo = list[i].lo;

		for (end = areas_run(list, n, i); i < end; i++)
			g->ctl->areas[list[i].shared].size = 0;
		unmap(g, &lo, list[end - 1].lo + list[end - 1].size - lo);
	}
	return g->helper ? 0 : -1;
}

static int unmap_by_agent(struct guardian *g, const struct tl_ctl_area *list, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		g->ctl->leaving[i] = (uint32_t)list[i].shared;
	g->ctl->nleaving = (uint32_t)n;
	return helper_command(g, TL_CMD_UNMAP);
}

int areas_unmap(struct guardian *g, const struct client *c)
{
	struct tl_ctl_area *list = calloc(ctl_areas(g) + 1, sizeof(*list));
	size_t n = list ? areas_of(g, c, list) : 0;
	int ret = list ? 0 : -1;

	if (n)
		ret = g->agent_entry ? unmap_by_agent(g, list, n) : unmap_by_calls(g, list, n);
	free(list);
	return ret;
}
