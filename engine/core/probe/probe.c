/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The life of probes. */
#include "../../os/os.h"
#include "../base/broken.h"
#include "../base/core.h"
#include "../base/mem.h"
#include "../detour/detour.h"
#include "../detour/site.h"
#include "../detour/threads.h"
#include "../image/func.h"
#include "../image/images.h"
#include "../text/patch.h"
#include "batch.h"
#include "gone.h"
#include "optimizer.h"
#include "probe.h"

enum { ENABLED = 1 }; /* tl_probe.reserved */

/* --- sites of one operation ------------------------------------------------------- */

static bool batch_quiet(void *arg)
{
	const struct tl_batch *b = arg;

	return tl_sites_quiet(b->sites, b->nsites);
}

static int refresh(struct tl_batch *b, struct tl_probe **probes, size_t n)
{
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++) {
		if (!probes[i]->site)
			continue;
		tl_site_wants(probes[i]->site);
		ret = tl_batch_add(b, probes[i]->site);
	}
	return ret;
}

/* The end of an operation that was carried out. */
static void finish(struct tl_batch *b)
{
	tl_optimizer_changed(b);
	tl_batch_deinit(b);
	tl_optimizer_kick();
}

/* --- registering -------------------------------------------------------------------- */

static bool on_small_stacks(const struct tl_probe *p)
{
	const struct tl_image *img = tl_image_find((uintptr_t)p->addr);

	return img && img->flags & TL_IMAGE_SMALL_STACKS;
}

static bool sane_flags(uint32_t flags)
{
	uint32_t both = TL_PROBE_NO_JUMP | TL_PROBE_NO_TRAP;

	return (flags & both) != both && !(flags & ~(uint32_t)TL_PROBE_FLAGS);
}

static int prepare(struct tl_probe *p)
{
	struct tl_site *s;

	if (p->state != TL_PROBE_NEW && p->state != TL_PROBE_GONE)
		return -TL_E_STATE;
	if (!p->addr || (!p->pre && !p->post) || !sane_flags(p->flags))
		return -TL_E_INVAL;
	if (p->func_start && p->func_size && (uintptr_t)p->addr - p->func_start >= p->func_size)
		return -TL_E_INVAL;
	if (on_small_stacks(p))
		p->flags |= TL_PROBE_BIG_STACK;
	if (p->flags & TL_PROBE_BIG_STACK) {
		int ret = tl_threads_want_stacks();

		if (ret)
			return ret;
	}
	s = tl_site_get((uintptr_t)p->addr);
	if (!s)
		return -TL_E_NOMEM;
	p->reserved = p->flags & TL_PROBE_DISABLED ? 0 : ENABLED;
	p->nmissed = p->nhits = 0;
	tl_fill(p->missed, 0, sizeof(p->missed));
	if (p->func_start && p->func_size) {
		s->func_start = p->func_start;
		s->func_size = p->func_size;
	}
	tl_probe_move(p, (enum tl_probe_state)p->state, TL_PROBE_PREPARED);
	tl_site_link(s, p);
	return 0;
}

/* Nothing has become live: take the probes off their sites again. */
static void unprepare(struct tl_batch *b, struct tl_probe **probes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct tl_site *s = probes[i]->site;

		tl_site_unlink(s, probes[i]);
		tl_site_wants(s);
		tl_probe_move(probes[i], TL_PROBE_PREPARED, TL_PROBE_NEW);
	}
	tl_threads_grace(batch_quiet, b); /* walks of neighbours' lists */
	for (size_t i = 0; i < n; i++) {
		struct tl_site *s = probes[i]->site;

		probes[i]->site = NULL;
		probes[i]->next = NULL;
		if (!s->queued)
			tl_batch_add(b, s);
		if (!s->queued)
			tl_site_put(s);
	}
}

static size_t index_of(struct tl_probe **probes, size_t n, const struct tl_site *s)
{
	for (size_t i = 0; i < n; i++)
		if (probes[i]->site == s)
			return i;
	return 0;
}

static void note_refusal(void *arg, const struct tl_site *s, const struct tl_plan *plan, int why)
{
	(void)arg;
	if (!plan)
		tl_site_find(s->addr)->why = why;
}

/* Places that may not be probed at all: they may also be what others were refused for. */
static bool find_forbidden(struct tl_probe **probes, size_t n, int *whys)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		whys[i] = tl_site_check(probes[i]->site);
		any |= whys[i] != 0;
	}
	return any;
}

/* Some site was refused: which ones would be? One in the way of another may go away itself. */
static void find_refused(struct tl_batch *b, struct tl_probe **probes, size_t n, int *whys)
{
	if (find_forbidden(probes, n, whys))
		return;
	for (size_t i = 0; i < b->nsites; i++)
		b->sites[i]->why = 0;
	tl_batch_foresee(b, note_refusal, NULL);
	for (size_t i = 0; i < n; i++)
		if (probes[i]->site->why != -TL_E_NEIGHBOUR)
			whys[i] = probes[i]->site->why;
}

int tl_probes_try_locked(struct tl_probe **probes, size_t n, size_t *failed, int *whys)
{
	struct tl_batch b;
	size_t ready = 0, unused;
	int ret = tl_engine_init_locked();

	if (!failed)
		failed = &unused;
	if (!ret)
		ret = tl_images_refresh();
	if (!ret)
		ret = tl_batch_init(&b, n);
	if (ret)
		return ret;
	tl_threads_sweep();
	tl_gone_forget(probes, n);
	for (; ready < n; ready++) {
		ret = prepare(probes[ready]);
		if (ret) {
			*failed = ready;
			if (whys)
				whys[ready] = ret;
			goto undo;
		}
	}
	tl_func_forget(&tl_func_now);
	ret = refresh(&b, probes, n);
	if (ret)
		goto undo;
	b.check = true;
	ret = tl_batch_commit(&b);
	if (ret) {
		*failed = b.bad ? index_of(probes, n, b.bad) : 0;
		if (b.bad && whys) {
			find_refused(&b, probes, n, whys);
			whys[*failed] = ret;
		}
		goto undo;
	}
	for (size_t i = 0; i < n; i++) {
		tl_probe_move(probes[i], TL_PROBE_PREPARED,
			probes[i]->reserved & ENABLED ? TL_PROBE_ARMED : TL_PROBE_OFF);
		probes[i]->site->image = tl_image_generation(probes[i]->site->addr);
	}
	for (size_t i = 0; i < n; i++)
		tl_site_publish(probes[i]->site);
	tl_core.nprobes += n;
	finish(&b);
	return 0;
undo:
	unprepare(&b, probes, ready);
	tl_batch_deinit(&b);
	return ret;
}

int tl_probes_register_locked(struct tl_probe **probes, size_t n, size_t *failed)
{
	return tl_probes_try_locked(probes, n, failed, NULL);
}

int tl_probes_register(struct tl_probe **probes, size_t n, size_t *failed)
{
	size_t at = 0;
	int ret;

	if (!probes || !n)
		return n ? -TL_E_INVAL : 0;
	tl_os_lock();
	ret = tl_probes_register_locked(probes, n, &at);
	tl_os_unlock();
	if (ret && failed)
		*failed = at;
	return ret;
}

int tl_probe_register(struct tl_probe *p)
{
	return tl_probes_register(&p, 1, NULL);
}

/* --- taking away ----------------------------------------------------------------------- */

/*
 * Silences the probes, takes their text away and waits for running handlers.
 * When the text cannot be taken away now (nobody to stop the threads, no
 * memory, somebody's breakpoint on it), the patch stays and runs nothing;
 * sweep_up() tries again later.
 * `images`: not 0: it is not known what is still mapped.
 */
static int take_down(struct tl_batch *b, struct tl_probe **probes, size_t n, int images)
{
	int ret, err;

	for (size_t i = 0; i < n; i++)
		if (probes[i]->site)
			tl_site_publish(probes[i]->site);
	ret = refresh(b, probes, n);
	ret = images ? images : ret;
	if (!ret)
		ret = tl_batch_commit(b);
	err = tl_threads_grace(batch_quiet, b);
	ret = ret ? ret : err;
	tl_core.leftovers |= ret || b->left;
	return ret;
}

/* Patches that nobody wants any more but that could not be taken away in time. */
static void sweep_up(void)
{
	struct tl_batch b;
	struct tl_site *s;

	if (!tl_core.leftovers || tl_batch_init(&b, 0))
		return;
	for (s = tl_site_next(0); s; s = tl_site_next(s->addr + 1))
		if (s->patch && !s->want)
			tl_batch_add(&b, s);
	if (tl_batch_commit(&b) == 0)
		tl_core.leftovers = b.left;
	tl_batch_deinit(&b);
}

bool tl_probes_sweep(void)
{
	bool clean;

	tl_os_lock();
	sweep_up();
	clean = !tl_core.leftovers;
	tl_os_unlock();
	return clean;
}

uintptr_t tl_probes_borrowed(void)
{
	uintptr_t at = 0;

	tl_os_lock();
	for (struct tl_patch *p = tl_core.leftovers ? tl_patch_written(0) : NULL; p && !at;
		p = tl_patch_written(p->plan->start + 1))
		at = tl_patch_borrowed(p) ? p->plan->start : 0;
	tl_os_unlock();
	return at;
}

/* A library that was closed took it along; its caller takes it back now. */
static bool unmapped(const struct tl_probe *p)
{
	return p->state == TL_PROBE_GONE && (p->reserved & TL_PROBE_UNMAPPED);
}

/* They handle nothing any more, whatever it returns. */
static int take_away(struct tl_batch *b, struct tl_probe **probes, size_t n, int images)
{
	int ret;

	tl_gone_forget(probes, n);
	for (size_t i = 0; i < n; i++) {
		if (probes[i]->state == TL_PROBE_GONE)
			continue; /* named twice */
		tl_site_fold_missed(probes[i]->site);
		tl_probe_move(probes[i], (enum tl_probe_state)probes[i]->state, TL_PROBE_GONE);
		tl_site_unlink(probes[i]->site, probes[i]);
		tl_core.nprobes--;
	}
	ret = take_down(b, probes, n, images);
	finish(b);
	for (size_t i = 0; i < n; i++) {
		probes[i]->site = NULL;
		probes[i]->next = NULL;
		probes[i]->reserved = 0;
	}
	return ret;
}

/* Where there is no memory for all at once: one needs none to be silent. */
static int take_each_away(struct tl_probe **probes, size_t n, int images)
{
	struct tl_batch b;
	int ret = 0, err;

	for (size_t i = 0; i < n; i++) {
		TL_ASSERT(!tl_batch_init(&b, 1));
		err = take_away(&b, &probes[i], 1, images);
		ret = ret ? ret : err;
	}
	return ret;
}

int tl_probes_unregister_locked(struct tl_probe **probes, size_t n)
{
	struct tl_batch b;
	int images = tl_images_refresh();

	for (size_t i = 0; i < n; i++)
		if (probes[i]->state != TL_PROBE_ARMED && probes[i]->state != TL_PROBE_OFF &&
			!unmapped(probes[i]))
			return -TL_E_STATE;
	tl_threads_sweep();
	sweep_up();
	return tl_batch_init(&b, n) ? take_each_away(probes, n, images)
				    : take_away(&b, probes, n, images);
}

int tl_probes_unregister(struct tl_probe **probes, size_t n)
{
	int ret;

	if (!probes || !n)
		return n ? -TL_E_INVAL : 0;
	tl_os_lock();
	ret = tl_probes_unregister_locked(probes, n);
	tl_os_unlock();
	return ret;
}

int tl_probe_unregister(struct tl_probe *p)
{
	return tl_probes_unregister(&p, 1);
}

/* --- on and off ------------------------------------------------------------------------ */

/* Those of them in state `from`, on their way to `to`. */
static void move_all(
	struct tl_probe **probes, size_t n, enum tl_probe_state from, enum tl_probe_state to)
{
	for (size_t i = 0; i < n; i++)
		if (probes[i]->state == from)
			tl_probe_move(probes[i], from, to);
}

static void want_all(struct tl_probe **probes, size_t n, enum tl_probe_state from, bool on)
{
	for (size_t i = 0; i < n; i++)
		if (probes[i]->state == from)
			probes[i]->reserved =
				(probes[i]->reserved & ~(uint32_t)ENABLED) | (on ? ENABLED : 0);
}

/* Each is on or off. 0, or -TL_E_ and *failed. */
static int begin_switch(struct tl_batch *b, struct tl_probe **probes, size_t n, size_t *failed)
{
	int ret = tl_core.ready ? tl_images_refresh() : 0;

	for (size_t i = 0; i < n && !ret; i++)
		if (probes[i]->state != TL_PROBE_ARMED && probes[i]->state != TL_PROBE_OFF) {
			*failed = i;
			ret = -TL_E_STATE;
		}
	return ret ? ret : tl_batch_init(b, n);
}

static int enable_locked(struct tl_probe **probes, size_t n, size_t *failed)
{
	struct tl_batch b;
	int ret = begin_switch(&b, probes, n, failed);

	if (ret)
		return ret;
	want_all(probes, n, TL_PROBE_OFF, true);
	ret = refresh(&b, probes, n);
	if (!ret)
		ret = tl_batch_commit(&b);
	if (!ret) {
		move_all(probes, n, TL_PROBE_OFF, TL_PROBE_ARMED);
		for (size_t i = 0; i < n; i++)
			tl_site_publish(probes[i]->site);
	} else {
		*failed = b.bad ? index_of(probes, n, b.bad) : 0;
		want_all(probes, n, TL_PROBE_OFF, false);
		for (size_t i = 0; i < n; i++)
			tl_site_wants(probes[i]->site);
	}
	finish(&b);
	return ret;
}

static int disable_locked(struct tl_probe **probes, size_t n)
{
	struct tl_batch b;
	size_t unused;
	int ret = begin_switch(&b, probes, n, &unused);

	if (ret)
		return ret;
	want_all(probes, n, TL_PROBE_ARMED, false);
	for (size_t i = 0; i < n; i++)
		tl_site_fold_missed(probes[i]->site);
	move_all(probes, n, TL_PROBE_ARMED, TL_PROBE_OFF);
	ret = take_down(&b, probes, n, 0);
	finish(&b);
	return ret;
}

int tl_probes_enable(struct tl_probe **probes, size_t n, size_t *failed)
{
	size_t at = 0;
	int ret;

	if (!probes || !n)
		return n ? -TL_E_INVAL : 0;
	tl_os_lock();
	ret = enable_locked(probes, n, &at);
	tl_os_unlock();
	if (ret && failed)
		*failed = at;
	return ret;
}

int tl_probes_disable(struct tl_probe **probes, size_t n)
{
	int ret;

	if (!probes || !n)
		return n ? -TL_E_INVAL : 0;
	tl_os_lock();
	ret = disable_locked(probes, n);
	tl_os_unlock();
	return ret;
}

int tl_probe_enable(struct tl_probe *p)
{
	return tl_probes_enable(&p, 1, NULL);
}

int tl_probe_disable(struct tl_probe *p)
{
	return tl_probes_disable(&p, 1);
}

/* Every jump that is not insisted on. 0 or -TL_E_, nothing changed. */
static int unoptimize(void)
{
	struct tl_batch b;
	struct tl_site *s;
	int ret = tl_batch_init(&b, tl_core.nprobes);

	if (ret)
		return ret;
	tl_core.optimize = false;
	for (s = tl_site_next(0); s && !ret; s = tl_site_next(s->addr + 1))
		if (s->want && s->patch && s->patch->plan->rung != TL_RUNG_TRAP &&
			tl_site_only_trap(s))
			ret = tl_batch_add(&b, s);
	b.again = true;
	if (!ret)
		ret = tl_batch_commit(&b);
	tl_core.optimize = ret != 0;
	if (!ret)
		tl_optimizer_forget();
	finish(&b);
	return ret;
}

static int optimize_locked(bool on)
{
	int ret = tl_engine_init_locked();

	if (!ret)
		ret = tl_images_refresh();
	if (ret || tl_core.optimize == on)
		return ret;
	if (!on)
		return unoptimize();
	tl_core.optimize = true;
	tl_optimizer_all();
	tl_optimizer_kick();
	return 0;
}

int tl_probes_optimize(bool on)
{
	int ret;

	tl_os_lock();
	ret = optimize_locked(on);
	tl_os_unlock();
	return ret;
}

int tl_probes_patching(enum tl_patching how)
{
	int ret;

	if ((unsigned)how > TL_PATCHING_STOP)
		return -TL_E_INVAL;
	tl_os_lock();
	ret = tl_engine_init_locked();
	if (!ret) {
		tl_core.stop_always = how == TL_PATCHING_STOP;
		tl_arch_atomic_set(how == TL_PATCHING_AUTO ? 0 : how == TL_PATCHING_STORE ? 1 : -1);
	}
	tl_os_unlock();
	return ret;
}

/* --- all of them -------------------------------------------------------------------------- */

void tl_probes_unregister_all(void)
{
	struct tl_site *s, *next;
	struct tl_probe *p;

	for (s = tl_site_next(0); s; s = next) {
		uintptr_t addr = s->addr;

		while ((p = s->probes)) {
			bool last = !p->next;

			tl_probes_unregister_locked(&p, 1);
			if (last)
				break; /* the site may be gone */
		}
		next = tl_site_next(addr + 1);
	}
	tl_optimizer_forget();
	sweep_up();
}
