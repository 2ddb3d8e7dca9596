/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What is told of probes, and of what all of them take. */
#include "../../os/os.h"
#include "../base/core.h"
#include "../base/mem.h"
#include "../detour/detour.h"
#include "../detour/site.h"
#include "../text/patch.h"
#include "gone.h"
#include "optimizer.h"
#include "probe.h"

enum { PAGE = 4096 };

#define WRITTEN(n) ((struct tl_patch *)(void *)((uint8_t *)(n)-offsetof(struct tl_patch, text)))

void tl_probe_describe(const struct tl_probe *p, struct tl_probe_info *info)
{
	const struct tl_patch *patch = p->site ? p->site->patch : NULL;

	tl_fill(info, 0, sizeof(*info));
	info->probe = p;
	info->addr = (uintptr_t)p->addr;
	info->state = p->state;
	info->nhits = tl_counted(&p->nhits);
	info->nmissed = tl_counted(&p->nmissed);
	if (!patch)
		return;
	info->rung = patch->plan->rung;
	info->optimized = info->rung != TL_RUNG_TRAP;
	info->detour = patch->detour->at;
	info->detour_size = patch->detour->size;
	info->patch = patch->plan->start;
	info->patch_len = patch->plan->changed;
	tl_copy(info->why, patch->plan->why, sizeof(info->why));
}

struct listing {
	int (*fn)(const struct tl_probe_info *info, void *arg);
	void *arg;
};

/* A list of probes. */
static int list(const struct tl_probe *p, const struct listing *l)
{
	struct tl_probe_info info;
	int ret = 0;

	for (; p && !ret; p = p->next) {
		tl_probe_describe(p, &info);
		ret = l->fn(&info, l->arg);
	}
	return ret;
}

int tl_probes_list(int (*fn)(const struct tl_probe_info *info, void *arg), void *arg)
{
	const struct listing l = {fn, arg};
	struct tl_site *s;
	int ret = 0;

	tl_os_lock();
	if (tl_core.ready)
		tl_images_refresh(); /* else those that are gone stand as they did */
	for (s = tl_site_next(0); s && !ret; s = tl_site_next(s->addr + 1)) {
		tl_site_fold_missed(s);
		ret = list(s->probes, &l);
	}
	if (!ret)
		ret = list(tl_gone, &l);
	tl_os_unlock();
	return ret;
}

static void count_armed(struct tl_usage *usage)
{
	for (struct tl_site *s = tl_site_next(0); s; s = tl_site_next(s->addr + 1))
		if (s->want && s->patch)
			usage->armed[s->patch->plan->rung]++;
}

static void count_text_pages(struct tl_usage *usage)
{
	struct tl_node *n = tl_index_ceil(&tl_patches.written, 0);
	uintptr_t behind = 0; /* the last page counted */

	for (; n; n = tl_index_ceil(&tl_patches.written, n->key + 1)) {
		uintptr_t lo = n->key / PAGE, hi = (n->key + WRITTEN(n)->plan->changed - 1) / PAGE;

		lo = lo > behind ? lo : behind;
		usage->text_pages += hi + 1 - lo;
		behind = hi + 1;
	}
}

int tl_probes_usage(struct tl_usage *usage)
{
	if (!usage)
		return -TL_E_INVAL;
	tl_fill(usage, 0, sizeof(*usage));
	tl_os_lock();
	for (const struct tl_probe *p = tl_gone; p; p = p->next)
		usage->gone++;
	usage->probes = tl_core.nprobes + usage->gone;
	usage->waiting = tl_optimizer_waiting();
	count_armed(usage);
	count_text_pages(usage);
	tl_detmem_usage(usage);
	tl_os_code_mappings(&usage->mappings, &usage->mappings_max);
	tl_os_unlock();
	return 0;
}
