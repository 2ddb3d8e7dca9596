/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The optimizer: sites that may stand better than they do wait in a queue
 * (queue.c) and are planned anew, many in one batch. What does not work out
 * stays as it is.
 */
#include "../base/broken.h"
#include "../detour/site.h"
#include "../text/patch.h"
#include "batch.h"
#include "gone.h"
#include "optimizer.h"

enum {
	BATCH = 256, /* sites planned anew while the engine is locked */
	TRIES = 10, /* where somebody stands in the way */
};

static bool kicked; /* tl_optimizer_run() is going to be called */

static void run_batch(void)
{
	struct tl_batch b;
	struct tl_site *s;

	if (tl_batch_init(&b, BATCH)) {
		tl_optimizer_forget();
		return;
	}
	while (b.nsites < BATCH && (s = tl_optimizer_take())) {
		if (s->want && s->patch)
			tl_batch_add(&b, s);
		else
			tl_site_put(s);
	}
	b.again = b.better = true;
	tl_batch_commit(&b);
	for (size_t i = 0; i < b.nsites; i++) {
		s = b.sites[i];
		if (s->want && s->patch && tl_site_was_busy(s) && ++s->tries < TRIES)
			tl_optimizer_add(s);
	}
	tl_batch_deinit(&b);
}

/* Nobody stands elsewhere in the meantime: each site once. */
static void run_at_once(void)
{
	size_t n = tl_optimizer_waiting();

	for (; n; n = n > BATCH ? n - BATCH : 0)
		run_batch();
	tl_optimizer_forget();
}

void tl_optimizer_kick(void)
{
	TL_ASSERT_HELD();
	if (!tl_optimizer_waiting() || kicked)
		return;
	kicked = tl_os_later();
	if (!kicked)
		run_at_once();
}

size_t tl_optimizer_run(void)
{
	size_t left;

	tl_os_lock();
	if (tl_optimizer_waiting() && tl_images_refresh() == 0)
		run_batch();
	left = tl_optimizer_waiting();
	kicked = left != 0;
	tl_os_unlock();
	return left;
}

void tl_optimizer_deinit(void)
{
	tl_optimizer_forget();
	kicked = false;
}
