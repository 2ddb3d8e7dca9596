/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Lists of addresses that grow, and are sorted. */
#include "../../os/os.h"
#include "addrs.h"
#include "mem.h"

bool tl_addrs_add(struct tl_addrs *l, uintptr_t addr)
{
	if (l->n == l->max) {
		size_t max = l->max ? l->max * 2 : 4096;
		uintptr_t *grown = tl_os_alloc(max * sizeof(*grown));

		if (!grown)
			return false;
		if (l->at) {
			tl_copy(grown, l->at, l->n * sizeof(*grown));
			tl_os_free(l->at, l->max * sizeof(*grown));
		}
		l->at = grown;
		l->max = max;
	}
	l->at[l->n++] = addr;
	return true;
}

void tl_addrs_deinit(struct tl_addrs *l)
{
	if (l->at)
		tl_os_free(l->at, l->max * sizeof(*l->at));
	*l = (struct tl_addrs){0};
}

static void sift(uintptr_t *a, size_t i, size_t n)
{
	for (;;) {
		size_t big = 2 * i + 1;
		uintptr_t t;

		if (big >= n)
			return;
		if (big + 1 < n && a[big + 1] > a[big])
			big++;
		if (a[i] >= a[big])
			return;
		t = a[i];
		a[i] = a[big];
		a[big] = t;
		i = big;
	}
}

void tl_addrs_sort(struct tl_addrs *l)
{
	uintptr_t *a = l->at;
	size_t n = l->n, kept = 0;

	for (size_t i = n / 2; i--;)
		sift(a, i, n);
	while (n > 1) {
		uintptr_t t = a[--n];

		a[n] = a[0];
		a[0] = t;
		sift(a, 0, n);
	}
	for (size_t i = 0; i < l->n; i++)
		if (!kept || a[kept - 1] != a[i])
			a[kept++] = a[i];
	l->n = kept;
}
