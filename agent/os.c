/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The parts of the process home that only the guardian can answer in a foreign process. */
#include "handler.h"
#include "../engine/os/process/process.h"

int tl_home_init(void)
{
	return tl_os_images_update();
}

void tl_home_exit(void)
{
}

/* --- mappings and images ---------------------------------------------------- */

bool tl_home_map(uintptr_t addr, struct tl_mapping *map)
{
	const struct tl_ctl *c = tl_ctl;
	uint32_t lo = 0, hi = c->nmaps;

	while (lo < hi) { /* the first one that ends above addr */
		uint32_t mid = lo + (hi - lo) / 2;

		if (c->maps[mid].hi > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	if (lo == c->nmaps)
		return false;
	map->lo = c->maps[lo].lo;
	map->hi = c->maps[lo].hi;
	map->prot = (int)c->maps[lo].prot;
	return true;
}

void tl_home_mappings(size_t *n, size_t *max)
{
	tl_agent_ask(TL_SVC_MAPS, 0, 0);
	*n = tl_ctl->nmaps;
	*max = tl_ctl->max_maps;
}

static void image_add(const struct tl_ctl_image *from)
{
	struct tl_image img = {
		.bias = from->bias,
		.lo = from->lo,
		.hi = from->hi,
		.eh_frame_hdr = from->eh_frame_hdr,
		.eh_frame_hdr_size = from->eh_frame_hdr_size,
		.flags = from->flags,
	};

	tl_copy(img.name, from->name, sizeof(img.name) - 1);
	tl_image_add(&img);
}

bool tl_os_later(void)
{
	tl_ctl->arming.later = 1;
	return true;
}

/* The guardian has seen some go. */
bool tl_os_images_stale(void)
{
	return tl_ctl->images_stale;
}

int tl_os_images_update(void)
{
	uint32_t i;

	if (tl_agent_ask(TL_SVC_MAPS, 0, 0))
		return -TL_E_NOMEM;
	tl_ctl->images_stale = 0;
	tl_images_begin();
	for (i = 0; i < tl_ctl->nimages; i++)
		image_add(&tl_ctl->images[i]);
	if (i < TL_CTL_IMAGES) /* else there may be more of them */
		tl_images_end();
	return 0;
}

/* --- text, which may be protected or go away at any time ------------------------- */

/* Who faults there is led on by the guardian. */
int tl_home_copy(uintptr_t to, uintptr_t from, size_t n)
{
	return tl_peek(to, from, (uint32_t)n);
}

/* --- text past its protection --------------------------------------------------- */

static int copy_past(uintptr_t to, uintptr_t from, size_t size)
{
	tl_ctl->svc_arg[2] = size;
	return (int)tl_agent_ask(TL_SVC_COPY, to, from);
}

int tl_os_text_peek(uintptr_t addr, void *buf, size_t len)
{
	int got = copy_past((uintptr_t)buf, addr, len);

	return got < 0 ? -TL_E_TEXT_RO : got;
}

int tl_os_text_poke(uintptr_t addr, const void *bytes, size_t len)
{
	return copy_past(addr, (uintptr_t)bytes, len) == (int)len ? 0 : -TL_E_TEXT_RO;
}

/* --- other threads ------------------------------------------------------------ */

int tl_os_stop_all(const struct tl_os_stop *stop)
{
	struct tl_ctl *c = tl_ctl;
	bool refused = false;
	uint32_t i;

	if (tl_agent_ask(TL_SVC_STOP, 0, 0))
		return -TL_E_BUSY;
	for (i = 0; i < c->npcs; i++) {
		struct tl_ctl_pc *p = &c->pcs[i];

		p->to = stop->pc(stop->arg, p->pc, p->where != 0);
		refused |= p->to == 0 || (p->fixed && p->to != p->pc);
	}
	if (!refused)
		stop->done(stop->arg);
	tl_agent_ask(TL_SVC_RESUME, !refused, 0);
	return refused ? -TL_E_BUSY : 0;
}

int tl_os_quiet(uintptr_t lo, uintptr_t hi)
{
	return tl_agent_ask(TL_SVC_QUIET, lo, hi) ? -TL_E_BUSY : 0;
}

int tl_os_seen(uintptr_t lo, uintptr_t hi, void (*see)(void *arg, uintptr_t addr), void *arg)
{
	int ret = (int)tl_agent_ask(TL_SVC_SEEN, lo, hi);
	uint32_t i;

	for (i = 0; !ret && i < tl_ctl->npcs; i++)
		see(arg, tl_ctl->pcs[i].pc);
	return ret;
}

static void see_stacks(void (*see)(void *arg, const struct tl_os_stack *s), void *arg, bool gone)
{
	const struct tl_ctl_stack *s = tl_ctl->stacks;
	uint32_t i;

	for (i = 0; i < tl_ctl->nstacks; i++, s++)
		if (!gone || !s->sp)
			see(arg, &(struct tl_os_stack){s->number, s->sp, s->lo, s->hi});
}

int tl_os_stacks(void (*see)(void *arg, const struct tl_os_stack *s), void *arg)
{
	if (tl_agent_ask(TL_SVC_STACKS, 0, 0))
		return -TL_E_BUSY;
	see_stacks(see, arg, false);
	tl_agent_ask(TL_SVC_STACKS_END, 0, 0);
	see_stacks(see, arg, true);
	return 0;
}

/* --- traps: the guardian leads threads on ------------------------------------- */

bool tl_os_trap_may_kill(void)
{
	return false;
}

int tl_os_trap_allowed(void)
{
	return 0;
}

static bool holds_trap(uintptr_t addr)
{
	uint8_t trap[8], now[8];
	size_t n = tl_arch_trap_insn(trap);

	return tl_os_text_read(addr, now, n) == n && tl_equal(now, trap, n);
}

int tl_os_trap_add(uintptr_t addr, uintptr_t detour)
{
	uint32_t i = tl_ctl_trap_hash(addr), n;
	int ret = tl_code_seal(); /* the next hit runs the detour */
	bool there;

	if (ret)
		return ret;
	there = holds_trap(addr);
	for (n = 0; n < TL_CTL_TRAPS / 2; n++, i = (i + 1) & (TL_CTL_TRAPS - 1)) {
		struct tl_ctl_trap *t = &tl_ctl->traps[i];

		if (t->addr && t->addr != addr)
			continue;
		tl_ctl->ntraps += !t->addr;
		if (!there) /* else what was known before holds */
			t->sure = (!t->addr || t->sure) && tl_machine_trap_is_sure(addr);
		__atomic_store_n(&t->detour, detour, __ATOMIC_RELEASE);
		__atomic_store_n(&t->addr, addr, __ATOMIC_RELEASE);
		return 0;
	}
	return -TL_E_LIMIT;
}

void tl_os_trap_remove(uintptr_t addr)
{
	uint32_t i = tl_ctl_trap_hash(addr), n;

	for (n = 0; n < TL_CTL_TRAPS / 2; n++, i = (i + 1) & (TL_CTL_TRAPS - 1)) {
		struct tl_ctl_trap *t = &tl_ctl->traps[i];

		if (!t->addr)
			return;
		if (t->addr == addr) {
			__atomic_store_n(&t->detour, 0, __ATOMIC_RELEASE);
			return;
		}
	}
}
