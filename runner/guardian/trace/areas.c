/* SPDX-License-Identifier: MIT */
/* Memory of ours in the target, but for the agent's own and the control block: putting it in order, and giving it back. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../guardian.h"
#include "areas.h"

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
