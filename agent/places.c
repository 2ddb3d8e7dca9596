/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * For the guardian, who answers for the program's faults: which of its
 * instructions run in detours. The linker puts these between the engine's
 * files (--wrap).
 */
#include "agent.h"

int __real_tl_detour_create(const struct tl_plan *plan, struct tl_detour **out);
struct tl_detour *__real_tl_detour_revive(const struct tl_plan *plan);
void __real_tl_detour_retire(struct tl_detour *d);
void __real_tl_detmem_put(struct tl_detour *d);

int __wrap_tl_detour_create(const struct tl_plan *plan, struct tl_detour **out);
struct tl_detour *__wrap_tl_detour_revive(const struct tl_plan *plan);
void __wrap_tl_detour_retire(struct tl_detour *d);
void __wrap_tl_detmem_put(struct tl_detour *d);

/* Where there is no room for more, the guardian leaves that fault as it is, and says so. */
static void place_add(uint64_t from, uint64_t to)
{
	struct tl_ctl_place *spare, *p = tl_ctl_place_find(tl_ctl, from, &spare);

	if (!p)
		p = spare;
	if (!p) {
		tl_ctl->nunplaced++;
		return;
	}
	__atomic_store_n(&p->from, from, __ATOMIC_RELEASE);
	__atomic_store_n(&p->to, to, __ATOMIC_RELEASE);
}

/* If it leads to [lo, lo + size). */
static void place_drop(uint64_t from, uint64_t lo, uint64_t size)
{
	struct tl_ctl_place *spare, *p = tl_ctl_place_find(tl_ctl, from, &spare);

	if (p && p->to - lo < size)
		__atomic_store_n(&p->to, 0, __ATOMIC_RELEASE);
}

/* Control comes back behind a system call, which has no others with it. */
static bool is_syscall(const struct tl_plan *plan)
{
	return plan->len == 2 && plan->orig[0] == 0x0f && plan->orig[1] == 0x05;
}

static void note(void *arg, uintptr_t ip, uintptr_t text, enum tl_place what)
{
	const struct tl_plan *plan = arg;
	uintptr_t off = text - plan->start;

	if (off >= plan->len + (is_syscall(plan) ? 1u : 0u))
		return;
	if (what != TL_PLACE_ENTRY)
		place_add(ip, text | (what == TL_PLACE_PUSHED ? TL_CTL_PUSHED : 0));
	else if (off)
		place_add(text, ip);
}

static void note_all(struct tl_detour *d)
{
	tl_arch_detour_places(&d->plan, &tl_core.env, d->at, note, &d->plan);
}

int __wrap_tl_detour_create(const struct tl_plan *plan, struct tl_detour **out)
{
	int ret = __real_tl_detour_create(plan, out);

	if (!ret && !tl_core.foreseeing)
		note_all(*out);
	return ret;
}

struct tl_detour *__wrap_tl_detour_revive(const struct tl_plan *plan)
{
	struct tl_detour *d = __real_tl_detour_revive(plan);

	if (d)
		note_all(d);
	return d;
}

/* The detour's code is the same whenever it is made: what note() has said is found again, and nothing else looked for. */
static void drop_entry(void *arg, uintptr_t ip, uintptr_t text, enum tl_place what)
{
	const struct tl_detour *d = arg;

	(void)ip;
	if (what == TL_PLACE_ENTRY)
		place_drop(text, d->at, d->size);
}

static void drop(void *arg, uintptr_t ip, uintptr_t text, enum tl_place what)
{
	drop_entry(arg, ip, text, what);
	if (what != TL_PLACE_ENTRY)
		place_drop(ip, 0, UINT64_MAX);
}

/* Nobody is led into it any more; who is in it stays. */
void __wrap_tl_detour_retire(struct tl_detour *d)
{
	tl_arch_detour_places(&d->plan, &tl_core.env, d->at, drop_entry, d);
	__real_tl_detour_retire(d);
}

void __wrap_tl_detmem_put(struct tl_detour *d)
{
	if (d->used && !tl_core.foreseeing)
		tl_arch_detour_places(&d->plan, &tl_core.env, d->at, drop, d);
	__real_tl_detmem_put(d);
}
