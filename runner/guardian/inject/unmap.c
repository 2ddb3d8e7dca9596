/* SPDX-License-Identifier: MIT */
/* Giving back what a session, or all of them, have in the target. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "../guardian.h"
#include "../trace/areas.h"
#include "helper.h"
#include "room.h"
#include "unmap.h"

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
		room_unmap(g, &lo, list[end - 1].lo + list[end - 1].size - lo);
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
