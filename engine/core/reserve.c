/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Text that may not be probed: reserving it, releasing it, and asking why. */
#include <trapless/reserve.h>
#include "../os/os.h"
#include "detour/site.h"
#include "image/func.h"
#include "image/reserved.h"
#include "image/unpaired.h"
#include "probe/batch.h"
#include "probe/gone.h"
#include "probe/probe.h"
#include "places.h"
#include "ret/ret.h"
#include "text/patch.h"

/* --- reserving ---------------------------------------------------------------------- */

static bool in_range(const struct tl_reservation *r, uintptr_t addr)
{
	return addr - r->start < r->size;
}

static void tell(const struct tl_probe *p, struct tl_probe_info *who)
{
	if (who && p)
		tl_probe_describe(p, who);
}

static int check_returns(const struct tl_reservation *r, struct tl_probe_info *who)
{
	const struct tl_ret_state *st;

	for (st = tl_ret_states; st; st = st->next)
		if (in_range(r, (uintptr_t)st->rp->entry)) {
			tell(&st->entry, who);
			return -TL_E_PROBED;
		}
	return 0;
}

static int check_probes(const struct tl_reservation *r, struct tl_probe_info *who)
{
	struct tl_site *s = tl_site_next(r->start);

	for (; s && in_range(r, s->addr); s = tl_site_next(s->addr + 1))
		if (s->probes) {
			tell(s->probes, who);
			return -TL_E_PROBED;
		}
	return 0;
}

/* Sites whose patch holds a byte of the range. */
static int add_near(struct tl_batch *b, const struct tl_reservation *r)
{
	uintptr_t end = r->start + r->size;
	uintptr_t from = r->start > 2 * TL_PATCH_MAX ? r->start - 2 * TL_PATCH_MAX : 0;
	struct tl_patch *p;
	int ret = 0;

	for (; (p = tl_patch_below(end)) && p->plan->start >= from; end = p->plan->start) {
		const struct tl_plan *plan = tl_patch_first(p)->plan;

		if (p->plan->start + p->plan->held <= r->start)
			continue;
		for (unsigned i = 0; i < plan->npoints && !ret; i++)
			ret = tl_batch_add(b, plan->points[i].site);
	}
	return ret;
}

/* They take another rung, or it stays as it is. */
static int move_near(const struct tl_reservation *r, struct tl_probe_info *who)
{
	struct tl_batch b;
	int ret = tl_batch_init(&b, 0);

	if (ret)
		return ret;
	b.again = true;
	ret = add_near(&b, r);
	if (!ret && b.nsites)
		ret = tl_batch_commit(&b);
	if (ret && ret != -TL_E_NOMEM && b.bad) {
		tell(b.bad->probes, who);
		ret = -TL_E_PROBED;
	}
	tl_batch_deinit(&b);
	return ret;
}

int tl_text_reserve_locked(struct tl_reservation *r, struct tl_probe_info *who)
{
	int ret = r->kind == TL_RESERVE_RETURN ? check_returns(r, who) : check_probes(r, who);

	if (!ret)
		ret = tl_reserved_insert(r);
	if (ret || r->kind == TL_RESERVE_RETURN)
		return ret;
	ret = move_near(r, who);
	if (ret)
		tl_reserved_drop(r);
	return ret;
}

int tl_text_reserve(struct tl_reservation *r, struct tl_probe_info *who)
{
	int ret;

	if (!r || !r->size || r->start + r->size < r->start || r->kind >= TL_RESERVE_OWN)
		return -TL_E_INVAL;
	if (r->reserved == TL_RESERVED)
		return -TL_E_STATE;
	tl_os_lock();
	ret = tl_engine_init_locked();
	if (!ret)
		ret = tl_images_refresh();
	if (!ret)
		ret = tl_text_reserve_locked(r, who);
	tl_os_unlock();
	return ret;
}

int tl_text_release(struct tl_reservation *r)
{
	int ret = -TL_E_STATE;

	if (!r)
		return -TL_E_INVAL;
	tl_os_lock();
	if (r->reserved == TL_RESERVED) {
		tl_reserved_drop(r);
		ret = 0;
	}
	tl_os_unlock();
	return ret;
}

/* --- asking ---------------------------------------------------------------------------- */

static void reason_of(struct tl_refusal *out, uintptr_t addr, uintptr_t end)
{
	bool returns = out->why == -TL_E_RET_BLACKLIST;
	const struct tl_reservation *r = tl_reserved_over(addr, returns ? addr + 1 : end, out->why);
	const char *known = returns ? tl_ret_reason(tl_ret_forbidden(addr)) : NULL;

	out->start = addr;
	out->size = 0;
	out->reason = known ? known : tl_error_text(out->why);
	if (!r)
		return;
	out->start = r->start;
	out->size = r->size;
	if (r->reason)
		out->reason = r->reason;
}

static int refusal_locked(struct tl_site *s, bool returns, struct tl_refusal *out)
{
	int ret = tl_engine_init_locked();

	if (!ret)
		ret = tl_images_refresh();
	tl_func_forget(&tl_func_now);
	if (!ret)
		ret = tl_site_check(s);
	if (!ret && returns)
		ret = tl_refuse_return(s->addr);
	out->why = ret;
	reason_of(out, s->addr, tl_site_insn_end(s));
	return ret;
}

int tl_text_refusal(const void *addr, bool returns, uintptr_t func_start, size_t func_size,
	struct tl_refusal *out)
{
	struct tl_site s = {.addr = (uintptr_t)addr};
	int ret;

	if (!out)
		return -TL_E_INVAL;
	if (func_start && func_size) {
		s.func_start = func_start;
		s.func_size = (uint32_t)func_size;
	}
	tl_os_lock();
	ret = refusal_locked(&s, returns, out);
	tl_os_unlock();
	return ret;
}

int tl_text_reservations(int (*fn)(const struct tl_reservation *r, void *arg), void *arg)
{
	int ret;

	tl_os_lock();
	ret = tl_engine_init_locked();
	if (!ret)
		ret = tl_reserved_each(fn, arg);
	tl_os_unlock();
	return ret;
}
