/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Many groups of probes in one batch: the probes of a group stand or fall
 * together, the groups each for itself. Whoever is refused is found by
 * planning all of them before anything is written, so that the rest is
 * usually in place at the second attempt.
 */
#include "../base/broken.h"
#include "probe.h"

struct flat {
	struct tl_probe **probes;
	struct tl_group **owners;
	int *whys;
	size_t n, bytes;
};

static int flat_init(struct flat *f, size_t n)
{
	*f = (struct flat){
		.bytes = n * (sizeof(*f->probes) + sizeof(*f->owners) + sizeof(*f->whys))};
	f->probes = tl_os_alloc(f->bytes);
	if (!f->probes)
		return -TL_E_NOMEM;
	f->owners = (struct tl_group **)(void *)(f->probes + n);
	f->whys = (int *)(void *)(f->owners + n);
	return 0;
}

static void flat_deinit(struct flat *f)
{
	tl_os_free(f->probes, f->bytes);
}

static void flat_add(struct flat *f, struct tl_group *g)
{
	for (size_t i = 0; i < g->n; i++) {
		f->probes[f->n] = g->list[i];
		f->owners[f->n] = g;
		f->whys[f->n++] = 0;
	}
}

static size_t count(const struct tl_group *g, size_t n)
{
	size_t all = 0;

	for (size_t i = 0; i < n; i++)
		all += g[i].n;
	return all;
}

/* --- registering ---------------------------------------------------------------- */

static void one_by_one(struct tl_group *g, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!g[i].result)
			g[i].result = tl_probes_register_locked(g[i].list, g[i].n, NULL);
}

/* Passes the refusals on to their groups. False: nobody in particular was refused. */
static bool refuse_some(struct flat *f)
{
	bool any = false;

	for (size_t i = 0; i < f->n; i++)
		if (f->whys[i] && !f->owners[i]->result) {
			f->owners[i]->result = f->whys[i];
			any = true;
		}
	return any;
}

void tl_groups_register_locked(struct tl_group *g, size_t n)
{
	struct flat f;
	int ret;

	TL_ASSERT_HELD();
	if (n < 2 || flat_init(&f, count(g, n))) {
		one_by_one(g, n);
		return;
	}
	do {
		f.n = 0;
		for (size_t i = 0; i < n; i++)
			if (!g[i].result)
				flat_add(&f, &g[i]);
		ret = f.n ? tl_probes_try_locked(f.probes, f.n, NULL, f.whys) : 0;
	} while (ret && refuse_some(&f));
	flat_deinit(&f);
	if (ret)
		one_by_one(g, n);
}

int tl_probes_register_each(struct tl_probe **probes, size_t n, int *results)
{
	struct tl_group *g;
	int ret = 0;

	if (!n)
		return 0;
	if (!probes || !results)
		return -TL_E_INVAL;
	tl_os_lock();
	g = tl_os_alloc(n * sizeof(*g));
	for (size_t i = 0; i < n && g; i++)
		g[i] = (struct tl_group){.list = &probes[i], .n = 1};
	if (g)
		tl_groups_register_locked(g, n);
	for (size_t i = 0; i < n; i++) {
		results[i] = g ? g[i].result : -TL_E_NOMEM;
		ret = ret ? ret : results[i];
	}
	if (g)
		tl_os_free(g, n * sizeof(*g));
	tl_os_unlock();
	return ret;
}

/* --- taking away ---------------------------------------------------------------- */

int tl_groups_unregister_locked(struct tl_group *g, size_t n)
{
	struct flat f;
	int ret, err = 0;

	TL_ASSERT_HELD();
	if (n < 2 || flat_init(&f, count(g, n))) {
		for (size_t i = 0; i < n; i++) {
			ret = tl_probes_unregister_locked(g[i].list, g[i].n);
			err = err ? err : ret;
		}
		return err;
	}
	for (size_t i = 0; i < n; i++)
		flat_add(&f, &g[i]);
	ret = tl_probes_unregister_locked(f.probes, f.n);
	flat_deinit(&f);
	return ret;
}
